"""The tables of one commit as temporary views of a session, for Spark SQL."""

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
    """Register a view for every type, and say which table each shows. All show the same commit, now and later.

    Names are those of ``graph.sql``, after the prefix. Views have no Blob properties. Views of the same names are
    replaced.
    """
    if prefix and not prefix.isidentifier():
        raise UsageError(f"{prefix!r} cannot begin the name of a view", hint="use letters, digits and underscores")
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
