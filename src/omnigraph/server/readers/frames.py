"""Frames between the front and its readers: a length of four bytes, and a pickled value.

Both ends are processes of one server over a socket pair without an address, so what is unpickled was pickled by us.
What clients send travels inside as plain values.
"""

from __future__ import annotations

import pickle
import socket
import struct
from dataclasses import dataclass, field
from typing import Any, Final

from omnigraph.core.actors import Actor
from omnigraph.server.http.replies import Reply
from omnigraph.server.serving.graphs import ServedGraph

_LENGTH: Final = struct.Struct("!I")
LENGTH_BYTES: Final = _LENGTH.size
FRAME_BYTES_MAX: Final = 256 * 1024 * 1024
"""Bytes of one frame. Answers are streamed from 1 MiB on, so only a damaged length is larger."""


@dataclass(frozen=True, slots=True)
class Graphs:
    """The graphs of one serving state, pickled one by one: a reader keeps those that it has opened."""

    generation: int
    pickled: dict[str, bytes]
    query_seconds: float


@dataclass(frozen=True, slots=True)
class Work:
    """A request for a reader: the handler of its road, and what the handler sees of the call."""

    number: int
    generation: int
    handler: Any
    call_id: str
    graph_id: str
    actor: Actor | None
    path: dict[str, str]
    query: dict[str, Any]
    headers: dict[str, tuple[str, ...]]
    body: Any


@dataclass(frozen=True, slots=True)
class Done:
    """The answer of a reader. With ``has_parts``, the front asks for the parts of the body one by one."""

    reply: Reply
    has_parts: bool = False
    is_error: bool = False
    failure: str | None = field(default=None, repr=False)
    """Details of an internal error, for the log of the front."""
    resident_bytes: int = 0


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a body, or its end (None), or the reason why it broke."""

    content: bytes | None
    failure: str | None = None


class Next:
    """Asks for the next part of a body."""


class Stop:
    """Ends a body before its last part."""


@dataclass(frozen=True, slots=True)
class Cancel:
    """Cancels the work of a number."""

    number: int


class Ready:
    """The first frame of a reader: its libraries are loaded."""


def encoded(value: Any) -> bytes:
    """The bytes of a frame."""
    content = pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
    return _LENGTH.pack(len(content)) + content


def shared(graph: ServedGraph) -> bytes:
    """A graph for a reader: what reads need. Stored queries are looked up in the front, and caches stay there."""
    return pickle.dumps((graph.id, graph.trusted, graph.authorizer, {}, graph.is_declared))


def opened(content: bytes) -> ServedGraph:
    """The graph of ``shared``, opened again; raises an error of the tree."""
    return ServedGraph(*pickle.loads(content))


def length_of(prefix: bytes) -> int:
    """The length of a frame; raises ValueError for one that cannot be."""
    (length,) = _LENGTH.unpack(prefix)
    if length > FRAME_BYTES_MAX:
        raise ValueError(f"a frame of {length} bytes, at most {FRAME_BYTES_MAX}")
    return int(length)


def send(connection: socket.socket, value: Any) -> None:
    """Send a frame and wait until it is on its way."""
    connection.sendall(encoded(value))


def receive(connection: socket.socket) -> Any:
    """The next frame, or None when the other end is gone."""
    prefix = _exactly(connection, LENGTH_BYTES)
    if prefix is None:
        return None
    content = _exactly(connection, length_of(prefix))
    return None if content is None else pickle.loads(content)


def _exactly(connection: socket.socket, count: int) -> bytes | None:
    found = bytearray()
    while len(found) < count:
        part = connection.recv(min(count - len(found), 1024 * 1024))
        if not part:
            return None
        found += part
    return bytes(found)
