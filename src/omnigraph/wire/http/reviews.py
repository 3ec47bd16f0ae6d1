"""Saved reviews and their comments, as JSON."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from omnigraph.engine.reviews.review import Choice, Comment, Heads, Review


def review_list_json(reviews: Iterable[tuple[Review, int]]) -> dict[str, Any]:
    """Reviews with their numbers of comments."""
    return {"reviews": [_summary_json(review, comments) for review, comments in reviews]}


def review_json(review: Review, comments: list[Comment]) -> dict[str, Any]:
    """One review, whole."""
    return {
        **_summary_json(review, len(comments)),
        "choices": [_choice_json(choice) for choice in review.choices],
        "comments": [comment_json(comment) for comment in comments],
    }


def comment_json(comment: Comment) -> dict[str, Any]:
    """One comment."""
    return {
        "id": comment.id,
        "text": comment.text,
        "actor_id": comment.signed.actor,
        "created_at": comment.signed.at,
        **_heads_json(comment.heads),
        "about": None if comment.about is None else dict(comment.about),
    }


def _summary_json(review: Review, comments: int) -> dict[str, Any]:
    return {
        "id": review.id,
        "version": review.version,
        "title": review.title,
        "source": review.source,
        "target": review.target,
        **_heads_json(review.heads),
        "state": review.state.value,
        "merge_commit_id": review.merged,
        "created_by": review.created.actor,
        "created_at": review.created.at,
        "updated_by": review.updated.actor,
        "updated_at": review.updated.at,
        "comments_total": comments,
    }


def _heads_json(heads: Heads) -> dict[str, Any]:
    return {"source_commit_id": heads.source, "target_commit_id": heads.target}


def _choice_json(choice: Choice) -> dict[str, Any]:
    return {
        "type": choice.type,
        "id": choice.id,
        "property": choice.property,
        "take": choice.take.value,
        "value": choice.value,
        "base": choice.base,
        "source": choice.source,
        "target": choice.target,
        "kind": choice.kind,
    }
