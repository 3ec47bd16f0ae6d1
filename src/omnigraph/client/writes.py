"""Headers of writes: an idempotency key on every one, and the message and provenance of the commit."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import quote
from uuid import uuid4

from omnigraph.client.transport import Request
from omnigraph.errors import UsageError

_KEY: Final = re.compile(r"[!-~](?:[ -~]{0,254}[!-~])?")
_PLAIN: Final = frozenset("abcdefghijklmnopqrstuvwxyz0123456789._-")
"""Characters of a name that a header keeps: it has no case, and other bytes are percent-encoded."""


@dataclass(frozen=True, slots=True)
class WriteHeaders:
    """The headers of one write. The key makes its retries safe; one is made if the caller has none."""

    key: str
    headers: Mapping[str, str]

    @classmethod
    def of(
        cls,
        message: str | None,
        key: str | None,
        provenance: Mapping[str, str] | None,
        if_commit: str | None,
    ) -> WriteHeaders:
        """The headers of the options that every write has."""
        headers = dict(_entry(name, value) for name, value in (provenance or {}).items())
        if key and not _KEY.fullmatch(key):
            raise UsageError(
                f"{key[:40]!r} is no idempotency key of a remote graph",
                hint="use 1 to 256 printable characters of ASCII, such as a UUID",
            )
        if message is not None:
            headers["omnigraph-message"] = _encoded("message", message)
        if if_commit is not None:
            headers["omnigraph-if-graph-commit"] = if_commit
        return cls(key or uuid4().hex, headers)

    def request(self, path: str, body: Mapping[str, Any], change: str, text: str | None = None) -> Request:
        """A write of JSON."""
        return Request("POST", path, json=dict(body), headers=self.headers, change=change, key=self.key, text=text)


def _entry(name: object, value: object) -> tuple[str, str]:
    """The header of an entry of the provenance."""
    if not isinstance(name, str) or not isinstance(value, str):
        raise UsageError(
            f"keys and values of the provenance are texts, got {name!r}: {value!r}",
            hint=f"write {str(name)!r}: {str(value)!r}",
        )
    if not name:
        raise UsageError("a key of the provenance is empty", hint="name the entry, as in {'run': '7'}")
    _encoded("key of the provenance", name)
    plain = "".join(char if char in _PLAIN else "".join(f"%{byte:02x}" for byte in char.encode()) for char in name)
    return f"omnigraph-provenance-{plain}", _encoded("value of the provenance", value)


def _encoded(what: str, text: str) -> str:
    try:
        return quote(text)
    except UnicodeEncodeError as error:
        raise UsageError(f"the {what} has half of a surrogate pair: {text!r}", hint="use whole characters") from error
