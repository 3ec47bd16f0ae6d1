"""All edges of a type as rows of their table, where a pattern is one hop from every node and only the edge is read."""

from __future__ import annotations

from omnigraph.query import expressions as ir
from omnigraph.query.ir import ONE_HOP, Direction, Expand, Scan
from omnigraph.query.liveness import Demand


def is_every_edge(operator: Expand, demand: Demand) -> bool:
    """True if the rows of an expansion are the edges of its type, and nothing but the edge is read later."""
    start = operator.input
    is_all = isinstance(start, Scan) and start.predicate in (None, ir.TRUE) and operator.predicate is None
    is_plain = operator.hops == ONE_HOP and not operator.closes and operator.direction is not Direction.BOTH
    is_edge = operator.edge_variable is not None and demand.variables <= {operator.edge_variable}
    return is_all and is_plain and is_edge and operator.visible is None
