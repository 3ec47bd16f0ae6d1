"""Marks of published manifest versions on a local disk: ``<manifest>/_published/<version>.json``.

A mark is written after its version was published and made durable, and is not synced itself. So the name of a mark
proves that the version was published: if its manifest is missing or damaged, a commit that may have been acknowledged
is lost. A damaged newest version *without* a mark is the remainder of a commit that a power loss interrupted.
A mark holds size and checksum of the version's files, for ``verify``. Only the newest mark is kept.
Object stores create objects atomically and verify their content; there a mark would cost a request per commit.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress

from omnigraph.core.classes.dataclass import dataclass
from omnigraph.core.tables import FileRecord
from omnigraph.errors import CorruptionError
from omnigraph.storage.files import SegmentFiles, dataset_files
from omnigraph.storage.objects.durability import record_files
from omnigraph.storage.objects.sealed import seal, unseal
from omnigraph.storage.objects.uri import Root
from omnigraph.storage.objects.version_names import manifest_file
from omnigraph.storage.tables.store import Store

DIRECTORY = "_published"


@dataclass(frozen=True, slots=True)
class PublishedMark:
    """The newest published version of a manifest; no files if the content of the mark did not survive a power cut."""

    version: int
    files: tuple[FileRecord, ...]


def mark_path(location: str, version: int) -> str:
    """The mark of a version."""
    return f"{location}/{DIRECTORY}/{version}.json"


def mark_published(root: Root, location: str, version: int, files: Sequence[FileRecord]) -> None:
    """Write the mark of a version that is published and durable, and remove older marks."""
    content = seal({"files": [[record.path, record.size, record.checksum] for record in files]})
    # The commit is published: a mark that cannot be written reduces protection and must not fail the commit.
    with suppress(OSError):
        os.makedirs(root.local(f"{location}/{DIRECTORY}"), exist_ok=True)
        with open(root.local(mark_path(location, version)), "wb") as file:
            file.write(content)
        for older in _versions(root, location):
            if older < version:
                os.unlink(root.local(mark_path(location, older)))


def renew_mark(store: Store, location: str, version: int) -> None:
    """Mark a version that was verified, with its present files."""
    files = [manifest_file(location, version)]
    files += dataset_files(store, location, store.open(location, version), SegmentFiles(store))
    mark_published(store.root, location, version, record_files(store.root, files, {}))


def newest_mark(root: Root, location: str) -> PublishedMark | None:
    """The newest mark; None where versions are not linked. Unreadable content gives no files: the name is the proof."""
    if not root.capabilities.links_versions:
        return None
    version = max(_versions(root, location), default=None)
    if version is None:
        return None
    path = mark_path(location, version)
    try:
        with open(root.local(path), "rb") as file:
            listed = unseal(file.read(), path)["files"]
    except (OSError, CorruptionError):
        return PublishedMark(version, ())
    return PublishedMark(version, tuple(FileRecord(*record) for record in listed))


def newest_marked(root: Root, location: str) -> int:
    """The version of the newest mark; 0 if there is none."""
    return max(_versions(root, location), default=0)


def _versions(root: Root, location: str) -> list[int]:
    try:
        names = os.listdir(root.local(f"{location}/{DIRECTORY}"))
    except (FileNotFoundError, NotADirectoryError):
        return []
    return [int(name.removesuffix(".json")) for name in names if name.removesuffix(".json").isdecimal()]
