"""Answers of handlers as values: a status, headers, and a body that is there, is streamed, or is empty."""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from omnigraph.server.limits import BUFFERED_BYTES_MAX
from omnigraph.wire.http.openapi import JSON

NDJSON: Final = "application/x-ndjson; charset=utf-8"


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer. ``chunks`` is a body that is computed while it is sent; a failure in it breaks the connection."""

    status: int = 200
    body: bytes = b""
    media_type: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    chunks: Iterator[bytes] | None = None
    length: int | None = None
    """The length of the body, where it is known and no body is here: for HEAD, and for streams of a known size."""
    on_end: Callable[[], None] | None = None
    """Called when the body was sent, or can no longer be."""

    def with_headers(self, headers: Mapping[str, str]) -> Reply:
        return replace(self, headers={**self.headers, **headers})


def json_reply(form: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Reply:
    """A JSON body."""
    body = json.dumps(form, ensure_ascii=False, separators=(",", ":")).encode()
    return Reply(status, body, JSON, headers or {})


def chunked_reply(chunks: Iterable[bytes], media_type: str, headers: Mapping[str, str] | None = None) -> Reply:
    """A body made of chunks: complete if it is small, otherwise streamed. Errors of its first part are still errors."""
    rest = iter(chunks)
    first: list[bytes] = []
    size = 0
    for chunk in rest:
        first.append(chunk)
        size += len(chunk)
        if size > BUFFERED_BYTES_MAX:
            return Reply(200, b"", media_type, headers or {}, _continued(first, rest))
    return Reply(200, b"".join(first), media_type, headers or {})


def _continued(first: list[bytes], rest: Iterator[bytes]) -> Iterator[bytes]:
    try:
        yield from first
        yield from rest
    finally:
        if isinstance(rest, Generator):
            rest.close()
