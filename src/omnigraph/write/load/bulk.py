"""Loads larger than memory, bounded by disk, with the same result as ``write.load.plan``.

Rows are written as fragments while they are read, and their keys go into a database on disk. At the end the database
checks the input as a whole; then the fragments become versions of their tables. After a concurrent commit the same
fragments are checked and staged again. A failed load deletes its files.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

import pyarrow as pa

from omnigraph.core.tables import Counts
from omnigraph.errors import OmnigraphError
from omnigraph.history.plan import CommitInfo, PublishPlan, TableWrite
from omnigraph.history.state import Fence
from omnigraph.manifest.publisher import Published
from omnigraph.manifest.reader import Capture
from omnigraph.rows.violations import Violations
from omnigraph.schema.catalog import Catalog
from omnigraph.storage.stage import staging
from omnigraph.storage.tables.row_addresses import sorted_by_fragment
from omnigraph.storage.tables.store import Store
from omnigraph.write.attempt import CHECK, READ, WriteJob
from omnigraph.write.context import WriteContext, WriteOptions
from omnigraph.write.load.checks import GraphChecks, settle_duplicates
from omnigraph.write.load.committed_keys import CommittedKeys
from omnigraph.write.load.fragments import FragmentWriter
from omnigraph.write.load.kept_files import check_files_kept
from omnigraph.write.load.keys import InputKeys, KeyTable, open_keys
from omnigraph.write.load.mode import LoadMode
from omnigraph.write.load.plan import WRITE_MODES, SourcedRows
from omnigraph.write.preview import Finish, Previewed, is_committed
from omnigraph.write.schema.cast import check_same_type
from omnigraph.write.staging import plan_writes
from omnigraph.write.violations import violation_error

SetAside = Callable[[Catalog, CommittedKeys], None]
"""Removes rows that break a constraint in one state of the graph."""


@dataclass
class BulkInput:
    """The whole input: fragments and keys, with rows in the same order.

    ``is_handed_over`` is True once a plan with its files may be published: the files must not be deleted from then on.
    """

    keys: InputKeys
    written: Mapping[str, list[staging.WrittenRows]]
    mode: LoadMode
    since: Fence
    """The newest fence known before the first fragment was written."""
    is_handed_over: bool = False
    set_aside: SetAside | None = None
    """Removes rejected rows from the keys before these are checked."""
    noted: Callable[[Fence], frozenset[str]] = lambda _: frozenset()
    """Files that the journal of a running job protects from the cleanup of a fence."""

    def counts(self) -> dict[str, int]:
        return {key: table.rows for key, table in self.keys.tables.items()}


@dataclass(frozen=True)
class PreparedBulk:
    """A validated input. The key database holds the addresses of the committed rows that it replaces."""

    store: Store
    input: BulkInput
    reads: frozenset[str]
    fingerprint: str = ""

    @property
    def is_empty(self) -> bool:
        return False

    def stage(self, capture: Capture, info: CommitInfo, options: WriteOptions) -> PublishPlan:
        """One version of every table. The fragments exist already, so only metadata is written."""
        tables = self.input.keys.tables
        staged = [self._assemble_table(capture, table) for _, table in sorted(tables.items())]
        self.input.is_handed_over = True
        return plan_writes(capture, staged, self.reads, info, options)

    def _assemble_table(self, capture: Capture, table: KeyTable) -> tuple[TableWrite, staging.StagedVersion]:
        key = table.entity.table_key
        pin = capture.state.tables[key]
        base = self.store.open(pin.location, pin.lance_version)
        added = self.input.written[key]
        if self.input.mode is LoadMode.OVERWRITE:
            version = staging.stage_overwrite(self.store, base, pin.location, added)
        else:
            version = staging.stage_grouped(self.store, base, pin.location, added, self._replaced(table))
        if table.superseded:
            version = staging.stage_without(self.store, version, self._superseded(table, added))
        mode = WRITE_MODES[self.input.mode]
        counts = self._counts(capture, table)
        return TableWrite(key, pin.location, mode, version.version, version.rows, *counts), version

    def counts(self, capture: Capture) -> dict[str, Counts]:
        return {key: self._counts(capture, table) for key, table in self.input.keys.tables.items()}

    def _counts(self, capture: Capture, table: KeyTable) -> Counts:
        if self.input.mode is LoadMode.OVERWRITE:
            return table.rows, 0, capture.state.tables[table.entity.table_key].rows
        updated = self.input.keys.number(f"SELECT count(*) FROM {table.found_name}")
        return table.rows - updated, updated, 0

    def _replaced(self, table: KeyTable) -> Iterator[tuple[int, list[int]]]:
        found = self.input.keys.stream(f"SELECT address FROM {table.found_name} ORDER BY address")
        return sorted_by_fragment(batch.column(0) for batch in found)

    def _superseded(self, table: KeyTable, added: list[staging.WrittenRows]) -> Iterator[tuple[str, list[int]]]:
        """Offsets of rows that a later row of the input replaces, by data file.

        Row numbers count through all fragments of a table. With fragments of 3 and 4 rows and superseded rows 1, 3, 6:
        offset 1 of the first fragment, offsets 0 and 3 of the second.
        """
        start = 0
        for fragment in (fragment for part in added for fragment in part.fragments):
            end = start + fragment.physical_rows
            rows = self.input.keys.stream(
                f'SELECT "row" - {start} FROM {table.superseded_name} '
                f'WHERE "row" >= {start} AND "row" < {end} ORDER BY ALL'
            )
            offsets = pa.chunked_array([batch.column(0) for batch in rows], pa.int64()).to_pylist()
            if offsets:
                yield fragment.files[0].path, offsets
            start = end


def load_bulk(
    context: WriteContext,
    incarnation: str,
    rows: Iterable[SourcedRows],
    mode: LoadMode,
    violations: Violations,
    info: CommitInfo,
    options: WriteOptions,
    finish: Finish,
) -> tuple[dict[str, int], Published | Previewed]:
    """Load any number of rows as one commit: the number of entities per table, and the commit or its preview."""
    state = context.manifests.warm(incarnation)
    grouped_rows = context.store.tuning.grouped_rows
    with open_keys(lambda connection: InputKeys(connection, grouped_rows=grouped_rows)) as keys:
        fragments = FragmentWriter(context.store, state.tables, keys)
        whole = BulkInput(keys, fragments.written, mode, state.fence)
        try:
            try:
                _take(context, rows, whole, fragments, violations)
            finally:
                fragments.close()
            finished = finish_bulk(context, incarnation, whole, info, options, finish)
        except BaseException:
            # Once the publisher has a plan, only the manifest shows the outcome: the files may be in use.
            if not whole.is_handed_over:
                _discard(fragments)
            raise
    if not is_committed(finished, info.id):
        # A preview, or an earlier load with the same idempotency key was committed instead of this one.
        _discard(fragments)
    return whole.counts(), finished


def _take(
    context: WriteContext,
    rows: Iterable[SourcedRows],
    whole: BulkInput,
    fragments: FragmentWriter,
    violations: Violations,
) -> None:
    """Write the rows. After the first violation the rest is only read, to report further violations."""
    with context.profiler.step(READ) as step:
        context.profiler.say("input exceeds memory: rows were written while reading")
        for source, typed in rows:
            step.rows += typed.batch.num_rows
            if not violations.total:
                fragments.add(source, typed)
        if not violations.total:
            fragments.finish()
    if violations.total:
        raise violation_error(violations)
    with context.profiler.step(CHECK):
        settle_duplicates(whole.keys, whole.mode, violations)
        fragments.wait()
    if violations.total:
        raise violation_error(violations)


def finish_bulk(
    context: WriteContext, incarnation: str, whole: BulkInput, info: CommitInfo, options: WriteOptions, finish: Finish
) -> Published | Previewed:
    """Check an input whose duplicates are settled, and publish or preview it."""

    def prepare(capture: Capture) -> PreparedBulk:
        with context.profiler.step(CHECK) as step:
            prepared = _prepare(context, capture, whole)
            step.rows = sum(whole.counts().values())
        return prepared

    def renew(fence: Fence) -> None:
        every = (rows for parts in whole.written.values() for rows in parts)
        check_files_kept(context.store, every, fence, whole.noted(fence))

    return finish(context, WriteJob(incarnation, prepare, info, options, whole.since, renew))


def _prepare(context: WriteContext, capture: Capture, whole: BulkInput) -> PreparedBulk:
    """Check the input against the graph; raises without any change."""
    for table in whole.keys.tables.values():
        check_same_type(table.entity, capture.catalog)
    tables_read: set[str] = set()
    violations = Violations()
    committed = CommittedKeys(context.store, capture.state, tables_read)
    if whole.set_aside is not None:
        whole.set_aside(capture.catalog, committed)
    GraphChecks(whole.keys, capture.catalog, committed, whole.mode, violations).run()
    if violations.total:
        raise violation_error(violations)
    return PreparedBulk(context.store, whole, frozenset(tables_read))


def _discard(fragments: FragmentWriter) -> None:
    try:
        fragments.discard()
    except OmnigraphError:
        # Cleanup deletes the remaining files later; the original failure matters more.
        return
