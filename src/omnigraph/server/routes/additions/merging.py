"""Rows of diffs, of merges with previews and resolutions, and of reverts."""

from __future__ import annotations

from typing import Final

from omnigraph.server.handlers import diffs, merges
from omnigraph.server.handlers.commit_headers import WRITE_HEADERS, WRITE_PARAMETERS
from omnigraph.server.http.bodies import JsonBody
from omnigraph.server.http.caching import IF_NONE_MATCH, IF_NONE_MATCH_PARAMETER, TAG_HEADERS
from omnigraph.server.http.formats import ACCEPT, ACCEPT_PARAMETER
from omnigraph.server.limits import LOAD_BYTES_MAX
from omnigraph.server.routes.rows import FILTERS, Route, addition
from omnigraph.wire.http.arrow import ARROW
from omnigraph.wire.http.models.branches import BranchMergeOutput
from omnigraph.wire.http.models.explore import ChangePictureOutput
from omnigraph.wire.http.models.merging import (
    DiffOutput,
    MergePreviewOutput,
    MergePreviewRequest,
    MergeRequest,
    RevertOutput,
    RevertPreviewOutput,
    RevertPreviewRequest,
    RevertRequest,
)
from omnigraph.wire.http.openapi import JSON, Body, Parameter, Reply

_DECIDED: Final = (409, 412)

MERGING: Final = (
    Route(
        addition(
            "GET",
            "/diff",
            "diff",
            "changes",
            "The changes from one branch or commit to another, page by page, with the numbers of all of them.",
            Reply("The changes.", {JSON: DiffOutput, ARROW: None}, TAG_HEADERS),
            (
                Parameter("from", str, "A branch or commit.", required=True),
                Parameter("to", str, "A branch or commit.", required=True),
                Parameter("limit", int, "Changes on the page, up to 10,000. [default: 1000]"),
                Parameter("offset", int, "Changes before the page. [default: 0]"),
                Parameter("summary", bool, "Only the numbers. [default: false]"),
                *FILTERS,
                IF_NONE_MATCH_PARAMETER,
                ACCEPT_PARAMETER,
            ),
            is_tagged=True,
        ),
        diffs.SHOW,
        is_strict=True,
        headers=(IF_NONE_MATCH, ACCEPT),
    ),
    Route(
        addition(
            "GET",
            "/diff/picture",
            "drawDiff",
            "changes",
            "The changes from one branch or commit to another as a picture: signs, positions, unchanged neighbours.",
            Reply("The picture.", {JSON: ChangePictureOutput}, TAG_HEADERS),
            (
                Parameter("from", str, "A branch or commit.", required=True),
                Parameter("to", str, "A branch or commit.", required=True),
                Parameter("limit", int, "Changes that are drawn one by one, up to 2,000. [default: 2000]"),
                *FILTERS,
                IF_NONE_MATCH_PARAMETER,
            ),
            is_tagged=True,
        ),
        diffs.PICTURE,
        is_strict=True,
        headers=(IF_NONE_MATCH,),
    ),
    Route(
        addition(
            "POST",
            "/merge/preview",
            "previewMerge",
            "branches",
            "The counts and conflicts of a merge.",
            Reply("The preview.", {JSON: MergePreviewOutput}),
            body=Body({JSON: MergePreviewRequest}),
            statuses=_DECIDED,
        ),
        merges.PREVIEW,
        JsonBody(MergePreviewRequest, LOAD_BYTES_MAX, is_enveloped=True),
        meaning=merges.Merge.of_preview,
    ),
    Route(
        addition(
            "POST",
            "/merge",
            "merge",
            "branches",
            "Merge a branch, with resolutions of conflicts and the heads that were previewed.",
            Reply("The merge.", {JSON: BranchMergeOutput}),
            WRITE_PARAMETERS,
            Body({JSON: MergeRequest}),
            statuses=_DECIDED,
        ),
        merges.MERGE,
        JsonBody(MergeRequest, LOAD_BYTES_MAX, is_enveloped=True),
        meaning=merges.Merge.of,
        headers=WRITE_HEADERS,
    ),
    Route(
        addition(
            "POST",
            "/revert/preview",
            "previewRevert",
            "commits",
            "The counts and conflicts of a revert.",
            Reply("The preview.", {JSON: RevertPreviewOutput}),
            body=Body({JSON: RevertPreviewRequest}),
            statuses=_DECIDED,
        ),
        merges.REVERT_PREVIEW,
        JsonBody(RevertPreviewRequest, LOAD_BYTES_MAX, is_enveloped=True),
        meaning=merges.Revert.of_preview,
    ),
    Route(
        addition(
            "POST",
            "/revert",
            "revert",
            "commits",
            "Undo the changes of commits as one commit.",
            Reply("The revert.", {JSON: RevertOutput}),
            WRITE_PARAMETERS,
            Body({JSON: RevertRequest}),
            statuses=_DECIDED,
        ),
        merges.REVERT,
        JsonBody(RevertRequest, LOAD_BYTES_MAX, is_enveloped=True),
        meaning=merges.Revert.of,
        headers=WRITE_HEADERS,
    ),
)
