"""Who runs a query: this process, or Spark. Chosen by name, or by how many rows would be looked at."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Mapping
from enum import Enum

from omnigraph.errors import UsageError
from omnigraph.history.state import ManifestState
from omnigraph.query.ir import Expand, Operator, QueryIR, Scan, ShortestPath
from omnigraph.query.rewrite.tree import inputs

VARIABLE = "OMNIGRAPH_QUERY_SPARK_FROM"

SPARK_FROM_ROWS = 1_000_000_000
"""Rows from which ``auto`` takes Spark: more edges than the neighbour lists of one machine should hold."""


class QueryEngine(Enum):
    """Who runs a query."""

    EMBEDDED = "embedded"
    SPARK = "spark"
    AUTO = "auto"
    """Spark if it is installed and the query looks at very many rows; this process otherwise."""


def parsed_engine(engine: str | QueryEngine) -> QueryEngine:
    """The engine of that name."""
    try:
        return QueryEngine(engine)
    except ValueError:
        known = ", ".join(kind.value for kind in QueryEngine)
        raise UsageError(f"there is no engine {engine!r}", hint=f"it is one of {known}") from None


def chosen_engine(
    engine: QueryEngine, query: QueryIR, state: ManifestState, environment: Mapping[str, str] = os.environ
) -> QueryEngine:
    """Embedded or Spark."""
    if engine is not QueryEngine.AUTO:
        return engine
    is_large = is_for_spark(estimated_rows(query.root, state), environment)
    return QueryEngine.SPARK if is_large else QueryEngine.EMBEDDED


def is_for_spark(rows: int, environment: Mapping[str, str] = os.environ) -> bool:
    """Whether ``auto`` leaves so many rows to Spark; never where it is not installed."""
    return rows >= _spark_from(environment) and importlib.util.find_spec("pyspark") is not None


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


def _spark_from(environment: Mapping[str, str]) -> int:
    given = environment.get(VARIABLE)
    try:
        return SPARK_FROM_ROWS if given is None else int(given)
    except ValueError:
        raise UsageError(f"{VARIABLE} is {given!r}", hint="it is a number of rows") from None
