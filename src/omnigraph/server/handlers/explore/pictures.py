"""Neighbours of nodes, and samples of a graph with positions: the parts of a picture."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from omnigraph.engine.explore.neighbours import Side, neighbours
from omnigraph.engine.picture.scene import Scene, Wanted, scene
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
from omnigraph.server.http.replies import Reply, json_reply
from omnigraph.server.roads import Gate, Road
from omnigraph.wire.http.explore import neighbourhood_json, sample_json
from omnigraph.wire.http.models.explore import NeighboursRequest

SAMPLE_NODES = 300
"""Nodes of a sample, by default."""


@dataclass(frozen=True, slots=True)
class Expansion:
    """Nodes whose neighbours are wanted."""

    starts: Mapping[str, Sequence[str]]
    edges: Sequence[str] | None
    side: Side
    limit: int
    target: Target

    @classmethod
    def of(cls, body: NeighboursRequest) -> Expansion:
        target = Target.of(body.branch, body.snapshot)
        return cls(body.nodes, body.edges, Side(body.direction.value), body.limit, target)


def expand(call: Call, wanted: Expansion) -> Reply:
    """The neighbours of nodes."""
    snapshot = snapshot_of(call, wanted.target)
    found = neighbours(snapshot, wanted.starts, edges=wanted.edges, side=wanted.side, limit=wanted.limit)
    return json_reply({**read_at(wanted.target, snapshot), **neighbourhood_json(found)})


def sample(call: Call, _: None) -> Reply:
    """The nodes with most edges, at their places."""
    return conditional_reply(call, lambda snapshot: sample_json(_scene(call, snapshot)))


def _scene(call: Call, snapshot: Snapshot) -> Scene:
    """The scene of a commit, computed once for each scope of data rules."""
    types, limit = tuple(sorted(set(call.query.get("type", ())))), call.query.get("limit", SAMPLE_NODES)
    rules = None if snapshot.visible is None else snapshot.visible.scope.digest
    key = (snapshot.commit_id, types, limit, rules)
    found = call.served.scenes.get(key)
    if found is None:
        found = scene(snapshot, Wanted(types, properties=False), limit, None, "")
        call.served.scenes.put(key, found)
    return found


EXPAND = Road(Gate(body_target_needs, is_blocking=body_names_commit), expand, check=check_body_target)
SAMPLE = Road(Gate(query_target_needs, is_blocking=query_names_commit), sample, check=check_query_target)
