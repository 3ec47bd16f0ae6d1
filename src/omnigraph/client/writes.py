"""Headers of writes: an idempotency key on every one, and the message and provenance of the commit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote
from uuid import uuid4

from omnigraph.client.transport import Request


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
        headers = {f"omnigraph-provenance-{name}": quote(value) for name, value in (provenance or {}).items()}
        if message is not None:
            headers["omnigraph-message"] = quote(message)
        if if_commit is not None:
            headers["omnigraph-if-graph-commit"] = if_commit
        return cls(key or uuid4().hex, headers)

    def request(self, path: str, body: Mapping[str, Any], change: str, text: str | None = None) -> Request:
        """A write of JSON."""
        return Request("POST", path, json=dict(body), headers=self.headers, change=change, key=self.key, text=text)
