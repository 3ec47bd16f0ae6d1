"""Headers of writes: the expected head, the idempotency key, and the message and provenance of the commit."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import unquote

from omnigraph.server.access.admission import ANONYMOUS
from omnigraph.server.call import Call
from omnigraph.server.http.refusals import Refusal, bad_request
from omnigraph.wire.http.openapi import Parameter

IF_COMMIT: Final = "omnigraph-if-graph-commit"
IDEMPOTENCY_KEY: Final = "idempotency-key"
MESSAGE: Final = "omnigraph-message"
PROVENANCE: Final = "omnigraph-provenance-"
KEY_CHARS_MAX: Final = 256
"""Characters of an idempotency key: commits keep it."""
TEXT_CHARS_MAX: Final = 4096
"""Characters of a message or of a value of the provenance."""

WRITE_HEADERS: Final = (IDEMPOTENCY_KEY, MESSAGE, f"{PROVENANCE}*")
WRITE_PARAMETERS: Final = (
    Parameter("Idempotency-Key", str, "A repeated write with this key is not made again.", False, "header", True),
    Parameter("Omnigraph-Message", str, "The message of the commit, percent-encoded.", False, "header", True),
)
IF_COMMIT_PARAMETER: Final = Parameter(
    "Omnigraph-If-Graph-Commit", str, "The commit that must be the head of the branch.", True, "header"
)

_RAW_ID: Final = re.compile(r"[^\s,\"*/]+")


def expected_head(call: Call) -> str:
    """The commit that a conditional write expects; raises Refusal 400 unless there is exactly one raw id."""
    values = call.headers.get(IF_COMMIT, ())
    if len(values) != 1:
        raise bad_request(f"exactly one Omnigraph-If-Graph-Commit header is required, got {len(values)}")
    trimmed = values[0].strip()
    if _RAW_ID.fullmatch(trimmed) is None or not trimmed.isascii():
        raise bad_request("Omnigraph-If-Graph-Commit must be one raw commit id, without quotes, lists or wildcards")
    return trimmed


def require_expected_head(call: Call) -> None:
    """Check the header before the body is read."""
    expected_head(call)


def refuse_condition(route: str) -> Any:
    """A check that refuses the header on a route without conditions, and names the one that has them."""

    def check(call: Call, *_: Any) -> None:
        if call.headers.get(IF_COMMIT):
            raise bad_request(f"Omnigraph-If-Graph-Commit is not supported here: use POST {route}")

    return check


def write_options(call: Call) -> dict[str, Any]:
    """The options of the engine's writers that headers set. The actor is that of the call, never of a header."""
    return {
        "idempotency_key": idempotency_key(call),
        "message": _text(call, MESSAGE),
        "provenance": _provenance(call.headers),
    }


def idempotency_key(call: Call) -> str | None:
    """The key of a write under its actor, so that no actor can take the key of another."""
    given = call.header(IDEMPOTENCY_KEY)
    if given is None:
        return None
    key = given.strip()
    if not key or len(key) > KEY_CHARS_MAX:
        raise bad_request(f"Idempotency-Key must have 1 to {KEY_CHARS_MAX} characters")
    return f"{call.actor_id or ANONYMOUS}:{key}"


def _provenance(headers: Mapping[str, tuple[str, ...]]) -> dict[str, str]:
    return {
        # Names of headers have no case, so capitals of a key arrive percent-encoded.
        _decoded(name, name.removeprefix(PROVENANCE)): _decoded(name, values[0])
        for name, values in headers.items()
        if name.startswith(PROVENANCE) and name != PROVENANCE
    }


def _text(call: Call, name: str) -> str | None:
    given = call.header(name)
    return None if given is None else _decoded(name, given)


def _decoded(name: str, value: str) -> str:
    """A header's text: percent-encoded UTF-8, because headers carry no other characters reliably."""
    try:
        text = unquote(value.strip(), errors="strict")
    except UnicodeDecodeError:
        raise _unreadable(name) from None
    if len(text) > TEXT_CHARS_MAX or not all(part.isprintable() for part in re.split("[\n\t]", text)):
        raise _unreadable(name)
    return text


def _unreadable(name: str) -> Refusal:
    return bad_request(
        f"the header {name} must be at most {TEXT_CHARS_MAX} printable characters, tabs and line breaks"
        " in percent-encoded UTF-8"
    )
