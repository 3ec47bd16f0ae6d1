"""The publisher: the only path by which a commit reaches a branch (optimistic concurrency with group commit).

Invariant: an acknowledged commit is in the history of its branch exactly once, and a commit reported as failed is not
and never will be. Every write ends in one of three outcomes: published, failed, or unknown (``OutcomeUnknown``).
A failure of the store proves neither of the first two, so the publisher looks the commit up in the manifest. It reports
"unknown" only if the lookup fails as well, or a late request may still take effect.

- Writers of one process that wait for the same branch are published in one swap. Each keeps its own commit and outcome.
  Independent inserts among them are also staged together, as one wave (``Share``): their files are written in parallel,
  and once, on a base that no writer before them makes obsolete.
- Processes of one machine that meet on a branch offer their changes to the one whose turn it is (``offered``).
- A lost swap is retried on the newest state. ``history.rebase`` decides whether the plan still holds there.
- Files are staged and durable before the swap; a failed write leaves only garbage, which cleanup deletes.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Sequence
from dataclasses import field, replace

from omnigraph.core.classes.dataclass import dataclass
from omnigraph.core.lru import Lru
from omnigraph.errors import (
    ContentionError,
    NotFoundError,
    OmnigraphError,
    OutcomeUnknown,
    StorageError,
)
from omnigraph.history.plan import PublishPlan, apply_plan
from omnigraph.history.rebase import Decision, check_precondition, conflict, decide
from omnigraph.history.state import ManifestState
from omnigraph.manifest.branches import check_confirmed
from omnigraph.manifest.commit_log import commits_since, find_by_idempotency_key, find_commit, spill
from omnigraph.manifest.contention import Contention
from omnigraph.manifest.fences import Fenced
from omnigraph.manifest.layout import DELETED, WITHDRAWN
from omnigraph.manifest.queue import Door, Offering, Published, Restage, Share, StageWave, Ticket
from omnigraph.manifest.reader import Manifests
from omnigraph.manifest.replacement import confirm, replace_state, settle
from omnigraph.storage.publish.swap import SwapLost, SwapNotDurable, SwapUnclear

_logger = logging.getLogger(__name__)


@dataclass(slots=True)
class Publisher:
    """Publishes plans for the branches of one graph."""

    manifests: Manifests
    stage_wave: StageWave
    _doors: Lru[str, Door] = field(init=False)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self._doors = Lru(self.manifests.store.tuning.known_branches_max)

    def is_busy(self, incarnation: str) -> bool:
        """True if a writer is likely to wait for its turn, behind others of this process or of other processes."""
        door = self._doors.get(incarnation)
        return door is not None and door.is_crowded

    def publish(
        self,
        plan: PublishPlan,
        restage: Restage,
        seconds: float = 0.0,
        share: Share | None = None,
        offering: Offering | None = None,
    ) -> Published:
        """Publish the plan, rebasing it after every lost swap. ``seconds`` is the time that preparing the plan took.

        A ``share`` is staged here, with those of other writers that wait; its plan is an outline without writes. With
        an ``offering`` another process may publish it.
        """
        door = self._door(plan.base.incarnation)
        ticket = Ticket(plan, restage, seconds, share, is_staged=share is None, offering=offering)
        if door.enter(ticket):
            try:
                # The queue may be longer than a group, and then this ticket is not in the first batch.
                while ticket.is_open:
                    batch = door.next_batch(self.manifests.store.tuning.published_commits_max)
                    began = time.monotonic()
                    self._publish_batch(door, plan.base.incarnation, batch, ticket)
                    door.last = len(batch), time.monotonic() - began
            finally:
                door.leave()
        return ticket.outcome()

    def _door(self, incarnation: str) -> Door:
        with self._lock:
            door = self._doors.get(incarnation)
            if door is None:
                # Writers may still be behind a door that is dropped. The swap decides between two of one branch.
                self._doors.put(incarnation, door := Door())
            return door

    def _publish_batch(self, door: Door, incarnation: str, batch: list[Ticket], own: Ticket) -> None:
        swaps_max = self.manifests.store.tuning.swaps_max
        try:
            # A write that waits for another one of its batch has lost no swap: its attempts count from the beginning.
            while left := [ticket for ticket in batch if ticket.is_open]:
                self._publish_some(door, incarnation, left)
                if all(ticket.is_open for ticket in left):
                    for ticket in left:
                        ticket.fail(ContentionError(f"{swaps_max} others published first", hint="try again"))
        except OmnigraphError as error:
            for ticket in batch:
                ticket.fail(error)
        except BaseException as error:
            # KeyboardInterrupt and the like arrive at any line, also after the swap. The other writers of the batch
            # were not interrupted, but whether their commits were published is unknown.
            for ticket in batch:
                if ticket is not own:
                    ticket.fail(OutcomeUnknown(ticket.plan.info.id, f"its publisher was interrupted: {error!r}"))
            own.fail(error)

    def _publish_some(self, door: Door, incarnation: str, batch: list[Ticket]) -> None:
        """Try until at least one ticket is closed, or all attempts are lost."""
        if not self._publish_in_turn(door, incarnation, batch, batch if door.has_rivals else ()):
            # The process that took the offer could not publish it.
            self._publish_in_turn(door, incarnation, batch, ())

    def _publish_in_turn(self, door: Door, incarnation: str, batch: list[Ticket], offered: Sequence[Ticket]) -> bool:
        """The same; False if another process took the offer of this one and has published nothing of it."""
        # Imported when a group is published: a program that reads does without it.
        from omnigraph.manifest.offered import OwnOffer, take

        seconds = max(ticket.seconds for ticket in batch)
        tuning = self.manifests.store.tuning
        with OwnOffer(self.manifests, incarnation, offered) as offer:
            offer.settle()
            if not any(ticket.is_open for ticket in batch):
                door.note_rivals(was_overtaken=True)
                return True
            with Contention(
                self.manifests, incarnation, tuning.swaps_max, seconds, has_rivals=door.has_rivals
            ) as attempts:
                for attempt in attempts:
                    if offer.withdraw(is_held=attempts.is_held):
                        # Read without the turn: the writers behind this one wait for it.
                        break
                    known = self.manifests.warm(incarnation)
                    # While this writer waited for its turn other processes may have published. A swap on an outdated
                    # state would be lost, and the turn wasted.
                    state = known if attempt < attempts.turn_after else self.manifests.fresh(incarnation)
                    others = (
                        take(self.manifests, state, batch, tuning.published_commits_max) if attempts.is_held else ()
                    )
                    self._try(state, [*batch, *others])
                    is_overtaken = attempt > 0 or state.version != known.version
                    door.note_rivals(was_overtaken=is_overtaken or bool(others))
                    if not all(ticket.is_open for ticket in batch):
                        return True
                else:
                    return True
            door.note_rivals(was_overtaken=True)
            offer.look()
            return not all(ticket.is_open for ticket in batch)

    def _try(self, current: ManifestState, batch: list[Ticket]) -> None:
        """One swap for all open tickets, each rebased on the commits of those before it.

        A refusal stands only if it was decided from published commits (``state is current``). If it was decided from
        commits of this very swap, the ticket stays open: they may not be published after all. Five tickets for one
        table, all prepared on head H:

        ======  ==================  ===========================================================
        ticket  plan                result of this attempt
        ======  ==================  ===========================================================
        1       append              accepted as it is
        2       upsert              accepted, restaged on the unpublished commit of ticket 1
        3       overwrite           stays open: it conflicts with 1 and 2, which may lose the swap
        4       append, expects H   stays open: the head it sees is unpublished
        5       append              accepted, restaged on the commits of 1 and 2
        ======  ==================  ===========================================================
        """
        version = current.version + 1
        state = current
        accepted: list[tuple[Ticket, PublishPlan]] = []
        for ticket, plan in self._wave(current, batch):
            state = apply_plan(state, plan, version)
            accepted.append((ticket, plan))
        for ticket in batch:
            if not ticket.is_open or ticket.share is not None:
                continue
            try:
                self._settle(ticket, current)
                outcome = self._rebased(ticket, state)
            except Exception as error:
                # Any exception is the failure of this one write: the rest of the batch must not share it.
                if state is current and not self._is_overtaken(current, error):
                    ticket.fail(error)
                continue
            if isinstance(outcome, PublishPlan):
                state = apply_plan(state, outcome, version)
                accepted.append((ticket, outcome))
            elif state is current:
                # Found as an earlier commit. In a later state it could be a commit of this batch, not yet published.
                ticket.published = outcome
        if not accepted:
            return
        # Before the swap: the new manifest refers to the log version that this writes.
        try:
            state = spill(self.manifests.store, state)
        except StorageError as error:
            if self._is_overtaken(current, error):
                return
            raise
        # From here on the store decides. No exception below may be reported as a plain failure unless the swap
        # certainly did not happen.
        try:
            state = replace_state(self.manifests, current, state, [plan for _, plan in accepted])
        except StorageError as error:
            self._drop_incomplete(accepted, error)
        except SwapLost:
            # The winner may be this very swap, if its response was lost: the next attempt finds the commit in
            # ``_rebased``.
            _logger.info("version %d of branch %s was taken by another writer; retrying", version, state.branch)
            for ticket, _ in accepted:
                ticket.lost_swaps += 1
            self.manifests.reload(state.incarnation)
        except SwapUnclear as error:
            self._resolve(state, accepted, error)
        except SwapNotDurable as error:
            # Readers see the commit, but a power loss may still take it back: neither success nor failure is true.
            for ticket, plan in accepted:
                ticket.fail(OutcomeUnknown(plan.info.id, f"it is visible but may not be durable: {error}"))
        else:
            self._succeed(state, accepted)

    def _drop_incomplete(self, accepted: list[tuple[Ticket, PublishPlan]], error: StorageError) -> None:
        """Fail the commits with a file that could not be stored, so that the others are published without them.

        The swap did not happen. If every file of every commit is stored, it is the failure of all of them.
        """
        for ticket, plan in accepted:
            try:
                settle(self.manifests.store, plan)
            except StorageError as own:
                ticket.fail(own)
        if all(ticket.is_open for ticket, _ in accepted):
            raise error

    def _wave(self, current: ManifestState, batch: list[Ticket]) -> list[tuple[Ticket, PublishPlan]]:
        """Stage the independent shares of a batch together; the others are staged behind them, one by one."""
        capture = self.manifests.capture(current)
        joined: list[Ticket] = []
        shares: list[Share] = []
        for ticket in batch:
            if not ticket.is_open or ticket.share is None:
                continue
            try:
                self._settle(ticket, current)
                made = self._admitted(ticket, current)
                if made is not None:
                    ticket.published = made
                elif self._is_first_of_its_kind(ticket, joined) and ticket.share.joins(capture, shares):
                    joined.append(ticket)
                    shares.append(ticket.share)
                else:
                    # Staged after the wave, on the commits that it depends on.
                    ticket.share = None
            except Exception as error:
                # A share may be prepared here for the first time, on a state that lacks what others have published.
                if self.manifests.fresh(current.incarnation).version == current.version:
                    ticket.fail(error)
        if not joined:
            return []
        try:
            plans = self.stage_wave(capture, shares)
        except Exception as error:
            if len(joined) == 1:
                if not self._is_overtaken(current, error):
                    joined[0].fail(error)
                return []
            # One failure ends the wave. Staged one by one, each of them gets its own outcome.
            _logger.info("a wave of %d writes failed; staging them one by one", len(joined), exc_info=True)
            for ticket in joined:
                ticket.share = None
            return []
        return [(ticket, replace(plan, fence=ticket.plan.fence)) for ticket, plan in zip(joined, plans, strict=True)]

    def _is_first_of_its_kind(self, ticket: Ticket, joined: list[Ticket]) -> bool:
        """True if no commit of the same wave can change what becomes of this write, as a precondition or a repeat."""
        key = ticket.plan.info.idempotency_key
        is_repeat = key is not None and any(other.plan.info.idempotency_key == key for other in joined)
        return not is_repeat and (ticket.plan.expected_head is None or not joined)

    def _is_overtaken(self, current: ManifestState, error: Exception) -> bool:
        """True if a state failed only because it is outdated and cleanup has deleted its files."""
        return isinstance(error, StorageError) and self.manifests.fresh(current.incarnation).version != current.version

    def _succeed(self, state: ManifestState, accepted: list[tuple[Ticket, PublishPlan]]) -> None:
        for ticket, plan in accepted:
            commit_id = plan.info.id
            _logger.info("commit %s is version %d of branch %s", commit_id, state.version, state.branch)
            commit = find_commit(self.manifests.store, state, commit_id)
            assert commit is not None
            ticket.published = Published(commit, state, lost_swaps=ticket.lost_swaps)

    def _resolve(self, state: ManifestState, accepted: list[tuple[Ticket, PublishPlan]], error: SwapUnclear) -> None:
        """Look up the outcome of an inconclusive swap. If its version is still free, the same commits are retried."""
        try:
            found = self.manifests.reload(state.incarnation)
            is_published = [find_commit(self.manifests.store, found, plan.info.id) is not None for _, plan in accepted]
        except Exception:
            for ticket, plan in accepted:
                ticket.fail(OutcomeUnknown(plan.info.id, str(error)))
            return
        # One swap publishes all commits or none.
        if all(is_published):
            self._succeed(found, accepted)
            return
        if self.manifests.store.root.capabilities.acts_late:
            # The request may be in flight. Retrying is safe, because only one swap can take the version; reporting a
            # failure is not, until that version is taken.
            for ticket, _ in accepted:
                ticket.unclear = (state.version, str(error))

    def _settle(self, ticket: Ticket, current: ManifestState) -> None:
        """Resolve an unclear swap: once its version is taken by other commits, it can no longer take effect."""
        if ticket.unclear is not None and ticket.unclear[0] <= current.version:
            made = find_commit(self.manifests.store, current, ticket.plan.info.id)
            ticket.unclear = None if made is None else ticket.unclear

    def _rebased(self, ticket: Ticket, state: ManifestState) -> PublishPlan | Published:
        """The ticket's plan for this state, or its commit if that exists already."""
        made = self._admitted(ticket, state)
        if made is not None:
            return made
        plan = ticket.plan
        if not ticket.is_staged:
            return ticket.restage(self.manifests.capture(state), Decision.RESTAGE)
        if state.head == plan.base.head:
            return plan
        since = commits_since(self.manifests.store, state, plan.base.head)
        rebase = decide(state, since, plan)
        _logger.debug("%d commits came first on %s: %s", len(since), state.branch, rebase.decision.value)
        match rebase.decision:
            case Decision.REPUBLISH:
                return replace(plan, base=state)
            case Decision.RESTAGE | Decision.RECHECK:
                return ticket.restage(self.manifests.capture(state), rebase.decision)
            case Decision.CONFLICT:
                raise conflict(rebase.table or "schema", plan.base, state)

    def _admitted(self, ticket: Ticket, state: ManifestState) -> Published | None:
        """The ticket's commit if it exists already, else None; raises if the state admits no such write.

        The order of the checks matters: a commit that exists is a success whatever else changed since, so it is
        looked for before anything can refuse the write.
        """
        plan, store = ticket.plan, self.manifests.store
        if plan.info.idempotency_key is not None:
            earlier = find_by_idempotency_key(store, state, plan.info.idempotency_key)
            if earlier is not None:
                return Published(earlier, state, repeated=True)
        since = [] if state.head == plan.base.head else commits_since(store, state, plan.base.head)
        made = next((commit for commit in since if commit.id == plan.info.id), None)
        if made is not None:
            # The store applied an earlier attempt, its response was lost, and the retry was reported as a lost swap.
            # Or another process has published what this one had offered.
            confirm(self.manifests, state, made.id)
            return Published(made, state)
        if state.branch != plan.base.branch:
            gone = {DELETED: "deleted", WITHDRAWN: "withdrawn"}.get(state.branch)
            raise NotFoundError(
                f"branch {plan.base.branch!r} was {gone or f'renamed to {state.branch!r}'}",
                hint="create it again" if gone else f"write to {state.branch!r}",
                branch=plan.base.branch,
            )
        check_precondition(state, plan.expected_head)
        # Cleanup may have deleted files that the plan staged before the fence: the caller stages again, or gives up.
        if state.fence.number != plan.fence:
            raise Fenced(state.fence)
        if state.unconfirmed is not None:
            check_confirmed(self.manifests, state)
        return None
