"""Cursors: opaque, caller-owned positions in the change feed.

A cursor names the graph, the branch or commit that it follows, and the digest of the filter, so it is rejected for any
other request. It holds no secret; its SHA-256 digest detects truncated or edited texts.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
from dataclasses import astuple, dataclass

from omnigraph.core.limits import CURSOR_CHARS_MAX
from omnigraph.errors import CursorRejected

_VERSION = 1
_DIGEST_BYTES = 32


@dataclass(frozen=True, slots=True)
class Position:
    """The last delivered commit. ``changes`` counts the delivered changes of it if it was delivered in part."""

    commit: str
    changes: int | None = None


@dataclass(frozen=True, slots=True)
class Scope:
    """The request that a cursor belongs to: graph, incarnation of a branch or one commit, digest of the filter."""

    graph: str
    followed: str
    chosen: str


def write_cursor(scope: Scope, position: Position) -> str:
    """Encode a position for the caller."""
    payload = json.dumps([_VERSION, *astuple(scope), *astuple(position)], separators=(",", ":")).encode()
    return base64.urlsafe_b64encode(payload + hashlib.sha256(payload).digest()).decode().rstrip("=")


def read_cursor(text: str, scope: Scope) -> Position:
    """Decode a cursor; raises CursorRejected if it is damaged or was written for another scope."""
    version, graph, followed, chosen, commit, changes = _unpacked(text)
    if version != _VERSION:
        raise _rejected(f"it has format {version}, and this release reads format {_VERSION}")
    if graph != scope.graph:
        raise _rejected("it belongs to another graph")
    if followed != scope.followed:
        raise _rejected("it belongs to another branch or commit, or to an earlier branch of this name")
    if chosen != scope.chosen:
        raise _rejected("it was made with another filter by kind, type or op")
    return Position(commit, changes)


def is_within_commit(text: str) -> bool:
    """True for the position within a commit, where a page ended; raises CursorRejected for a text that is no cursor."""
    return _unpacked(text)[-1] is not None


def _unpacked(text: str) -> tuple[int, str, str, str, str, int | None]:
    if len(text) > CURSOR_CHARS_MAX:
        raise _rejected(f"it is longer than {CURSOR_CHARS_MAX:,} characters")
    try:
        packed = base64.b64decode(text.encode("ascii") + b"=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except (ValueError, binascii.Error):
        raise _rejected("it is not a cursor") from None
    payload, digest = packed[:-_DIGEST_BYTES], packed[-_DIGEST_BYTES:]
    if hashlib.sha256(payload).digest() != digest:
        raise _rejected("it is not a cursor, or not all of it")
    version, graph, followed, chosen, commit, changes = json.loads(payload)
    return version, graph, followed, chosen, commit, changes


def _rejected(reason: str) -> CursorRejected:
    return CursorRejected(
        f"change cursor rejected: {reason}",
        hint="use the cursor of the last page as it is, or start again from a baseline",
        reason=reason,
    )
