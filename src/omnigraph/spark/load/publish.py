"""Publication of a Spark load: tasks write fragments, the checks read them, and one commit makes them visible.

The driver holds descriptions of fragments, never rows. A load that fails before the publisher receives its plan deletes
the files of its completed tasks. Files of lost tasks are unreferenced, and garbage for cleanup.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum
from typing import TYPE_CHECKING

from omnigraph.core.tables import TablePin
from omnigraph.core.tuning import Tuning
from omnigraph.engine.load.run import LoadJob
from omnigraph.manifest.queue import Published
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
from omnigraph.write.load.mode import LoadMode
from omnigraph.write.load.outcome import Loaded
from omnigraph.write.preview import Previewed, is_committed

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

WriteSlices = Callable[[SliceWriter], LoadInput]
"""A function that runs the tasks which write the input."""


class Checks(Enum):
    """The place of key comparison: the driver, the cluster, or the one that should be faster."""

    AUTO = "auto"
    DRIVER = "driver"
    CLUSTER = "cluster"

    def is_driver(self, rows: int, cores: int | None, tuning: Tuning) -> bool:
        """True if the driver runs the checks. ``cores`` is the number of cores of the cluster, None if unknown."""
        if self is not Checks.AUTO:
            return self is Checks.DRIVER
        is_small = cores is not None and cores <= tuning.driver_check_cores
        return rows <= (limits.DRIVER_CHECK_ROWS_MAX if is_small else tuning.driver_check_rows)


def load_slices(
    spark: SparkSession, write_slices: WriteSlices, checks: Checks, watch: Watch, rejects: Rejects | None, job: LoadJob
) -> Loaded:
    """Load what ``write_slices`` writes as one atomic commit."""
    with job.context.profiler.step(READ) as step:
        store, rejecting = job.context.store, rejects is not None
        watch.label = f"Omnigraph: load {store.root}, commit {job.info.id}"
        with watch.stage("reading"):
            writer = SliceWriter(
                store, _pins(job), job.reading, job.embedding, rejecting, watch.counts, job.mode.omissions
            )
            whole = write_slices(writer)
        job.context.profiler.say(f"tasks: {len(whole.slices):,}; {NOT_COUNTED}")
        step.rows = whole.rows_written

    def publish(job: LoadJob, whole: LoadInput) -> Published | Previewed:
        rows = sum(whole.counts().values())
        watch.reading_done(rows)
        with watch.stage("checking"):
            if _needs_driver(job, whole) or checks.is_driver(rows, _cores(spark), store.tuning):
                return publish_checked(job, whole, rejects)
            return publish_checked_on_cluster(spark, job, whole, rejects)

    return publish_input(job, whole, publish)


def publish_input(
    job: LoadJob, whole: LoadInput, publish: Callable[[LoadJob, LoadInput], Published | Previewed]
) -> Loaded:
    """Assemble the slices of an input and publish them. Files that are certainly unpublished are deleted."""
    try:
        whole.assemble(job.catalog, _pins(job))
        finished = publish(job, whole)
    except BaseException:
        # Once the publisher has the plan, only the manifest knows the outcome: deleting could destroy a commit.
        whole.discard(with_data=not whole.is_handed_over)
        raise
    # An earlier commit with the same idempotency key may be that of another run of this load, with these fragments.
    whole.discard(with_data=not is_committed(finished, job.info.id) and whole.disposable is None)
    return Loaded(whole.counts(), finished, whole.cleared)


def _needs_driver(job: LoadJob, whole: LoadInput) -> bool:
    """True if only the driver joins the rows with the committed ones: to complete them, or to count an overwrite."""
    pins = _pins(job)
    return job.mode.is_partial or (job.mode is LoadMode.OVERWRITE and any(pins[key].rows for key in whole.tables))


def _cores(spark: SparkSession) -> int | None:
    """Current number of cores of the executors; None with Spark Connect, where it is unknown."""
    return None if is_connect(spark) else spark.sparkContext.defaultParallelism


def _pins(job: LoadJob) -> Mapping[str, TablePin]:
    return job.context.manifests.warm(job.incarnation).tables
