"""fsync and checksums of new files on local disk.

Lance never calls fsync. Staged files and their directories are synced before a swap, the directory of the manifest
after it, so an acknowledged commit survives a power loss. In an object store an acknowledged write is durable already.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Sequence
from enum import Enum
from functools import cache
from typing import TYPE_CHECKING

from omnigraph.core.tables import FileRecord
from omnigraph.errors import UsageError
from omnigraph.storage.objects.failures import translated
from omnigraph.storage.objects.uri import Root

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

_CHUNK_BYTES = 4 * 1024 * 1024

CHECKSUM_CHARS = 32
"""Length of a checksum: the first half of a SHA-256 in hex."""

SYNC_THREADS = 8
"""Files synced concurrently, by all stores of a process: the threads only wait."""


class Durability(Enum):
    """The guarantee of an acknowledgement on a local disk."""

    FSYNC = "fsync"
    """An acknowledged commit survives a power loss."""
    OS = "os"
    """An acknowledged commit survives the process, not the machine: for scratch graphs."""


def read_durability(given: Durability | str) -> Durability:
    """A guarantee by its name; raises UsageError for any other value."""
    try:
        return Durability(given)
    except ValueError:
        names = " or ".join(item.value for item in Durability)
        raise UsageError(f"unknown durability {given!r}", hint=f"use {names}", durability=given) from None


def record_files(root: Root, paths: Iterable[str], sizes: dict[str, int]) -> tuple[FileRecord, ...]:
    """Records of files just written: with checksums if the store keeps them, else with the known sizes."""
    if root.capabilities.keeps_checksums:
        with translated("new files could not be read back", root=str(root)):
            return tuple(_measure(root, path) for path in paths)
    return tuple(FileRecord(path, sizes[path]) for path in paths if path in sizes)


def _measure(root: Root, path: str) -> FileRecord:
    size, digest = digest_file(root.local(path))
    return FileRecord(path, size, digest)


def digest_file(path: str) -> tuple[int, str]:
    """Size and checksum of a file: the first half of its SHA-256."""
    digest = hashlib.sha256()
    size = 0
    with open(path, "rb", buffering=0) as file:
        while chunk := file.read(_CHUNK_BYTES):
            digest.update(chunk)
            size += len(chunk)
    return size, digest.hexdigest()[:CHECKSUM_CHARS]


def mismatch(root: Root, record: FileRecord) -> str | None:
    """The difference between a file and its record, or None; a record without a checksum proves nothing."""
    if not root.capabilities.keeps_checksums or record.checksum is None:
        return None
    try:
        size, digest = digest_file(root.local(record.path))
    except (FileNotFoundError, NotADirectoryError):
        return "is missing"
    except OSError as error:
        return f"cannot be read: {error}"
    if size != record.size:
        return f"has {size} bytes, not {record.size}"
    return None if digest == record.checksum else "is damaged: its checksum differs from the recorded one"


def digest_bytes(content: bytes) -> str:
    """The same checksum of content in memory."""
    return hashlib.sha256(content).hexdigest()[:CHECKSUM_CHARS]


def sync_files(root: Root, paths: Iterable[str], durability: Durability, contents: Iterable[str] = ()) -> None:
    """Make files and their directory entries durable, and the entries of directories that this process has not seen.

    For files in ``contents`` only the content is synced: they will get other names.
    """
    if not root.is_local or durability is Durability.OS:
        return
    files = [root.local(path) for path in paths]
    directories = dict.fromkeys(os.path.dirname(file) for file in files)
    # Lance creates a directory together with its first file and does not sync the parent. A file in a directory whose
    # own entry is lost is lost as well.
    unseen = [directory for directory in directories if directory not in _known_directories]
    parents = dict.fromkeys(os.path.dirname(directory) for directory in unseen)
    with translated("new files could not be made durable", root=str(root)):
        _sync_all(list(dict.fromkeys([*files, *map(root.local, contents), *directories, *parents])))
    _known_directories.update(unseen)


def sync_directories(root: Root, locations: Iterable[str], durability: Durability) -> None:
    """Make new directories durable: every directory from the root down to these."""
    if not root.is_local or durability is Durability.OS:
        return
    with translated("new directories could not be made durable", root=str(root)):
        _sync_all([root.local(part) for part in sorted({part for item in locations for part in _lineage(item)})])


def sync_names(root: Root, location: str, durability: Durability) -> None:
    """Make the names in an existing directory durable."""
    if root.is_local and durability is Durability.FSYNC:
        with translated("a new name could not be made durable", root=str(root)):
            _sync(root.local(location))


def _lineage(location: str) -> Iterable[str]:
    parts = location.split("/")
    return ["", *("/".join(parts[: end + 1]) for end in range(len(parts)))]


def sync_directory(path: str) -> None:
    """Make the names in one directory durable."""
    _sync(path)


_known_directories: set[str] = set()
"""Directories whose entries in their parents are durable. A table has a few."""


def _sync_all(paths: Sequence[str]) -> None:
    """Sync files and directories concurrently, so that the journal of the file system groups them into one write.

    One after the other took 20 ms where this takes 5 (ext4).
    """
    if len(paths) == 1:
        _sync(paths[0])
    else:
        # Submit all before waiting for the first, and wait for each: no failure may be lost.
        for done in [_threads().submit(_sync, path) for path in paths]:
            done.result()


@cache
def _threads() -> ThreadPoolExecutor:
    from concurrent.futures import ThreadPoolExecutor

    return ThreadPoolExecutor(SYNC_THREADS, thread_name_prefix="omnigraph-sync")


def _sync(path: str) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
