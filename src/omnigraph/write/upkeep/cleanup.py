"""Cleanup: garbage collection of unreferenced files. It blocks no reader or writer, and is safe to kill at any moment.

A run has five steps: decide which commits are given up, record the decision, fence all branches, look at them again,
sweep every dataset. Files of a given-up commit or a deleted branch are deleted one grace period after the decision;
files that were never referenced, one grace period after their last write. ``docs/dev/maintenance.md`` has the proof.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace

from omnigraph.core.commit import GraphCommit
from omnigraph.errors import ContentionError, CorruptionError
from omnigraph.history.retention import Policy, Record, decide
from omnigraph.history.state import Fence
from omnigraph.manifest.fences import raise_fence
from omnigraph.manifest.layout import BRANCHES
from omnigraph.manifest.mirrors import DIRECTORY as MIRRORS
from omnigraph.manifest.reader import Manifests
from omnigraph.manifest.records import DIRECTORY as RECORDS
from omnigraph.manifest.records import create_record, drop_old_records
from omnigraph.manifest.refs import Damaged
from omnigraph.storage.objects.protocol import LEFTOVER
from omnigraph.storage.tables.store import Store
from omnigraph.storage.upkeep import jobs
from omnigraph.storage.upkeep.sweep import Fate, Needs, Swept, Terms, leave, sweep
from omnigraph.write import limits
from omnigraph.write.context import WriteContext
from omnigraph.write.upkeep.reachable import View, collect_needs, look

Sweeper = Callable[[Store, Sequence[Needs], Terms], Iterable[Swept]]
"""Sweeps datasets, in this process or on Spark."""

Progress = Callable[[int], None]

_LEFTOVER_DIRECTORIES = ("", "refs", "schemas", jobs.DIRECTORY, RECORDS, MIRRORS)


@dataclass(frozen=True, slots=True)
class CleanupSettings:
    """Settings of a run."""

    policy: Policy
    grace_us: int
    is_dry: bool = False


@dataclass
class CleanupOutcome:
    """Effect of a run or a dry run: counts of commits, and everything that was swept."""

    retained: int
    given_up: int
    """Commits that this run gave up, including those without a grace period."""
    waiting: int
    gone: int
    """Commits whose files this run may delete."""
    swept: list[Swept] = field(default_factory=list)
    damaged: list[Damaged] = field(default_factory=list)
    """Unreadable files. Nothing that they may lead to was deleted."""


def cleanup(
    context: WriteContext, settings: CleanupSettings, sweeper: Sweeper | None = None, progress: Progress | None = None
) -> CleanupOutcome:
    """Run once. A concurrent decision of another cleanup restarts the run."""
    manifests = context.manifests
    for _ in range(limits.CLEANUP_ATTEMPTS_MAX):
        run = _Run(manifests, settings, context.clock.now_us(), sweeper or sweep_here, progress)
        outcome = run.go(context.ids.new_id())
        # A file may be missing because a concurrent run deleted it; otherwise it is damage.
        if outcome is not None and not (outcome.damaged and run.is_overtaken()):
            return outcome
    raise ContentionError(
        f"another cleanup decided first, {limits.CLEANUP_ATTEMPTS_MAX} times in a row", hint="run one cleanup at a time"
    )


def sweep_here(store: Store, needs: Sequence[Needs], terms: Terms) -> Iterable[Swept]:
    """Sweep in this process, several datasets in parallel."""
    with ThreadPoolExecutor(limits.CLEANUP_THREADS) as pool:
        yield from pool.map(lambda item: sweep(store, item, terms), needs)


def _leave_all(store: Store, needs: Sequence[Needs], _terms: Terms) -> Iterable[Swept]:
    return (leave(store, item) for item in needs)


@dataclass
class _Run:
    manifests: Manifests
    settings: CleanupSettings
    now_us: int
    sweeper: Sweeper
    progress: Progress | None
    record: Record = field(default_factory=Record)
    known: int = 0
    """Number of the newest record that this run has read or created."""

    def go(self, run: str) -> CleanupOutcome | None:
        """One attempt; None if another cleanup recorded a decision or raised a fence first."""
        store = self.manifests.store
        try:
            before = self.manifests.record()
        except CorruptionError as error:
            return self._held_back([Damaged.of(error, RECORDS)])
        self.known = before.number
        view = self._look(before)
        if view.undecided:
            return self._held_back(view.undecided)
        logs, grace_us = list(view.logs.values()), self.settings.grace_us
        self.record = decide(before, logs, view.unnamed_logs, self.settings.policy, self.now_us, grace_us)
        anchor_us = time.time_ns() // 1000
        if not self.settings.is_dry:
            created = create_record(store, self.record, run)
            if created is None:
                return None
            self.known = self.record.number
            # The store timestamps files, so ages are measured by its clock, not by that of this process.
            anchor_us = created.modified_us
        terms = Terms(anchor_us - grace_us, grace_us, self.settings.is_dry)
        # Jobs before branches: a job that has ended by now is published in the state read next, or never will be.
        jobs_swept, kept, unread = self._sweep_jobs(anchor_us, run)
        view = self._look(self.record)
        leftovers, scratch = self._sweep_leftovers(terms), self._sweep_scratch(anchor_us)
        swept, damaged = self._sweep(view, kept, unread, replace(terms, is_dry=True))
        if not any(item.is_worth_a_fence for item in swept):
            swept = [item.spared() for item in swept]
        elif not self.settings.is_dry:
            # Between this look and the deletion, a paused writer could publish files that are about to be deleted.
            # Behind the fence no plan staged before it can be published, and the second look finds every plan that was
            # published before it.
            if not raise_fence(self.manifests, view.heads, Fence(self.record.number, terms.young_us, anchor_us)):
                return None
            view = self._look(self.record)
            swept, damaged = self._sweep(view, kept, unread, terms)
        outcome = _outcome(view, before, self.record)
        outcome.swept += [jobs_swept, leftovers, scratch, *swept]
        outcome.damaged += damaged
        if not self.settings.is_dry and not damaged:
            for incarnation in view.dead:
                store.objects.prune(f"branches/{incarnation}")
            drop_old_records(store)
        return outcome

    def _sweep(
        self, view: View, kept: frozenset[str], unread: Sequence[Damaged], terms: Terms
    ) -> tuple[list[Swept], list[Damaged]]:
        needs, lost = collect_needs(self.manifests, view, self.record, self.settings.grace_us, kept)
        damaged = [*view.undecided, *view.unread, *unread, *lost]
        # Branches share tables: an unreadable file may lead to any of them.
        sweeper = _leave_all if damaged else self.sweeper
        swept = []
        for number, item in enumerate(sweeper(self.manifests.store, needs, terms), 1):
            swept.append(item)
            if item.damage is not None:
                damaged.append(Damaged.of(item.damage, item.location))
            if self.progress is not None and terms.is_dry == self.settings.is_dry:
                self.progress(number)
        return swept, damaged

    def is_overtaken(self) -> bool:
        """True if another cleanup has recorded a decision since."""
        try:
            return self.manifests.record().number != self.known
        except CorruptionError:
            return False

    def _held_back(self, damaged: Sequence[Damaged]) -> CleanupOutcome:
        """Delete only incomplete files: commits of a branch, or earlier decisions, are unknown."""
        terms = Terms(time.time_ns() // 1000 - self.settings.grace_us, self.settings.grace_us, self.settings.is_dry)
        return CleanupOutcome(0, 0, 0, 0, [self._sweep_leftovers(terms)], list(damaged))

    def _look(self, record: Record) -> View:
        ripe_us = self.now_us - self.settings.grace_us
        return look(self.manifests, {name for name, since in record.nameless.items() if since <= ripe_us})

    def _sweep_jobs(self, anchor_us: int, run: str) -> tuple[Swept, frozenset[str], list[Damaged]]:
        """End jobs without a heartbeat for a lease period, delete what is left of ended ones, and collect the files of
        the others."""
        objects = self.manifests.store.objects
        lease_us = max(limits.JOB_LEASE_US, self.settings.grace_us)
        swept = Swept(jobs.DIRECTORY)
        kept: set[str] = set()
        unread: list[Damaged] = []
        for job in jobs.jobs_of(objects.walk(jobs.DIRECTORY)):
            is_dead = job.modified_us < anchor_us - lease_us or job.is_over(objects)
            if is_dead and not self.settings.is_dry:
                is_dead = job.end(objects, run)
            if not is_dead:
                try:
                    kept.update(job.named_files(objects))
                except CorruptionError as error:
                    unread.append(Damaged.of(error, jobs.DIRECTORY))
            for file in job.files:
                swept.note("jobs", Fate.DELETED if is_dead else Fate.JOBS, file)
        return swept, frozenset(kept), unread

    def _sweep_scratch(self, anchor_us: int) -> Swept:
        """Delete the scratch files of analyses that have written nothing for a lease period."""
        objects = self.manifests.store.objects
        lease_us = max(limits.JOB_LEASE_US, self.settings.grace_us)
        swept = Swept(jobs.SCRATCH)
        for directory in objects.level(jobs.SCRATCH).directories:
            files = list(objects.walk(directory))
            is_dead = max((file.modified_us for file in files), default=0) < anchor_us - lease_us
            for file in files:
                swept.note("jobs", Fate.DELETED if is_dead else Fate.JOBS, file)
            if is_dead and not self.settings.is_dry:
                objects.delete_all([file.path for file in files])
                objects.prune(directory)
        return swept

    def _sweep_leftovers(self, terms: Terms) -> Swept:
        """Sweep small files whose writer died."""
        objects = self.manifests.store.objects
        swept = Swept("")
        garbage = []
        for directory in (*_LEFTOVER_DIRECTORIES, *objects.level(BRANCHES).directories):
            for file in objects.level(directory).files:
                if LEFTOVER.fullmatch(file.path) is None:
                    continue
                if file.modified_us >= terms.young_us:
                    swept.note("unfinished", Fate.WAITING, file, file.modified_us + terms.grace_us)
                else:
                    swept.note("unfinished", Fate.DELETED, file)
                    garbage.append(file.path)
        if not terms.is_dry:
            objects.delete_all(garbage)
        return swept


def _outcome(view: View, before: Record, after: Record) -> CleanupOutcome:
    every: dict[str, GraphCommit] = {commit.id: commit for log in view.logs.values() for commit in log}
    outcome = CleanupOutcome(0, 0, 0, 0)
    for commit in every.values():
        if after.given_up_since(commit) is None:
            outcome.retained += 1
            continue
        outcome.given_up += before.given_up_since(commit) is None
        if not after.is_gone(commit):
            outcome.waiting += 1
        elif not before.is_gone(commit):
            outcome.gone += 1
    return outcome
