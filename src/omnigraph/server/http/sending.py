"""Sending of answers over ASGI, and noticing that a client went away."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import Any, Final, TypeVar

from starlette.types import Receive, Send

from omnigraph.server.http.cancelling import Cancelling
from omnigraph.server.http.replies import Reply
from omnigraph.server.http.streams import BrokenStream, Parts, pump
from omnigraph.wire.http.openapi import JSON

R = TypeVar("R")

WATCHED_SECONDS: Final = 0.05
"""Time that work runs before the connection of its caller is watched."""


async def send_reply(
    reply: Reply, receive: Receive, send: Send, parts: Parts, cancel: Cancelling, *, without_body: bool
) -> None:
    """Send an answer; raises BrokenStream if its body fails after the headers."""
    try:
        await send({"type": "http.response.start", "status": reply.status, "headers": _headers(reply)})
        if reply.chunks is None or without_body:
            await send({"type": "http.response.body", "body": b"" if without_body else reply.body})
            return
        await _stream(reply.chunks, receive, send, parts, cancel)
    finally:
        if reply.on_end is not None:
            reply.on_end()


async def _stream(chunks: Any, receive: Receive, send: Send, parts: Parts, cancel: Cancelling) -> None:
    async def part(content: bytes) -> None:
        await send({"type": "http.response.body", "body": content, "more_body": True})

    try:
        is_sent = await unless_gone(pump(chunks, parts, part), receive, cancel, is_stopped=True)
    except Exception as error:
        raise BrokenStream(f"a stream failed: {error}") from error
    if is_sent is not GONE:
        await send({"type": "http.response.body", "body": b""})


_JSON_TYPE: Final = (b"content-type", JSON.encode())


class Gone:
    """Stands for a client that went away before the work was done."""


GONE = Gone()


async def unless_gone(
    work: Awaitable[R], receive: Receive, cancel: Cancelling, *, is_stopped: bool = False
) -> R | Gone:
    """Await work; if the client goes away first, set ``cancel``, and wait for the end of the work or stop it."""
    running = asyncio.ensure_future(work)
    try:
        # Most work is done before it pays to watch the connection.
        await asyncio.wait({running}, timeout=WATCHED_SECONDS)
    except asyncio.CancelledError:
        cancel.set()
        running.cancel()
        raise
    if running.done():
        return running.result()
    watching = asyncio.ensure_future(_disconnected(receive))
    try:
        await asyncio.wait({running, watching}, return_when=asyncio.FIRST_COMPLETED)
        if running.done():
            return running.result()
        cancel.set()
        if is_stopped:
            running.cancel()
        await asyncio.wait({running})
        if not running.cancelled():
            # Retrieved, because asyncio reports exceptions that were never retrieved. The client is gone.
            running.exception()
        return GONE
    finally:
        watching.cancel()
        if not running.done():
            # This task itself is cancelled, and its work with it.
            cancel.set()
            running.cancel()


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


def _headers(reply: Reply) -> list[tuple[bytes, bytes]]:
    if reply.media_type == JSON and not reply.headers and reply.chunks is None and reply.length is None:
        return [_JSON_TYPE, (b"content-length", b"%d" % len(reply.body))]
    found = [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in reply.headers.items()]
    if reply.media_type is not None:
        found.append((b"content-type", reply.media_type.encode("latin-1")))
    length = reply.length if reply.length is not None else len(reply.body) if reply.chunks is None else None
    if length is not None:
        found.append((b"content-length", str(length).encode()))
    return found
