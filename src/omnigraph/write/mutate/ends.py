"""Ends of inserted edges: the tags of their nodes, from the types that a statement names, or found by id."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from omnigraph.query import expressions as ir
from omnigraph.query.ir import AssignmentIR, InsertEdge
from omnigraph.rows.arrow_types import Entity
from omnigraph.rows.violations import Violation, ViolationCode, Violations, shown
from omnigraph.schema.catalog import EdgeEnd, EdgeType
from omnigraph.write.mutate.current import CurrentGraph

Values = Mapping[str, list[Any]]


def assigned_ends(edge: Entity, statement: InsertEdge) -> tuple[AssignmentIR, ...]:
    """The ends of a statement as assignments; the type of a node is assigned to the column of its tag."""
    assert isinstance(edge, EdgeType)
    given = ((statement.source, statement.source_type), (statement.target, statement.target_type))
    found: list[AssignmentIR] = []
    for end, (id_, type_) in zip(edge.ends, given, strict=True):
        found.append(AssignmentIR(end.column, id_, ir.TEXT))
        if end.type_column is not None and type_ is not None:
            found.append(AssignmentIR(end.type_column, type_, ir.OPTIONAL_TEXT))
    return tuple(found)


def end_tags(graph: CurrentGraph, edge: EdgeType, values: Values, violations: Violations) -> dict[str, list[Any]]:
    """The tags of the ends of new edges, by column."""
    found: dict[str, list[Any]] = {}
    for end in edge.ends:
        if end.type_column is not None:
            names: list[str | None] = values.get(end.type_column) or [None] * len(values[end.column])
            named = _resolved(graph, end, names, values[end.column]) if end.is_typed else _only(end, names)
            found[end.type_column] = list(_tags(edge, end, named, values[end.column], violations))
    return found


def _only(end: EdgeEnd, names: list[str | None]) -> list[set[str]]:
    return [{name or end.types[0]} for name in names]


def _resolved(graph: CurrentGraph, end: EdgeEnd, names: list[str | None], ids: list[Any]) -> list[set[str]]:
    """The types that each node may have: the one that is named, or those that have a node with its id."""
    unnamed = [id_ for name, id_ in zip(names, ids, strict=True) if name is None and id_ is not None]
    known: dict[str, set[str]] = {}
    for name in end.types if unnamed else ():
        known[name] = set(graph.by_id(graph.capture.catalog.nodes[name], unnamed))
    return [
        {name} if name is not None else {type_ for type_, held in known.items() if id_ in held}
        for name, id_ in zip(names, ids, strict=True)
    ]


def _tags(
    edge: EdgeType, end: EdgeEnd, named: list[set[str]], ids: list[Any], violations: Violations
) -> Iterator[str | None]:
    for names, id_ in zip(named, ids, strict=True):
        known = names & set(end.types)
        if len(known) == 1:
            yield end.stored_tag(*known)
            continue
        if len(known) > 1:
            what = (
                f"is the id of a {' and of a '.join(sorted(known))}: name the type, {{ type: ..., id: {shown(id_)} }}"
            )
        elif names:
            what = f"is a {', '.join(sorted(names))}, but {end.word} of {edge.name} is a {' or a '.join(end.types)}"
        else:
            what = f"not found in {' or '.join(end.types)}"
        message = f"{end.column} {shown(id_)} {what}"
        violations.add(Violation(ViolationCode.ENDPOINT, message, edge.table_key, None, end.column))
        yield None
