"""Merges with previews, resolutions and expected heads, and reverts, which are decided like merges."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from omnigraph.core.actors import Action, Need
from omnigraph.engine.merge.result import MergePreview, MergeResult, Policy
from omnigraph.server.call import Call, branch_name
from omnigraph.server.handlers.branches import merge_needs, merged_reply
from omnigraph.server.handlers.commit_headers import write_options
from omnigraph.server.http.refusals import bad_request
from omnigraph.server.http.replies import Reply, json_reply
from omnigraph.server.roads import Gate, Lane, Road
from omnigraph.wire.http.models.merging import (
    MergePreviewRequest,
    MergeRequest,
    ResolutionInput,
    RevertPreviewRequest,
    RevertRequest,
)
from omnigraph.wire.merges import merge_preview_json, revert_json, revert_preview_json
from omnigraph.write.merge.decide import MergeOutcome

RESOLUTION_BYTES = 256
"""The size that a resolution is admitted with."""


def _resolutions(given: Sequence[ResolutionInput]) -> list[Mapping[str, Any]]:
    """Resolutions as the engine reads them: members that were given. A ``value`` of null is an answer."""
    return [
        {
            name: value
            for name, value in item.model_dump(exclude_unset=True).items()
            if value is not None or name == "value"
        }
        for item in given
    ]


@dataclass(frozen=True, slots=True)
class Merge:
    """A merge to preview or to make, with trimmed names."""

    source: str
    target: str
    policy: Policy
    resolutions: Sequence[Mapping[str, Any]]
    expected_source: str | None = None
    expected_target: str | None = None
    message: str | None = None
    delete_branch: bool = False

    @classmethod
    def of_preview(cls, body: MergePreviewRequest) -> Merge:
        return cls(branch_name(body.source), branch_name(body.target), body.policy, _resolutions(body.resolutions))

    @classmethod
    def of(cls, body: MergeRequest) -> Merge:
        return replace(
            cls.of_preview(body),
            expected_source=body.expected_source,
            expected_target=body.expected_target,
            message=body.message,
            delete_branch=body.delete_branch,
        )


def preview_needs(call: Call) -> Iterator[Need]:
    """``read`` on both branches."""
    yield Need(Action.READ, call.body.source)
    yield Need(Action.READ, call.body.target)


def preview(call: Call, wanted: Merge) -> Reply:
    """The counts and conflicts of a merge."""
    found = call.graph.merge_preview(wanted.source, wanted.target, policy=wanted.policy, resolutions=wanted.resolutions)
    return json_reply(merge_preview_json(found))


def check_merge(call: Call, wanted: Merge) -> None:
    """Refuse an expected source alone: a merge that was decided on one target must not be made on another."""
    if wanted.expected_source is not None and wanted.expected_target is None:
        raise bad_request("expected_source needs expected_target: name both heads of the preview")


def merge(call: Call, wanted: Merge) -> Reply:
    """Merge a branch."""
    return merged_reply(call, _merge(call, wanted), wanted.source, delete_branch=wanted.delete_branch)


def _merge(call: Call, wanted: Merge) -> MergeResult:
    options = _signed(call, wanted.message)
    if wanted.expected_source is None:
        return call.graph.merge(
            wanted.source,
            wanted.target,
            policy=wanted.policy,
            resolutions=wanted.resolutions,
            if_commit=wanted.expected_target,
            **options,
        )
    # Only the names, heads and rules of a preview are read: the merge is decided again on the same heads.
    assert wanted.expected_target is not None
    seen = MergePreview(
        wanted.source,
        wanted.target,
        MergeOutcome.MERGED,
        "",
        wanted.expected_source,
        wanted.expected_target,
        policy=wanted.policy,
    )
    return call.graph.merge(seen, resolutions=wanted.resolutions, **options)


@dataclass(frozen=True, slots=True)
class Revert:
    """Commits to undo."""

    selection: dict[str, Any]
    """The arguments of the engine that name the commits."""
    branch: str
    policy: Policy
    resolutions: Sequence[Mapping[str, Any]]
    expected_head: str | None = None
    message: str | None = None

    @classmethod
    def of_preview(cls, body: RevertPreviewRequest) -> Revert:
        selection = body.model_dump(include={"commits", "actor", "run", "since", "until"})
        return cls(selection, branch_name(body.branch), body.policy, _resolutions(body.resolutions))

    @classmethod
    def of(cls, body: RevertRequest) -> Revert:
        return replace(cls.of_preview(body), expected_head=body.expected_head, message=body.message)


def revert_preview_needs(call: Call) -> Iterator[Need]:
    """``read`` on the branch."""
    yield Need(Action.READ, call.body.branch)


def revert_preview(call: Call, wanted: Revert) -> Reply:
    """The counts and conflicts of a revert."""
    found = call.graph.revert_preview(
        **wanted.selection, branch=wanted.branch, policy=wanted.policy, resolutions=wanted.resolutions
    )
    return json_reply(revert_preview_json(found))


def revert_needs(call: Call) -> Iterator[Need]:
    """``change`` on the branch."""
    yield Need(Action.CHANGE, call.body.branch)


def revert(call: Call, wanted: Revert) -> Reply:
    """Undo commits as one commit."""
    result = call.graph.revert(
        **wanted.selection,
        branch=wanted.branch,
        policy=wanted.policy,
        resolutions=wanted.resolutions,
        if_commit=wanted.expected_head,
        **_signed(call, wanted.message),
    )
    return json_reply(revert_json(result))


def _signed(call: Call, message: str | None) -> dict[str, Any]:
    """The options of headers; a message in the body goes before that of the header."""
    options = write_options(call)
    return options if message is None else {**options, "message": message}


def size(wanted: Merge | Revert) -> int:
    """The estimate of a merge or revert: resolutions are all that it sends."""
    return RESOLUTION_BYTES * (1 + len(wanted.resolutions))


PREVIEW = Road(Gate(preview_needs), preview)
MERGE = Road(Gate(merge_needs), merge, Lane.WRITE, check=check_merge, size=size)
REVERT_PREVIEW = Road(Gate(revert_preview_needs), revert_preview)
REVERT = Road(Gate(revert_needs), revert, Lane.WRITE, size=size)
