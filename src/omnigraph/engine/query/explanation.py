"""Explanations: the plan of a query or mutation on one snapshot, with the facts of its tables."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import assert_never

from omnigraph.core.display import html_text
from omnigraph.exec.graph_view import INDEXED_STARTS_MAX, GraphView
from omnigraph.exec.tables import TableView
from omnigraph.query.compile import compile_text
from omnigraph.query.explain import explain
from omnigraph.query.ir import (
    DeleteEdges,
    DeleteNodes,
    Expand,
    ForMatches,
    InsertEdge,
    InsertNode,
    MutationIR,
    Operator,
    QueryIR,
    Scan,
    ShortestPath,
    UpdateEdges,
    UpdateNodes,
)
from omnigraph.query.rewrite.tree import inputs
from omnigraph.query.visibility.catalog import visible_catalog
from omnigraph.query.visibility.data_scope import DataScope
from omnigraph.schema.catalog import Catalog
from omnigraph.storage.index.known import known_indexes


@dataclass(frozen=True, slots=True)
class TableFacts:
    """Facts of a table that a plan reads or writes."""

    table: str
    rows: int
    deleted_rows: int
    fragments: int
    indexes: tuple[tuple[str, float], ...]
    """Each with the share of rows that it covers."""
    traversal: str | None = None
    """The method by which edges of the table would be followed."""

    def __str__(self) -> str:
        deleted = f" and {self.deleted_rows:,} deleted" if self.deleted_rows else ""
        fragments = "1 fragment" if self.fragments == 1 else f"{self.fragments:,} fragments"
        parts = [f"{self.table}: {self.rows:,} rows{deleted} in {fragments}"]
        parts += [f"index {name}, {100 * share:.0f} % covered" for name, share in self.indexes]
        return "; ".join([*parts, *([self.traversal] if self.traversal else [])])


@dataclass(frozen=True, slots=True)
class Explanation:
    """A plan with facts about its tables. Its text is what ``print`` shows."""

    plan: str
    tables: tuple[TableFacts, ...]
    compiled: QueryIR | MutationIR = field(repr=False, compare=False)
    """The plan as operators."""

    def __str__(self) -> str:
        return "\n".join([self.plan, *(f"  {facts}" for facts in self.tables)])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return html_text(str(self))


def explained(plan: QueryIR | MutationIR, view: GraphView) -> Explanation:
    """The plan on a snapshot; nothing is run, and no more than manifests and the cache directory are read."""
    facts = _read_facts(plan.root, view) if isinstance(plan, QueryIR) else _written_facts(plan, view)
    return Explanation(explain(plan), tuple(facts.values()), plan)


def explained_inside(text: str, name: str | None, catalog: Catalog, scope: DataScope) -> Explanation:
    """The plan of a query inside a scope, without the predicates of the scope and without facts of whole tables.

    Both would tell of entities and properties outside of it.
    """
    plan = compile_text(text, visible_catalog(catalog, scope), name=name)
    return Explanation(f"{explain(plan)}\n  (inside the data rules of the actor)", (), plan)


def _read_facts(root: Operator, view: GraphView) -> dict[str, TableFacts]:
    facts: dict[str, TableFacts] = {}
    for operator in _operators(root):
        match operator:
            case Scan(type_name=name):
                facts.setdefault(f"node {name}", _facts(f"node {name}", view.node_table(name), None))
            case Expand(edge=name) | ShortestPath(edge=name):
                walked = _traversal(view, name)
                facts.setdefault(f"edge {name}", _facts(f"edge {name}", view.edge_table(name), walked))
            case _:
                continue
    return facts


def _written_facts(plan: MutationIR, view: GraphView) -> dict[str, TableFacts]:
    """The tables that the statements write, and those that they have to look into: ends of edges, edges at nodes."""
    nodes: dict[str, None] = {}
    edges: dict[str, None] = {}
    read: dict[str, TableFacts] = {}
    for outer in plan.statements:
        if isinstance(outer, ForMatches):
            read |= _read_facts(outer.root, view)
    for statement in plan.entity_statements:
        match statement:
            case InsertNode(type_name=name) | UpdateNodes(type_name=name):
                nodes[name] = None
            case DeleteNodes(type_name=name):
                nodes[name] = None
                edges |= dict.fromkeys(edge.name for edge in view.catalog.edges_of(name))
            case InsertEdge(type_name=name):
                edges[name] = None
                nodes |= dict.fromkeys(view.catalog.edges[name].node_types)
            case UpdateEdges(type_name=name) | DeleteEdges(type_name=name):
                edges[name] = None
            case _:
                assert_never(statement)
    return {
        **read,
        **{f"node {name}": _facts(f"node {name}", view.node_table(name), None) for name in nodes},
        **{f"edge {name}": _facts(f"edge {name}", view.edge_table(name), None) for name in edges},
    }


def _operators(operator: Operator) -> Iterator[Operator]:
    yield operator
    for below in inputs(operator):
        yield from _operators(below)


def _facts(name: str, table: TableView, traversal: str | None) -> TableFacts:
    found = known_indexes(table.store, table.pin).values()
    indexes = tuple((str(index.spec), index.covered_rows / max(index.rows, 1)) for index in found)
    return TableFacts(name, table.rows, len(table.layout.dead), len(table.layout.parts), indexes, traversal)


def _traversal(view: GraphView, edge_name: str) -> str:
    pins = view.pins(edge_name)
    found = view.derived.topologies.find(pins)
    if found is not None:
        changes = found.edge.changes + found.source.changes + found.target.changes
        return f"neighbour lists are there, {changes:,} changes on top of them"
    if view.prefers_index(pins):
        return (
            f"no neighbour lists yet: up to {INDEXED_STARTS_MAX} nodes are looked up by index, for more they are made"
        )
    return "no neighbour lists yet: the first traversal makes them"
