"""Limits of one query: time, memory, cancellation. Memory handed back after large pieces of work."""

from __future__ import annotations

import ctypes
import threading
import time
from contextlib import suppress
from dataclasses import field

import pyarrow as pa

from omnigraph.core.classes.dataclass import dataclass
from omnigraph.errors import Hint, LimitExceeded, QueryCancelled

BYTES_PER_BINDING = 8

NEVER = threading.Event()
"""The event of queries that cannot be cancelled; nothing sets it."""


@dataclass
class Budget:
    """The limits; every operator checks them before it materialises rows."""

    seconds_max: float | None = None
    bytes_max: int | None = None
    cancelled: threading.Event = NEVER
    _started: float = field(default_factory=time.monotonic)

    def check(self, rows: int = 0, variables: int = 1) -> None:
        """Raise if the query was cancelled, took too long, or is about to hold too many rows."""
        self.check_wanted()
        spent = time.monotonic() - self._started
        if self.seconds_max is not None and spent > self.seconds_max:
            raise LimitExceeded(
                f"the query took longer than {self.seconds_max} s",
                hint=Hint(
                    "narrow it, or raise the limit with timeout=", "narrow it, or raise the limit with --timeout"
                ),
                resource="seconds",
                limit=self.seconds_max,
                actual=spent,
            )
        if rows:
            self.hold(rows * variables * BYTES_PER_BINDING, f"an intermediate result of {rows:,} rows")

    @property
    def is_counted(self) -> bool:
        """True if the limits depend on numbers of rows, which are not worth computing otherwise."""
        return self.bytes_max is not None

    def follow(self, edges: int) -> None:
        """Called with a number of edges before a search follows them; limits of time alone do not depend on it."""

    def check_wanted(self) -> None:
        """Raise if the query was cancelled. The time limit does not apply while a result is being read."""
        if self.cancelled.is_set():
            raise QueryCancelled("the query was cancelled")

    def hold(self, needed: int, what: str) -> None:
        """Raise if an allocation exceeds the memory limit."""
        if self.bytes_max is not None and needed > self.bytes_max:
            raise LimitExceeded(
                f"{what} needs {needed:,} bytes; the limit is {self.bytes_max:,}",
                hint=Hint(
                    "narrow the query, or raise the limit with memory_limit= or OMNIGRAPH_QUERY_MEMORY",
                    "narrow the query, or raise the limit with OMNIGRAPH_QUERY_MEMORY",
                ),
                resource="bytes",
                limit=self.bytes_max,
                actual=needed,
            )


def hand_back() -> None:
    """Hand the memory that allocators hold unused back to the system, after a large piece of work.

    The threads that decode a large column leave hundreds of megabytes in the arenas of the C library, which it keeps
    for the life of the process. Without glibc only Arrow's pool is emptied.
    """
    pa.default_memory_pool().release_unused()
    with suppress(AttributeError, OSError, TypeError):
        ctypes.CDLL(None).malloc_trim(0)
