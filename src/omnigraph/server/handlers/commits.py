"""Commits: listed by branch, and by id."""

from __future__ import annotations

import json
from collections.abc import Iterator

from omnigraph.core.ids import is_ulid
from omnigraph.errors import NotFoundError
from omnigraph.server.call import Call, branch_name
from omnigraph.server.handlers.targets import no_commit, read_anywhere, read_named_branch
from omnigraph.server.http.replies import Reply, chunked_reply, json_reply
from omnigraph.server.roads import Gate, Road
from omnigraph.wire.commits import commit_json
from omnigraph.wire.http.openapi import JSON


def list_all(call: Call, _: None) -> Reply:
    """The commits of a branch, newest first."""
    return chunked_reply(_listed(call), JSON)


def _listed(call: Call) -> Iterator[bytes]:
    separator = b'{"commits":['
    for commit in call.graph.commits(branch_name(call.query.get("branch"))):
        yield separator + json.dumps(commit_json(commit), ensure_ascii=False, separators=(",", ":")).encode()
        separator = b","
    yield b"]}" if separator == b"," else separator + b"]}"


def show(call: Call, _: None) -> Reply:
    """One commit of any branch."""
    commit_id = call.path["commit_id"]
    if not is_ulid(commit_id):
        raise no_commit(commit_id)
    try:
        return json_reply(commit_json(call.graph.commit(commit_id)))
    except NotFoundError:
        raise no_commit(commit_id) from None


LIST = Road(Gate(read_named_branch), list_all)
SHOW = Road(Gate(read_anywhere), show)
