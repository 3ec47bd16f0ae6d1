"""Baselines behind HTTP: one stream of all entities, whose last line holds the commit and the cursor."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from omnigraph.client.transport import Request, Transport
from omnigraph.core.display import Display, Displayed
from omnigraph.errors import ServerUnavailable, UsageError


@dataclass(frozen=True, slots=True)
class BaselineCommit:
    """The commit that a baseline was read at."""

    branch: str
    commit_id: str


@dataclass(slots=True, repr=False)
class RemoteBaseline(Displayed):
    """The whole of a branch at its head. The commit and the cursor are known when all lines have been read."""

    transport: Transport
    request: Request
    branch: str
    _end: dict[str, Any] | None = field(default=None)

    def lines(self) -> Iterator[bytes]:
        """The entities as JSON lines in the form that ``load`` reads, by type and id."""
        with self.transport.stream(self.request) as response:
            # The last line of the stream is no entity, so the newest line is held back, complete or not.
            rest = b""
            for part in response.iter_bytes():
                held = rest + part
                cut = held.rfind(b"\n", 0, -1) + 1
                rest = held[cut:]
                if cut:
                    yield held[:cut]
        self._end = _end(rest)

    @property
    def snapshot(self) -> BaselineCommit:
        """The commit of the baseline."""
        return BaselineCommit(self.branch, self._known()["snapshot_commit_id"])

    @property
    def cursor(self) -> str:
        """The cursor from which the feed continues."""
        cursor: str = self._known()["resume_cursor"]
        return cursor

    def _known(self) -> dict[str, Any]:
        if self._end is None:
            raise UsageError("the cursor of a remote baseline is known after its lines", hint="read lines() first")
        return self._end

    def _display(self) -> Display:
        notes = [] if self._end is None else [f"cursor: {self.cursor}"]
        return Display(f"RemoteBaseline of {self.branch}", notes=notes)


def _end(line: bytes) -> dict[str, Any]:
    try:
        found: dict[str, Any] = json.loads(line)["baseline"]
    except (ValueError, KeyError, TypeError) as error:
        raise ServerUnavailable("the baseline ended without its cursor", hint="read it again") from error
    return found
