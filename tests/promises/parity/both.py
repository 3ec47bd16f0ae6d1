"""A graph that asks both executors and compares their answers, and sessions with other habits."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from omnigraph.core.operators import AggregateFunction
from omnigraph.core.tuning import Tuning
from omnigraph.engine.graph import Graph, create
from omnigraph.engine.query.run import run_query
from omnigraph.errors import OmnigraphError
from omnigraph.exec.budget import Budget
from omnigraph.exec.graph_view import GraphView
from omnigraph.query import expressions as ir
from omnigraph.query.ir import Distinct, Filter, Group, Operator, Project, QueryIR, Slice, Sort, SortKey
from omnigraph.query.rewrite.tree import map_inputs
from omnigraph.query.shaping.entities import result_columns
from omnigraph.spark.query.api import query_rows
from tests.features.exec.people import FixedClock

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LIMITS = ("timeout", "memory_limit", "cancel", "stats", "engine")
"""Options that only one of the two engines supports; such a query runs on that engine alone."""


class BothEngines(Graph):
    """A graph whose every query runs embedded and on Spark. The embedded answer is returned."""

    spark: SparkSession
    queries_run: int = 0

    def query(self, text: str, params: Any = None, **how: Any) -> Any:
        if any(name in how for name in LIMITS):
            return super().query(text, params, **how)
        try:
            wanted = super().query(text, params, **how)
        except OmnigraphError as error:
            with pytest.raises(type(error)):
                self._on_spark(text, params, how)
            raise
        self._on_spark(text, params, how, wanted.table)
        self.queries_run += 1
        return wanted

    def _on_spark(self, text: str, params: Any, how: dict[str, Any], wanted: pa.Table | None = None) -> None:
        def run(query: QueryIR, view: GraphView) -> None:
            found = query_rows(query, view, Budget(), self.spark).table()
            assert wanted is not None, "the embedded executor raises"
            whole = replace(query, root=uncut(query.root))
            every = run_query(whole, view, Budget(), branch=None, stats=False).table if cuts(query.root) else wanted
            assert_same_answer(query, wanted, found, every)

        self.query_with(run, text, params, **how)


def made_both(
    path: Path, schema: str, records: list[dict[str, Any]], spark: SparkSession, tuning: Tuning | None = None
) -> BothEngines:
    """A graph of these records."""
    graph = create(path, schema, durability="os", clock=FixedClock(), tuning=tuning)
    if records:
        graph.load(records, "append")
    both = BothEngines(graph._store, clock=FixedClock())
    both.spark = spark
    return both


@contextmanager
def changed(spark: SparkSession, settings: Mapping[str, str]) -> Iterator[None]:
    """The session with other settings for a while."""
    before = {name: spark.conf.get(name) for name in settings}
    for name, value in settings.items():
        spark.conf.set(name, value)
    try:
        yield
    finally:
        for name, old in before.items():
            spark.conf.set(name, str(old))


def assert_same_answer(query: QueryIR, wanted: pa.Table, found: pa.Table, every: pa.Table) -> None:
    """Equal in columns, types and rows, and in order if the query has one.

    Without an order, which rows a limit leaves is up to the executor, but not how many, and they are some of ``every``.
    Rows that differ in nothing but lists may change places: lists are not ordered by.
    """
    assert found.schema == wanted.schema
    left, right = _rows(query, wanted), _rows(query, found)
    assert len(right) == len(left)
    assert not Counter(right) - Counter(_rows(query, every))
    keys = order_of(query.root)
    if keys is not None and right != left:
        places = [key.expression.position for key in keys if isinstance(key.expression, ir.Output)]
        assert len(places) == len(keys), (left, right)
        assert [[row[at] for at in places] for row in right] == [[row[at] for at in places] for row in left]


def _rows(query: QueryIR, table: pa.Table) -> list[tuple[Any, ...]]:
    """The rows; a list that was collected has no order of its own."""
    columns = []
    shown = [group[0] for _, group in result_columns(query.columns)]
    for item, column in zip(shown, table.columns, strict=True):
        values = column.to_pylist()
        is_collected = getattr(item.expression, "function", None) is AggregateFunction.COLLECT
        if getattr(item.expression, "function", None) is AggregateFunction.STDDEV:
            # Its last digits depend on the order of additions.
            values = [None if value is None else f"{value:.9g}" for value in values]
        columns.append([sorted(value) for value in values] if is_collected else values)
    return [tuple(map(_cell, row)) for row in zip(*columns, strict=True)]


def _cell(value: Any) -> Any:
    """Zero has one sign, NaN is itself, and a list can be hashed."""
    if isinstance(value, dict):
        return tuple((name, _cell(item)) for name, item in value.items())
    if isinstance(value, list):
        return tuple(map(_cell, value))
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else value + 0.0
    return value


def _shapes(operator: Operator) -> Iterator[Operator]:
    """The operators that shape the result."""
    while isinstance(operator, Slice | Project | Distinct | Group | Sort | Filter):
        yield operator
        operator = operator.input


def order_of(root: Operator) -> tuple[SortKey, ...] | None:
    return next((operator.keys for operator in _shapes(root) if isinstance(operator, Sort)), None)


def cuts(root: Operator) -> bool:
    return any(isinstance(operator, Slice) for operator in _shapes(root))


def uncut(root: Operator) -> Operator:
    """The same rows, all of them."""
    below = map_inputs(root, uncut)
    return below.input if isinstance(below, Slice) else below
