"""Staging: deltas of tables become detached versions that no reader can see, all tables in parallel.

Steps of one table: write the rows as fragments, fold small fragments, assemble a version, extend its indexes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import pyarrow as pa

from omnigraph.core.tables import Counts, TablePin
from omnigraph.history.plan import CommitInfo, PublishPlan, TableWrite, WriteMode
from omnigraph.manifest.reader import Capture
from omnigraph.rows.validate import TableDelta
from omnigraph.storage.stage import staging
from omnigraph.storage.stage.fold import fold_tail
from omnigraph.storage.tables.scan import find_ids
from omnigraph.storage.tables.store import Store
from omnigraph.storage.upkeep.index_extension import extend_indexes
from omnigraph.write.context import WriteOptions

STAGING_THREADS_MAX = 8
"""Tables staged in parallel: the threads mostly wait for the store."""


@dataclass(frozen=True, slots=True)
class StagedTable:
    """The write of one table, and the version with its files."""

    write: TableWrite
    version: staging.StagedVersion


def stage_deltas(
    store: Store,
    capture: Capture,
    deltas: Mapping[str, TableDelta],
    modes: Mapping[str, WriteMode],
    info: CommitInfo,
    options: WriteOptions,
    reads: frozenset[str],
) -> PublishPlan:
    """Stage every delta and make the plan."""

    def write(key: str) -> StagedTable:
        return _write_delta(store, capture, deltas[key], modes[key])

    staged = write_tables(write, sorted(deltas))
    return plan_writes(capture, [(item.write, item.version) for item in staged], reads, info, options)


def write_tables(write: Callable[[str], StagedTable], keys: Sequence[str]) -> list[StagedTable]:
    """Run a writer for several tables in parallel."""
    if len(keys) <= 1:
        return [write(key) for key in keys]
    with ThreadPoolExecutor(min(len(keys), STAGING_THREADS_MAX)) as pool:
        return list(pool.map(write, keys))


def plan_writes(
    capture: Capture,
    staged: Sequence[tuple[TableWrite, staging.StagedVersion]],
    reads: frozenset[str],
    info: CommitInfo,
    options: WriteOptions,
) -> PublishPlan:
    """The plan of staged tables. Its ``reads`` leave out the tables that it writes."""
    return PublishPlan(
        info=info,
        base=capture.state,
        writes=tuple(write for write, _ in staged),
        reads=reads - {write.key for write, _ in staged},
        expected_head=options.expected_head,
        files=tuple(record for _, version in staged for record in version.files),
    )


def _write_delta(store: Store, capture: Capture, delta: TableDelta, mode: WriteMode) -> StagedTable:
    key = delta.entity.table_key
    pin = capture.state.tables[key]
    base = store.open(pin.location, pin.lance_version)
    if delta.replaces_all:
        rows = delta.rows
        written = [staging.write_rows(store, base, pin.location, rows, settles_later=True)] if rows.num_rows else []
        version = staging.stage_overwrite(store, base, pin.location, written, settles_later=True)
        counts = overwrite_counts(delta, pin)
        return StagedTable(TableWrite(key, pin.location, mode, version.version, version.rows, *counts), version)
    addresses = find_replaced(store, pin, delta, mode)
    return write_version(store, pin, mode, delta.rows, set(addresses.values()), count_delta(delta, addresses))


def find_replaced(store: Store, pin: TablePin, delta: TableDelta, mode: WriteMode) -> Mapping[str, int]:
    """Ids and addresses of committed rows that are replaced or deleted."""
    if delta.found is not None:
        # A plan is staged on the state that it was prepared on, so the addresses are those of this version.
        return {id_: delta.found[id_] for id_ in delta.ids() if id_ in delta.found}
    return {} if mode is WriteMode.APPEND else find_ids(store, pin, [*delta.ids(), *delta.removed])


def count_delta(delta: TableDelta, replaced: Mapping[str, int]) -> Counts:
    """Inserted, updated and deleted entities."""
    ids = delta.ids()
    updated = sum(id_ in replaced for id_ in ids)
    return len(ids) - updated, updated, len(replaced) - updated


def overwrite_counts(delta: TableDelta, pin: TablePin) -> Counts:
    """The counts of a delta that replaces all rows: ids of both versions are updates, unless their rows are equal."""
    both = pin.rows - len(delta.vanished)
    return delta.rows.num_rows - both, both - delta.kept, len(delta.vanished)


def count_deltas(
    store: Store, capture: Capture, deltas: Mapping[str, TableDelta], modes: Mapping[str, WriteMode]
) -> dict[str, Counts]:
    """The counts of each table without staging, for a preview."""

    def count(key: str, delta: TableDelta) -> Counts:
        pin = capture.state.tables[key]
        if delta.replaces_all:
            return overwrite_counts(delta, pin)
        return count_delta(delta, find_replaced(store, pin, delta, modes[key]))

    return {key: count(key, delta) for key, delta in sorted(deltas.items())}


def write_version(
    store: Store, pin: TablePin, mode: WriteMode, rows: pa.Table, removed: set[int], counts: tuple[int, int, int]
) -> StagedTable:
    """A version with added rows and without removed addresses. ``counts`` are inserted, updated, deleted entities."""
    base = store.open(pin.location, pin.lance_version)
    whole, folded = fold_tail(store, base, pin.location, rows, removed)
    written = [staging.write_rows(store, base, pin.location, whole, settles_later=True)] if whole.num_rows else []
    return assemble_version(store, pin, mode, written, removed, counts, folded)


def assemble_version(
    store: Store,
    pin: TablePin,
    mode: WriteMode,
    written: Sequence[staging.WrittenRows],
    removed: set[int],
    counts: tuple[int, int, int],
    folded: Sequence[int] = (),
) -> StagedTable:
    """A version from fragments that are written already; ``folded`` are the fragments that they replace."""
    base = store.open(pin.location, pin.lance_version)
    version = staging.stage_delta(store, base, pin.location, written, removed, folded, settles_later=True)
    version = extend_indexes(store, version, written)
    return StagedTable(TableWrite(pin.key, pin.location, mode, version.version, version.rows, *counts), version)
