"""Maintenance on a cluster: executors rewrite fragments and build index segments, and the driver commits them.

The tasks are those of the embedded engine, so the result is the same. A task that fails permanently ends the work on
its table before anything is published; files written by then are garbage for ``cleanup``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from omnigraph.engine.engine_choice import BY_SPARK
from omnigraph.spark.cluster.descriptions import described
from omnigraph.spark.cluster.session import check_session, session
from omnigraph.spark.cluster.tasks import run_tasks
from omnigraph.storage.upkeep.work import Workers

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

T = TypeVar("T")
R = TypeVar("R")


@dataclass
class _Cluster:
    """Runs tasks of a graph on a session. Starts no session if there are no tasks."""

    root: str
    spark: SparkSession | None

    def __call__(self, work: Callable[[T], R], items: Sequence[T], /) -> list[R]:
        if not items:
            return []
        self.spark = session() if self.spark is None else check_session(self.spark)
        with described(self.spark, f"Omnigraph: optimize {self.root}: {len(items)} tasks"):
            return run_tasks(self.spark, work, items)


def workers(root: str, spark: SparkSession | None = None) -> Workers:
    """Maintenance workers for a graph on the executors of the given session, or of a local one."""
    return Workers(BY_SPARK, _Cluster(root, spark))
