"""A saved review: the heads it was made for, the choices about conflicts, its state; and its comments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from omnigraph.history.conflicts import Take


class ReviewState(StrEnum):
    """The life of a review. A merged or closed one may be opened again."""

    OPEN = "open"
    MERGED = "merged"
    CLOSED = "closed"


@dataclass(frozen=True, slots=True)
class Choice:
    """An answer to one conflict, and the three values it was given for: other values make it void."""

    type: str
    id: str
    property: str | None
    take: Take
    value: Any = None
    """The value, if the answer is another value; its expression, if it is computed."""
    base: Any = None
    source: Any = None
    target: Any = None
    kind: str | None = None
    """The broken constraint that the answer is about; None for two changes of one entity."""


@dataclass(frozen=True, slots=True)
class Signature:
    """An actor, and a time in microseconds since 1970."""

    actor: str | None
    at: int


@dataclass(frozen=True, slots=True)
class Heads:
    """The heads of source and target that something was said about."""

    source: str
    target: str


@dataclass(frozen=True, slots=True)
class Review:
    """One version of a review. ``merged`` is the commit that a merge made."""

    id: str
    version: int
    title: str
    source: str
    target: str
    heads: Heads
    choices: Sequence[Choice]
    state: ReviewState
    created: Signature
    updated: Signature
    merged: str | None = None


@dataclass(frozen=True, slots=True)
class Comment:
    """A comment on a review, or on one entity or property of it (``about``)."""

    id: str
    text: str
    signed: Signature
    heads: Heads
    about: Mapping[str, str] | None = None
