"""The queue of a branch: writers of one process wait, and one of them publishes for all.

A ticket is a write in the queue. It is open until its commit is published or it has failed.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import field
from typing import Final, Protocol

from omnigraph.core.classes.dataclass import dataclass
from omnigraph.core.commit import GraphCommit
from omnigraph.errors import OutcomeUnknown
from omnigraph.history.plan import CommitInfo, PublishPlan
from omnigraph.history.rebase import Decision
from omnigraph.history.state import ManifestState
from omnigraph.manifest.reader import Capture

GATHER_SHARE: Final = 0.05
"""Longest pause for the writers of the last group to come back, as a share of the time that publishing it took."""

RIVAL_TURNS: Final = 16
"""Groups that take the turn of the branch first, after another process has published between two of them."""

Restage = Callable[[Capture, Decision], PublishPlan]
"""Stages the plan again on a newer state. With RECHECK it raises if its read set has changed."""


class Share(Protocol):
    """A prepared change that is staged by the publisher, in one wave with others that do not interact with it."""

    def joins(self, capture: Capture, others: Sequence[Share]) -> bool:
        """Prepare on a state if it moved, and tell if the change is independent of others prepared on it.

        Raises what the writer would report, for example a violation.
        """
        ...


class Offering(Protocol):
    """A change as a text that other processes can prepare, and the way to read such texts."""

    def text(self) -> str | None:
        """The change; None if only this process can prepare it."""
        ...

    def receive(self, text: str, info: CommitInfo) -> Share | None:
        """The change of another process; None if it cannot be prepared here."""
        ...


StageWave = Callable[[Capture, Sequence[Share]], list[PublishPlan]]
"""Stages changes that joined each other. The versions of each plan hold the rows of all plans before it."""


@dataclass(frozen=True, slots=True)
class Published:
    """A commit, and the state of its branch right after it.

    ``repeated`` marks an idempotent retry: an earlier call made the commit. ``lost_swaps`` counts how often other
    processes published first.
    """

    commit: GraphCommit
    state: ManifestState
    repeated: bool = False
    lost_swaps: int = 0


@dataclass(slots=True)
class Ticket:
    """A write in the queue.

    The original plan is kept: every attempt must start from a published base, and a batch rebases plans onto states
    that are published only if its swap wins.

    ``unclear`` is the manifest version of a swap with an unknown outcome, and its failure. In an object store such a
    request may still take effect, until another swap has taken that version.
    """

    plan: PublishPlan
    restage: Restage
    seconds: float = 0.0
    share: Share | None = None
    """The change that is to be staged in a wave."""
    is_staged: bool = True
    """False if ``plan`` is an outline without writes."""
    offering: Offering | None = None
    """The change for other processes, which may publish it in their turn."""
    lost_swaps: int = 0
    unclear: tuple[int, str] | None = None
    published: Published | None = None
    error: BaseException | None = None

    @property
    def is_open(self) -> bool:
        return self.published is None and self.error is None

    def fail(self, error: BaseException) -> None:
        """Close the ticket with an error, unless it is closed."""
        if not self.is_open:
            return
        # An earlier swap of this ticket may still take effect, so whatever failed now is not the outcome.
        if self.unclear is not None:
            self.error = OutcomeUnknown(self.plan.info.id, self.unclear[1])
            self.error.__cause__ = error
        else:
            self.error = error

    def outcome(self) -> Published:
        if self.error is not None:
            raise self.error
        assert self.published is not None
        return self.published


@dataclass(slots=True)
class Door:
    """Writers of one branch in this process: one of them publishes for all that wait.

    A writer waits for its ticket to be closed, not for the others to leave: those that were published together would
    otherwise come back one by one, each behind a new group of one.
    """

    lock: threading.Lock = field(default_factory=threading.Lock)
    changed: threading.Condition = field(init=False)
    """A group was published, or the thread that publishes leaves."""
    arrived: threading.Condition = field(init=False)
    """A ticket waits."""
    waiting: deque[Ticket] = field(default_factory=deque)
    is_busy: bool = False
    """A thread publishes."""
    last: tuple[int, float] = (0, 0.0)
    """Tickets of the last group, and the seconds that publishing it took."""
    _rival_turns: int = 0

    def __post_init__(self) -> None:
        self.changed, self.arrived = threading.Condition(self.lock), threading.Condition(self.lock)

    def enter(self, ticket: Ticket) -> bool:
        """Wait until the ticket is closed (False), or this thread is the one that publishes (True)."""
        with self.lock:
            self.waiting.append(ticket)
            self.arrived.notify()
            try:
                while ticket.is_open and self.is_busy:
                    self.changed.wait()
            except BaseException:
                # An interrupted writer whose ticket was not taken yet is certainly not published.
                if ticket in self.waiting:
                    self.waiting.remove(ticket)
                raise
            if not ticket.is_open:
                return False
            self.is_busy = True
            return True

    def leave(self) -> None:
        """Let another thread publish."""
        with self.lock:
            self.is_busy = False
            self.changed.notify_all()

    @property
    def is_crowded(self) -> bool:
        """True while a thread publishes or waits, after a group of several, and while other processes publish."""
        return self.is_busy or bool(self.waiting) or self.last[0] > 1 or self.has_rivals

    @property
    def has_rivals(self) -> bool:
        """True if other processes published on this branch recently: a swap without the turn would likely be lost."""
        return self._rival_turns > 0

    def note_rivals(self, *, was_overtaken: bool) -> None:
        """Note whether another process published since the last group."""
        self._rival_turns = RIVAL_TURNS if was_overtaken else max(0, self._rival_turns - 1)

    def next_batch(self, count_max: int) -> list[Ticket]:
        """The next group of tickets; those of the last one leave.

        Writers that were published together come back together, one after the other. Without a short pause the first
        of them would be a group of its own, and the others would wait for it.
        """
        count, seconds = self.last
        with self.lock:
            self.changed.notify_all()
            if len(self.waiting) < count <= count_max:
                self.arrived.wait_for(lambda: len(self.waiting) >= count, GATHER_SHARE * seconds)
            return [self.waiting.popleft() for _ in range(min(len(self.waiting), count_max))]
