"""Waves: local changes of several commits, staged together in two rounds of parallel requests.

Detached versions need not form a chain. Every version of a wave is assembled on the same base, from the files of its
commit and of the commits before it, so no version waits for another one. The last version of a table, the one that
stays, holds all rows of the wave in one file, so a wave leaves one fragment behind however many commits it has. Three
commits that insert a, b and c into one table:

======  =======  ===============================
commit  writes   its version holds
======  =======  ===============================
1       a        the base, a
2       b        the base, a, b
3       a b c    the base, a b c
======  =======  ===============================

Invariant: the version of a commit holds exactly the rows that staging the commits one after the other would give,
because no two of them name the same entity (``LocalChange.is_apart``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import TypeVar

import pyarrow as pa

from omnigraph.core.tables import Counts, TablePin
from omnigraph.history.plan import CommitInfo, PublishPlan, TableWrite, WriteMode
from omnigraph.manifest.reader import Capture
from omnigraph.rows.validate import TableDelta
from omnigraph.storage.stage import staging
from omnigraph.storage.stage.fold import fold_tail
from omnigraph.storage.tables.store import Store
from omnigraph.write import limits
from omnigraph.write.context import WriteOptions
from omnigraph.write.local_change import LocalChange
from omnigraph.write.staging import StagedTable, assemble_version, count_delta, find_replaced, plan_writes

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Order:
    """One commit of a wave."""

    info: CommitInfo
    options: WriteOptions
    change: LocalChange


@dataclass
class _Step:
    """One table in one commit of a wave, with the rows and removed addresses that its version adds to the base."""

    store: Store
    pin: TablePin
    mode: WriteMode
    delta: TableDelta
    counts: Counts
    removed: set[int]
    """Addresses that this commit and those before it replace."""
    whole: pa.Table | None = None
    """The rows of the whole wave, in the last commit that writes the table."""
    earlier: Sequence[_Step] = ()
    folded: Sequence[int] = ()
    written: list[staging.WrittenRows] = field(default_factory=list)

    def write(self) -> None:
        """Write the file of this commit."""
        base = self.store.open(self.pin.location, self.pin.lance_version)
        rows = self.delta.rows
        if self.whole is not None:
            rows, self.folded = fold_tail(self.store, base, self.pin.location, self.whole, self.removed)
        self.written.append(staging.write_rows(self.store, base, self.pin.location, rows, settles_later=True))

    def assemble(self) -> StagedTable:
        """Write the version of this commit. Its new files are those that no earlier commit of the wave has written."""
        if self.whole is not None:
            return assemble_version(
                self.store, self.pin, self.mode, self.written, self.removed, self.counts, self.folded
            )
        base = self.store.open(self.pin.location, self.pin.lance_version)
        before = [part for step in self.earlier for part in step.written]
        version = staging.stage_delta(
            self.store, base, self.pin.location, [*before, *self.written], self.removed, settles_later=True
        )
        known = {record.path for part in before for record in part.files}
        new = tuple(record for record in version.files if record.path not in known)
        write = TableWrite(self.pin.key, self.pin.location, self.mode, version.version, version.rows, *self.counts)
        return StagedTable(write, replace(version, files=new))


def stage_together(store: Store, capture: Capture, orders: Sequence[Order]) -> list[PublishPlan]:
    """Stage commits that are apart from each other: a plan for each, in their order."""
    steps: list[list[_Step]] = [[] for _ in orders]
    for key in sorted({key for order in orders for key in order.change.deltas}):
        members = [number for number, order in enumerate(orders) if key in order.change.deltas]
        for number, step in zip(members, _steps(store, capture.state.tables[key], key, orders, members), strict=True):
            steps[number].append(step)
    every = [step for parts in steps for step in parts]
    # The pool ends after its last job, also if one fails: no file is written behind the back of the caller.
    with ThreadPoolExecutor(limits.WAVE_THREADS) as pool:
        _all(pool, [step.write for step in every])
        staged = iter(_all(pool, [step.assemble for step in every]))
    return [
        plan_writes(
            capture,
            [(item.write, item.version) for item in (next(staged) for _ in parts)],
            order.change.reads,
            order.info,
            order.options,
        )
        for order, parts in zip(orders, steps, strict=True)
    ]


def _steps(store: Store, pin: TablePin, key: str, orders: Sequence[Order], members: Sequence[int]) -> list[_Step]:
    """The steps of one table, in the order of the commits."""
    steps: list[_Step] = []
    removed: set[int] = set()
    for number in members:
        change = orders[number].change
        delta, mode = change.deltas[key], change.modes[key]
        replaced = find_replaced(store, pin, delta, mode)
        removed |= set(replaced.values())
        counts = count_delta(delta, replaced)
        steps.append(_Step(store, pin, mode, delta, counts, set(removed), earlier=tuple(steps)))
    steps[-1].whole = pa.concat_tables([step.delta.rows for step in steps])
    return steps


def _all(pool: ThreadPoolExecutor, jobs: Iterable[Callable[[], T]]) -> list[T]:
    futures = [pool.submit(job) for job in jobs]
    return [future.result() for future in futures]
