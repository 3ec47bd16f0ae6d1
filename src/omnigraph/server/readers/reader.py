"""The main program of a reader: one thread per channel runs work, and one thread listens for cancellations.

A reader holds nothing that must outlive it. It ends when the front closes its control connection, which the kernel does
for a front that was killed.
"""

from __future__ import annotations

import logging
import os
import resource
import signal
import socket
import sys
import threading
import traceback
from collections.abc import Generator, Iterator
from dataclasses import replace

from omnigraph.server.access.states import State
from omnigraph.server.allocator import keep_freed_memory
from omnigraph.server.auth.verifying import Authenticator
from omnigraph.server.call import Call
from omnigraph.server.http.answers import is_failure, reply_to
from omnigraph.server.http.cancelling import Cancelling
from omnigraph.server.http.replies import Reply
from omnigraph.server.http.streams import cut
from omnigraph.server.readers.frames import Cancel, Done, Graphs, Next, Part, Ready, Work, opened, receive, send
from omnigraph.server.serving.graphs import ServedGraph, Serving

GENERATIONS_KEPT = 8
"""Serving states that requests may still refer to: those before the last reloads, and that after them."""
CANCELLED_KEPT = 256
STATE_SECONDS = 30.0
"""Time that work waits for the serving state that it refers to."""


class Reader:
    """The state that the threads of a reader share."""

    def __init__(self) -> None:
        self._lock = threading.Condition()
        self._opening = threading.Lock()
        self._opened: dict[bytes, ServedGraph] = {}
        self._states: dict[int, Graphs] = {}
        self._running: dict[int, Cancelling] = {}
        self._cancelled: dict[int, None] = {}

    def listen(self, control: socket.socket) -> None:
        """Follow the front until it is gone."""
        while (frame := receive(control)) is not None:
            match frame:
                case Graphs():
                    self._take(frame)
                case Cancel(number):
                    self._cancel(number)

    def _take(self, graphs: Graphs) -> None:
        with self._lock:
            self._states[graphs.generation] = graphs
            for old in sorted(self._states)[:-GENERATIONS_KEPT]:
                del self._states[old]
            served = {content for state in self._states.values() for content in state.pickled.values()}
            # Graphs that are served no more are dropped with their caches.
            self._opened = {content: graph for content, graph in self._opened.items() if content in served}
            self._lock.notify_all()

    def _cancel(self, number: int) -> None:
        with self._lock:
            running = self._running.get(number)
            if running is not None:
                running.set()
                return
            # It may be on its way on another connection, or have ended already; the latter are forgotten in turn.
            self._cancelled[number] = None
            while len(self._cancelled) > CANCELLED_KEPT:
                del self._cancelled[next(iter(self._cancelled))]

    def work(self, channel: socket.socket) -> None:
        """Run the work of one channel, a request at a time."""
        while (frame := receive(channel)) is not None:
            if isinstance(frame, Work):
                self._run(channel, frame)

    def _run(self, channel: socket.socket, work: Work) -> None:
        cancel = Cancelling()
        with self._lock:
            self._running[work.number] = cancel
            if work.number in self._cancelled:
                cancel.set()
        try:
            done, chunks = self._done(work, cancel)
            send(channel, done)
            if chunks is not None:
                _send_parts(channel, chunks)
        finally:
            with self._lock:
                del self._running[work.number]
                self._cancelled.pop(work.number, None)

    def _done(self, work: Work, cancel: Cancelling) -> tuple[Done, Iterator[bytes] | None]:
        try:
            reply = work.handler(self._call(work, cancel), work.body)
            assert isinstance(reply, Reply), "a handler that leads onward runs in the front"
        except Exception as error:
            failure = "".join(traceback.format_exception(error)).rstrip() if is_failure(error) else None
            answer = Done(reply_to(error, work.call_id), is_error=True, failure=failure)
            return replace(answer, resident_bytes=resident_bytes()), None
        sent = replace(reply, chunks=None)
        return Done(sent, reply.chunks is not None, resident_bytes=resident_bytes()), reply.chunks

    def _call(self, work: Work, cancel: Cancelling) -> Call:
        graphs = self._graphs(work.generation)
        found = self._graph(graphs.pickled[work.graph_id])
        serving = Serving({work.graph_id: found}, Authenticator(), State.OPEN, query_seconds=graphs.query_seconds)
        call = Call(work.call_id, serving, work.actor, work.path, work.query, work.headers, found, body=work.body)
        call.cancelling = cancel
        return call

    def _graphs(self, generation: int) -> Graphs:
        """A serving state, which the front sends on another connection and so may come a moment later."""
        with self._lock:
            self._lock.wait_for(lambda: generation in self._states, STATE_SECONDS)
            return self._states[generation]

    def _graph(self, content: bytes) -> ServedGraph:
        """A graph, opened once. One that cannot be opened fails its own requests only."""
        with self._opening:
            found = self._opened.get(content)
            if found is None:
                found = opened(content)
                with self._lock:
                    self._opened[content] = found
        return found


def _send_parts(channel: socket.socket, chunks: Iterator[bytes]) -> None:
    """Send the parts of a body as the front asks for them, until the last one or until it stops."""
    parts: Generator[bytes, None, None] = cut(chunks)
    try:
        while isinstance(receive(channel), Next):
            try:
                content = next(parts, None)
            except Exception as error:
                send(channel, Part(None, f"{type(error).__name__}: {error}"))
                return
            send(channel, Part(content))
            if content is None:
                return
    finally:
        parts.close()


def resident_bytes() -> int:
    """Memory of this process that is resident."""
    try:
        with open("/proc/self/statm", "rb") as file:
            return int(file.read().split()[1]) * resource.getpagesize()
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def main(arguments: list[str]) -> None:
    """Serve the file descriptors of a control connection and of channels."""
    # The front decides when a reader ends; a key on its terminal reaches the front alone.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    logging.basicConfig(level=logging.WARNING, stream=sys.stderr)
    control, *channels = (socket.socket(fileno=int(number)) for number in arguments)
    keep_freed_memory()
    reader = Reader()
    for channel in channels:
        threading.Thread(target=reader.work, args=(channel,), daemon=True).start()
    send(control, Ready())
    try:
        reader.listen(control)
    finally:
        # Without waiting for work whose caller is gone. Nothing here is written, so nothing is lost.
        os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1:])
