"""The entities that the rows of a query came from, so that rows can be drawn as a graph.

A read without ``distinct`` and aggregates gets one more column for each variable, which is taken off the result again.
A row of any other read came from many entities, so only columns that hold ids are known.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

import pyarrow as pa

from omnigraph.engine.query.choice import QueryLimits
from omnigraph.engine.query.memory import query_memory
from omnigraph.engine.query.result import QueryResult
from omnigraph.exec.budget import NEVER, Budget
from omnigraph.exec.graph_view import GraphView
from omnigraph.exec.shape.result_rows import ResultRows
from omnigraph.exec.shaper import Shaper
from omnigraph.query import expressions as ir
from omnigraph.query.entity_columns import entity_columns
from omnigraph.query.ir import Column, Direction, Expand, Operator, Project, QueryIR, Scan, ShortestPath, Stage
from omnigraph.query.rewrite.tree import bound_inputs

_PREFIX: Final = "\0"
"""Begins the names of the added columns; no name in a query has this character."""


@dataclass(frozen=True, slots=True)
class Link:
    """An edge pattern between two variables, along the direction of the stored edges, or either one (``is_both``)."""

    source: str
    target: str
    edge: str
    low: int
    high: int
    is_both: bool = False


@dataclass(frozen=True, slots=True)
class Binding:
    """A variable, or a column that holds ids: its name, and the kind and type of its entities."""

    name: str
    kind: str
    type: str


@dataclass(frozen=True, slots=True)
class RowEntities:
    """The ids of each row, one column per binding, and the edge patterns between variables."""

    bindings: tuple[Binding, ...]
    links: tuple[Link, ...]
    ids: pa.Table


@dataclass(frozen=True, slots=True)
class TracedRun:
    """Runs a bound query, and finds the entities of its rows."""

    limits: QueryLimits
    branch: str | None

    def __call__(self, query: QueryIR, view: GraphView) -> tuple[QueryResult, RowEntities]:
        limits = self.limits
        budget = Budget(limits.timeout, query_memory(limits.memory_limit), limits.cancel or NEVER)
        bindings, added, links = _traced(query, view)
        if isinstance(query.root, Project):
            columns = (*query.columns, *added.values())
            query = replace(query, columns=columns, root=replace(query.root, columns=columns))
        whole = Shaper(view, budget).run(query)
        shown = [name for name in whole.schema.names if not name.startswith(_PREFIX)]
        result = QueryResult(query.name, whole.select(shown), self.branch, view.state.head)
        return result, RowEntities(bindings, links, _ids(whole, [column.name for column in added.values()]))


def _traced(query: QueryIR, view: GraphView) -> tuple[tuple[Binding, ...], dict[str, Column], tuple[Link, ...]]:
    """The bindings of a query with the columns that hold their ids, and its edge patterns."""
    if not isinstance(query.root, Project):
        types = entity_columns(query, view.catalog)
        columns = {column.name: column for column in query.columns if column.name in types}
        return tuple(Binding(name, "node", type_) for name, type_ in types.items()), columns, ()
    bindings = tuple(_bindings(query.root))
    added = {
        item.name: Column(f"{_PREFIX}{item.name}", ir.EntityId(item.name, ir.OPTIONAL_TEXT, is_text=True))
        for item in bindings
    }
    return bindings, added, tuple(_links(query.root))


def _ids(rows: ResultRows, names: Sequence[str]) -> pa.Table:
    return rows.select(names).table().rename_columns([name.removeprefix(_PREFIX) for name in names])


def _bindings(root: Operator) -> Iterator[Binding]:
    """The variables that rows have, each once, in the order in which they are bound."""
    found: dict[str, Binding] = {}
    for operator in _walk(root):
        match operator:
            case Scan(variable, type_name):
                found[variable] = Binding(variable, "node", type_name)
            case Stage():
                for item in operator.entities:
                    kind = "edge" if item.is_edge else "node"
                    found[item.variable] = Binding(item.variable, kind, item.type_name)
            case Expand():
                if not operator.closes:
                    found[operator.new_variable] = Binding(operator.new_variable, "node", operator.new_type)
                if operator.edge_variable is not None:
                    found[operator.edge_variable] = Binding(operator.edge_variable, "edge", operator.edge)
            case _:
                continue
    yield from found.values()


def _links(root: Operator) -> Iterator[Link]:
    for operator in _walk(root):
        if isinstance(operator, Expand | ShortestPath):
            ends = (operator.source, operator.target)
            source, target = ends[::-1] if operator.direction is Direction.IN else ends
            hops, is_both = operator.hops, operator.direction is Direction.BOTH
            yield Link(source, target, operator.edge, hops.low, hops.high, is_both)


def _walk(operator: Operator) -> Iterator[Operator]:
    """The operators whose variables rows have, from the leaves up. The block of an anti-join leaves none."""
    for child in bound_inputs(operator):
        yield from _walk(child)
    yield operator
