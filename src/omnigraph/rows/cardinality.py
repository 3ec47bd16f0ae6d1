"""The ``@card`` rule: the sources a write touches, their number of edges afterwards, and the bounds.

A write touches a source if it adds, moves or removes an edge that starts there. Every touched source must satisfy the
minimum and the maximum after the write, even if it has no edge left (a vacated source). Deleted and untouched sources
are not checked: a new node may have no edges.

The callers find the edges: in memory, in the key database, or by Spark jobs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from omnigraph.rows.ends.references import node_of, shown_node
from omnigraph.rows.violations import Violation, ViolationCode
from omnigraph.schema.catalog import EdgeType


def has_bounds(edge: EdgeType) -> bool:
    """Tell if the number of edges per source is limited."""
    return has_minimum(edge) or edge.ir.card_max is not None


def has_minimum(edge: EdgeType) -> bool:
    """Tell if the removal of an edge can break the bounds."""
    return edge.ir.card_min > 0


def touched_sources(before: Iterable[str], after: Iterable[str]) -> list[str]:
    """Sources of the edges that a write adds, replaces or removes."""
    return list(dict.fromkeys([*after, *before]))


def edges_after(touched: Iterable[str], kept: Iterable[str], after: Iterable[str]) -> dict[str, int]:
    """Edges per touched source after the write, given the source of every edge kept and written."""
    counts = Counter(kept)
    counts.update(after)
    return {source: counts[source] for source in touched}


def is_beyond(edge: EdgeType, count: int) -> bool:
    """Tell if a number of edges is out of bounds."""
    high = edge.ir.card_max
    return count < edge.ir.card_min or (high is not None and count > high)


def beyond_sql(edge: EdgeType, column: str) -> str:
    """``is_beyond`` as SQL on a column of counts."""
    low, high = edge.ir.card_min, edge.ir.card_max
    return f"({column} < {low}" + ("" if high is None else f" OR {column} > {high}") + ")"


def cardinality_violation(edge: EdgeType, source: str, count: int) -> Violation:
    """A node, given by its reference, with too many or too few edges of a type."""
    low, high = edge.ir.card_min, edge.ir.card_max
    bound = f"max {high}" if high is not None and count > high else f"min {low}"
    node = shown_node(edge.source, source)
    message = f"@card violation on edge {edge.name}: source {node} has {count} edges ({bound})"
    node_name, node_id = node_of(edge.source, source)
    table = f"node:{node_name}"
    return Violation(ViolationCode.CARDINALITY, message, edge.table_key, None, "src", None, node_id, table)
