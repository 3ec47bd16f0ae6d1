"""The snapshot that a request reads, and the members and headers that say which one it was."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from omnigraph.engine.snapshot import Snapshot
from omnigraph.server.call import Call
from omnigraph.server.handlers.targets import Target, query_target
from omnigraph.server.http.caching import snapshot_headers, unmodified
from omnigraph.server.http.replies import Reply, json_reply
from omnigraph.wire.http.read_output import target_json


def snapshot_of(call: Call, target: Target) -> Snapshot:
    """The snapshot of a branch or commit, as the actor of the call may see it."""
    return call.graph.snapshot(target.branch, at=target.at)


def read_at(target: Target, snapshot: Snapshot) -> dict[str, Any]:
    """The members that say what was read."""
    return {**target_json(target.branch, target.snapshot), "graph_commit_id": snapshot.commit_id}


def conditional_reply(call: Call, form: Callable[[Snapshot], dict[str, Any]]) -> Reply:
    """The form of the snapshot that the query names, or 304 if the client has it already."""
    target = query_target(call)
    snapshot = snapshot_of(call, target)
    headers = snapshot_headers(snapshot, is_fixed=target.snapshot is not None)
    unchanged = unmodified(call.headers, headers)
    return unchanged or json_reply({**read_at(target, snapshot), **form(snapshot)}, headers=headers)
