"""Optimistic concurrency loop of every writer: capture, prepare, stage, publish.

Invariants:

* A plan is staged on exactly the state that it was prepared on. When another writer publishes first, the change is
  prepared and staged again on the new state.
* A warm state may be stale. It is good enough to succeed on, because the publisher detects that it is stale. A refusal
  or a no-op is final, so it is reported only after the newest state was consulted.
* A change that depends on nothing but the entities it names (``LocalChange``) is staged by the publisher if other
  writers are about, in one wave with those that wait.
* Every plan carries the number of the newest fence known before its first file was written. A cleanup that raised a
  later fence may have deleted its files, so the write starts again instead of publishing them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from typing import Final, Generic, Protocol, TypeVar

from omnigraph.core.commit import GraphCommit
from omnigraph.errors import (
    ConflictError,
    ContentionError,
    InputError,
    NotFoundError,
    OmnigraphError,
    PolicyDenied,
    StorageError,
)
from omnigraph.history.plan import CommitInfo, PublishPlan, TableWrite
from omnigraph.history.rebase import Decision, check_precondition, conflict, schema_conflict
from omnigraph.history.state import Fence, ManifestState
from omnigraph.manifest.branches import check_confirmed
from omnigraph.manifest.fences import Fenced
from omnigraph.manifest.queue import Offering, Published, Restage, Share
from omnigraph.manifest.reader import Capture
from omnigraph.write import limits
from omnigraph.write.context import WriteContext, WriteOptions
from omnigraph.write.local_change import LocalChange
from omnigraph.write.waves import Order, stage_together

READ: Final = "Read"
CHECK: Final = "Check"
STAGE: Final = "Stage"
PUBLISH: Final = "Publish"
"""Names of the steps of a write in its profile. The writers report READ and CHECK, this module STAGE and PUBLISH."""


class Prepared(Protocol):
    """A validated change, not yet written."""

    @property
    def is_empty(self) -> bool:
        """True if there is nothing to commit."""
        ...

    @property
    def fingerprint(self) -> str:
        """Digest of the entities that the change was decided from; equal fingerprints mean equal entities."""
        ...

    def stage(self, capture: Capture, info: CommitInfo, options: WriteOptions) -> PublishPlan:
        """Write data files and detached versions, which no reader can see."""
        ...


P = TypeVar("P", bound=Prepared)


class _NothingLeft(Exception):
    """A concurrent commit already contains the whole change."""


Renew = Callable[[Fence], None]
"""Checks that files or states from before a fence still exist and are protected; raises if not."""


@dataclass(frozen=True, slots=True)
class WriteJob(Generic[P]):
    """A write to one branch: how it is prepared on a captured state, and the commit that it shall become.

    A writer that relies on more than what ``prepare`` reads and stages declares it: ``since`` is the fence that it knew
    before it wrote its first file or read another branch, and ``renew`` is called before such things are used behind a
    newer fence. ``local`` returns the change by itself, or None if it depends on more than the entities it names. A job
    that ``is_brief`` is local and takes so little time that it may be prepared while others wait. With an ``offering``
    another process may prepare and publish it; ``made`` then gives from the commit what the writer reports.
    """

    incarnation: str
    prepare: Callable[[Capture], P]
    info: CommitInfo
    options: WriteOptions
    since: Fence | None = None
    renew: Renew | None = None
    local: Callable[[P], LocalChange | None] | None = None
    is_brief: bool = False
    offering: Offering | None = None
    made: Callable[[GraphCommit], P] | None = None


def prepare(context: WriteContext, job: WriteJob[P]) -> tuple[Capture, P]:
    """Prepare a change and stage nothing: a preview is this value, rendered."""
    base = context.manifests.warm(job.incarnation)
    try:
        return _prepare(context, job)
    except StorageError:
        # The state in memory may be so old that cleanup has deleted its files.
        if context.manifests.fresh(job.incarnation).version == base.version:
            raise
        return _prepare(context, job)


def commit(context: WriteContext, job: WriteJob[P]) -> tuple[P, Published | None]:
    """Publish a change as one commit; no commit if the prepared change is empty.

    A fence of cleanup sends the write back to the beginning: it is captured, prepared and staged again.
    """
    fence = context.manifests.warm(job.incarnation).fence if job.since is None else job.since
    for _ in range(limits.FENCES_MAX):
        try:
            return _commit(context, job, fence.number)
        except Fenced as fenced:
            fence = fenced.fence
            context.profiler.say(f"cleanup {fence.number} ran concurrently: staged again")
            if job.renew is not None:
                job.renew(fence)
    raise ContentionError(f"{limits.FENCES_MAX} cleanups ran during this write", hint="retry the write")


def _commit(context: WriteContext, job: WriteJob[P], fence: int) -> tuple[P, Published | None]:
    incarnation = job.incarnation
    base = context.manifests.warm(incarnation)
    if job.is_brief and job.options.expected_head is None and context.publisher.is_busy(incarnation):
        return _commit_in_turn(context, job, base, fence)
    began = time.monotonic()
    try:
        capture, prepared, plan = _plan_first(context, job)
    except StorageError as error:
        # The warm state, or a file that the writer keeps, may be so old that cleanup has deleted it. Only if the newest
        # state is the same one, and no fence was raised, the failure is that of the store.
        newest = context.manifests.fresh(incarnation)
        if newest.fence.number != fence:
            raise Fenced(newest.fence) from error
        check_confirmed(context.manifests, newest)
        if newest.version == base.version:
            raise
        capture, prepared, plan = _plan_first(context, job)
    if prepared.is_empty:
        return prepared, None
    made = WaveMember(context, job, capture, prepared)

    def restage(newer: Capture, decision: Decision) -> PublishPlan:
        # The publisher calls this under the lock of the branch, and with group commit maybe in the thread of another
        # writer. So it only prepares and stages; the publisher does the retries.
        made.prepared = again = _prepared_again(job, capture, newer)
        # An update or delete was decided from entities that it read. If these changed, the caller's intent may not hold
        # any more (lost update), so this is a conflict and not a retry.
        if decision is Decision.RECHECK and again.fingerprint != prepared.fingerprint:
            raise conflict(_moved_table(capture.state, newer.state), capture.state, newer.state)
        if again.is_empty:
            raise _NothingLeft
        staged = _stage(context, job, again, newer)
        context.profiler.say("concurrent commit: checked and staged again")
        return staged

    share = made if plan is None else None
    outline = PublishPlan(job.info, capture.state, (), expected_head=job.options.expected_head)
    published: Published | None = None
    with suppress(_NothingLeft):
        fenced, seconds = replace(plan or outline, fence=fence), time.monotonic() - began
        with context.profiler.step(PUBLISH) as step:
            published = _publish(context, fenced, restage, seconds, share)
            step.rows = 1
    return made.known, published


def _commit_in_turn(
    context: WriteContext, job: WriteJob[P], base: ManifestState, fence: int
) -> tuple[P, Published | None]:
    """Publish a change that is prepared once, when its turn has come, on the state that the writers before it leave.

    Prepared now, it would be prepared again behind them: that costs more than its share of a swap.
    """
    share = WaveMember(context, job)

    def restage(newer: Capture, _: Decision) -> PublishPlan:
        share.prepare(newer)
        return _stage(context, job, share.known, newer)

    published: Published | None = None
    with suppress(_NothingLeft):
        plan = PublishPlan(job.info, base, (), fence=fence)
        published = context.publisher.publish(plan, restage, share=share, offering=job.offering)
    if job.made is not None and share.prepared is None and published is not None and not published.repeated:
        return job.made(published.commit), published
    # An earlier commit with the same idempotency key is found without preparing anything.
    return share.prepared or job.prepare(context.manifests.capture(base)), published


def _prepared_again(job: WriteJob[P], before: Capture, newer: Capture) -> P:
    """Prepare on a newer state. A change that no longer fits a changed schema is a conflict, not an input error."""
    try:
        return job.prepare(newer)
    except InputError as error:
        if newer.state.schema_digest == before.state.schema_digest:
            raise
        raise schema_conflict(before.state, newer.state, error.message) from error


def _plan_first(context: WriteContext, job: WriteJob[P]) -> tuple[Capture, P, PublishPlan | None]:
    """Prepare and stage the first plan; None if there is nothing to do, or the publisher stages it."""
    capture, prepared = _prepare(context, job)
    # A writer that is alone stages its own change: no other one waits that could be staged with it.
    shares = job.local if context.publisher.is_busy(job.incarnation) else None
    if prepared.is_empty or (shares is not None and shares(prepared) is not None):
        return capture, prepared, None
    return capture, prepared, _stage(context, job, prepared, capture)


def _stage(context: WriteContext, job: WriteJob[P], prepared: P, capture: Capture) -> PublishPlan:
    with context.profiler.step(STAGE) as step:
        plan = prepared.stage(capture, job.info, job.options)
        _report(context, plan)
        step.rows = sum(map(_changed, plan.writes))
        return plan


def _report(context: WriteContext, plan: PublishPlan) -> None:
    for write in plan.writes:
        counts = f"{write.inserted:,} inserted, {write.updated:,} updated, {write.deleted:,} deleted"
        context.profiler.say(f"{write.key}: {write.mode.value}, {counts}")


@dataclass
class WaveMember(Generic[P]):
    """A local change that waits to be staged in a wave (``manifest.queue.Share``)."""

    context: WriteContext
    job: WriteJob[P]
    capture: Capture | None = None
    prepared: P | None = None
    """The change on that state; None until it is prepared."""

    @property
    def known(self) -> P:
        assert self.prepared is not None, "a member joins before it is staged"
        return self.prepared

    @property
    def change(self) -> LocalChange | None:
        assert self.job.local is not None
        return self.job.local(self.known)

    def prepare(self, capture: Capture) -> None:
        """Prepare the change on a state."""
        first = self.capture
        # Until it is prepared here it is prepared nowhere: a state with the same head must not find what an earlier
        # state gave.
        self.capture = None
        self.prepared = self.job.prepare(capture) if first is None else _prepared_again(self.job, first, capture)
        if self.prepared.is_empty:
            raise _NothingLeft
        self.capture = capture

    def joins(self, capture: Capture, others: Sequence[Share]) -> bool:
        if self.capture is None or capture.state.head != self.capture.state.head:
            self.prepare(capture)
        own = self.change
        # What a change depends on may turn out only now, or with another schema.
        members = [other.change for other in others if isinstance(other, WaveMember)]
        return own is not None and all(item is not None and item.is_apart(own) for item in members)


def stage_wave(capture: Capture, shares: Sequence[Share]) -> list[PublishPlan]:
    """Stage the members of a wave (``manifest.queue.StageWave``)."""
    members = [share for share in shares if isinstance(share, WaveMember)]
    if len(members) == 1:
        return [_stage(members[0].context, members[0].job, members[0].known, capture)]
    with ExitStack() as stack:
        steps = [stack.enter_context(member.context.profiler.step(STAGE)) for member in members]
        orders = [Order(member.job.info, member.job.options, member.change) for member in members if member.change]
        plans = stage_together(members[0].context.store, capture, orders)
        for member, step, plan in zip(members, steps, plans, strict=True):
            _report(member.context, plan)
            member.context.profiler.say(f"staged together with {len(members) - 1} other writes")
            step.rows = sum(map(_changed, plan.writes))
    return plans


def _changed(write: TableWrite) -> int:
    return write.inserted + write.updated + write.deleted


def _publish(
    context: WriteContext, plan: PublishPlan, restage: Restage, seconds: float, share: Share | None
) -> Published:
    published = context.publisher.publish(plan, restage, seconds, share)
    state = published.state
    context.profiler.say(f"commit {published.commit.id}, version {state.version} of branch {state.branch}")
    if published.lost_swaps:
        context.profiler.say(f"compare-and-swap attempts lost to other processes: {published.lost_swaps}")
    return published


def _prepare(context: WriteContext, job: WriteJob[P]) -> tuple[Capture, P]:
    """Prepare on the warm state; prepare again on the newest one before reporting a refusal or a no-op."""
    manifests, expected = context.manifests, job.options.expected_head
    capture = manifests.capture(manifests.warm(job.incarnation))
    needs_newest = expected is not None and expected != capture.state.head
    refusal: OmnigraphError | None = None
    if not needs_newest:
        try:
            prepared = job.prepare(capture)
            if not prepared.is_empty:
                return capture, prepared
        except (InputError, ConflictError, NotFoundError, PolicyDenied) as error:
            refusal = error
    newest = manifests.fresh(job.incarnation)
    check_precondition(newest, expected)
    if refusal is not None and newest.head == capture.state.head:
        raise refusal  # the warm state was the newest one
    capture = manifests.capture(newest)
    return capture, job.prepare(capture)


def _moved_table(base: ManifestState, current: ManifestState) -> str:
    moved = [key for key, pin in current.tables.items() if base.tables.get(key) != pin]
    return moved[0] if moved else "schema"
