"""Cleanup on executors, one task per dataset, for graphs with too many files for one process to list."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from omnigraph.spark.cluster.descriptions import described
from omnigraph.spark.cluster.session import check_session, session
from omnigraph.spark.cluster.tasks import run_tasks
from omnigraph.storage.tables.store import Store
from omnigraph.storage.upkeep.sweep import Needs, Swept, Terms, sweep
from omnigraph.write.upkeep.cleanup import Sweeper

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def sweeper(spark: SparkSession | None = None) -> Sweeper:
    """A sweeper on the given session, or on a local one."""

    def sweep_on_cluster(store: Store, needs: Sequence[Needs], terms: Terms) -> Iterable[Swept]:
        running = session() if spark is None else check_session(spark)
        # Longest task first, so that it does not start last and run alone.
        ordered = sorted(needs, key=lambda item: -len(item.versions))
        with described(running, f"Omnigraph: cleanup {store.root}: {len(ordered)} datasets"):
            return run_tasks(running, partial(_sweep_one, store, terms), ordered)

    return sweep_on_cluster


def _sweep_one(store: Store, terms: Terms, needs: Needs) -> Swept:
    return sweep(store, needs, terms)
