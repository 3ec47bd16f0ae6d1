"""Loading with Spark: tasks write fragments, jobs check them, and one commit makes all of it visible.

The driver only ever holds descriptions. A load that fails before its plan is handed to the publisher takes the files
of its finished tasks away; those of lost tasks are garbage that nothing refers to.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import partial
from typing import TYPE_CHECKING

import pyarrow as pa

from omnigraph.core.tables import TablePin
from omnigraph.engine.loading import LoadJob
from omnigraph.history.plan import CommitInfo, PublishPlan, TableWrite
from omnigraph.manifest.publisher import Published
from omnigraph.manifest.reader import Capture
from omnigraph.rows.violations import Violations
from omnigraph.spark import limits
from omnigraph.spark.checks import SparkChecks
from omnigraph.spark.driver_checks import publish_checked
from omnigraph.spark.input import InputTable, LoadInput
from omnigraph.spark.parts import PartWriter
from omnigraph.spark.progress import Watch
from omnigraph.spark.rejects import Rejects
from omnigraph.spark.spaces import Spaces
from omnigraph.spark.tasks import OUTCOMES, attempts_max, outcome, outcome_batch, results, translated_jobs
from omnigraph.storage import staging
from omnigraph.storage.addresses import OFFSET_BITS, by_fragment
from omnigraph.storage.store import Store
from omnigraph.write.attempt import run
from omnigraph.write.context import WriteOptions
from omnigraph.write.load import WRITE_MODES, LoadMode
from omnigraph.write.staging import plan_of
from omnigraph.write.violations import violation_error

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Shortened = Mapping[str, Sequence[staging.ShortenedFragment]]
"""By table: committed fragments without the rows that the input replaces."""

WriteParts = Callable[[PartWriter], LoadInput]
"""Runs the tasks that write the input."""


@dataclass(frozen=True)
class PreparedSparkLoad:
    """A validated input, and how many committed rows it replaces."""

    spark: SparkSession
    input: LoadInput
    reads: frozenset[str]
    existing: Mapping[str, int]
    replaced: DataFrame | None
    """Space and address of every committed row that has an id of the input."""
    spaces: Mapping[int, str]
    fingerprint: str = ""

    @property
    def is_empty(self) -> bool:
        return False

    def stage(self, capture: Capture, info: CommitInfo, options: WriteOptions) -> PublishPlan:
        """One version of every table. Fragments are there already; deletion files are written by tasks."""
        tables = self.input.tables
        shortened = self._shorten(capture)
        staged = [self._stage_table(capture, table, shortened) for _, table in sorted(tables.items())]
        self.input.is_handed_over = True
        return plan_of(capture, staged, self.reads, info, options)

    def _shorten(self, capture: Capture) -> Shortened:
        if self.replaced is None:
            return {}
        from pyspark.sql import functions as f

        fragment = f.shiftright(f.col("committed"), OFFSET_BITS)
        rows = self.replaced.repartition(f.col("space"), fragment)
        pins = {space: capture.state.tables[key] for space, key in self.spaces.items()}
        work = partial(_shorten_fragments, self.input.store, pins, attempts_max(self.spark))
        found: dict[str, list[staging.ShortenedFragment]] = {}
        for space, shortened in (item for part in results(rows.mapInArrow(work, OUTCOMES)) for item in part):
            found.setdefault(self.spaces[space], []).append(shortened)
        return {key: sorted(items, key=lambda item: item.number) for key, items in found.items()}

    def _stage_table(
        self, capture: Capture, table: InputTable, shortened: Shortened
    ) -> tuple[TableWrite, staging.StagedVersion]:
        key, store, mode = table.entity.table_key, self.input.store, self.input.mode
        pin = capture.state.tables[key]
        base = store.open(pin.location, pin.lance_version)
        if mode is LoadMode.OVERWRITE:
            version = staging.stage_overwrite(store, base, pin.location, table.written)
            counts = (table.rows, 0, pin.rows)
        else:
            version = staging.stage_shortened(store, base, pin.location, table.written, shortened.get(key, ()))
            updated = self.existing.get(key, 0)
            counts = (table.rows - updated, updated, 0)
        if table.superseded:
            version = staging.stage_without(store, version, table.superseded.items())
        write = TableWrite(key, pin.location, WRITE_MODES[mode], version.version, version.rows, *counts)
        return write, version


def _shorten_fragments(
    store: Store, pins: Mapping[int, TablePin], attempts: int, batches: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """All rows to remove of a fragment come to one task, which writes its deletion file."""
    rows: dict[int, list[int]] = {}
    for batch in batches:
        for space, address in zip(*(column.to_pylist() for column in batch.columns), strict=True):
            rows.setdefault(space, []).append(address)

    def shorten() -> list[tuple[int, staging.ShortenedFragment]]:
        return [
            (space, staging.shorten_fragment(store, store.open(pin.location, pin.lance_version), pin.location, part))
            for space, addresses in sorted(rows.items())
            for pin in [pins[space]]
            for part in by_fragment(addresses)
        ]

    if rows:
        yield outcome_batch(0, outcome(shorten, attempts))


class Checks(Enum):
    """Who compares the keys of an input: the driver alone, the cluster, or whichever its size suggests."""

    AUTO = "auto"
    DRIVER = "driver"
    CLUSTER = "cluster"

    def is_driver(self, rows: int) -> bool:
        return self is Checks.DRIVER or (self is Checks.AUTO and rows <= limits.DRIVER_CHECK_ROWS)


def load_parts(
    spark: SparkSession, write_parts: WriteParts, checks: Checks, watch: Watch, rejects: Rejects | None, job: LoadJob
) -> tuple[dict[str, int], Published]:
    """Load what ``write_parts`` writes as one commit: how many entities of each table it brings, and the commit."""
    with watch.stage("reading"):
        store, rejecting = job.context.store, rejects is not None
        whole = write_parts(PartWriter(store, _pins(job), job.reading, job.embedding, rejecting, watch.counter))

    def publish(job: LoadJob, whole: LoadInput) -> Published:
        rows = sum(whole.counts().values())
        watch.is_read(rows)
        with watch.stage("checking"):
            if rejects is not None or checks.is_driver(rows):
                return publish_checked(job, whole, rejects)
            return _publish(spark, job, whole)

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


def _pins(job: LoadJob) -> Mapping[str, TablePin]:
    return job.context.manifests.warm(job.incarnation).tables


def _publish(spark: SparkSession, job: LoadJob, whole: LoadInput) -> Published:
    """Check on the cluster, and make it one commit."""
    cached: list[DataFrame] = []

    def prepare(capture: Capture) -> PreparedSparkLoad:
        with translated_jobs():
            return _prepare(spark, capture, whole, cached)

    try:
        _, published = run(job.context, job.incarnation, prepare, job.info, job.options)
    finally:
        for frame in cached:
            frame.unpersist()
    assert published is not None, "a load is never empty"
    return published


def _prepare(spark: SparkSession, capture: Capture, whole: LoadInput, cached: list[DataFrame]) -> PreparedSparkLoad:
    """Check the input against the graph; raises and changes nothing."""
    spaces = Spaces(capture.catalog, capture.state, whole.tables, whole.mode)
    checks = SparkChecks(spark, whole.store, whole, spaces, Violations())
    ids = _grouped(checks, cached)
    counts = checks.count_ids(ids)
    if not whole.is_settled and checks.settle_duplicates(ids, counts):
        ids = _grouped(checks, cached)
        counts = checks.count_ids(ids)
    _raise_if_any(checks.violations)
    checks.existing = {key: counts[spaces.ids(key)].existing for key in whole.tables}
    if whole.mode is LoadMode.APPEND:
        checks.refuse_existing(ids)
    checks.run(ids, counts)
    _raise_if_any(checks.violations)
    is_upsert = any(checks.existing.values())
    return PreparedSparkLoad(
        spark,
        whole,
        frozenset(spaces.asked),
        checks.existing,
        ids.where("inputs > 0 and committed is not null").select("space", "committed") if is_upsert else None,
        {spaces.ids(key): key for key in whole.tables},
    )


def _grouped(checks: SparkChecks, cached: list[DataFrame]) -> DataFrame:
    """Ids that matter, by space; kept, for all that goes wrong asks for them again."""
    ids = checks.by_id().persist()
    cached.append(ids)
    return ids


def _raise_if_any(violations: Violations) -> None:
    if violations.total:
        raise violation_error(violations)
