"""Streams: bodies that are computed while they are sent, two parts at a time, at the pace of the client.

After the headers an error can no longer be answered, so it breaks the connection: no client takes a part for the whole.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Generator, Iterator
from typing import Final, Protocol, TypeVar

from omnigraph.server.http.refusals import Refusal
from omnigraph.server.limits import CHUNK_BYTES, STALL_SECONDS

R = TypeVar("R")
Send = Callable[[bytes], Awaitable[None]]

STREAMS_MAX: Final = 8
"""Exports and baselines at the same time."""
STREAM_BYTES: Final = 256 * 1024
"""Memory that one of them reserves."""
WAIT_SECONDS: Final = 0.25
"""Time that a request waits for a free place."""


class BrokenStream(Exception):
    """A stream that failed after its headers were sent. The server closes the connection."""


class Parts(Protocol):
    """Computes parts of streams off the event loop."""

    async def part(self, work: Callable[[], R]) -> R: ...


class Transport:
    """Places for streams of whole graphs."""

    def __init__(self, streams_max: int = STREAMS_MAX, wait_seconds: float = WAIT_SECONDS) -> None:
        self._places = asyncio.Semaphore(streams_max)
        self._streams_max = streams_max
        self._wait_seconds = wait_seconds

    async def reserve(self) -> None:
        """Take a place; raises Refusal 413 if none becomes free in time."""
        try:
            await asyncio.wait_for(self._places.acquire(), self._wait_seconds)
        except TimeoutError:
            raise self._full() from None

    def release(self) -> None:
        self._places.release()

    def _full(self) -> Refusal:
        limit = self._streams_max * STREAM_BYTES
        refusal = Refusal(
            413,
            f"{self._streams_max} streams are open, which is the limit",
            "bad_request",
            "resource_limit",
            retryable=True,
        )
        refusal.body["resource_limit"] = {
            "resource": "stream_export_transport_bytes",
            "limit": limit,
            "actual": limit + STREAM_BYTES,
        }
        return refusal


async def pump(chunks: Iterator[bytes], parts: Parts, send: Send) -> None:
    """Send chunks in parts of bounded size. The next part is computed while the last one is sent."""
    source = _Source(chunks)
    waiting = asyncio.ensure_future(parts.part(source.next))
    try:
        while (part := await waiting) is not None:
            waiting = asyncio.ensure_future(parts.part(source.next))
            await asyncio.wait_for(send(part), STALL_SECONDS)
    finally:
        waiting.cancel()
        # Closing runs the cleanup of the source, which may touch files. It completes even if this task is cancelled.
        await asyncio.shield(parts.part(source.close))


class _Source:
    """The parts of a stream. Small chunks are joined and large ones divided: every part but the last has one size."""

    def __init__(self, chunks: Iterator[bytes]) -> None:
        self._parts = cut(chunks)
        # A cancelled task does not stop its thread, and a generator cannot be closed while it runs.
        self._lock = threading.Lock()

    def next(self) -> bytes | None:
        with self._lock:
            return next(self._parts, None)

    def close(self) -> None:
        with self._lock:
            self._parts.close()


def cut(chunks: Iterator[bytes]) -> Generator[bytes, None, None]:
    pending = bytearray()
    try:
        for chunk in chunks:
            pending += chunk
            while len(pending) >= CHUNK_BYTES:
                yield bytes(pending[:CHUNK_BYTES])
                del pending[:CHUNK_BYTES]
        if pending:
            yield bytes(pending)
    finally:
        if isinstance(chunks, Generator):
            chunks.close()
