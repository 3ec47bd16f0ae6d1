"""Rows of saved reviews."""

from __future__ import annotations

from typing import Final

from omnigraph.server.handlers import reviews
from omnigraph.server.http.bodies import JsonBody
from omnigraph.server.routes.rows import Route, addition
from omnigraph.wire.http.models.reviews import (
    CommentOutput,
    CommentRequest,
    ReviewChangeRequest,
    ReviewListOutput,
    ReviewOutput,
    ReviewRequest,
    ReviewStateOutput,
)
from omnigraph.wire.http.openapi import JSON, Body, Parameter, Reply

_WHOLE: Final = Reply("The review.", {JSON: ReviewOutput})

REVIEWS: Final = (
    Route(
        addition(
            "GET",
            "/reviews",
            "listReviews",
            "branches",
            "Saved reviews of merges, newest first.",
            Reply("The reviews.", {JSON: ReviewListOutput}),
            (
                Parameter("state", ReviewStateOutput, "Only reviews in this state."),
                Parameter("source", str, "Only reviews of this source branch."),
                Parameter("target", str, "Only reviews of this target branch."),
                Parameter("limit", int, "Reviews at most. [default: 100]"),
            ),
        ),
        reviews.LIST,
        is_strict=True,
    ),
    Route(
        addition(
            "POST",
            "/reviews",
            "saveReview",
            "branches",
            "Save a review of a merge: the heads that were previewed, and the choices about conflicts.",
            _WHOLE,
            body=Body({JSON: ReviewRequest}),
        ),
        reviews.SAVE,
        JsonBody(ReviewRequest, is_enveloped=True),
        meaning=reviews.NewReview.of,
    ),
    Route(
        addition(
            "GET",
            "/reviews/{review_id}",
            "getReview",
            "branches",
            "A saved review with its choices and comments.",
            _WHOLE,
        ),
        reviews.SHOW,
        is_strict=True,
    ),
    Route(
        addition(
            "POST",
            "/reviews/{review_id}",
            "changeReview",
            "branches",
            "Change a saved review. Nothing is changed if it has another version than the one that was read.",
            _WHOLE,
            body=Body({JSON: ReviewChangeRequest}),
            statuses=(412,),
        ),
        reviews.CHANGE,
        JsonBody(ReviewChangeRequest, is_enveloped=True),
    ),
    Route(
        addition(
            "POST",
            "/reviews/{review_id}/comments",
            "commentReview",
            "branches",
            "Comment on a saved review, or on one entity or property of it.",
            Reply("The comment.", {JSON: CommentOutput}),
            body=Body({JSON: CommentRequest}),
        ),
        reviews.COMMENT,
        JsonBody(CommentRequest, is_enveloped=True),
    ),
)
