"""Loading with Spark: tasks write fragments, jobs check them, and one commit makes all of it visible.

The driver only ever holds descriptions. A load that fails before its plan is handed to the publisher takes the files
of its finished tasks away; those of lost tasks are garbage that nothing refers to.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum
from typing import TYPE_CHECKING

from omnigraph.core.tables import TablePin
from omnigraph.engine.load.run import LoadJob
from omnigraph.manifest.publisher import Published
from omnigraph.spark.cluster import limits
from omnigraph.spark.cluster.connect import is_connect
from omnigraph.spark.cluster.progress import Watch
from omnigraph.spark.cluster.tasks import NOT_COUNTED
from omnigraph.spark.load.checks.on_cluster import publish_checked_on_cluster
from omnigraph.spark.load.checks.on_driver import publish_checked
from omnigraph.spark.load.input import LoadInput
from omnigraph.spark.load.rejects import Rejects
from omnigraph.spark.load.slices import SliceWriter
from omnigraph.write.attempt import READ

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

WriteSlices = Callable[[SliceWriter], LoadInput]
"""Runs the tasks that write the input."""


class Checks(Enum):
    """Who compares the keys of an input: the driver alone, the cluster, or whoever will be faster."""

    AUTO = "auto"
    DRIVER = "driver"
    CLUSTER = "cluster"

    def is_driver(self, rows: int, cores: int | None) -> bool:
        """Whether the driver does it, beside a cluster of so many ``cores``, if that is known."""
        if self is not Checks.AUTO:
            return self is Checks.DRIVER
        is_small = cores is not None and cores <= limits.DRIVER_CHECK_CORES
        return rows <= (limits.DRIVER_CHECK_ROWS_MAX if is_small else limits.DRIVER_CHECK_ROWS)


def load_slices(
    spark: SparkSession, write_slices: WriteSlices, checks: Checks, watch: Watch, rejects: Rejects | None, job: LoadJob
) -> tuple[dict[str, int], Published]:
    """Load what ``write_parts`` writes as one commit: how many entities of each table it brings, and the commit."""
    with job.context.profiler.step(READ) as step:
        store, rejecting = job.context.store, rejects is not None
        with watch.stage("reading"):
            whole = write_slices(SliceWriter(store, _pins(job), job.reading, job.embedding, rejecting, watch.counter))
        job.context.profiler.say(f"tasks: {len(whole.slices):,}; {NOT_COUNTED}")
        step.rows = whole.rows_written

    def publish(job: LoadJob, whole: LoadInput) -> Published:
        rows = sum(whole.counts().values())
        watch.reading_done(rows)
        with watch.stage("checking"):
            if checks.is_driver(rows, _cores(spark)):
                return publish_checked(job, whole, rejects)
            return publish_checked_on_cluster(spark, job, whole, rejects)

    return publish_input(job, whole, publish)


def publish_input(
    job: LoadJob, whole: LoadInput, publish: Callable[[LoadJob, LoadInput], Published]
) -> tuple[dict[str, int], Published]:
    """Put an input together that tasks wrote, and publish it. What is not published is deleted, if that is certain."""
    try:
        whole.assemble(job.catalog, _pins(job))
        published = publish(job, whole)
    except BaseException:
        # Once a plan is in the publisher's hands only the manifest can say whether it was published.
        whole.discard(with_data=not whole.is_handed_over)
        raise
    # The commit that was there before may be one of another run of this very load, with the same fragments.
    whole.discard(with_data=published.commit.id != job.info.id and whole.disposable is None)
    return whole.counts(), published


def _cores(spark: SparkSession) -> int | None:
    """How many cores the executors have now. A session of Spark Connect does not say."""
    return None if is_connect(spark) else spark.sparkContext.defaultParallelism


def _pins(job: LoadJob) -> Mapping[str, TablePin]:
    return job.context.manifests.warm(job.incarnation).tables
