"""Threads that block in place of the event loop, and the cancellation of what they run.

Three things can happen to a call whose task is cancelled:

* it has not started: it never does;
* it is a query: its ``cancel`` event is set, and the thread ends at the next check of the executor;
* it is anything else: the thread runs to its end, and the result is dropped. A write is committed as a whole, or not.
"""

from __future__ import annotations

import asyncio
import contextvars
import functools
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Final, TypeVar

from omnigraph.errors import UsageError

R = TypeVar("R")
T = TypeVar("T")

THREADS: Final = 8
"""Calls of one graph that run at the same time; more wait for a free thread."""

AHEAD_SECONDS: Final = 0.02
"""Time that a thread spends on the next items of an iterator before it hands them over. A hop between threads costs
some 50 us, more than a commit does; items that take longer than this are handed over one by one."""


class Threads:
    """A bounded pool of threads for the calls of one graph."""

    def __init__(self, count: int = THREADS) -> None:
        if count < 1:
            raise UsageError(f"threads must be at least 1, got {count!r}", hint="leave it out, or use threads=8")
        self._pool = ThreadPoolExecutor(count, thread_name_prefix="omnigraph")
        self._is_closed = False

    async def call(self, function: Callable[[], R], cancel: threading.Event | None = None) -> R:
        """Run a function on a thread, in the context of the caller. Cancelling the task sets ``cancel``."""
        if self._is_closed:
            raise UsageError("the graph is closed", hint="open it again: await omnigraph.aio.open(...)")
        # As asyncio.to_thread does: the spans and loggers of the caller stay in effect.
        work = functools.partial(contextvars.copy_context().run, function)
        try:
            return await asyncio.get_running_loop().run_in_executor(self._pool, work)
        except asyncio.CancelledError:
            if cancel is not None:
                cancel.set()
            raise

    async def iterate(self, start: Callable[[], Iterator[T]]) -> AsyncIterator[T]:
        """The items of an iterator that is started and advanced on threads."""
        items = await self.call(start)
        while True:
            taken, is_done = await self.call(functools.partial(_take, items))
            for item in taken:
                yield item
            if is_done:
                return

    async def close(self) -> None:
        """Refuse new calls, and wait for those that run."""
        self._is_closed = True
        await asyncio.to_thread(self._pool.shutdown)


def _take(items: Iterator[T]) -> tuple[list[T], bool]:
    """The next items, and True if they were the last."""
    taken: list[T] = []
    until = time.monotonic() + AHEAD_SECONDS
    for item in items:
        taken.append(item)
        if time.monotonic() >= until:
            return taken, False
    return taken, True
