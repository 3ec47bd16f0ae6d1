"""Violations of the ends of edges."""

from __future__ import annotations

from omnigraph.rows.ends.references import UNRESOLVED, referenced
from omnigraph.rows.violations import Place, Violation, ViolationCode
from omnigraph.schema.catalog import EdgeEnd, EdgeType
from omnigraph.schema.ir import Pair


def endpoint_violation(
    edge: EdgeType, end: EdgeEnd, id_: str, text: str, place: Place | None = None, *, is_stored: bool = False
) -> Violation:
    """An edge whose endpoint does not exist after the write: one of the input, or a stored one that remains.

    ``text`` is the reference of the node.
    """
    tag, node_id = referenced(end, text)
    node_name = end.type_of(tag)
    message = f"{end.column} '{node_id}' not found in {node_name}"
    if tag == UNRESOLVED:
        message = f"{end.word} '{node_id}' does not name its type, one of {', '.join(end.types)}"
    elif node_name is None:
        message = f"{end.column} '{node_id}' is of a type that is no {end.word} of {edge.name}: {tag or end.untagged}"
    if is_stored:
        message = f"{edge.name} '{id_}' would lose its node: {message}"
    other = None if node_name is None else f"node:{node_name}"
    return Violation(ViolationCode.ENDPOINT, message, edge.table_key, id_, end.column, place, node_id, other)


def pair_violation(edge: EdgeType, id_: str, pair: Pair, place: Place | None = None) -> Violation:
    """An edge between two node types that its type does not connect."""
    message = f"{edge.name} does not connect {pair[0]} -> {pair[1]}: its ends are {edge.ends_text}"
    return Violation(ViolationCode.ENDPOINT, message, edge.table_key, id_, edge.target.column, place)
