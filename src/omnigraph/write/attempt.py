"""Capture, prepare, stage, publish: the loop that every embedded writer runs in.

A prepared write can be staged on the state it was prepared on; when others publish first it is prepared again on
theirs. A warm state may be old, so nothing is refused and nothing is called a no-op before it was looked at on the
newest state.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Final, Generic, Protocol, TypeVar

from omnigraph.errors import ConflictError, ContentionError, InputError, NotFoundError, OmnigraphError, StorageError
from omnigraph.history.plan import CommitInfo, PublishPlan, TableWrite
from omnigraph.history.rebase import Decision
from omnigraph.history.state import Fence, ManifestState
from omnigraph.manifest.branches import check_confirmed
from omnigraph.manifest.fences import Fenced
from omnigraph.manifest.publisher import Published, Restage, check_precondition, conflict, schema_conflict
from omnigraph.manifest.reader import Capture
from omnigraph.write import limits
from omnigraph.write.context import WriteContext, WriteOptions

READ: Final = "Read"
CHECK: Final = "Check"
STAGE: Final = "Stage"
PUBLISH: Final = "Publish"
"""The steps of a write, as its profile calls them. Reading and checking are for the writers to tell."""


class Prepared(Protocol):
    """A validated change, not yet written."""

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to commit."""
        ...

    @property
    def fingerprint(self) -> str:
        """What the change was decided from: equal fingerprints mean that the entities it read are the same."""
        ...

    def stage(self, capture: Capture, info: CommitInfo, options: WriteOptions) -> PublishPlan:
        """Write the files and the detached versions."""
        ...


P = TypeVar("P", bound=Prepared)


class _NothingLeft(Exception):
    """Others have made the whole change meanwhile."""


Renew = Callable[[Fence], None]
"""Makes sure that what a write keeps from before a fence is still there and stays, or raises."""


@dataclass(frozen=True, slots=True)
class Change(Generic[P]):
    """A write to one branch: how it is prepared on a captured state, and the commit that it shall become.

    A writer that relies on more than what ``prepare`` reads and stages declares it: ``since`` is the fence that it knew
    before it wrote its first file or read another branch, and ``renew`` is called before such things are used behind a
    newer fence.
    """

    incarnation: str
    prepare: Callable[[Capture], P]
    info: CommitInfo
    options: WriteOptions
    since: Fence | None = None
    renew: Renew | None = None


def prepare(context: WriteContext, change: Change[P]) -> tuple[Capture, P]:
    """Prepare a change and stage nothing: a preview is this value, rendered."""
    base = context.manifests.warm(change.incarnation)
    try:
        return _prepare(context, change)
    except StorageError:
        # The state in memory may be so old that cleanup has deleted its files.
        if context.manifests.fresh(change.incarnation).version == base.version:
            raise
        return _prepare(context, change)


def commit(context: WriteContext, change: Change[P]) -> tuple[P, Published | None]:
    """Publish a change as one commit; no commit if the prepared change is empty.

    A fence of cleanup sends the write back to the beginning: it is captured, prepared and staged again.
    """
    fence = context.manifests.warm(change.incarnation).fence if change.since is None else change.since
    for _ in range(limits.FENCES_MAX):
        try:
            return _commit(context, change, fence.number)
        except Fenced as fenced:
            fence = fenced.fence
            context.profiler.say(f"cleanup {fence.number} ran meanwhile: staged again")
            if change.renew is not None:
                change.renew(fence)
    raise ContentionError(f"{limits.FENCES_MAX} cleanups ran while this was written", hint="try again")


def _commit(context: WriteContext, change: Change[P], fence: int) -> tuple[P, Published | None]:
    incarnation = change.incarnation
    base = context.manifests.warm(incarnation)
    began = time.monotonic()
    try:
        capture, prepared, plan = _stage(context, change)
    except StorageError as error:
        # What is in memory, or what the writer keeps, may be so old that cleanup has deleted its files.
        newest = context.manifests.fresh(incarnation)
        if newest.fence.number != fence:
            raise Fenced(newest.fence) from error
        check_confirmed(context.manifests, newest)
        if newest.version == base.version:
            raise
        capture, prepared, plan = _stage(context, change)
    if plan is None:
        return prepared, None
    last = prepared

    def restage(newer: Capture, decision: Decision) -> PublishPlan:
        nonlocal last
        again = _prepared_again(change, capture, newer)
        if decision is Decision.RECHECK and again.fingerprint != prepared.fingerprint:
            raise conflict(_moved_table(capture.state, newer.state), capture.state, newer.state)
        last = again
        if again.is_empty:
            raise _NothingLeft
        staged = _staged(context, change, again, newer)
        context.profiler.say("others published first: checked and staged again")
        return staged

    published: Published | None = None
    with suppress(_NothingLeft):
        fenced, seconds = replace(plan, fence=fence), time.monotonic() - began
        with context.profiler.step(PUBLISH) as step:
            published = _publish(context, fenced, restage, seconds)
            step.rows = 1
    return last, published


def _prepared_again(change: Change[P], before: Capture, newer: Capture) -> P:
    """Prepare on what others made. What no longer fits because they changed the schema is a conflict, not a mistake."""
    try:
        return change.prepare(newer)
    except InputError as error:
        if newer.state.schema_digest == before.state.schema_digest:
            raise
        raise schema_conflict(before.state, newer.state, error.message) from error


def _stage(context: WriteContext, change: Change[P]) -> tuple[Capture, P, PublishPlan | None]:
    """A first plan; none if there is nothing to do."""
    capture, prepared = _prepare(context, change)
    return capture, prepared, None if prepared.is_empty else _staged(context, change, prepared, capture)


def _staged(context: WriteContext, change: Change[P], prepared: P, capture: Capture) -> PublishPlan:
    with context.profiler.step(STAGE) as step:
        plan = prepared.stage(capture, change.info, change.options)
        for write in plan.writes:
            counts = f"{write.inserted:,} inserted, {write.updated:,} updated, {write.deleted:,} deleted"
            context.profiler.say(f"{write.key}: {write.mode.value}, {counts}")
        step.rows = sum(map(_changed, plan.writes))
        return plan


def _changed(write: TableWrite) -> int:
    return write.inserted + write.updated + write.deleted


def _publish(context: WriteContext, plan: PublishPlan, restage: Restage, seconds: float) -> Published:
    published = context.publisher.publish(plan, restage, seconds)
    state = published.state
    context.profiler.say(f"commit {published.commit.id}, version {state.version} of branch {state.branch}")
    if published.lost_swaps:
        context.profiler.say(f"swaps lost to other processes: {published.lost_swaps}")
    return published


def _prepare(context: WriteContext, change: Change[P]) -> tuple[Capture, P]:
    """Prepare on the state at hand; look at the newest one before believing that the answer is no."""
    manifests, expected = context.manifests, change.options.expected_head
    capture = manifests.capture(manifests.warm(change.incarnation))
    needs_newest = expected is not None and expected != capture.state.head
    refusal: OmnigraphError | None = None
    if not needs_newest:
        try:
            prepared = change.prepare(capture)
            if not prepared.is_empty:
                return capture, prepared
        except (InputError, ConflictError, NotFoundError) as error:
            refusal = error
    newest = manifests.fresh(change.incarnation)
    check_precondition(newest, expected)
    if refusal is not None and newest.head == capture.state.head:
        raise refusal
    capture = manifests.capture(newest)
    return capture, change.prepare(capture)


def _moved_table(base: ManifestState, current: ManifestState) -> str:
    moved = [key for key, pin in current.tables.items() if base.tables.get(key) != pin]
    return moved[0] if moved else "schema"
