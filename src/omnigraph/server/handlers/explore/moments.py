"""The snapshot that a request reads, and the members and headers that say which one it was."""

from __future__ import annotations

from typing import Any

from omnigraph.engine.snapshot import Snapshot
from omnigraph.server.call import Call
from omnigraph.server.handlers.targets import Target
from omnigraph.server.http.caching import snapshot_headers
from omnigraph.wire.http.read_output import target_json


def snapshot_of(call: Call, target: Target) -> Snapshot:
    """The snapshot of a branch or commit, as the actor of the call may see it."""
    return call.graph.snapshot(target.branch, at=target.at)


def read_at(target: Target, snapshot: Snapshot) -> dict[str, Any]:
    """The members that say what was read."""
    return {**target_json(target.branch, target.snapshot), "graph_commit_id": snapshot.commit_id}


def cache_headers(target: Target, snapshot: Snapshot) -> dict[str, str]:
    """The entity tag, and how long the answer may be kept."""
    return snapshot_headers(snapshot, is_fixed=target.snapshot is not None)
