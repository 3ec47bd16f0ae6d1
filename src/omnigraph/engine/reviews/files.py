"""Reviews as files: ``reviews/<id>/<version>.json`` and ``reviews/<id>/comments/<comment>.json``, all sealed.

A version is created if it is absent, so of two writers that saw the same version one wins and the other fails. Files
are immutable; only the newest version is read, and the one before it is kept for readers that have listed it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Final

from omnigraph.core.ids import is_ulid
from omnigraph.core.lru import Lru
from omnigraph.engine.reviews.review import Choice, Comment, Heads, Review, ReviewState, Signature
from omnigraph.errors import PreconditionFailed, UsageError
from omnigraph.history.conflicts import Take
from omnigraph.storage.objects.protocol import Objects
from omnigraph.storage.objects.sealed import seal, unseal

DIRECTORY: Final = "reviews"
REVIEWS_MAX: Final = 1_000
"""Reviews of one graph: all of them are listed together. Beyond it, the oldest that is not open makes room."""
COMMENTS_MAX: Final = 1_000
"""Comments on one review: all of them are read together."""
KEPT_MAX: Final = 4_096
"""Files whose content one server remembers."""

Kept = Lru[str, dict[str, Any]]
"""The fields of immutable files, by path."""


@dataclass(frozen=True, slots=True)
class ReviewFiles:
    """The reviews of one graph."""

    objects: Objects
    kept: Kept
    reviews_max: int = REVIEWS_MAX
    comments_max: int = COMMENTS_MAX

    def all(self) -> list[tuple[Review, int]]:
        """All reviews, newest first, with their numbers of comments."""
        versions, comments = self._listed()
        found = [(self._read(name, numbers), len(comments[name])) for name, numbers in versions.items()]
        return sorted(((item, count) for item, count in found if item is not None), key=lambda pair: pair[0].id)[::-1]

    def find(self, review_id: str) -> Review | None:
        """The newest version of a review."""
        return self._read(review_id, self._versions(review_id)) if is_ulid(review_id) else None

    def add(self, review: Review) -> None:
        """Write a new review, and make room for it."""
        versions, _ = self._listed()
        if len(versions) >= self.reviews_max:
            self._make_room(versions)
        self._write(review)

    def change(self, review: Review) -> None:
        """Write the next version of a review; raises PreconditionFailed if another writer came first."""
        if not self._write(review):
            raise _moved(review.id, review.version - 1)
        old = [number for number in self._versions(review.id) if number < review.version - 1]
        self.objects.delete_all([_path(review.id, number) for number in old])

    def comments(self, review_id: str) -> list[Comment]:
        """The comments on a review, oldest first."""
        names = sorted(file.path for file in self.objects.level(_comments(review_id)).files)
        fields = [(path, self._fields(path)) for path in names]
        return [_comment(path, found) for path, found in fields if found is not None]

    def add_comment(self, review_id: str, comment: Comment) -> None:
        """Write a comment."""
        if len(self.objects.level(_comments(review_id)).files) >= self.comments_max:
            raise UsageError(f"a review has at most {self.comments_max:,} comments", hint="save another review")
        self.objects.create(f"{_comments(review_id)}/{comment.id}.json", seal(_plain(comment, "id")))

    def _write(self, review: Review) -> bool:
        return self.objects.create(_path(review.id, review.version), seal(_plain(review, "id", "version")))

    def _listed(self) -> tuple[dict[str, list[int]], dict[str, list[str]]]:
        """The versions and the comments of all reviews, by one listing."""
        versions: dict[str, list[int]] = defaultdict(list)
        comments: dict[str, list[str]] = defaultdict(list)
        for file in self.objects.walk(DIRECTORY):
            parts = file.path.removesuffix(".json").split("/")
            if len(parts) == 3 and is_ulid(parts[1]) and parts[2].isdecimal():
                versions[parts[1]].append(int(parts[2]))
            elif len(parts) == 4 and is_ulid(parts[1]):
                comments[parts[1]].append(parts[3])
        return versions, comments

    def _versions(self, review_id: str) -> list[int]:
        names = (
            file.path.rpartition("/")[2].removesuffix(".json") for file in self.objects.level(_folder(review_id)).files
        )
        return [int(name) for name in names if name.isdecimal()]

    def _read(self, review_id: str, versions: list[int]) -> Review | None:
        for number in sorted(versions, reverse=True):
            fields = self._fields(_path(review_id, number))
            if fields is not None:
                return _review(review_id, number, fields)
        return None

    def _fields(self, path: str) -> dict[str, Any] | None:
        known = self.kept.get(path)
        if known is None:
            content = self.objects.read(path)
            if content is None:
                return None
            known = unseal(content, path)
            self.kept.put(path, known)
        return known

    def _make_room(self, versions: Mapping[str, list[int]]) -> None:
        """Delete the oldest review that is not open; raises UsageError if all are."""
        for name in sorted(versions):
            found = self._read(name, versions[name])
            if found is None or found.state is not ReviewState.OPEN:
                self.objects.delete_all([file.path for file in self.objects.walk(_folder(name))])
                self.objects.prune(_folder(name))
                return
        raise UsageError(f"a graph has at most {self.reviews_max:,} open reviews", hint="close some of them")


def next_version(review: Review, seen: int, signed: Signature, changes: Mapping[str, Any]) -> Review:
    """The version of a review after a change by a writer that saw a version of it; raises PreconditionFailed."""
    if seen != review.version:
        raise _moved(review.id, seen)
    return replace(review, version=seen + 1, updated=signed, **changes)


def _moved(review_id: str, seen: int) -> PreconditionFailed:
    return PreconditionFailed(
        f"review {review_id} has changed since version {seen}", hint="read it again", expected=str(seen)
    )


def _folder(review_id: str) -> str:
    return f"{DIRECTORY}/{review_id}"


def _comments(review_id: str) -> str:
    return f"{_folder(review_id)}/comments"


def _path(review_id: str, version: int) -> str:
    return f"{_folder(review_id)}/{version:06}.json"


def _plain(value: Review | Comment, *without: str) -> dict[str, Any]:
    return {name: item for name, item in asdict(value).items() if name not in without}


def _choices(given: list[dict[str, Any]]) -> Iterator[Choice]:
    for item in given:
        yield Choice(**{**item, "take": Take(item["take"])})


def _review(review_id: str, version: int, fields: Mapping[str, Any]) -> Review:
    return Review(
        review_id,
        version,
        fields["title"],
        fields["source"],
        fields["target"],
        Heads(**fields["heads"]),
        tuple(_choices(fields["choices"])),
        ReviewState(fields["state"]),
        Signature(**fields["created"]),
        Signature(**fields["updated"]),
        fields["merged"],
    )


def _comment(path: str, fields: Mapping[str, Any]) -> Comment:
    name = path.rpartition("/")[2].removesuffix(".json")
    return Comment(name, fields["text"], Signature(**fields["signed"]), Heads(**fields["heads"]), fields["about"])
