"""Temporary views of the tables of one commit, for Spark SQL."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from omnigraph.engine.graph import Graph
from omnigraph.engine.query.table_names import table_names
from omnigraph.errors import UsageError
from omnigraph.spark.cluster.session import check_session, session
from omnigraph.spark.source.registration import register

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def views(
    graph: Graph,
    branch: str | None = None,
    *,
    at: str | datetime | None = None,
    prefix: str = "",
    spark: SparkSession | None = None,
) -> dict[str, str]:
    """Register a view for every type; returns the table key of each view. All views stay at the same commit.

    Names are those of ``graph.sql``, after the prefix. Views omit Blob properties. Views of the same names are
    replaced.
    """
    if prefix and not prefix.isidentifier():
        raise UsageError(
            f"invalid prefix of a view name: {prefix!r}",
            hint="use letters, digits and underscores, not starting with a digit",
        )
    running = session() if spark is None else check_session(spark)
    register(running)
    snapshot = graph.snapshot(branch, at=at)
    made: dict[str, str] = {}
    for name, entity in table_names(snapshot.entities()).items():
        options = {
            "store": graph.uri,
            "type": entity.name,
            "kind": entity.table_key.partition(":")[0],
            "at": snapshot.commit_id,
            **{f"storage.{option}": value for option, value in snapshot.store.options.items()},
        }
        running.read.format("omnigraph").options(**options).load().createOrReplaceTempView(f"{prefix}{name}")
        made[f"{prefix}{name}"] = entity.table_key
    return made
