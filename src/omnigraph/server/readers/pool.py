"""A pool of readers: keeps them running, and hands out their channels in the order of arrival."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from omnigraph.server.access.admission import busy
from omnigraph.server.http.refusals import Refusal
from omnigraph.server.readers.memory import READER_BYTES_MAX, reader_environment
from omnigraph.server.readers.process import LOST, Connection, ReaderProcess

logger = logging.getLogger("omnigraph.server")

PAUSE_SECONDS: Final = 0.5
PAUSE_SECONDS_MAX: Final = 30.0
STEADY_SECONDS: Final = 10.0
"""A reader that ran for this long did not fail because it started."""


def unavailable(text: str) -> Refusal:
    """The answer to a request whose reader is gone, or for which there is none."""
    return Refusal(503, text, None, "reader_lost", retryable=True, headers={"retry-after": "1"})


@dataclass(frozen=True, slots=True)
class Channel:
    """A channel in use, and its reader."""

    reader: ReaderProcess
    connection: Connection


class Pool:
    """``count`` readers. All methods run on one event loop."""

    def __init__(self, count: int, memory_max: int = READER_BYTES_MAX) -> None:
        self._count = count
        self._memory_max = memory_max
        self._readers: list[ReaderProcess] = []
        self._waiting: deque[asyncio.Future[Channel]] = deque()
        self._keepers: list[asyncio.Task[None]] = []
        self.on_end: Callable[[str], None] = lambda reason: None
        """Called with the reason when a reader ended while the server runs."""

    @property
    def alive(self) -> int:
        """Readers that can work."""
        return len(self._readers)

    def start(self) -> None:
        if not self._keepers:
            self._keepers = [asyncio.create_task(self._keep()) for _ in range(self._count)]

    async def take(self, seconds: float) -> Channel:
        """A free channel; raises Refusal 429 if all readers stay busy for the time, and 503 if no reader runs."""
        self.start()
        usable = [reader for reader in self._readers if reader.free and not reader.is_retired]
        if usable and not self._waiting:
            return self._pop(max(usable, key=lambda reader: len(reader.free)))
        waiting: asyncio.Future[Channel] = asyncio.get_running_loop().create_future()
        self._waiting.append(waiting)
        try:
            await asyncio.wait({waiting}, timeout=seconds)
        except asyncio.CancelledError:
            if waiting.done():
                self.give_back(waiting.result())
            raise
        finally:
            if not waiting.done():
                self._waiting.remove(waiting)
        if waiting.done():
            return waiting.result()
        if self._readers:
            raise busy(f"no reader became free within {seconds:g} s")
        raise unavailable("no reader runs")

    def give_back(self, channel: Channel, resident_bytes: int = 0) -> None:
        """Return a channel whose work is done."""
        reader = channel.reader
        if reader not in self._readers:
            return
        reader.free.append(channel.connection)
        reader.is_retired = reader.is_retired or resident_bytes > self._memory_max
        if not reader.is_retired:
            self._hand_out(reader)
        elif reader.is_idle:
            reader.close()

    async def close(self) -> None:
        """End all readers."""
        for keeper in self._keepers:
            keeper.cancel()
        await asyncio.gather(*self._keepers, return_exceptions=True)
        self._keepers.clear()

    def _pop(self, reader: ReaderProcess) -> Channel:
        return Channel(reader, reader.free.pop())

    def _hand_out(self, reader: ReaderProcess) -> None:
        while reader.free and self._waiting:
            self._waiting.popleft().set_result(self._pop(reader))

    async def _keep(self) -> None:
        """Keep one reader running: start another one when it ends, slowly if it ends soon."""
        pause = 0.0
        while True:
            await asyncio.sleep(pause)
            started = time.monotonic()
            reason = await self._run_one()
            self.on_end(reason)
            logger.warning("a reader ended (%s) and is started again", reason)
            is_steady = reason == "memory" or time.monotonic() - started >= STEADY_SECONDS
            pause = 0.0 if is_steady else min(max(2 * pause, PAUSE_SECONDS), PAUSE_SECONDS_MAX)

    async def _run_one(self) -> str:
        """Run one reader to its end; returns the reason."""
        reader = None
        try:
            reader = ReaderProcess(reader_environment(self._count))
            await reader.ready()
            self._readers.append(reader)
            self._hand_out(reader)
            await reader.ended()
        except (*LOST, OSError) as error:
            logger.error("a reader did not start: %s", type(error).__name__)
        finally:
            if reader is not None:
                if reader in self._readers:
                    self._readers.remove(reader)
                reader.close()
                # Shielded, so that a server that stops leaves no process behind.
                await asyncio.shield(asyncio.to_thread(reader.reap))
        return "memory" if reader is not None and reader.is_retired else "lost"
