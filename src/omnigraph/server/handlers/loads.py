"""Loads that are answered when they are committed: lenient JSON in a body, and strict JSON lines."""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from omnigraph.core.actors import Action, Need
from omnigraph.engine.results import LoadResult
from omnigraph.errors import NotFoundError
from omnigraph.ingest.files.formats import JSON_LINES, LENIENT
from omnigraph.server.call import Call, branch_name
from omnigraph.server.handlers.commit_headers import write_options
from omnigraph.server.http.refusals import not_found
from omnigraph.server.http.replies import Reply, json_reply
from omnigraph.server.roads import Gate, Lane, Road
from omnigraph.wire.addresses import with_uri
from omnigraph.wire.http.models.loads import IngestRequest, LoadMode
from omnigraph.wire.writes import load_json


@dataclass(frozen=True, slots=True)
class Destination:
    """The branch of a load; a missing one is created from ``base``, if that is given."""

    branch: str
    base: str | None
    mode: LoadMode

    @classmethod
    def of(cls, branch: str | None, base: str | None, mode: LoadMode | None) -> Destination:
        return cls(branch_name(branch), None if base is None else branch_name(base), mode or LoadMode.MERGE)

    @classmethod
    def of_query(cls, call: Call) -> Destination:
        """The destination that a query string names."""
        return cls.of(call.query.get("branch"), call.query.get("from"), call.query.get("mode"))

    def needs(self, call: Call) -> Iterator[Need]:
        """``change``, and ``branch_create`` if the branch will be made; a branch that cannot be made is missing."""
        if not _has_branch(call, self.branch):
            if self.base is None:
                raise not_found(f"branch '{self.branch}' not found")
            yield Need(Action.BRANCH_CREATE, self.base, self.branch)
        yield Need(Action.CHANGE, self.branch)

    def load(self, call: Call, data: bytes, format_name: str) -> LoadResult:
        """Load bytes as one commit."""
        return call.graph.load(
            _Content(data, "record" if format_name == LENIENT else "line"),
            self.mode.value,
            branch=self.branch,
            base=self.base,
            format=format_name,
            **write_options(call),
        )


_MARKS: Final = (b"BZh", b"\xef\xbb\xbf")


class _Content(io.BytesIO):
    """The body of a request as a file. ``name`` is what its places count, for messages."""

    def __init__(self, data: bytes, name: str) -> None:
        # The blank keeps these from being taken for a compressed file or for a mark of the encoding. In front of
        # others it would move the columns of messages; other codecs begin with bytes that are no UTF-8.
        super().__init__(b" " + data if data.startswith(_MARKS) else data)
        self.name = name


def _has_branch(call: Call, name: str) -> bool:
    try:
        call.served.trusted.snapshot(name)
    except NotFoundError:
        return False
    return True


@dataclass(frozen=True, slots=True)
class Ingest:
    """Lenient JSON to load."""

    data: bytes
    destination: Destination

    @classmethod
    def of(cls, body: IngestRequest) -> Ingest:
        return cls(body.data.encode(), Destination.of(body.branch, body.from_, body.mode))


def ingest_needs(call: Call) -> Iterator[Need]:
    """The needs of a load whose destination is in its body."""
    body: Ingest = call.body
    return body.destination.needs(call)


def ingest(call: Call, wanted: Ingest) -> Reply:
    """Load lenient JSON."""
    return json_reply(with_uri(call.served.uri, load_json(wanted.destination.load(call, wanted.data, LENIENT))))


def lines_needs(call: Call) -> Iterator[Need]:
    """The needs of a load whose destination is in the query string."""
    return Destination.of_query(call).needs(call)


def lines(call: Call, data: bytes) -> Reply:
    """Load strict JSON lines."""
    return json_reply(load_json(Destination.of_query(call).load(call, data, JSON_LINES.name)))


def _always(call: Call) -> bool:
    return True


def ingest_size(wanted: Ingest) -> int:
    """The bytes of the data."""
    return len(wanted.data)


def lines_size(data: Any) -> int:
    """The bytes of the body."""
    return len(data)


INGEST = Road(Gate(ingest_needs, is_blocking=_always), ingest, Lane.WRITE, size=ingest_size)
LINES = Road(Gate(lines_needs, is_blocking=_always), lines, Lane.WRITE, size=lines_size)
