"""Runners: where the work of requests runs. Handlers do not know which one it is."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Final, Protocol, TypeVar

from omnigraph.aio.threads import Threads
from omnigraph.server.access.admission import busy
from omnigraph.server.roads import Lane

R = TypeVar("R")

READ_THREADS: Final = 8
"""Reads that run at the same time. Queries are Python, so more threads give no more of them."""
WRITE_THREADS: Final = 64
"""Writes that run at the same time: mostly they wait for the store, and those of one branch are published together."""
STREAM_THREADS: Final = 4
"""Threads that compute the next parts of streams."""
READS_WAITING_MAX: Final = 512
"""Reads that run or wait; a longer queue would only let clients wait for answers that they no longer want."""


class Runner(Protocol):
    """Runs blocking work for the event loop."""

    @property
    def is_ready(self) -> bool:
        """False while no work can run."""
        ...

    async def run(self, lane: Lane, work: Callable[[], R], cancel: threading.Event) -> R:
        """Run work on a lane; cancelling the task sets ``cancel``. Raises Refusal if there is no room for it."""
        ...

    async def part(self, work: Callable[[], R]) -> R:
        """Compute the next part of a stream."""
        ...

    async def close(self) -> None:
        """Wait for the work that runs."""
        ...


class InThreads:
    """Everything in this process, on threads."""

    def __init__(
        self,
        reads: int = READ_THREADS,
        writes: int = WRITE_THREADS,
        waiting_max: int = READS_WAITING_MAX,
    ) -> None:
        self._lanes = {Lane.READ: Threads(reads), Lane.WRITE: Threads(writes)}
        self._streams = Threads(STREAM_THREADS)
        self._waiting_max = waiting_max
        self._reads = 0

    @property
    def is_ready(self) -> bool:
        return True

    async def run(self, lane: Lane, work: Callable[[], R], cancel: threading.Event) -> R:
        if lane is Lane.LOOP:
            return work()
        if lane is Lane.WRITE:
            return await self._lanes[lane].call(work, cancel)
        if self._reads >= self._waiting_max:
            raise busy(f"{self._reads} reads are running or waiting, which is the limit")
        self._reads += 1
        try:
            return await self._lanes[lane].call(work, cancel)
        finally:
            self._reads -= 1

    async def part(self, work: Callable[[], R]) -> R:
        return await self._streams.call(work)

    async def close(self) -> None:
        for threads in (*self._lanes.values(), self._streams):
            await threads.close()
