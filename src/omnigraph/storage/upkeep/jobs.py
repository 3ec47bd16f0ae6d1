"""The files of long jobs below ``jobs/``: what they are called, who owns them, and which files their notes name.

A job is ``<id>.json`` with what was asked for, ``<id>.<number>.json`` with what one of its tasks wrote, and
``<id>.<turn>.owner``, a mark of each one who took it over or ended it. Marks are created if absent, so of several who
want to take over or end a job exactly one does.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from omnigraph.storage.objects.protocol import Listed, Objects
from omnigraph.storage.objects.sealed import unseal

DIRECTORY = "jobs"
NOTE_KEYS = ("spans", "tables", "rejected", "records")
"""Keys of the note of a task."""

ENDED = b"ended by "
"""How the mark of one who ended a job begins."""


def owner_mark(job: str, turn: int) -> str:
    """The mark of the owner of a turn; the first one has none."""
    return f"{DIRECTORY}/{job}.{turn}.owner"


@dataclass(frozen=True, slots=True)
class Job:
    """The files of one job."""

    id: str
    files: tuple[Listed, ...]

    @property
    def modified_us(self) -> int:
        """When it last said something."""
        return max(file.modified_us for file in self.files)

    def named_files(self, objects: Objects) -> Iterator[str]:
        """The files that its tasks wrote and nobody has published, as far as anybody knows."""
        for path in self.notes:
            content = objects.read(path)
            yield from _named(unseal(content, path, NOTE_KEYS)) if content is not None else ()

    @property
    def notes(self) -> list[str]:
        """The notes of its tasks."""
        head = f"{DIRECTORY}/{self.id}.json"
        return [file.path for file in self.files if file.path.endswith(".json") and file.path != head]

    @property
    def _marks(self) -> list[str]:
        return [file.path for file in self.files if file.path.endswith(".owner")]

    def is_ended(self, objects: Objects) -> bool:
        """A mark that the job was ended, by its owner or by cleanup."""
        return any((objects.read(mark) or b"").startswith(ENDED) for mark in self._marks)

    def end(self, objects: Objects, by: str) -> bool:
        """Delete the job, unless another process takes it over first. Then the files its notes name are garbage."""
        marks = self._marks
        final = owner_mark(self.id, len(marks) + 1)
        if not self.is_ended(objects) and not objects.create(final, ENDED + by.encode()):
            return False
        # The marks last: while there are notes, nobody may take them for his.
        objects.delete_all([file.path for file in self.files if file.path.endswith(".json")])
        objects.delete_all([*marks, final])
        return True


def _named(note: dict[str, dict[str, tuple[object, object, list[dict[str, list[list[str]]]]]]]) -> Iterator[str]:
    for _, _, written in note["tables"].values():
        for rows in written:
            yield from (path for path, *_ in rows["files"])


def check(objects: Objects, path: str) -> None:
    """Raise ``CorruptionError`` if a head or note of a job is not as it was written."""
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
