"""A graph that asks both executors and compares their answers."""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from omnigraph.engine.graph import Graph
from omnigraph.engine.query_result import QueryResult
from omnigraph.errors import OmnigraphError
from omnigraph.exec.budget import Budget
from omnigraph.lang.gq_ast import AggregateFunction
from omnigraph.query.ir import Distinct, Group, Operator, Project, QueryIR, Slice, Sort
from omnigraph.spark.query import query_rows

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LIMITS = ("timeout", "memory_limit", "cancel", "profile", "engine")
"""What only one of the two is asked with."""


class BothEngines(Graph):
    """A graph whose every query runs embedded and on Spark. The embedded answer is returned."""

    spark: SparkSession
    asked: int = 0

    def query(self, text: str, params: Any = None, **how: Any) -> Any:
        if any(name in how for name in LIMITS):
            return super().query(text, params, **how)
        try:
            wanted = super().query(text, params, **how)
        except OmnigraphError as error:
            found = self._error_on_spark(text, params, how)
            assert found == type(error), f"embedded raises {type(error).__name__}: {error}, Spark {found}"
            raise
        query, rows = self._on_spark(text, params, how)
        self.asked += 1
        assert_same_answer(query, wanted, QueryResult(query.name, rows, wanted.branch, wanted.commit_id))
        return wanted

    def _on_spark(self, text: str, params: Any, how: dict[str, Any]) -> tuple[QueryIR, Any]:
        query, snapshot = self._bound(text, params, how.get("name"), how.get("branch"), how.get("at"))
        return query, query_rows(query, self._view(snapshot), Budget(), self.spark)

    def _error_on_spark(self, text: str, params: Any, how: dict[str, Any]) -> type[Exception] | None:
        try:
            self._on_spark(text, params, how)
        except OmnigraphError as error:
            return type(error)
        return None


def assert_same_answer(query: QueryIR, wanted: QueryResult, found: QueryResult) -> None:
    """Equal in columns, types and rows; in order where the query has one, a possible part where it cuts without one."""
    assert found.table.schema == wanted.table.schema
    left, right = _rows(query, wanted.table), _rows(query, found.table)
    assert len(right) == len(left)
    if _is_ordered(query.root) or len(set(left)) < 2:
        assert right == left
    elif not _cuts(query.root):
        assert Counter(right) == Counter(left)


def _rows(query: QueryIR, table: pa.Table) -> list[tuple[Any, ...]]:
    """The rows; a list that was collected has no order of its own."""
    columns = []
    for item, column in zip(query.columns, table.columns, strict=True):
        values = column.to_pylist()
        is_collected = getattr(item.expression, "function", None) is AggregateFunction.COLLECT
        columns.append([sorted(value) for value in values] if is_collected else values)
    return [tuple(map(_cell, row)) for row in zip(*columns, strict=True)]


def _cell(value: Any) -> Any:
    """Zero has one sign, NaN is itself, and a list can be hashed."""
    if isinstance(value, list):
        return tuple(map(_cell, value))
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else value + 0.0
    return value


def _is_ordered(operator: Operator) -> bool:
    while isinstance(operator, Slice | Project | Distinct | Group | Sort):
        if isinstance(operator, Sort):
            return True
        operator = operator.input
    return False


def _cuts(operator: Operator) -> bool:
    while isinstance(operator, Slice | Project | Distinct | Group | Sort):
        if isinstance(operator, Slice):
            return True
        operator = operator.input
    return False
