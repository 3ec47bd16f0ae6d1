"""Small files below the root: read, create if absent, delete, list. The protocol that every kind of store implements.

Create-if-absent is what branch names and the format stamp stand on; a store that ignores the condition is found out by
``honours_create_if_absent``.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from typing import NamedTuple, Protocol


class Listed(NamedTuple):
    """A file that is there, and when it was last written by the clock of the store (microseconds)."""

    path: str
    size: int
    modified_us: int


class Level(NamedTuple):
    """What is directly below a prefix."""

    files: list[Listed]
    directories: list[str]


class Objects(Protocol):
    """Small files, addressed relative to the root."""

    def read(self, path: str) -> bytes | None:
        """The content, or None if there is no such file."""
        ...

    def create(self, path: str, content: bytes) -> bool:
        """Create the file with this content; False if it exists already."""
        ...

    def replace(self, path: str, content: bytes) -> None:
        """Create or replace the file."""
        ...

    def delete(self, path: str) -> bool:
        """Delete the file; False if there was none."""
        ...

    def delete_if(self, path: str, content: bytes) -> bool:
        """Delete the file if it still has this content; False if it has another, or is gone."""
        ...

    def list(self, prefix: str) -> Iterator[tuple[str, int]]:
        """Paths below a prefix, with their sizes."""
        ...

    def size(self, path: str) -> int | None:
        """The size of a file, or None if there is none."""
        ...

    def modified_us(self, path: str) -> int | None:
        """The time of the last write by the clock of the store, or None if there is no such file."""
        ...

    def walk(self, directory: str) -> Iterator[Listed]:
        """All files below a directory."""
        ...

    def level(self, directory: str) -> Level:
        """Files and directories directly below a directory; nothing if there is no such directory."""
        ...

    def delete_all(self, paths: Sequence[str]) -> None:
        """Delete files, those that are there. It need not be durable: garbage may come back with a loss of power."""
        ...

    def prune(self, directory: str) -> None:
        """Remove a directory of which nothing is left. In an object store there is none."""
        ...


def honours_create_if_absent(objects: Objects) -> bool:
    """Whether the store refuses to create a file twice. Some S3 servers do not, and every writer would win."""
    probe = f"probe-{uuid.uuid4().hex}"
    first = objects.create(probe, b"1")
    second = objects.create(probe, b"2")
    objects.delete(probe)
    return first and not second
