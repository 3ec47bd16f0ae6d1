"""Public functions of queries on Spark: the IR of the embedded executor, over the same snapshot, as a frame."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from omnigraph.engine.graph import Graph
from omnigraph.engine.query.embedding import node_variables
from omnigraph.engine.query.result import QueryResult
from omnigraph.errors import InputError, LimitExceeded, QueryCancelled, SparkError
from omnigraph.exec.budget import Budget
from omnigraph.exec.graph_view import GraphView
from omnigraph.exec.multiplicity import ROWS_MAX
from omnigraph.exec.shape.nested import nested, result_schema
from omnigraph.exec.shape.result_rows import ResultRows
from omnigraph.manifest.layout import MAIN
from omnigraph.query.ir import QueryIR
from omnigraph.query.shaping.entities import result_columns
from omnigraph.spark.cluster.descriptions import described
from omnigraph.spark.cluster.session import check_session, session
from omnigraph.spark.cluster.spark_types import from_spark
from omnigraph.spark.cluster.tasks import translated_jobs
from omnigraph.spark.query.bound_rows import Names
from omnigraph.spark.query.multiplicity import TOO_MANY
from omnigraph.spark.query.rankings import with_computed
from omnigraph.spark.query.shaping import ShapeOperators
from omnigraph.spark.query.tables import QueryTables

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

RAISED = "USER_RAISED_EXCEPTION"
"""Spark's error class of ``raise_error``, which ``numbers`` and ``multiplicity`` use."""

WATCH_SECONDS = 0.2
"""Polling interval for cancellation and timeout of a running query."""


def query(
    graph: Graph,
    text: str,
    params: Mapping[str, object] | None = None,
    *,
    spark: SparkSession | None = None,
    name: str | None = None,
    branch: str | None = None,
    at: str | datetime | None = None,
    timeout: float | None = None,
    cancel: threading.Event | None = None,
) -> QueryResult:
    """Run a read query on Spark, whatever its size, and collect its rows as an ordinary result.

    Its jobs are cancelled after ``timeout`` seconds, or when another thread sets ``cancel``.
    """
    budget = Budget(timeout, None, cancel or threading.Event())
    shown = None if at is not None else branch or MAIN

    def run(bound: QueryIR, view: GraphView) -> QueryResult:
        return QueryResult(bound.name, query_rows(bound, view, budget, spark), shown, view.state.head)

    return graph.query_with(run, text, params, name=name, branch=branch, at=at)


def query_frame(query: QueryIR, view: GraphView, spark: SparkSession | None = None) -> DataFrame:
    """The rows of a bound query as a frame with the result's columns.

    The frame is lazy, with three exceptions: a search of many hops runs one job per hop, a text ranking counts the
    words of its query first, and a count of walks over many edges first hashes the ids of their nodes.
    """
    from pyspark.sql import functions as f

    frame = _planned(query, view, session() if spark is None else check_session(spark))
    names = frame.columns
    chosen = []
    for start, group in result_columns(query.columns):
        if group[0].field is None:
            chosen.append(f.col(names[start]))
            continue
        fields = [f.col(names[start + place]).alias(str(item.field)) for place, item in enumerate(group)]
        chosen.append(f.when(f.col(names[start]).isNotNull(), f.struct(*fields)))
    made = frame.select(*(item.alias(f"r{place}") for place, item in enumerate(chosen)))
    return made.toDF(*(group[0].name for _, group in result_columns(query.columns)))


def query_rows(query: QueryIR, view: GraphView, budget: Budget, spark: SparkSession | None = None) -> ResultRows:
    """Run a bound query and collect its rows. Timeout or cancellation of the budget cancels its jobs."""
    running = session() if spark is None else check_session(spark)
    with _watched(running, budget), translated_jobs(), _raised(), described(running, _description(query, view)):
        table = _planned(query, view, running).toArrow()
    cast = [
        from_spark(column.combine_chunks(), item.expression.type)
        for column, item in zip(table.columns, query.columns, strict=True)
    ]
    schema = result_schema(query.columns)
    made = [column.cast(field.type) for column, field in zip(nested(query.columns, cast), schema, strict=True)]
    rows = pa.Table.from_arrays(made, schema=schema)

    def read(start: int, stop: int) -> list[pa.Array]:
        return [column.combine_chunks() for column in rows.slice(start, stop - start).columns]

    return ResultRows(schema, rows.num_rows, read)


def _planned(query: QueryIR, view: GraphView, spark: SparkSession) -> DataFrame:
    root, computed = with_computed(query.root)
    tables = QueryTables(spark, view, Names(), computed, dict(node_variables(root)))
    # The jobs of long paths and rankings; those that read a lazy frame belong to the caller.
    with described(spark, _description(query, view)):
        return ShapeOperators(tables, root).result(root, query.columns)


def _description(query: QueryIR, view: GraphView) -> str:
    return f"Omnigraph: query {view.store.root}, commit {view.state.head}: {query.name}"


@contextmanager
def _raised() -> Iterator[None]:
    """Translate errors that an expression raised on purpose."""
    from pyspark.errors import PySparkException

    try:
        yield
    except PySparkException as error:
        if error.getCondition() != RAISED:
            raise
        message = (error.getMessageParameters() or {}).get("errorMessage", str(error))
        if message == TOO_MANY:
            raise LimitExceeded(message, hint="narrow the pattern", resource="rows", limit=ROWS_MAX) from error
        raise InputError(message) from error


@contextmanager
def _watched(spark: SparkSession, budget: Budget) -> Iterator[None]:
    """Cancel the jobs of the block when the query is cancelled or times out."""
    budget.check()
    jobs, done = TaggedJobs(spark, f"omnigraph-{uuid.uuid4().hex}"), threading.Event()

    def watch() -> None:
        while not done.wait(WATCH_SECONDS):
            try:
                budget.check()
            except (LimitExceeded, QueryCancelled):
                jobs.end()

    watcher = threading.Thread(target=watch, name=jobs.tag, daemon=True)
    jobs.begin()
    watcher.start()
    try:
        yield
    except SparkError:
        # Jobs that the watcher cancelled fail with SparkError; report the timeout or cancellation instead.
        budget.check()
        raise
    finally:
        done.set()
        watcher.join()
        jobs.forget()


@dataclass(frozen=True)
class TaggedJobs:
    """The jobs of this thread under a tag, by which another thread can cancel them."""

    spark: SparkSession
    tag: str

    @property
    def _context(self) -> Any:
        """The Spark context, or None with Spark Connect. On a classic session, threads that collect results inherit the
        tags of the context, but not those of the session."""
        from pyspark.sql.utils import is_remote

        return None if is_remote() else self.spark.sparkContext

    def begin(self) -> None:
        if self._context is None:
            self.spark.addTag(self.tag)
        else:
            self._context.addJobTag(self.tag)

    def forget(self) -> None:
        if self._context is None:
            self.spark.removeTag(self.tag)
        else:
            self._context.removeJobTag(self.tag)

    def end(self) -> None:
        if self._context is None:
            self.spark.interruptTag(self.tag)
        else:
            self._context.cancelJobsWithTag(self.tag)
