"""Saved reviews: listed, read, saved, changed and commented. A review is about two branches, and so are its rights."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from omnigraph.core.actors import Action, Need
from omnigraph.core.ports import SystemClock, UlidSource
from omnigraph.engine.reviews.files import ReviewFiles, next_version
from omnigraph.engine.reviews.review import Choice, Comment, Heads, Review, ReviewState, Signature
from omnigraph.errors import PolicyDenied
from omnigraph.history.conflicts import Take
from omnigraph.server.call import Call, branch_name
from omnigraph.server.handlers.targets import read_anywhere
from omnigraph.server.handlers.whole import check_whole
from omnigraph.server.http.refusals import Refusal, bad_request, not_found
from omnigraph.server.http.replies import Reply, json_reply
from omnigraph.server.roads import Gate, Lane, Road
from omnigraph.wire.http.models.reviews import ChoiceInput, CommentRequest, ReviewChangeRequest, ReviewRequest
from omnigraph.wire.http.reviews import comment_json, review_json, review_list_json

LISTED: Final = 100
"""Reviews of a list, by default."""
CHOICE_BYTES: Final = 512
"""The size that a choice is admitted with."""
COMMENT_BYTES: Final = 1_024

_CLOCK: Final = SystemClock()
_IDS: Final = UlidSource(_CLOCK)


@dataclass(frozen=True, slots=True)
class NewReview:
    """A review to save, with trimmed names."""

    source: str
    target: str
    heads: Heads
    title: str
    choices: Sequence[Choice]

    @classmethod
    def of(cls, body: ReviewRequest) -> NewReview:
        return cls(
            branch_name(body.source),
            branch_name(body.target),
            Heads(body.source_commit_id, body.target_commit_id),
            body.title.strip(),
            _choices(body.choices),
        )


def _choices(given: Sequence[ChoiceInput]) -> tuple[Choice, ...]:
    return tuple(Choice(**{**item.model_dump(), "take": Take(item.take.value)}) for item in given)


def _files(call: Call) -> ReviewFiles:
    return ReviewFiles(call.served.trusted.snapshot().store.objects, call.served.reviews)


def _signature(call: Call) -> Signature:
    return Signature(call.actor_id, _CLOCK.now_us())


def missing(call: Call) -> Refusal:
    """The answer to a review that does not exist, and to one that may not be seen: the same bytes."""
    return not_found("review not found")


def _find(call: Call) -> Review:
    found = _files(call).find(call.path["review_id"])
    if found is None:
        raise missing(call)
    return found


def _reading(source: str, target: str) -> Iterator[Need]:
    yield Need(Action.READ, source)
    yield Need(Action.READ, target)


def _is_visible(call: Call, review: Review) -> bool:
    try:
        for need in _reading(review.source, review.target):
            call.require(need)
        check_whole(call, "reviews", review.source, review.target)
    except PolicyDenied:
        return False
    return True


def list_reviews(call: Call, _: None) -> Reply:
    """The reviews in a state, all by default, whose branches the caller may read."""
    wanted = call.query.get("state")
    state = None if wanted is None else ReviewState(wanted.value)
    ends = {name: branch_name(call.query[name]) for name in ("source", "target") if name in call.query}
    found = [
        (review, comments)
        for review, comments in _files(call).all()
        if (state is None or review.state is state)
        and all(getattr(review, name) == branch for name, branch in ends.items())
        and _is_visible(call, review)
    ]
    return json_reply(review_list_json(found[: call.query.get("limit", LISTED)]))


def show_needs(call: Call) -> Iterator[Need]:
    """``read`` on both branches of the review."""
    review = _find(call)
    yield from _reading(review.source, review.target)


def show(call: Call, _: None) -> Reply:
    """One review with its comments."""
    review = _find(call)
    check_whole(call, "reviews", review.source, review.target)
    return json_reply(review_json(review, _files(call).comments(review.id)))


def save_needs(call: Call) -> Iterator[Need]:
    """``read`` on both branches, and ``change`` on the source: a reader of the graph stores nothing beside it."""
    yield from _reading(call.body.source, call.body.target)
    yield Need(Action.CHANGE, call.body.source)


def save(call: Call, wanted: NewReview) -> Reply:
    """Save a review."""
    check_whole(call, "reviews", wanted.source, wanted.target)
    for branch in (wanted.source, wanted.target):
        call.graph.snapshot(branch)
    signed = _signature(call)
    review = Review(
        _IDS.new_id(),
        1,
        wanted.title,
        wanted.source,
        wanted.target,
        wanted.heads,
        wanted.choices,
        ReviewState.OPEN,
        signed,
        signed,
    )
    _files(call).add(review)
    return json_reply(review_json(review, []))


def change_needs(call: Call) -> Iterator[Need]:
    """The needs of the review's branches, as for saving it."""
    review = _find(call)
    yield from _reading(review.source, review.target)
    yield Need(Action.CHANGE, review.source)


def change(call: Call, body: ReviewChangeRequest) -> Reply:
    """Write the next version of a review."""
    review = _find(call)
    check_whole(call, "reviews", review.source, review.target)
    if (body.source_commit_id is None) != (body.target_commit_id is None):
        raise bad_request("name both heads of the preview, or none")
    changes: dict[str, Any] = {}
    if body.title is not None:
        changes["title"] = body.title.strip()
    if body.choices is not None:
        changes["choices"] = _choices(body.choices)
    if body.source_commit_id is not None and body.target_commit_id is not None:
        changes["heads"] = Heads(body.source_commit_id, body.target_commit_id)
    if body.state is not None:
        changes["state"] = ReviewState(body.state.value)
    if body.merge_commit_id is not None:
        changes["merged"] = body.merge_commit_id
    files = _files(call)
    changed = next_version(review, body.version, _signature(call), changes)
    files.change(changed)
    return json_reply(review_json(changed, files.comments(review.id)))


def comment(call: Call, body: CommentRequest) -> Reply:
    """Comment on a review."""
    review = _find(call)
    check_whole(call, "reviews", review.source, review.target)
    if not body.text.strip():
        raise bad_request("a comment must not be blank")
    about = None if body.about is None else body.about.model_dump(exclude_none=True)
    made = Comment(
        _IDS.new_id(), body.text, _signature(call), Heads(body.source_commit_id, body.target_commit_id), about
    )
    _files(call).add_comment(review.id, made)
    return json_reply(comment_json(made))


def _always(call: Call) -> bool:
    return True


def size(body: NewReview | ReviewChangeRequest | CommentRequest) -> int:
    """The estimate of a write: its choices, or its text."""
    if isinstance(body, CommentRequest):
        return COMMENT_BYTES + len(body.text)
    return CHOICE_BYTES * (1 + len(body.choices or ()))


LIST = Road(Gate(read_anywhere), list_reviews)
SHOW = Road(Gate(show_needs, hidden=missing, is_blocking=_always), show)
SAVE = Road(Gate(save_needs), save, Lane.WRITE, size=size)
CHANGE = Road(Gate(change_needs, is_blocking=_always), change, Lane.WRITE, size=size)
COMMENT = Road(Gate(change_needs, is_blocking=_always), comment, Lane.WRITE, size=size)
