"""The runner that sends reads to reader processes. Everything else runs in this process, on threads."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Final

from omnigraph.server.call import Call
from omnigraph.server.http.answers import CLIENT_GONE, Answered
from omnigraph.server.http.cancelling import Cancelling
from omnigraph.server.http.replies import Reply
from omnigraph.server.operations.metrics import Metrics
from omnigraph.server.readers.frames import Done, Graphs, Next, Part, Stop, Work, shared
from omnigraph.server.readers.memory import READER_BYTES_MAX
from omnigraph.server.readers.pool import Channel, Pool, unavailable
from omnigraph.server.readers.process import LOST, ReaderProcess
from omnigraph.server.roads import Lane, Onward, Road
from omnigraph.server.runners import READS_WAITING_MAX, InThreads
from omnigraph.server.serving.graphs import Serving

KILL_SECONDS: Final = 5.0
"""Time beyond the limit of a query after which its reader is taken for stuck, and killed."""
LOOK_SECONDS: Final = 0.05
"""Time between two looks whether the callers of reads are still there."""


class PartFailed(Exception):
    """The reader could not compute the next part of a body."""


@dataclass(slots=True, eq=False)
class _Watched:
    """Work that a reader does, whose caller may go away."""

    reader: ReaderProcess
    number: int
    cancel: Cancelling
    ends: float
    is_cancelled: bool = False


class InProcesses(InThreads):
    """Reads in reader processes."""

    def __init__(
        self, readers: int, *, memory_max: int = READER_BYTES_MAX, waiting_max: int = READS_WAITING_MAX
    ) -> None:
        super().__init__(waiting_max=waiting_max)
        self.pool = Pool(readers, memory_max)
        self._known: tuple[Serving, Graphs] | None = None
        self._watched: set[_Watched] = set()
        self._watching: asyncio.Future[None] | None = None

    @property
    def is_ready(self) -> bool:
        return self.pool.alive > 0

    def report_to(self, metrics: Metrics) -> None:
        super().report_to(metrics)
        metrics.watch("omnigraph_readers", "Reader processes that can work.", lambda: self.pool.alive)
        self.pool.on_end = metrics.reader_ended

    async def start(self) -> None:
        self.pool.start()

    async def close(self) -> None:
        await self.pool.close()
        await super().close()

    async def handle(self, road: Road, call: Call, body: Any) -> Reply | Onward:
        if not road.in_reader or await self._is_small(road, call, body):
            return await super().handle(road, call, body)
        with self.counted():
            channel = await self.pool.take(call.serving.query_seconds)
            if call.cancelling.is_wanted:
                self.pool.give_back(channel)
                return Reply(CLIENT_GONE)
            try:
                done = await self._done(channel, road, call, body)
            except LOST:
                raise unavailable("the reader of this request was lost") from None
        return self._reply(channel, done, is_wanted=not call.cancelling.is_wanted)

    async def _is_small(self, road: Road, call: Call, body: Any) -> bool:
        """True for work that is cheaper here than the way to a reader, once its data is in memory."""
        if road.is_small is None:
            return False
        found = road.is_small(call, body, False)
        if found is None:
            is_small = road.is_small
            found = await self.run(Lane.READ, lambda: is_small(call, body, True), call.cancel)
        return bool(found)

    async def _done(self, channel: Channel, road: Road, call: Call, body: Any) -> Done:
        reader, graphs = channel.reader, self._graphs(call.serving)
        number = reader.next_number()
        work = Work(
            number,
            graphs.generation,
            road.handler,
            call.id,
            call.served.id,
            call.actor,
            dict(call.path),
            dict(call.query),
            dict(call.headers),
            body,
        )
        await reader.know(graphs)
        await channel.connection.send(work)
        watched = _Watched(
            reader, number, call.cancelling, time.monotonic() + call.serving.query_seconds + KILL_SECONDS
        )
        try:
            with self._watch(watched):
                done: Done = await channel.connection.receive()
        except asyncio.CancelledError:
            # The channel is used again only when the reader has answered.
            _in_background(self._abandoned(channel, number))
            raise
        return done

    @contextmanager
    def _watch(self, watched: _Watched) -> Iterator[None]:
        """Watch work until it is done. One timer serves all work, because most of it is done before it fires."""
        self._watched.add(watched)
        if self._watching is None or self._watching.done():
            self._watching = asyncio.ensure_future(self._look())
        try:
            yield
        finally:
            self._watched.discard(watched)

    async def _look(self) -> None:
        """Cancel the work of callers that went away, and kill readers that do not answer, while there is work."""
        while self._watched:
            await asyncio.sleep(LOOK_SECONDS)
            for watched in list(self._watched):
                if watched.cancel.is_wanted and not watched.is_cancelled:
                    watched.is_cancelled = True
                    await watched.reader.cancel(watched.number)
                if time.monotonic() > watched.ends:
                    watched.reader.kill()

    async def _abandoned(self, channel: Channel, number: int) -> None:
        await channel.reader.cancel(number)
        try:
            done = await channel.connection.receive()
        except LOST:
            return
        with contextlib.suppress(Answered):
            self._reply(channel, done, is_wanted=False)

    def _reply(self, channel: Channel, done: Done, *, is_wanted: bool) -> Reply:
        """The answer of a reader. Its channel is free again now, or when the last part was sent."""
        if done.has_parts:
            body = _Body(self.pool, channel, done.resident_bytes)
            if is_wanted:
                return replace(done.reply, chunks=body.parts(), on_end=body.end)
            body.end()
            return Reply(CLIENT_GONE)
        self.pool.give_back(channel, done.resident_bytes)
        if done.is_error:
            raise Answered(done.reply, done.failure)
        return done.reply

    def _graphs(self, serving: Serving) -> Graphs:
        """The form of a serving state that readers know it by."""
        if self._known is None or self._known[0] is not serving:
            generation = 1 if self._known is None else self._known[1].generation + 1
            pickled = {name: shared(graph) for name, graph in serving.graphs.items()}
            self._known = serving, Graphs(generation, pickled, serving.query_seconds)
        return self._known[1]


class _Body:
    """A body whose parts a reader computes when the front asks for them."""

    def __init__(self, pool: Pool, channel: Channel, resident_bytes: int) -> None:
        self._pool = pool
        self._channel = channel
        self._resident_bytes = resident_bytes
        self._loop = asyncio.get_running_loop()
        self._is_over = False
        self._has_ended = False

    def parts(self) -> Iterator[bytes]:
        """The parts, for a thread."""
        while True:
            part = asyncio.run_coroutine_threadsafe(self._next(), self._loop).result()
            if part.content is None:
                return
            yield part.content

    async def _next(self) -> Part:
        connection = self._channel.connection
        try:
            await connection.send(Next())
            part: Part = await connection.receive()
        except LOST:
            raise PartFailed("the reader was lost") from None
        self._is_over = part.content is None
        if part.failure is not None:
            raise PartFailed(part.failure)
        return part

    def end(self) -> None:
        """Free the channel, on the event loop; no thread requests parts any more."""
        if not self._has_ended:
            self._has_ended = True
            _in_background(self._end())

    async def _end(self) -> None:
        if not self._is_over:
            try:
                await self._channel.connection.send(Stop())
            except LOST:
                return
        self._pool.give_back(self._channel, self._resident_bytes)


_BACKGROUND: set[asyncio.Task[None]] = set()
"""Tasks that end on their own. The event loop itself keeps only weak references."""


def _in_background(work: Any) -> None:
    task = asyncio.ensure_future(work)
    _BACKGROUND.add(task)
    task.add_done_callback(_BACKGROUND.discard)
