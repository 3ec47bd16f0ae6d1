"""Choice of the engine of a query: by name, or by the number of rows that it would read."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from omnigraph.core.classes.dataclass import dataclass
from omnigraph.engine import plugs
from omnigraph.engine.engine_choice import AUTO, BY_SPARK, check_engine, has_spark, spark_from
from omnigraph.engine.query.memory import query_memory
from omnigraph.engine.query.result import QueryResult
from omnigraph.engine.query.run import run_query
from omnigraph.errors import Hint, UsageError
from omnigraph.exec.budget import NEVER, Budget
from omnigraph.exec.graph_view import GraphView
from omnigraph.history.state import ManifestState
from omnigraph.query.ir import Expand, Operator, QueryIR, Scan, ShortestPath
from omnigraph.query.rewrite.tree import inputs

VARIABLE = "OMNIGRAPH_QUERY_SPARK_FROM"

SPARK_FROM_ROWS = 1_000_000_000
"""Rows from which ``auto`` takes Spark: more edges than the neighbour lists of one machine should hold."""


@dataclass(frozen=True, slots=True)
class QueryLimits:
    """Bounds of one query in this process, and whether it is measured."""

    timeout: float | None = None
    memory_limit: int | None = None
    cancel: threading.Event | None = None
    stats: bool = False


def query_runner(
    engine: str, spark: Any, limits: QueryLimits, branch: str | None
) -> Callable[[QueryIR, GraphView], QueryResult | Any]:
    """The function that runs a bound query. ``branch`` is the one that the result names."""
    if check_engine(engine) == BY_SPARK:
        if limits != QueryLimits():
            raise UsageError(
                "a query with engine='spark' takes no limits: it runs when its DataFrame is read",
                hint=Hint("use engine='auto', or limit the jobs in the session", "use --engine auto"),
            )
        return lambda query, view: plugs.cluster().query_frame(query, view, spark)
    budget = Budget(limits.timeout, query_memory(limits.memory_limit), limits.cancel or NEVER)

    def run(query: QueryIR, view: GraphView) -> QueryResult:
        if engine == AUTO and is_for_spark(estimated_rows(query.root, view.state)):
            rows = plugs.cluster().query_rows(query, view, budget, spark)
            return QueryResult(query.name, rows, branch, view.state.head)
        return run_query(query, view, budget, branch=branch, stats=limits.stats)

    return run


def is_for_spark(rows: int) -> bool:
    """True if ``auto`` chooses Spark for that many rows; never where Spark is not installed."""
    return rows >= spark_from(VARIABLE, SPARK_FROM_ROWS, "rows") and has_spark()


def estimated_rows(root: Operator, state: ManifestState) -> int:
    """The rows of the tables that a query reads, edges once per hop. Predicates are ignored."""
    own = 0
    match root:
        case Scan():
            own = state.tables[f"node:{root.type_name}"].rows
        case Expand() | ShortestPath():
            own = state.tables[f"edge:{root.edge}"].rows * max(root.hops.high, 1)
        case _:
            pass
    return own + sum(estimated_rows(below, state) for below in inputs(root))
