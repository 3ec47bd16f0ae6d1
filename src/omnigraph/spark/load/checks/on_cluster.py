"""Cross-row checks of a load on the cluster, and the staging of its tables.

Jobs compare the keys of the input with each other and with the graph. Tasks then write deletion files for committed
rows that the input replaces. The driver holds only counts and violating rows: samples, or all of them if they are
rejected.

Invariants:

* A plan is valid only for the capture that it was checked against. If another writer publishes
  first, ``run`` calls ``prepare`` again with the new state, and the checks start over.
* Rejection is monotonic: a rejected row stays rejected in every later attempt, even if another writer has made it
  valid. Otherwise the rejects file and the commit could disagree.
* From the moment that ``stage`` hands its files over, nothing may delete them: only the manifest knows whether the
  commit exists.
* Exactly one task shortens a fragment of a committed table, because Lance has one deletion file per fragment.

Example of ``ids`` for a merge of five input rows of a type without a key, in space 0. The committed row of ``bob`` has
the address ``1 << 32 | 7``, that is fragment 1, offset 7.

=====  ===  ======  ====  ===========  ====  ============================================
space  key  inputs  last  committed    refs  consequence
=====  ===  ======  ====  ===========  ====  ============================================
0      ann  2       4     null         0     row 4 wins, the earlier row is superseded
0      bob  1       1     1 << 32 | 7  0     offset 7 of fragment 1 is deleted
0      eve  0       null  null         3     three dangling ends: a violation
=====  ===  ======  ====  ===========  ====  ============================================

Ids without a consequence, here those of the other two rows, are not in ``ids``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from omnigraph.core.tables import Counts, TablePin
from omnigraph.engine.load.run import LoadJob
from omnigraph.history.plan import CommitInfo, PublishPlan, TableWrite
from omnigraph.history.state import Fence
from omnigraph.manifest.queue import Published
from omnigraph.manifest.reader import Capture
from omnigraph.rows.rejected.reasons import EveryViolation
from omnigraph.rows.violations import Violations
from omnigraph.spark.cluster.python_workers import mapped
from omnigraph.spark.cluster.tasks import (
    NOT_COUNTED,
    OUTCOMES,
    attempts_max,
    outcome,
    outcome_batch,
    results,
    translated_jobs,
)
from omnigraph.spark.load.checks.rules import RejectingSparkChecks, SparkChecks
from omnigraph.spark.load.checks.spaces import Spaces
from omnigraph.spark.load.checks.unchanged import Unchanged, find_unchanged
from omnigraph.spark.load.input import InputTable, LoadInput
from omnigraph.spark.load.rejects import Rejects
from omnigraph.storage.stage import staging
from omnigraph.storage.tables.row_addresses import OFFSET_BITS, by_fragment
from omnigraph.storage.tables.store import Store
from omnigraph.write import limits
from omnigraph.write.attempt import CHECK, WriteJob
from omnigraph.write.context import WriteOptions
from omnigraph.write.load.kept_files import check_files_kept
from omnigraph.write.load.mode import LoadMode
from omnigraph.write.load.plan import WRITE_MODES
from omnigraph.write.load.reject.checks import as_superseded
from omnigraph.write.preview import Previewed
from omnigraph.write.retyping import check_same_type
from omnigraph.write.staging import plan_writes
from omnigraph.write.violations import violation_error

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Shortened = Mapping[str, Sequence[staging.ShortenedFragment]]
"""By table: committed fragments, without the rows that the input replaces."""


@dataclass(frozen=True)
class PreparedSparkLoad:
    """A validated input, ready to stage, with the committed rows that it replaces."""

    spark: SparkSession
    input: LoadInput
    reads: frozenset[str]
    existing: Mapping[str, int]
    replaced: DataFrame | None
    """Space and address of every committed row with an id of the input; None if there is none."""
    spaces: Mapping[int, str]
    unchanged: Mapping[str, Unchanged] = field(default_factory=dict)
    """Rows that equal their committed images, by table."""
    fingerprint: str = ""

    @property
    def is_empty(self) -> bool:
        return False

    def stage(self, capture: Capture, info: CommitInfo, options: WriteOptions) -> PublishPlan:
        """Stage one version per table. The fragments exist already; tasks write the deletion files."""
        tables = self.input.tables
        shortened = self._shorten(capture)
        staged = [
            self._assemble_table(capture, table, shortened)
            for _, table in sorted(tables.items())
            if any(self._counts(capture, table))
        ]
        # Before the plan leaves this method: from here on a failure must not delete the files of the input.
        self.input.is_handed_over = True
        return plan_writes(capture, staged, self.reads, info, options)

    def _shorten(self, capture: Capture) -> Shortened:
        if self.replaced is None:
            return {}
        from pyspark.sql import functions as f

        fragment = f.shiftright(f.col("committed"), OFFSET_BITS)
        # All rows of a fragment go to one task: two tasks would write two deletion files, and one would be lost.
        rows = self.replaced.repartition(f.col("space"), fragment)
        pins = {space: capture.state.tables[key] for space, key in self.spaces.items()}
        stays = {space: self.unchanged[key].stays() for space, key in self.spaces.items() if key in self.unchanged}
        work = partial(_shorten_fragments, self.input.store, pins, stays, attempts_max(self.spark))
        found: dict[str, list[staging.ShortenedFragment]] = {}
        for space, shortened in (item for task in results(mapped(rows, work, OUTCOMES)) for item in task):
            found.setdefault(self.spaces[space], []).append(shortened)
        return {key: sorted(items, key=lambda item: item.number) for key, items in found.items()}

    def _assemble_table(
        self, capture: Capture, table: InputTable, shortened: Shortened
    ) -> tuple[TableWrite, staging.StagedVersion]:
        key, store, mode = table.entity.table_key, self.input.store, self.input.mode
        pin = capture.state.tables[key]
        base = store.open(pin.location, pin.lance_version)
        if mode is LoadMode.OVERWRITE:
            version = staging.stage_overwrite(store, base, pin.location, table.written)
        else:
            version = staging.stage_shortened(store, base, pin.location, table.written, shortened.get(key, ()))
        dropped = dict(table.superseded)
        for rows in self.unchanged[key].given if key in self.unchanged else ():
            dropped = self.input.dropping(key, rows.tolist(), dropped)
        if dropped:
            # By data file, not by address: fragments of the input have other numbers in the target table.
            version = staging.stage_without(store, version, dropped.items())
        counts = self._counts(capture, table)
        write = TableWrite(key, pin.location, WRITE_MODES[mode], version.version, version.rows, *counts)
        return write, version

    def counts(self, capture: Capture) -> dict[str, Counts]:
        return {key: self._counts(capture, table) for key, table in self.input.tables.items()}

    def _counts(self, capture: Capture, table: InputTable) -> Counts:
        key = table.entity.table_key
        if self.input.mode is LoadMode.OVERWRITE:
            return table.rows, 0, capture.state.tables[key].rows
        existing = self.existing.get(key, 0)
        unchanged = self.unchanged[key].rows if key in self.unchanged else 0
        return table.rows - existing, existing - unchanged, 0


def _shorten_fragments(
    store: Store,
    pins: Mapping[int, TablePin],
    stays: Mapping[int, npt.NDArray[np.uint64]],
    attempts: int,
    batches: Iterator[pa.RecordBatch],
) -> Iterator[pa.RecordBatch]:
    """Write a deletion file for every fragment of this task, which receives all rows to delete from each.

    ``stays`` are the addresses of rows that equal those of the input.
    """
    rows: dict[int, list[int]] = {}
    for batch in batches:
        for space, address in zip(*(column.to_pylist() for column in batch.columns), strict=True):
            rows.setdefault(space, []).append(address)

    def shorten() -> list[tuple[int, staging.ShortenedFragment]]:
        return [
            (space, staging.shorten_fragment(store, store.open(pin.location, pin.lance_version), pin.location, group))
            for space, addresses in sorted(rows.items())
            for pin in [pins[space]]
            for group in by_fragment(np.setdiff1d(addresses, stays.get(space, ())).tolist())
        ]

    if rows:
        yield outcome_batch(0, outcome(shorten, attempts))


def publish_checked_on_cluster(
    spark: SparkSession, job: LoadJob, whole: LoadInput, rejects: Rejects | None = None
) -> Published | Previewed:
    """Check the input and publish it as one atomic commit; with ``rejects``, without its invalid rows."""
    validation = Validation(spark, whole, rejects, [])
    if rejects is not None:
        # Rejection is final, so the first check must not use a stale cached state.
        job.context.manifests.fresh(job.incarnation)

    def prepare(capture: Capture) -> PreparedSparkLoad:
        with job.context.profiler.step(CHECK) as step, translated_jobs():
            job.context.profiler.say(f"by Spark jobs; {NOT_COUNTED}")
            step.rows = sum(whole.counts().values())
            return validation.prepare(capture)

    def renew(fence: Fence) -> None:
        every = (rows for table in whole.tables.values() for rows in table.written)
        check_files_kept(whole.store, every, fence, whole.noted(fence))

    since = whole.known_fence(job.since)
    try:
        return job.finish(job.context, WriteJob(job.incarnation, prepare, job.info, job.options, since, renew))
    finally:
        for frame in validation.cached:
            frame.unpersist()


@dataclass(frozen=True)
class Validation:
    """Validation of one input against successive states of the graph. ``cached`` are frames that Spark persists.

    Rejected rows stay rejected, even if another writer has made them valid in the meantime.
    """

    spark: SparkSession
    whole: LoadInput
    rejects: Rejects | None
    cached: list[DataFrame]

    def prepare(self, capture: Capture) -> PreparedSparkLoad:
        """Check the input against the graph. Raises on a violation; changes nothing in the graph."""
        for table in self.whole.tables.values():
            check_same_type(table.entity, capture.catalog)
        spaces = Spaces(capture.catalog, capture.state, self.whole.tables, self.whole.mode)
        checks = self._deduplicated(spaces)
        # A rejected node leaves edges dangling, so checks repeat until a round rejects nothing.
        for _ in range(limits.REJECT_ROUNDS_MAX):
            checks.run()
            if not self._set_aside(checks.violations):
                break
            checks = self._checks(spaces)
        else:
            # The limit is reached: report the remaining violations as an error instead of rejecting more rows.
            checks = self._checks(spaces, SparkChecks)
            checks.run()
        _raise_if_any(checks.violations)
        if self.rejects is not None:
            self.rejects.write(self.whole)
        existing = {key: checks.existing(key) for key in self.whole.tables}
        replaced = checks.ids.where("inputs > 0 and committed is not null").select("space", "committed")
        numbers = {spaces.ids(key): key for key in self.whole.tables}
        unchanged: dict[str, Unchanged] = {}
        if any(existing.values()):
            pairs = checks.ids.where("inputs > 0 and committed is not null").select("space", "committed", "last")
            unchanged = find_unchanged(self.spark, self.whole, capture.state.tables, numbers, pairs)
        self.whole.cleared = sum(table.cleared for table in unchanged.values())
        reads = frozenset(spaces.reads | self.whole.tables.keys())
        found = replaced if any(existing.values()) else None
        return PreparedSparkLoad(self.spark, self.whole, reads, existing, found, numbers, unchanged)

    def _deduplicated(self, spaces: Spaces) -> SparkChecks:
        """Checks of the input after duplicate ids are resolved."""
        checks = self._checks(spaces)
        # A retry after a lost publication race: duplicates within the input do not depend on the graph.
        if self.whole.is_settled:
            return checks
        if self.rejects is not None:
            self.rejects.take_slices(self.whole)
        has_changed = checks.settle_duplicates()
        if isinstance(checks.violations, EveryViolation):
            entities = {key: table.entity for key, table in self.whole.tables.items()}
            checks.violations.reasons = as_superseded(entities, checks.violations.reasons)
        has_changed |= self._set_aside(checks.violations)
        self.whole.is_settled = True
        if not has_changed:
            return checks
        # Excluded rows are still in the grouped ids, so those must be grouped again.
        again = self._checks(spaces)
        if self.rejects is None:
            # Reported with the violations of the graph, which are found next.
            again.violations.absorb(checks.violations)
        return again

    def _checks(self, spaces: Spaces, kind: type[SparkChecks] | None = None) -> SparkChecks:
        """Checks of the current input."""
        chosen = kind or (SparkChecks if self.rejects is None else RejectingSparkChecks)
        violations = EveryViolation() if issubclass(chosen, RejectingSparkChecks) else Violations()
        checks = chosen(self.spark, self.whole, spaces, violations)
        self.cached.append(checks.ids)
        return checks

    def _set_aside(self, found: Violations) -> bool:
        """Reject the violating rows; True if there were any."""
        if self.rejects is None or not isinstance(found, EveryViolation) or not found.reasons:
            return False
        for key, rows in self.rejects.take_found(self.whole, found.reasons).items():
            self.whole.supersede(key, rows)
        return True


def _raise_if_any(violations: Violations) -> None:
    if violations.total:
        raise violation_error(violations)
