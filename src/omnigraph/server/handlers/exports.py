"""Streams of a whole branch: exports, and baselines that a follower of the feed starts from."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

from omnigraph.core.actors import Action, Need
from omnigraph.engine.history.feed import ChangeBaseline
from omnigraph.schema.catalog import EdgeType
from omnigraph.server.call import Call, branch_name
from omnigraph.server.handlers.changes import only_known_errors
from omnigraph.server.http.formats import arrow_reply, wants_arrow
from omnigraph.server.http.refusals import bad_request
from omnigraph.server.http.replies import NDJSON, Reply, chunked_reply
from omnigraph.server.roads import Gate, Road
from omnigraph.wire.changes import baseline_json
from omnigraph.wire.http.models.changes import ChangeBaselineRequest, ExportRequest


@dataclass(frozen=True, slots=True)
class Export:
    """A branch to export, and the types."""

    branch: str
    types: list[str] | None

    @classmethod
    def of(cls, body: ExportRequest) -> Export:
        return cls(branch_name(body.branch), body.type_names or None)


@dataclass(frozen=True, slots=True)
class Baseline:
    """A branch to read whole, and the filter of the feed that continues from there."""

    branch: str
    kinds: list[str]
    types: list[str]
    ops: list[str]

    @classmethod
    def of(cls, body: ChangeBaselineRequest) -> Baseline:
        kinds, ops = [word.value for word in body.kind], [word.value for word in body.op]
        return cls(branch_name(body.branch), kinds, body.type, ops)


def needs(call: Call) -> Iterator[Need]:
    """``export`` on the branch."""
    yield Need(Action.EXPORT, call.body.branch)


def export(call: Call, wanted: Export) -> Reply:
    """All entities of a branch at one commit, in the form that a load reads."""
    if wants_arrow(call.headers):
        return _arrow(call, wanted)
    return chunked_reply(call.graph.export(wanted.branch, types=wanted.types), NDJSON)


def _arrow(call: Call, wanted: Export) -> Reply:
    """The entities of one type as Arrow; a stream has one schema."""
    if wanted.types is None or len(wanted.types) != 1:
        raise bad_request("an Arrow stream holds one type: name it in type_names")
    snapshot = call.graph.snapshot(wanted.branch)
    snapshot.require(Action.EXPORT)
    entity = snapshot.entity(wanted.types[0])
    view = snapshot.edges(entity.name) if isinstance(entity, EdgeType) else snapshot.nodes(entity.name)
    return arrow_reply(view.schema, view.batches(), snapshot.commit_id)


@only_known_errors
def baseline(call: Call, wanted: Baseline) -> Reply:
    """The same, and a last line with the cursor that the feed continues from."""
    found = call.graph.change_baseline(wanted.branch, kind=wanted.kinds, type=wanted.types, op=wanted.ops)
    return chunked_reply(_lines(found), NDJSON)


def _lines(found: ChangeBaseline) -> Iterator[bytes]:
    yield from found.lines()
    yield json.dumps(baseline_json(found), separators=(",", ":")).encode() + b"\n"


EXPORT = Road(Gate(needs), export, is_stream=True)
BASELINE = Road(Gate(needs), baseline, is_stream=True)
