"""Retrying a swap: random backoff between attempts, and a turn for a writer that keeps losing."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from contextlib import ExitStack
from types import TracebackType

from omnigraph.manifest.reader import Manifests
from omnigraph.manifest.replacement import replace_state
from omnigraph.storage.publish.swap import SwapLost, SwapNotDurable, SwapUnclear

TURN_AFTER = 1
"""Lost swaps after which a short write holds the turn: a second attempt without it would most likely fail too."""

TURN_AFTER_LONG = 3
"""The same for a write that takes long to prepare. The others wait while it holds the turn, so they make progress for
about three quarters of the time."""

LONG_SECONDS = 0.1
"""Preparation time from which a write counts as long: other writers swap many times meanwhile."""

BACKOFF_MS_MAX = 50
"""Longest pause between two attempts without a turn; a swap itself takes a few milliseconds."""

TURN_FACTOR = 3
"""Announced duration of a turn, as a multiple of the longest attempt so far: the machine may be busy."""

TURN_SECONDS_MIN = 1.0

KNOCKS_MAX = 3
"""Swaps attempted to make other writers notice a turn. They need no preparation, so most of them win."""


class Contention:
    """The attempts of one change of a branch. A context manager, so that a turn ends with the change.

    ``seconds`` is the time that preparing the change took: an attempt that restages takes as long again. With
    ``has_rivals``, a short write holds the turn from its first attempt on, where a turn costs no request.
    """

    def __init__(
        self,
        manifests: Manifests,
        incarnation: str,
        attempts_max: int,
        seconds: float = 0.0,
        *,
        has_rivals: bool = False,
    ) -> None:
        self._manifests = manifests
        self._incarnation = incarnation
        self._turns = manifests.store.turns
        self._location = manifests.location(incarnation)
        self._attempts_max = attempts_max
        self._seconds = seconds
        if seconds > LONG_SECONDS:
            self.turn_after = TURN_AFTER_LONG
        else:
            self.turn_after = 0 if has_rivals and not self._turns.needs_knock else TURN_AFTER
        self.is_held = False
        """True while this change holds the turn, and no other process can."""
        self._stack = ExitStack()

    def __enter__(self) -> Contention:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def __iter__(self) -> Iterator[int]:
        """Attempt numbers. Every attempt but the first follows a lost swap."""
        longest = self._seconds
        for attempt in range(self._attempts_max):
            if attempt:
                self._turns.note_lost(self._location)
            if attempt == self.turn_after:
                seconds = max(TURN_SECONDS_MIN, TURN_FACTOR * longest)
                self.is_held = self._stack.enter_context(self._turns.hold(self._location, seconds))
                if self._turns.needs_knock:
                    self._knock()
            elif 0 < attempt < self.turn_after:
                time.sleep(random.uniform(0, min(2**attempt, BACKOFF_MS_MAX)) / 1000)
            began = time.monotonic()
            yield attempt
            longest = max(longest, time.monotonic() - began)

    def _knock(self) -> None:
        """Swap the state for itself, so that every other writer loses its next swap and looks for the turn."""
        for _ in range(KNOCKS_MAX):
            state = self._manifests.reload(self._incarnation)
            try:
                replace_state(self._manifests, state, state)
            except (SwapLost, SwapUnclear, SwapNotDurable):
                continue
            return
