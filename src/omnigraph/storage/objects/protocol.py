"""Protocols of an object store: small files below a root, turns of writers, and the backend that opens both.

Create-if-absent is what branch names and the format stamp rely on; ``honours_create_if_absent`` detects a store that
ignores the condition. To support another store, implement ``Backend`` and add a row to ``backends.backends``; a store
with a client in obstore only extends ``bucket.BucketBackend``.
"""

from __future__ import annotations

import random
import re
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import BinaryIO, NamedTuple, Protocol

from omnigraph.storage.objects.durability import Durability
from omnigraph.storage.objects.outside_files import ReadRange, SourceFile
from omnigraph.storage.objects.uri import Capabilities, Root


class Listed(NamedTuple):
    """An existing file, with the time of its last write by the clock of the store (microseconds)."""

    path: str
    size: int
    modified_us: int


class Level(NamedTuple):
    """The entries directly below a prefix."""

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

    def read_chunks(self, path: str) -> Iterator[bytes]:
        """The content of a file of any size, chunk by chunk; ``NotFoundError`` if there is no such file."""
        ...

    def write_chunks(self, path: str, chunks: Iterable[bytes]) -> None:
        """Create or replace a file of any size. It appears when all chunks are written, and none after an error.

        On a local disk it is not durable yet: ``durability.sync_files`` syncs many files together.
        """
        ...

    def delete(self, path: str) -> bool:
        """Delete the file; False if it does not exist."""
        ...

    def replace_if(self, path: str, before: bytes, content: bytes) -> bool:
        """Replace the file if it still has the content ``before``; False if its content differs or it is missing."""
        ...

    def delete_if(self, path: str, content: bytes) -> bool:
        """Delete the file if it still has this content; False if its content differs or it does not exist."""
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
        """Files and directories directly below a directory; empty if there is no such directory."""
        ...

    def delete_all(self, paths: Sequence[str]) -> None:
        """Delete files; missing ones are skipped. Need not be durable: garbage may return after a power loss."""
        ...

    def prune(self, directory: str) -> None:
        """Remove empty directories below and including this one. A no-op in an object store."""
        ...


class Turns(Protocol):
    """The turns of all branches of one graph, by the location of their manifests."""

    needs_knock: bool
    """True if other writers look for a turn only after losing a swap, so the holder must make them lose one."""

    def wait(self, location: str) -> None:
        """Wait until no other writer holds the turn, before a swap."""
        ...

    def note_lost(self, location: str) -> None:
        """Remember that a swap was lost: another writer may hold the turn."""
        ...

    def hold(self, location: str, seconds: float) -> AbstractContextManager[bool]:
        """Hold the turn for about that many seconds. If another writer has it, wait for the end of that turn first.

        Gives True only if no other process can hold the turn, not even one that is suspended.
        """
        ...


class Backend(Protocol):
    """One kind of store: everything the rest of the system needs to know about it."""

    @property
    def schemes(self) -> tuple[str, ...]:
        """URI schemes that name this store."""
        ...

    @property
    def example(self) -> str:
        """An address to which ``/prefix`` or ``/key`` can be appended, for hints."""
        ...

    @property
    def capabilities(self) -> Capabilities:
        """Properties that decide how the layers above write to the store."""
        ...

    def parse_root(self, text: str) -> Root:
        """The root at an address with one of the schemes."""
        ...

    def open_objects(self, root: Root, options: Mapping[str, str], durability: Durability) -> Objects:
        """The small files of a root."""
        ...

    def open_turns(self, root: Root, objects: Objects) -> Turns:
        """The turns of a root's branches."""
        ...

    def lance_options(self, options: Mapping[str, str]) -> dict[str, str] | None:
        """The storage options that Lance gets."""
        ...

    def find_files(self, path: str, options: Mapping[str, str], endings: tuple[str, ...]) -> list[SourceFile]:
        """Source files at a path or, for a prefix of an object store, every file below it with such an ending."""
        ...

    def open_ranges(self, file: SourceFile) -> AbstractContextManager[ReadRange]:
        """Open a source file for reads by byte range; raises if it changed since it was found."""
        ...

    def target_directory(self, path: str) -> str:
        """The canonical address of a directory, valid on every machine that can reach it."""
        ...

    def create_directory(self, path: str, options: Mapping[str, str], name: str, content: bytes) -> None:
        """Create a directory with one file in it; raises if the directory holds anything."""
        ...

    def make_directory(self, path: str) -> None:
        """Create a directory and its parents, if the store has directories and it does not exist."""
        ...

    def write_file(self, path: str, options: Mapping[str, str]) -> AbstractContextManager[BinaryIO]:
        """Write a file that appears whole when the block ends, replacing one of the same name."""
        ...


LEFTOVER = re.compile(r"(.*/)?(\.[0-9a-f]{32}\.tmp|probe-[0-9a-f]{32})")
"""Paths of incomplete small files and of probes, which a process leaves if it is killed."""

CREATE_BACKOFF_SECONDS = 0.02


def create_backoff_seconds(attempt: int) -> float:
    """Random exponential backoff before another attempt of a conditional create that collided (409)."""
    return random.uniform(0, 2**attempt) * CREATE_BACKOFF_SECONDS


def honours_create_if_absent(objects: Objects) -> bool:
    """Probe whether the store refuses to create a file twice. If it does not, every concurrent writer would win."""
    probe = f"probe-{uuid.uuid4().hex}"
    first = objects.create(probe, b"1")
    second = objects.create(probe, b"2")
    objects.delete(probe)
    return first and not second
