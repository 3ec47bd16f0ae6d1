"""Spark SQL over the tables of a commit, reading only what a query needs.

Spark plans the query twice. The first plan, over whole tables, shows the needed columns and conditions. The second one
is over frames with exactly these, and with a hint to broadcast those that are known to be small; Spark knows no sizes
of a data source written in Python.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any

from omnigraph.engine.graph import Graph
from omnigraph.engine.query.table_names import table_names
from omnigraph.engine.snapshot import Snapshot
from omnigraph.errors import CompileError, UsageError
from omnigraph.rows.arrow_types import ID, Entity, table_schema
from omnigraph.spark.cluster.connect import is_connect
from omnigraph.spark.cluster.session import check_session, session
from omnigraph.spark.cluster.spark_types import row_bytes, spark_schema
from omnigraph.spark.jobs.needs import MARK, Needs, plan_needs
from omnigraph.spark.source.options import SourceOptions
from omnigraph.spark.source.registration import register

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def sql_frame(
    graph: Graph,
    text: str,
    branch: str | None = None,
    *,
    at: str | datetime | None = None,
    spark: SparkSession | None = None,
) -> DataFrame:
    """The lazy result of a query in Spark SQL. Tables are named as in ``graph.sql``, without Blob properties."""
    running = session() if spark is None else check_session(spark)
    if is_connect(running):
        raise UsageError(
            "spark_sql needs the plan of a query, which Spark Connect does not show",
            hint="use graph.spark_views(prefix=...) and spark.sql, with columns named in the views",
        )
    register(running)
    tables = _Tables(graph, graph.snapshot(branch, at=at), cloned(running))
    first: DataFrame = tables.planned(text, {})
    second: DataFrame | None = tables.planned(text, plan_needs(first))
    return second if second is not None and second.schema == first.schema else first


def cloned(spark: SparkSession) -> SparkSession:
    """A session with the functions, views and settings of another: views made here replace none of its own."""
    from pyspark.sql import SparkSession

    inner: Any = spark
    return SparkSession(spark.sparkContext, inner._jsparkSession.cloneSession())


class _Tables:
    """The tables of one commit in a session."""

    def __init__(self, graph: Graph, snapshot: Snapshot, spark: SparkSession) -> None:
        self._graph = graph
        self._snapshot = snapshot
        self._spark = spark

    def planned(self, text: str, needs: Mapping[str, Needs]) -> Any:
        """The query over frames with these needs; with needs, None if it cannot be planned over them."""
        from pyspark.errors import AnalysisException

        for name, entity in table_names(self._snapshot.entities()).items():
            # Creating a frame starts a Python process, so tables that the text does not mention get none.
            if name in needs if needs else name.lower() in text.lower():
                self._frame(name, entity, needs.get(name)).createOrReplaceTempView(name)
        try:
            return self._spark.sql(text)
        except AnalysisException:
            # Such as SELECT * EXCEPT (name), which names a column that the result does not need.
            if needs:
                return None
            raise

    def _frame(self, name: str, entity: Entity, needs: Needs | None) -> DataFrame:
        from pyspark.sql import functions as f

        key = entity.table_key
        options = {
            "store": self._graph.uri,
            "type": entity.name,
            "kind": key.partition(":")[0],
            "at": self._snapshot.commit_id,
            MARK: name,
            **{f"storage.{option}": value for option, value in self._snapshot.store.options.items()},
        }
        if needs is None:
            return self._spark.read.format("omnigraph").options(**options).load()
        columns = [column for column in table_schema(entity).names if column in needs.columns] or [ID]
        where = needs.where(lambda text: _is_filter(entity, text))
        options |= {"columns": ",".join(columns)} | ({} if where is None else {"where": where})
        frame = self._spark.read.format("omnigraph").options(**options).load()
        rows = self._snapshot.state.tables[key].rows
        is_small = rows * row_bytes(spark_schema(entity, columns)) <= self._snapshot.store.tuning.broadcast_bytes
        return f.broadcast(frame) if is_small else frame


def _is_filter(entity: Entity, text: str) -> bool:
    """True for a condition that storage evaluates as Spark does."""
    try:
        SourceOptions("", where=text).filter(entity)
    except CompileError:
        return False
    return True
