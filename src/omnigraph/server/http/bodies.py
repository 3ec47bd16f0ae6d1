"""Reading of request bodies: bounded, with a limit on silence, before anything looks at them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any, Final, Protocol

from pydantic import BaseModel
from starlette.requests import ClientDisconnect, Request

from omnigraph.server.http.json_bodies import decode, require_json, validated
from omnigraph.server.http.refusals import Refusal, Rejection, bad_request, enveloped, too_large
from omnigraph.server.limits import BODY_BYTES_MAX, BODY_IDLE_SECONDS


class BodyKind(Protocol):
    """The body that a route takes."""

    async def read(self, request: Request) -> Any:
        """The body; raises Rejection or Refusal."""
        ...


@dataclass(frozen=True, slots=True)
class Unread:
    """A body that is not looked at."""

    async def read(self, request: Request) -> None:
        return None


NO_BODY: Final = Unread()


@dataclass(frozen=True, slots=True)
class JsonBody:
    """A JSON body of one model. ``is_enveloped``: rejections have the envelope of errors."""

    model: type[BaseModel]
    bytes_max: int = BODY_BYTES_MAX
    is_enveloped: bool = False

    async def read(self, request: Request) -> BaseModel:
        try:
            require_json(request.headers.get("content-type"))
            return validated(self.model, decode(await read_bytes(request, self.bytes_max)))
        except Rejection as rejection:
            if self.is_enveloped:
                raise enveloped(rejection) from None
            raise


@dataclass(frozen=True, slots=True)
class OptionalJsonBody:
    """A body that may be missing or ``null``, of any media type; mistakes have the envelope of errors."""

    model: type[BaseModel]

    async def read(self, request: Request) -> BaseModel:
        content = await read_bytes(request, BODY_BYTES_MAX)
        try:
            value = decode(content) if content.strip() else None
            return validated(self.model, {} if value is None else value)
        except Rejection as rejection:
            raise bad_request(rejection.text) from None


@dataclass(frozen=True, slots=True)
class RawBody:
    """Bytes of some media types; mistakes have the envelope of errors."""

    media_types: tuple[str, ...]
    bytes_max: int
    is_text: bool = False
    """The bytes must be UTF-8."""

    async def read(self, request: Request) -> bytes:
        announced_type(request, self.media_types)
        try:
            content = await read_bytes(request, self.bytes_max)
        except Rejection as rejection:
            raise over_limit(rejection, self.bytes_max) from None
        if self.is_text:
            _require_utf8(content)
        return content


def announced_type(request: Request, media_types: tuple[str, ...]) -> str:
    """The media type of a body; raises Refusal 415 unless it is one of these."""
    given = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if given not in media_types:
        raise Refusal(
            415, f"expected Content-Type: {' or '.join(media_types)}", "bad_request", "unsupported_media_type"
        )
    return given


def over_limit(rejection: Rejection, bytes_max: int) -> Exception:
    """A body over its limit in the envelope of errors; other rejections as they are."""
    if rejection.status != 413:
        return rejection
    refusal = Refusal(413, f"the request body exceeds {bytes_max} bytes", "bad_request", "resource_limit")
    limit = {"resource": "graph_batch_request_bytes", "limit": bytes_max, "actual": bytes_max + 1}
    refusal.body["resource_limit"] = limit
    return refusal


def _require_utf8(content: bytes) -> None:
    try:
        content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise bad_request(f"the request body is not valid UTF-8 at byte {error.start}") from None


async def read_bytes(request: Request, bytes_max: int) -> bytes:
    """The whole body; raises Rejection 413 for one that is too large, before it is read if it says so."""
    _refuse_announced(request, bytes_max)
    # Most bodies are one message. Not by the generator below, which costs as much as the routing.
    content, is_over = await _message(request)
    parts, size = [content], len(content)
    while not is_over and size <= bytes_max:
        content, is_over = await _message(request)
        parts.append(content)
        size += len(content)
    if size > bytes_max:
        raise too_large()
    return parts[0] if len(parts) == 1 else b"".join(parts)


async def parts_of(request: Request, bytes_max: int) -> AsyncIterator[bytes]:
    """The body in parts. A client that says nothing for a while is answered 408."""
    _refuse_announced(request, bytes_max)
    size, is_over = 0, False
    while not is_over:
        part, is_over = await _message(request)
        size += len(part)
        if size > bytes_max:
            raise too_large()
        if part:
            yield part


def _refuse_announced(request: Request, bytes_max: int) -> None:
    announced = request.headers.get("content-length", "")
    if announced.isdecimal() and int(announced) > bytes_max:
        raise too_large()


async def _message(request: Request) -> tuple[bytes, bool]:
    """The next part of a body, and whether it is the last one."""
    try:
        async with asyncio.timeout(BODY_IDLE_SECONDS):
            message = await request.receive()
    except TimeoutError:
        raise Rejection(408, "the request body did not arrive in time", {"connection": "close"}) from None
    if message["type"] == "http.disconnect":
        raise ClientDisconnect
    return message.get("body", b""), not message.get("more_body", False)
