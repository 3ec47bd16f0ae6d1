"""The files of long jobs below ``jobs/``: their names, their owners, and the data files that their notes name.

- ``<id>.json``: the request.
- ``<id>.<number>.json``: a note with the files that one task wrote.
- ``<id>.<turn>.owner``: a mark of a process that took the job over or ended it.

Marks are created if absent, so of several processes that take over or end a job exactly one wins.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from omnigraph.storage.objects.protocol import Listed, Objects
from omnigraph.storage.objects.sealed import unseal

DIRECTORY = "jobs"

SCRATCH = "scratch"
"""The directory for files that the tasks of running analyses exchange: one directory per analysis, deleted at its
end."""

NOTE_KEYS = ("spans", "tables", "rejected", "records")
"""Keys of the note of a task."""

ENDED = b"ended by "
"""Prefix of a mark that ended the job."""


def owner_mark(job: str, turn: int) -> str:
    """The mark of the owner of a turn; the first owner has none."""
    return f"{DIRECTORY}/{job}.{turn}.owner"


@dataclass(frozen=True, slots=True)
class Job:
    """The files of one job."""

    id: str
    files: tuple[Listed, ...]

    @property
    def modified_us(self) -> int:
        """The time of its last write."""
        return max(file.modified_us for file in self.files)

    def named_files(self, objects: Objects) -> Iterator[str]:
        """The files that its tasks wrote and that may be unpublished."""
        for path in self.notes:
            content = objects.read(path)
            yield from _named(unseal(content, path, NOTE_KEYS)) if content is not None else ()

    @property
    def notes(self) -> list[str]:
        """The notes of its tasks."""
        return [file.path for file in self.files if file.path.endswith(".json") and file.path != self._head]

    @property
    def _head(self) -> str:
        return f"{DIRECTORY}/{self.id}.json"

    @property
    def _marks(self) -> list[str]:
        return [file.path for file in self.files if file.path.endswith(".owner")]

    def is_over(self, objects: Objects) -> bool:
        """True if no process can resume or publish the job: it was ended, or its request is deleted.

        A load deletes its journal when it ends, and a task of a lost executor may write its note after that.
        The request is looked up instead of searched in the listing, which may miss a file that is created meanwhile.
        """
        return self.is_ended(objects) or objects.read(self._head) is None

    def is_ended(self, objects: Objects) -> bool:
        """True if a mark says that the job was ended, by its owner or by cleanup."""
        return any((objects.read(mark) or b"").startswith(ENDED) for mark in self._marks)

    def end(self, objects: Objects, by: str) -> bool:
        """Delete the job, so that its unpublished files become garbage; False if another process took it over first."""
        marks = self._marks
        final = owner_mark(self.id, len(marks) + 1)
        if not self.is_ended(objects) and not objects.create(final, ENDED + by.encode()):
            return False
        # Marks last: without them another process could take over notes that are being deleted.
        objects.delete_all([file.path for file in self.files if file.path.endswith(".json")])
        objects.delete_all([*marks, final])
        return True


def _named(note: dict[str, Any]) -> Iterator[str]:
    for _, _, written, *_ in note["tables"].values():
        for rows in written:
            yield from (path for path, *_ in rows["files"])


def check(objects: Objects, path: str) -> None:
    """Raise ``CorruptionError`` if a head or note of a job was changed."""
    content = objects.read(path)
    if content is not None:
        unseal(content, path, NOTE_KEYS if path.count(".") > 1 else ())


def jobs_of(listed: Iterable[Listed]) -> list[Job]:
    """The jobs that files belong to."""
    files: dict[str, list[Listed]] = defaultdict(list)
    for file in listed:
        name = file.path.removeprefix(f"{DIRECTORY}/")
        if not name.startswith("."):
            files[name.split(".", 1)[0]].append(file)
    return [Job(id_, tuple(items)) for id_, items in sorted(files.items())]
