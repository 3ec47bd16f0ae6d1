"""Blobs over HTTP: whole or in one range, with entity tags and conditions. HEAD reads no payload."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from omnigraph.engine.blobs import READ_BYTES_MAX, Blob
from omnigraph.server.call import Call
from omnigraph.server.handlers.targets import (
    check_query_target,
    query_names_commit,
    query_target,
    query_target_needs,
)
from omnigraph.server.http.preconditions import ByteRange, fails_match, is_unmodified, requested_range
from omnigraph.server.http.refusals import Refusal
from omnigraph.server.http.replies import Reply
from omnigraph.server.roads import Gate, Road

OCTETS = "application/octet-stream"
CONDITIONS = ("if-match", "if-none-match", "if-range", "range")


def get(call: Call, _: None) -> Reply:
    """The bytes of a blob."""
    blob = _find(call)
    unchanged = _conditional(call, blob)
    if unchanged is not None:
        return unchanged
    headers = call.headers
    wanted = requested_range(headers.get("range", ()), headers.get("if-range", ()), blob.place_etag, blob.size)
    if wanted is None:
        return _payload(blob, 200, 0, blob.size, {})
    if not wanted.is_satisfiable:
        raise _unsatisfiable(wanted, blob)
    span = f"bytes {wanted.start}-{wanted.end - 1}/{blob.size}"
    return _payload(blob, 206, wanted.start, wanted.end - wanted.start, {"content-range": span})


def head(call: Call, _: None) -> Reply:
    """The headers of a blob. A range is ignored."""
    blob = _find(call)
    return _conditional(call, blob) or Reply(200, b"", OCTETS, _headers(blob), length=blob.size)


def _find(call: Call) -> Blob:
    query = call.query
    target = query_target(call)
    return call.graph.read_blob(
        query["entity"].value, query["type"], query["id"], query["property"], branch=target.branch, at=target.at
    )


def _conditional(call: Call, blob: Blob) -> Reply | None:
    """The answer that a condition decides: 412 or 304."""
    etag = blob.place_etag
    if fails_match(call.headers.get("if-match", ()), etag):
        raise Refusal(412, "the blob does not match If-Match", "conflict", "precondition_failed")
    if is_unmodified(call.headers.get("if-none-match", ()), etag):
        return Reply(304, b"", None, _headers(blob), length=blob.size)
    return None


def _headers(blob: Blob) -> dict[str, str]:
    return {"accept-ranges": "bytes", "etag": blob.place_etag, "omnigraph-snapshot-id": blob.commit_id}


def _payload(blob: Blob, status: int, start: int, length: int, headers: dict[str, str]) -> Reply:
    """Bytes of a blob. The first part is read here, so that a damaged blob is still an error."""
    first = blob.read(start, min(length, READ_BYTES_MAX))
    shown = {**_headers(blob), **headers}
    if len(first) == length:
        return Reply(status, first, OCTETS, shown)
    return Reply(status, b"", OCTETS, shown, _rest(blob, first, start, length), length)


def _rest(blob: Blob, first: bytes, start: int, length: int) -> Iterator[bytes]:
    yield first
    yield from blob.chunks(start + len(first), length - len(first))


def _unsatisfiable(wanted: ByteRange, blob: Blob) -> Refusal:
    refusal = Refusal(
        416,
        f"the range from byte {wanted.start} is outside the blob of {blob.size} bytes",
        "bad_request",
        "blob_range",
        headers={"content-range": f"bytes */{blob.size}"},
    )
    found: dict[str, Any] = {"start": wanted.start, "end": wanted.end, "length": blob.size}
    refusal.body["blob_range"] = found
    return refusal


GET = Road(Gate(query_target_needs, is_blocking=query_names_commit), get, check=check_query_target)
HEAD = Road(Gate(query_target_needs, is_blocking=query_names_commit), head, check=check_query_target)
