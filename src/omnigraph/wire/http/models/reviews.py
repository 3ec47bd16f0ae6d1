"""Bodies of saved reviews and their comments."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from omnigraph.wire.http.models.base import ClosedRequest, Count, Form, Int64, WireEnum

TITLE_CHARS_MAX = 200
COMMENT_CHARS_MAX = 10_000
CHOICES_MAX = 10_000
NAME_CHARS_MAX = 1_000

Name = Annotated[str, Field(min_length=1, max_length=NAME_CHARS_MAX)]
Title = Annotated[str, Field(max_length=TITLE_CHARS_MAX)]
CommitId = Annotated[str, Field(pattern="^[0-9A-HJKMNP-TV-Z]{26}$")]


class ReviewStateOutput(WireEnum):
    """The life of a review."""

    OPEN = "open"
    MERGED = "merged"
    CLOSED = "closed"


class TakeOutput(WireEnum):
    """The origin of the value that settles a conflict."""

    SOURCE = "source"
    TARGET = "target"
    BASE = "base"
    VALUE = "value"
    EXPRESSION = "expression"
    DELETE = "delete"


class ChoiceInput(ClosedRequest):
    """An answer to one conflict, and the values of base, source and target that it was given for.

    ``value`` is another value if ``take`` is ``value``, and its text if it is ``expression``. ``kind`` is that of a
    broken constraint.
    """

    type: Name
    id: Name
    property: Name | None = None
    take: Annotated[TakeOutput, Field(strict=False)]
    value: Any = None
    base: Any = None
    source: Any = None
    target: Any = None
    kind: Name | None = None


class ReviewRequest(ClosedRequest):
    """A review of a merge of ``source`` into ``target``, by default ``main``, for the heads that were previewed."""

    source: str
    target: str | None = None
    source_commit_id: CommitId
    target_commit_id: CommitId
    title: Title = ""
    choices: Annotated[list[ChoiceInput], Field(max_length=CHOICES_MAX)] = Field(default_factory=list)


class ReviewChangeRequest(ClosedRequest):
    """Changes of a review. ``version`` is the one that was read; members that are left out stay as they are."""

    version: Annotated[int, Field(ge=1)]
    title: Title | None = None
    choices: Annotated[list[ChoiceInput], Field(max_length=CHOICES_MAX)] | None = None
    source_commit_id: CommitId | None = None
    target_commit_id: CommitId | None = None
    state: Annotated[ReviewStateOutput, Field(strict=False)] | None = None
    merge_commit_id: CommitId | None = None


class SubjectInput(ClosedRequest):
    """The entity that a comment is about, or one property of it."""

    type: Name
    id: Name
    property: Name | None = None


class CommentRequest(ClosedRequest):
    """A comment, written while looking at these heads."""

    text: Annotated[str, Field(min_length=1, max_length=COMMENT_CHARS_MAX)]
    source_commit_id: CommitId
    target_commit_id: CommitId
    about: SubjectInput | None = None


class ChoiceOutput(Form):
    """An answer to one conflict."""

    type: str
    id: str
    property: str | None = None
    take: TakeOutput
    value: Any = None
    base: Any = None
    source: Any = None
    target: Any = None
    kind: str | None = None


class ReviewSummaryOutput(Form):
    """A review without its choices. Times are in microseconds since 1970."""

    id: str
    version: Count
    title: str
    source: str
    target: str
    source_commit_id: str
    target_commit_id: str
    state: ReviewStateOutput
    merge_commit_id: str | None = None
    created_by: str | None = None
    created_at: Int64
    updated_by: str | None = None
    updated_at: Int64
    comments_total: Count


class ReviewListOutput(Form):
    """The reviews whose branches the caller may read, newest first."""

    reviews: list[ReviewSummaryOutput]


class SubjectOutput(Form):
    """The entity that a comment is about."""

    type: str
    id: str
    property: str | None = None


class CommentOutput(Form):
    """A comment, with the heads that its author saw."""

    id: str
    text: str
    actor_id: str | None = None
    created_at: Int64
    source_commit_id: str
    target_commit_id: str
    about: SubjectOutput | None = None


class ReviewOutput(ReviewSummaryOutput):
    """A review with its choices and comments."""

    choices: list[ChoiceOutput]
    comments: list[CommentOutput]
