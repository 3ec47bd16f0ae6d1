"""Entities: one by its id, with the commits that set its properties, and pages of a type."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from omnigraph.engine.explore.conditions import Comparison, Condition
from omnigraph.engine.explore.entity import find_type, read_entity
from omnigraph.engine.explore.entity_history import entity_history
from omnigraph.engine.explore.neighbours import shown_columns
from omnigraph.engine.explore.pages import PageOptions, read_page
from omnigraph.engine.explore.property_history import property_history
from omnigraph.engine.snapshot import Snapshot
from omnigraph.server.call import Call
from omnigraph.server.handlers.explore.moments import conditional_reply, read_at, snapshot_of
from omnigraph.server.handlers.targets import (
    Target,
    body_names_commit,
    body_target_needs,
    check_body_target,
    check_query_target,
    query_names_commit,
    query_target_needs,
)
from omnigraph.server.http.refusals import bad_request
from omnigraph.server.http.replies import Reply, json_reply
from omnigraph.server.roads import Gate, Road
from omnigraph.wire.http.explore import entity_history_json, entity_json, page_json, property_history_json
from omnigraph.wire.http.models.base import EntityKindOutput
from omnigraph.wire.http.models.explore import EntityListRequest

STEPS_LISTED = 50
STEPS_MAX = 200
"""Steps of a history: each of them compares two versions of the table."""
KINDS = tuple(kind.value for kind in EntityKindOutput)


def check_entity(call: Call, _: None) -> None:
    """Refuse a kind that does not exist, and a branch together with a commit."""
    if call.path["kind"] not in KINDS:
        raise bad_request(f"unknown kind of entity '{call.path['kind'][:64]}', expected {' or '.join(KINDS)}")
    check_query_target(call, _)


def show(call: Call, _: None) -> Reply:
    """One entity, with its history on request."""
    kind, type_name, entity_id = (call.path[name] for name in ("kind", "type", "id"))

    def form(snapshot: Snapshot) -> dict[str, Any]:
        found = entity_json(read_entity(snapshot, kind, type_name, entity_id))
        if call.query.get("history"):
            found["history"] = _history(call, snapshot, kind, type_name, entity_id)
        return found

    return conditional_reply(call, form)


def _history(call: Call, snapshot: Snapshot, kind: str, type_name: str, entity_id: str) -> dict[str, Any]:
    def at(commit_id: str) -> Snapshot:
        return call.graph.snapshot(at=commit_id)

    found = property_history(snapshot, kind, type_name, entity_id, at)
    return property_history_json(found)


def history(call: Call, _: None) -> Reply:
    """The commits that changed an entity, with the values before and after."""
    kind, type_name, entity_id = (call.path[name] for name in ("kind", "type", "id"))
    limit = min(max(1, call.query.get("limit", STEPS_LISTED)), STEPS_MAX)

    def at(commit_id: str) -> Snapshot:
        return call.graph.snapshot(at=commit_id)

    def form(snapshot: Snapshot) -> dict[str, Any]:
        found = entity_history(snapshot, kind, type_name, entity_id, at, limit)
        return {"kind": kind, "type": type_name, "id": entity_id, **entity_history_json(found)}

    return conditional_reply(call, form)


@dataclass(frozen=True, slots=True)
class Listing:
    """A page of a type."""

    kind: str
    type_name: str
    columns: Sequence[str] | None
    options: PageOptions
    target: Target

    @classmethod
    def of(cls, body: EntityListRequest) -> Listing:
        conditions = [Condition(item.column, Comparison(item.op.value), item.value) for item in body.where]
        options = PageOptions(conditions, body.sort, body.descending, body.limit, body.offset)
        target = Target.of(body.branch, body.snapshot)
        return cls(body.kind.value, body.type, body.columns, options, target)


def list_page(call: Call, wanted: Listing) -> Reply:
    """A page of the entities of a type."""
    snapshot = snapshot_of(call, wanted.target)
    view = shown_columns(snapshot, find_type(snapshot, wanted.kind, wanted.type_name))
    page = read_page(view if wanted.columns is None else view.select(*wanted.columns), wanted.options)
    about = {"kind": wanted.kind, "type": view.type_name}
    return json_reply({**read_at(wanted.target, snapshot), **about, **page_json(page)})


SHOW = Road(Gate(query_target_needs, is_blocking=query_names_commit), show, check=check_entity, in_reader=True)
HISTORY = Road(Gate(query_target_needs, is_blocking=query_names_commit), history, check=check_entity, in_reader=True)
LIST = Road(Gate(body_target_needs, is_blocking=body_names_commit), list_page, check=check_body_target, in_reader=True)
