"""Retries of work that lost a race: which errors deserve another attempt, and how long to wait before it.

Exponential backoff with full jitter: writers that collided once draw different waits, so they do not collide again.
``random`` draws from 0 to 1, by default Python's. Sleeping is the caller's: ``engine.retry`` and ``aio`` run
the loop, in a thread and in an event loop.
"""

from __future__ import annotations

import random
from collections.abc import Callable

from omnigraph.core.classes.dataclass import dataclass
from omnigraph.errors import OmnigraphError, UsageError

ATTEMPTS = 5
WAIT_SECONDS = 0.05
WAIT_SECONDS_MAX = 5.0

ErrorTypes = type[Exception] | tuple[type[Exception], ...]


@dataclass(frozen=True, slots=True)
class Retries:
    """The rule of a retry. ``on`` are errors to retry beside those that are ``retryable`` by themselves."""

    attempts: int = ATTEMPTS
    wait: float = WAIT_SECONDS
    wait_max: float = WAIT_SECONDS_MAX
    on: ErrorTypes = ()
    random: Callable[[], float] | None = None

    def __post_init__(self) -> None:
        if type(self.attempts) is not int or self.attempts < 1:
            raise UsageError(f"attempts must be at least 1, got {self.attempts!r}", hint="use attempts=5, for example")
        if not 0 <= self.wait <= self.wait_max:
            raise UsageError(
                f"wait must lie between 0 and wait_max ({self.wait_max!r} seconds), got {self.wait!r}",
                hint="leave it out, or use wait=0.05, for example",
            )

    def wait_after(self, attempt: int, error: Exception) -> float | None:
        """Seconds to wait after a failed attempt, counted from 1; None if the error has to be raised.

        The error of the last attempt is marked with their number.
        """
        if not (isinstance(error, self.on) or (isinstance(error, OmnigraphError) and error.retryable)):
            return None
        if attempt >= self.attempts:
            if isinstance(error, OmnigraphError):
                error.give_up(attempt)
            return None
        # The exponent is bounded: 2.0 ** 1024 overflows, and the bound is reached long before.
        return (self.random or random.random)() * min(self.wait * 2.0 ** min(attempt - 1, 60), self.wait_max)
