"""The wish that a request ends: its caller went away, or the server stops."""

from __future__ import annotations

import threading


class Cancelling:
    """A flag that becomes an event of threads when some work looks at it. Most requests end before that."""

    __slots__ = ("_event", "is_wanted")

    def __init__(self) -> None:
        self.is_wanted = False
        self._event: threading.Event | None = None

    def set(self) -> None:
        """Wish that the request ends."""
        # In this order: work on a thread that makes the event after the second line has seen the first one.
        self.is_wanted = True
        if self._event is not None:
            self._event.set()

    @property
    def event(self) -> threading.Event:
        """The event that work on threads looks at."""
        if self._event is None:
            self._event = threading.Event()
        if self.is_wanted:
            self._event.set()
        return self._event
