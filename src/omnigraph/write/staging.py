"""Deltas of tables to staged versions, all touched tables in parallel."""

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
"""Tables staged at once: the work is waiting for the store."""


@dataclass(frozen=True, slots=True)
class StagedTable:
    """One table's part of a plan, and the files it made."""

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
    """Write and stage every delta, and make the plan."""

    def stage(key: str) -> StagedTable:
        return _stage_table(store, capture, deltas[key], modes[key])

    staged = stage_all(stage, sorted(deltas))
    return plan_of(capture, [(item.write, item.version) for item in staged], reads, info, options)


def stage_all(stage: Callable[[str], StagedTable], keys: Sequence[str]) -> list[StagedTable]:
    """Stage several tables side by side."""
    if len(keys) <= 1:
        return [stage(key) for key in keys]
    with ThreadPoolExecutor(min(len(keys), STAGING_THREADS_MAX)) as pool:
        return list(pool.map(stage, keys))


def plan_of(
    capture: Capture,
    staged: Sequence[tuple[TableWrite, staging.StagedVersion]],
    reads: frozenset[str],
    info: CommitInfo,
    options: WriteOptions,
) -> PublishPlan:
    """The plan of staged tables; of the tables that were read those that are not written."""
    return PublishPlan(
        info=info,
        base=capture.state,
        writes=tuple(write for write, _ in staged),
        reads=reads - {write.key for write, _ in staged},
        expected_head=options.expected_head,
        files=tuple(record for _, version in staged for record in version.files),
    )


def _stage_table(store: Store, capture: Capture, delta: TableDelta, mode: WriteMode) -> StagedTable:
    key = delta.entity.table_key
    pin = capture.state.tables[key]
    base = store.open(pin.location, pin.lance_version)
    if delta.replaces_all:
        written = [staging.write_rows(store, base, pin.location, delta.rows)] if delta.rows.num_rows else []
        version = staging.stage_overwrite(store, base, pin.location, written)
        counts = (delta.rows.num_rows, 0, pin.rows)
        return StagedTable(TableWrite(key, pin.location, mode, version.version, version.rows, *counts), version)
    addresses = _replaced(store, pin, delta, mode)
    return stage_rows(store, pin, mode, delta.rows, set(addresses.values()), _counted(delta, addresses))


def _replaced(store: Store, pin: TablePin, delta: TableDelta, mode: WriteMode) -> Mapping[str, int]:
    """Ids of committed rows that go away, with their addresses."""
    return {} if mode is WriteMode.APPEND else find_ids(store, pin, [*delta.ids(), *delta.removed])


def _counted(delta: TableDelta, replaced: Mapping[str, int]) -> Counts:
    ids = delta.ids()
    updated = sum(id_ in replaced for id_ in ids)
    return len(ids) - updated, updated, len(replaced) - updated


def count_deltas(
    store: Store, capture: Capture, deltas: Mapping[str, TableDelta], modes: Mapping[str, WriteMode]
) -> dict[str, Counts]:
    """What ``stage_deltas`` would do to each table."""

    def count(key: str, delta: TableDelta) -> Counts:
        pin = capture.state.tables[key]
        if delta.replaces_all:
            return delta.rows.num_rows, 0, pin.rows
        return _counted(delta, _replaced(store, pin, delta, modes[key]))

    return {key: count(key, delta) for key, delta in sorted(deltas.items())}


def stage_rows(
    store: Store, pin: TablePin, mode: WriteMode, rows: pa.Table, removed: set[int], counts: tuple[int, int, int]
) -> StagedTable:
    """Stage rows to add and addresses to remove. ``counts`` are inserted, updated and deleted entities."""
    base = store.open(pin.location, pin.lance_version)
    whole, folded = fold_tail(store, base, pin.location, rows, removed)
    written = [staging.write_rows(store, base, pin.location, whole)] if whole.num_rows else []
    return stage_written(store, pin, mode, written, removed, counts, folded)


def stage_written(
    store: Store,
    pin: TablePin,
    mode: WriteMode,
    written: Sequence[staging.WrittenRows],
    removed: set[int],
    counts: tuple[int, int, int],
    folded: Sequence[int] = (),
) -> StagedTable:
    """The same of rows that are written already, and of fragments that they replace."""
    base = store.open(pin.location, pin.lance_version)
    version = staging.stage_delta(store, base, pin.location, written, removed, folded)
    version = extend_indexes(store, version, written)
    return StagedTable(TableWrite(pin.key, pin.location, mode, version.version, version.rows, *counts), version)
