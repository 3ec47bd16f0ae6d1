"""Cursors: places in a stream of changes, as texts that callers keep.

A cursor names the graph, what is followed and by which filter, so it cannot be used for anything else by mistake. It
holds no secret and needs none: the digest in it finds texts that were cut or changed.
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
    """Everything up to and with a commit, or with ``changes`` only so many changes of it."""

    commit: str
    changes: int | None = None


@dataclass(frozen=True, slots=True)
class Scope:
    """What a cursor is for: a graph, an incarnation of a branch (or one commit), and a filter by its digest."""

    graph: str
    followed: str
    chosen: str


def write_cursor(scope: Scope, position: Position) -> str:
    """The text that a caller keeps."""
    said = json.dumps([_VERSION, *astuple(scope), *astuple(position)], separators=(",", ":")).encode()
    return base64.urlsafe_b64encode(said + hashlib.sha256(said).digest()).decode().rstrip("=")


def read_cursor(text: str, scope: Scope) -> Position:
    """The place that a text means, if it was written for this scope."""
    version, graph, followed, chosen, commit, changes = _unpacked(text)
    if version != _VERSION:
        raise _rejected(f"it has format {version}, and this program reads {_VERSION}")
    if graph != scope.graph:
        raise _rejected("it belongs to another graph")
    if followed != scope.followed:
        raise _rejected("it belongs to another branch or commit, or to an earlier branch of this name")
    if chosen != scope.chosen:
        raise _rejected("it was made with another filter by kind, type or op")
    return Position(commit, changes)


def _unpacked(text: str) -> tuple[int, str, str, str, str, int | None]:
    if len(text) > CURSOR_CHARS_MAX:
        raise _rejected(f"it is longer than {CURSOR_CHARS_MAX:,} characters")
    try:
        packed = base64.b64decode(text.encode("ascii") + b"=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except (ValueError, binascii.Error):
        raise _rejected("it is not a cursor") from None
    said, digest = packed[:-_DIGEST_BYTES], packed[-_DIGEST_BYTES:]
    if hashlib.sha256(said).digest() != digest:
        raise _rejected("it is not a cursor, or not all of it")
    version, graph, followed, chosen, commit, changes = json.loads(said)
    return version, graph, followed, chosen, commit, changes


def _rejected(reason: str) -> CursorRejected:
    return CursorRejected(
        f"change cursor rejected: {reason}",
        hint="use the cursor of the last page as it is, or start again from a baseline",
        reason=reason,
    )
