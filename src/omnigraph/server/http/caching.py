"""Entity tags and cache rules of answers that depend on one commit: the tag is the id of the commit.

An answer at a commit never changes. One at the head of a branch may be kept, and is revalidated with its tag. Both are
private: what one actor may see is no answer for others.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from omnigraph.server.http.preconditions import is_unmodified
from omnigraph.server.http.replies import Reply
from omnigraph.wire.http.openapi import Parameter

IF_NONE_MATCH: Final = "if-none-match"
IMMUTABLE: Final = "private, max-age=31536000, immutable"
REVALIDATED: Final = "private, no-cache"

IF_NONE_MATCH_PARAMETER: Final = Parameter(
    "If-None-Match",
    str,
    "The entity tag of an earlier answer: 304 if it is still the same.",
    where="header",
    is_addition=True,
)
TAG_HEADERS: Final = {"ETag": "The commit, as a strong entity tag.", "Cache-Control": "`immutable` at a commit."}


def tag_headers(commit_id: str, *, is_fixed: bool) -> dict[str, str]:
    """The headers of an answer at a commit. ``is_fixed``: the request itself named commits only."""
    return {"etag": f'"{commit_id}"', "cache-control": IMMUTABLE if is_fixed else REVALIDATED}


def unmodified(given: Mapping[str, tuple[str, ...]], headers: dict[str, str]) -> Reply | None:
    """The answer 304, if the request's headers say that the caller has the answer with this tag already."""
    if is_unmodified(given.get(IF_NONE_MATCH, ()), headers["etag"]):
        return Reply(304, b"", None, headers)
    return None
