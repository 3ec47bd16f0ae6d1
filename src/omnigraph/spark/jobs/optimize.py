"""Maintenance on a cluster: executors rewrite fragments and build index segments, the driver commits what they made.

The pieces are those of the embedded engine, so the result is the same. A piece that fails for good ends the work on its
table before anything is published; files that were written by then are for ``cleanup``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from omnigraph.engine.engine_choice import BY_SPARK
from omnigraph.spark.cluster.session import check_session, session
from omnigraph.spark.cluster.tasks import run_tasks
from omnigraph.storage.upkeep.work import Workers

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

T = TypeVar("T")
R = TypeVar("R")


@dataclass
class _Cluster:
    """Runs pieces on a session. Where there is nothing to do, none is started."""

    spark: SparkSession | None

    def __call__(self, work: Callable[[T], R], items: Sequence[T], /) -> list[R]:
        if not items:
            return []
        self.spark = session() if self.spark is None else check_session(self.spark)
        return run_tasks(self.spark, work, items)


def workers(spark: SparkSession | None = None) -> Workers:
    """The executors of a session, or of the one of this machine."""
    return Workers(BY_SPARK, _Cluster(spark))
