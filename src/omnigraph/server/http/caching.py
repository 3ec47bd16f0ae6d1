"""Entity tags and cache rules of answers that depend on one commit: the tag is the id of the commit.

An answer at a commit never changes. One at the head of a branch may be kept, and is revalidated with its tag. Both are
private: what one actor may see is no answer for others. An answer from a part of the graph has the data rules in its
tag, and is always revalidated: the rules may change while the commit stays.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Final

from omnigraph.engine.snapshot import Snapshot
from omnigraph.server.http.preconditions import is_unmodified
from omnigraph.server.http.replies import Reply
from omnigraph.wire.http.openapi import Parameter

IF_NONE_MATCH: Final = "if-none-match"
IMMUTABLE: Final = "private, max-age=31536000, immutable"
REVALIDATED: Final = "private, no-cache"
RULES_CHARS: Final = 16
"""Characters of a tag that stand for data rules."""

IF_NONE_MATCH_PARAMETER: Final = Parameter(
    "If-None-Match",
    str,
    "The entity tag of an earlier answer: 304 if it is still the same.",
    where="header",
    is_addition=True,
)
TAG_HEADERS: Final = {"ETag": "The commit, as a strong entity tag.", "Cache-Control": "`immutable` at a commit."}


def tag_headers(commit_id: str, *, is_fixed: bool, rules: str = "") -> dict[str, str]:
    """The headers of an answer at a commit. ``is_fixed``: the request itself named commits only.

    ``rules`` identifies the data rules that the answer depends on; empty for the whole graph.
    """
    if rules:
        digest = hashlib.sha256(rules.encode()).hexdigest()[:RULES_CHARS]
        return {"etag": f'"{commit_id}.{digest}"', "cache-control": REVALIDATED}
    return {"etag": f'"{commit_id}"', "cache-control": IMMUTABLE if is_fixed else REVALIDATED}


def snapshot_headers(snapshot: Snapshot, *, is_fixed: bool) -> dict[str, str]:
    """The headers of an answer from a snapshot."""
    rules = "" if snapshot.visible is None else snapshot.visible.scope.digest
    return tag_headers(snapshot.commit_id, is_fixed=is_fixed, rules=rules)


def unmodified(given: Mapping[str, tuple[str, ...]], headers: dict[str, str]) -> Reply | None:
    """The answer 304, if the request's headers say that the caller has the answer with this tag already."""
    if is_unmodified(given.get(IF_NONE_MATCH, ()), headers["etag"]):
        return Reply(304, b"", None, headers)
    return None
