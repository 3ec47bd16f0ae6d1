"""A reader as the front sees it: a process, a control connection, and channels that each run one request at a time."""

from __future__ import annotations

import asyncio
import contextlib
import pickle
import socket
import subprocess
import sys
from collections.abc import Mapping
from typing import Any, Final

from omnigraph.server.readers.frames import LENGTH_BYTES, Cancel, Graphs, Ready, encoded, length_of

CHANNELS: Final = 4
"""Requests that a reader runs at the same time. Queries are Python, so more threads would only let all of them wait."""
START_SECONDS: Final = 60.0
"""Time that a reader has to load its libraries."""
END_SECONDS: Final = 2.0
BUFFER_BYTES: Final = 1024 * 1024

LOST: Final = (asyncio.IncompleteReadError, ConnectionError, ValueError, EOFError)
"""Errors of a connection whose other end is gone or damaged."""


class Connection:
    """One end of a socket pair, on the event loop."""

    def __init__(self, end: socket.socket) -> None:
        self._end = end
        self._length: int | None = None
        """The length of a frame that has begun: a cancelled ``receive`` is continued by the next one."""
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def open(self) -> None:
        self._streams = await asyncio.open_connection(sock=self._end, limit=BUFFER_BYTES)

    async def send(self, value: Any) -> None:
        assert self._streams is not None
        self._streams[1].write(encoded(value))
        await self._streams[1].drain()

    async def receive(self) -> Any:
        """The next frame; raises one of ``LOST``."""
        assert self._streams is not None
        reader, _ = self._streams
        if self._length is None:
            self._length = length_of(await reader.readexactly(LENGTH_BYTES))
        content = await reader.readexactly(self._length)
        self._length = None
        return pickle.loads(content)

    def close(self) -> None:
        if self._streams is None:
            self._end.close()
        else:
            self._streams[1].close()


class ReaderProcess:
    """A process that reads."""

    def __init__(self, environment: Mapping[str, str], channels: int = CHANNELS) -> None:
        pairs = [socket.socketpair() for _ in range(channels + 1)]
        theirs = [pair[1] for pair in pairs]
        numbers = [str(end.fileno()) for end in theirs]
        # Standard output belongs to the front, whose caller reads the address from it. A session of its own keeps
        # signals of the terminal away.
        self.process = subprocess.Popen(
            [sys.executable, "-m", "omnigraph.server.readers.reader", *numbers],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            pass_fds=[end.fileno() for end in theirs],
            env=environment,
            start_new_session=True,
        )
        for end in theirs:
            end.close()
        self._control, *self._channels = (Connection(pair[0]) for pair in pairs)
        self.free: list[Connection] = []
        self.is_retired = False
        """No more work is given to it; it ends when it has none."""
        self._generations: set[int] = set()
        self._numbers = 0

    async def ready(self) -> None:
        """Connect, and wait until the reader has loaded its libraries; raises one of ``LOST`` or TimeoutError."""
        for connection in (self._control, *self._channels):
            await connection.open()
        frame = await asyncio.wait_for(self._control.receive(), START_SECONDS)
        assert isinstance(frame, Ready)
        self.free = list(self._channels)

    async def ended(self) -> None:
        """Wait until the reader is gone."""
        with contextlib.suppress(*LOST):
            while True:
                await self._control.receive()

    @property
    def is_idle(self) -> bool:
        return len(self.free) == len(self._channels)

    def next_number(self) -> int:
        self._numbers += 1
        return self._numbers

    async def know(self, graphs: Graphs) -> None:
        """Send a serving state, once."""
        if graphs.generation not in self._generations:
            self._generations.add(graphs.generation)
            await self._control.send(graphs)

    async def cancel(self, number: int) -> None:
        with contextlib.suppress(*LOST):
            await self._control.send(Cancel(number))

    def close(self) -> None:
        """Ask the reader to end, by closing its connections."""
        for connection in (self._control, *self._channels):
            connection.close()

    def kill(self) -> None:
        """End the reader immediately. It writes nothing, so only its answers are lost."""
        self.process.kill()

    def reap(self) -> None:
        """Wait for the end of the process. Blocks."""
        try:
            self.process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
