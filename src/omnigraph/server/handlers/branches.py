"""Branches: list, create, delete, merge."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from omnigraph.core.actors import Action, Need
from omnigraph.engine.merge.result import MergeResult
from omnigraph.errors import OmnigraphError
from omnigraph.server.call import Call, branch_name
from omnigraph.server.handlers.commit_headers import write_options
from omnigraph.server.handlers.targets import read_anywhere
from omnigraph.server.http.replies import Reply, json_reply
from omnigraph.server.roads import Gate, Lane, Road
from omnigraph.wire.branches import branch_names_json, created_branch_json, deleted_branch_json
from omnigraph.wire.http.errors import answer_to, error_output_json
from omnigraph.wire.http.models.branches import BranchCreateRequest, BranchMergeRequest
from omnigraph.wire.merges import merge_output_json

OPERATION_BYTES = 256
"""The size that an operation on a branch is admitted with."""


def size(_: Any) -> int:
    """The estimate of every operation on a branch."""
    return OPERATION_BYTES


def list_all(call: Call, _: None) -> Reply:
    """The branches by name."""
    against = call.query.get("against")
    return json_reply(branch_names_json(call.graph.branches(against=None if against is None else branch_name(against))))


@dataclass(frozen=True, slots=True)
class NewBranch:
    """A branch to create, with trimmed names."""

    name: str
    start: str

    @classmethod
    def of(cls, body: BranchCreateRequest) -> NewBranch:
        return cls(branch_name(body.name), branch_name(body.from_))


def create_needs(call: Call) -> Iterator[Need]:
    """``branch_create`` from a branch to the new one."""
    yield Need(Action.BRANCH_CREATE, call.body.start, call.body.name)


def create(call: Call, wanted: NewBranch) -> Reply:
    """Create a branch at the head of another one."""
    made = call.graph.create_branch(wanted.name, wanted.start)
    return json_reply(created_branch_json(call.served.uri, wanted.start, made))


def delete_needs(call: Call) -> Iterator[Need]:
    """``branch_delete`` targeting the branch of the path."""
    yield Need(Action.BRANCH_DELETE, target_branch=branch_name(call.path["branch"]))


def delete(call: Call, _: None) -> Reply:
    """Delete a branch."""
    name = branch_name(call.path["branch"])
    call.graph.delete_branch(name)
    return json_reply(deleted_branch_json(call.served.uri, name, call.actor_id))


@dataclass(frozen=True, slots=True)
class Merge:
    """A merge to make, with trimmed names."""

    source: str
    target: str
    delete_branch: bool

    @classmethod
    def of(cls, body: BranchMergeRequest) -> Merge:
        return cls(branch_name(body.source), branch_name(body.target), body.delete_branch)


def merge_needs(call: Call) -> Iterator[Need]:
    """``branch_merge`` from the source to the target."""
    yield Need(Action.BRANCH_MERGE, call.body.source, call.body.target)


def merge(call: Call, wanted: Merge) -> Reply:
    """Merge a branch, and delete it afterwards if that is wanted. The deletion never fails the answer."""
    result = call.graph.merge(wanted.source, wanted.target, **write_options(call))
    return merged_reply(call, result, wanted.source, delete_branch=wanted.delete_branch)


def merged_reply(call: Call, result: MergeResult, source: str, *, delete_branch: bool) -> Reply:
    """The answer to a merge that was made, after the deletion of its source if that is wanted."""
    return json_reply(_merged(call, result, source, delete_branch=delete_branch))


def _merged(call: Call, result: MergeResult, source: str, *, delete_branch: bool) -> dict[str, Any]:
    if not delete_branch:
        return merge_output_json(result, call.actor_id, branch_deleted=None, delete_error=None)
    try:
        call.require(Need(Action.BRANCH_DELETE, target_branch=source))
        call.graph.delete_branch(source)
    except OmnigraphError as error:
        text = error_output_json(error)["error"] if answer_to(error).is_internal else error.message
        return merge_output_json(result, call.actor_id, branch_deleted=False, delete_error=text)
    return merge_output_json(result, call.actor_id, branch_deleted=True, delete_error=None)


LIST = Road(Gate(read_anywhere), list_all)
CREATE = Road(Gate(create_needs), create, Lane.WRITE, size=size)
DELETE = Road(Gate(delete_needs), delete, Lane.WRITE, size=size)
MERGE = Road(Gate(merge_needs), merge, Lane.WRITE, size=size)
