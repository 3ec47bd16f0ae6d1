"""Who runs a query: this process, or Spark. Chosen by name, or by how many rows would be looked at."""

from __future__ import annotations

from omnigraph.engine.engine_choice import AUTO, BY_SPARK, has_spark, spark_from
from omnigraph.history.state import ManifestState
from omnigraph.query.ir import Expand, Operator, QueryIR, Scan, ShortestPath
from omnigraph.query.rewrite.tree import inputs

VARIABLE = "OMNIGRAPH_QUERY_SPARK_FROM"

SPARK_FROM_ROWS = 1_000_000_000
"""Rows from which ``auto`` takes Spark: more edges than the neighbour lists of one machine should hold."""


def is_query_for_spark(engine: str, query: QueryIR, state: ManifestState) -> bool:
    """Whether Spark runs a query: because the caller says so, or because it would look at very many rows."""
    return engine == BY_SPARK or (engine == AUTO and is_for_spark(estimated_rows(query.root, state)))


def is_for_spark(rows: int) -> bool:
    """Whether ``auto`` leaves so many rows to Spark; never where it is not installed."""
    return rows >= spark_from(VARIABLE, SPARK_FROM_ROWS, "rows") and has_spark()


def estimated_rows(root: Operator, state: ManifestState) -> int:
    """The rows of the tables that a query reads, edges once for every hop. Conditions are not looked at."""
    own = 0
    match root:
        case Scan():
            own = state.tables[f"node:{root.type_name}"].rows
        case Expand() | ShortestPath():
            own = state.tables[f"edge:{root.edge}"].rows * max(root.hops.high, 1)
        case _:
            pass
    return own + sum(estimated_rows(below, state) for below in inputs(root))
