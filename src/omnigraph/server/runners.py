"""Runners: where the work of requests runs. Handlers do not know which one it is."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final, Protocol, TypeVar

from omnigraph.aio.threads import Threads
from omnigraph.server.access.admission import busy
from omnigraph.server.call import Call
from omnigraph.server.http.replies import Reply
from omnigraph.server.operations.metrics import Metrics
from omnigraph.server.roads import Lane, Onward, Road

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

    async def handle(self, road: Road, call: Call, body: Any) -> Reply | Onward:
        """Run the handler of a road on its lane. Raises what the handler raises, and as ``run``."""
        ...

    async def part(self, work: Callable[[], R]) -> R:
        """Compute the next part of a stream."""
        ...

    def report_to(self, metrics: Metrics) -> None:
        """Show in metrics what runs."""
        ...

    async def start(self) -> None:
        """Start what takes time to start, without waiting for it."""
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
        with self.counted():
            return await self._lanes[lane].call(work, cancel)

    @contextmanager
    def counted(self) -> Iterator[None]:
        """Count a read while it runs or waits; raises Refusal 429 if there are too many."""
        if self._reads >= self._waiting_max:
            raise busy(f"{self._reads} reads are running or waiting, which is the limit")
        self._reads += 1
        try:
            yield
        finally:
            self._reads -= 1

    async def handle(self, road: Road, call: Call, body: Any) -> Reply | Onward:
        return await self.run(road.lane, lambda: road.handler(call, body), call.cancel)

    def report_to(self, metrics: Metrics) -> None:
        metrics.watch("omnigraph_reads", "Reads that run or wait.", lambda: self._reads)

    async def start(self) -> None:
        """Threads start with their first work."""

    async def part(self, work: Callable[[], R]) -> R:
        return await self._streams.call(work)

    async def close(self) -> None:
        for threads in (*self._lanes.values(), self._streams):
            await threads.close()
