"""Tables of a graph in a database of Spark's catalog: ``SELECT * FROM kb.Person``.

Spark takes catalogs, ``graph.branch.Type``, from Java classes only (ADR 23), so a database stands for a branch.
"""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from omnigraph.engine.graph import Graph
from omnigraph.engine.query.table_names import table_names
from omnigraph.errors import UsageError
from omnigraph.spark.cluster.session import check_session, session
from omnigraph.spark.cluster.tasks import translated_jobs
from omnigraph.spark.source.registration import register
from omnigraph.spark.source.table_options import without_secrets

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def tables(
    graph: Graph,
    database: str,
    branch: str | None = None,
    *,
    at: str | datetime | None = None,
    spark: SparkSession | None = None,
) -> dict[str, str]:
    """Create a table for every type; returns the table key of each name.

    The tables read the head of the branch when a query is planned, or the commit that was named. Tables of the same
    names are replaced, and those of types that no longer exist stay.
    """
    if not database.isidentifier():
        raise UsageError(
            f"invalid name of a database: {database!r}",
            hint="use letters, digits and underscores, not starting with a digit",
        )
    running = session() if spark is None else check_session(spark)
    register(running)
    snapshot = graph.snapshot(branch, at=at)
    chosen = {"branch": branch} if branch is not None else {}
    if at is not None:
        chosen = {"at": snapshot.commit_id}
    storage = {f"storage.{option}": value for option, value in snapshot.store.options.items()}
    made: dict[str, str] = {}
    with translated_jobs():
        running.sql(f"CREATE DATABASE IF NOT EXISTS `{database}`")
        for name, entity in table_names(snapshot.entities()).items():
            options = {
                "store": graph.uri,
                "type": entity.name,
                "kind": entity.table_key.partition(":")[0],
                **chosen,
                **without_secrets(storage),
            }
            given = ", ".join(f"{_text(option)} {_text(value)}" for option, value in options.items())
            running.sql(f"DROP TABLE IF EXISTS `{database}`.`{name}`")
            running.sql(f"CREATE TABLE `{database}`.`{name}` USING omnigraph OPTIONS ({given})")
            made[f"{database}.{name}"] = entity.table_key
    return made


def _text(value: str) -> str:
    """A text in Spark SQL."""
    escaped = value.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
