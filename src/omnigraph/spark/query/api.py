"""Queries on Spark: the door. The same IR as the embedded executor runs, over the same snapshot, as a frame."""

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
from omnigraph.exec.shape.result_rows import ResultRows
from omnigraph.manifest.layout import MAIN
from omnigraph.query.ir import QueryIR
from omnigraph.rows.arrow_types import column_type
from omnigraph.spark.cluster.session import check_session, session
from omnigraph.spark.cluster.tasks import translated_jobs
from omnigraph.spark.query.bound_rows import Names
from omnigraph.spark.query.multiplicity import TOO_MANY
from omnigraph.spark.query.operators import RowOperators
from omnigraph.spark.query.rankings import with_computed
from omnigraph.spark.query.shaping import ShapeOperators
from omnigraph.spark.query.tables import QueryTables

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

RAISED = "USER_RAISED_EXCEPTION"
"""What Spark calls an error that an expression raised on purpose: those of ``numbers`` and ``weights``."""

WATCH_SECONDS = 0.2
"""How often a running query is asked whether it is still wanted."""


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
    """Run a read on Spark, whatever its size, and bring its rows here as the ordinary result.

    Time that runs out (``timeout``, in seconds), or setting ``cancel`` from another thread, ends its jobs.
    """
    budget = Budget(timeout, None, cancel or threading.Event())
    shown = None if at is not None else branch or MAIN

    def run(bound: QueryIR, view: GraphView) -> QueryResult:
        return QueryResult(bound.name, query_rows(bound, view, budget, spark), shown, view.state.head)

    return graph.query_with(run, text, params, name=name, branch=branch, at=at)


def query_frame(query: QueryIR, view: GraphView, spark: SparkSession | None = None) -> DataFrame:
    """The rows of a bound query as a frame with the result's columns. It runs when it is read, save searches of many
    hops, which take one job a hop, and the words of a text ranking, which are counted first."""
    frame = _planned(query, view, session() if spark is None else check_session(spark))
    return frame.toDF(*(column.name for column in query.columns))


def query_rows(query: QueryIR, view: GraphView, budget: Budget, spark: SparkSession | None = None) -> ResultRows:
    """The same, run and brought here. Time that runs out, or a caller that leaves, ends the jobs of the query."""
    running = session() if spark is None else check_session(spark)
    with _watched(running, budget), translated_jobs(), _raised():
        table = _planned(query, view, running).toArrow()
    schema = pa.schema([pa.field(item.name, column_type(item.expression.type)) for item in query.columns])
    columns = [column.cast(field.type) for column, field in zip(table.columns, schema, strict=True)]
    rows = pa.Table.from_arrays(columns, schema=schema)

    def read(start: int, stop: int) -> list[pa.Array]:
        return [column.combine_chunks() for column in rows.slice(start, stop - start).columns]

    return ResultRows(schema, rows.num_rows, read)


def _planned(query: QueryIR, view: GraphView, spark: SparkSession) -> DataFrame:
    root, computed = with_computed(query.root)
    tables = QueryTables(spark, view, Names(), computed, dict(node_variables(root)))
    return ShapeOperators(RowOperators(tables)).result(root, query.columns)


@contextmanager
def _raised() -> Iterator[None]:
    """What an expression raised on purpose, as our error."""
    from pyspark.errors import PySparkException

    try:
        yield
    except PySparkException as error:
        if error.getCondition() != RAISED:
            raise
        said = (error.getMessageParameters() or {}).get("errorMessage", str(error))
        if said == TOO_MANY:
            raise LimitExceeded(said, hint="narrow the pattern", resource="rows", limit=ROWS_MAX) from error
        raise InputError(said) from error


@contextmanager
def _watched(spark: SparkSession, budget: Budget) -> Iterator[None]:
    """Jobs that end when the query is cancelled or its time is up."""
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
        # If the jobs were ended by us, that is what happened.
        budget.check()
        raise
    finally:
        done.set()
        watcher.join()
        jobs.forget()


@dataclass(frozen=True)
class TaggedJobs:
    """The jobs that this thread starts, by a tag that another thread can end them with."""

    spark: SparkSession
    tag: str

    @property
    def _context(self) -> Any:
        """Who tags jobs. In a classic session the context: results are brought here by threads that inherit its tags,
        but not those of the session."""
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
