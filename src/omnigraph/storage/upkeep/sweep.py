"""Sweeping one dataset: every file below its directory is needed, waits, or is deleted.

What is needed is said by versions; this module opens them and finds their files. A version names its data files,
deletion files and index segments; blob files lie beside their data file, and the files of a segment in its directory.
Transaction files belong to nobody once their commit is made.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum

from lance import LanceDataset

from omnigraph.core.tables import FileRecord
from omnigraph.errors import CorruptionError, StorageError
from omnigraph.storage.index.indexes import segment_ids
from omnigraph.storage.objects.durability import mismatch
from omnigraph.storage.objects.failures import translated
from omnigraph.storage.objects.protocol import Listed
from omnigraph.storage.objects.version_names import manifest_file
from omnigraph.storage.publish.published import DIRECTORY as MARKS
from omnigraph.storage.tables.store import Store

FIRST_VERSION = 1
"""Of every table: an ordinary, empty version, which makes the directory a dataset for Lance."""


class Fate(Enum):
    """What becomes of a file."""

    NEEDED = "needed"
    JOBS = "kept by jobs"
    WAITING = "waiting"
    DELETED = "deleted"


@dataclass(frozen=True)
class Needs:
    """What is needed of one dataset. Travels to executors."""

    location: str
    versions: Mapping[int, int | None]
    """With the moment until which a version is needed; None is for good."""
    files: frozenset[str] = frozenset()
    """Files that are needed whatever the versions say."""
    jobs: frozenset[str] = frozenset()
    """Files that running jobs have written and not yet published."""
    keeps_names: bool = False
    """A manifest that is swapped: a writer who has slept would create the number of a deleted version again."""
    keeps_first: bool = True
    """A table, which Lance takes for a dataset because of its first version."""
    manifests: tuple[FileRecord, ...] = ()
    """Checksums of the versions' own manifests. One that is damaged and can be opened may name other files."""
    label: str | None = None
    """What all of its files are counted as, if not by where they lie."""


@dataclass(frozen=True, slots=True)
class Terms:
    """How to sweep: files written at or after a moment stay, and a dry run deletes nothing."""

    young_us: int
    grace_us: int
    is_dry: bool = False


@dataclass(slots=True)
class Count:
    """Files and bytes, and for waiting ones the moment when the last of them may go."""

    files: int = 0
    bytes: int = 0
    until_us: int = 0

    def add(self, other: Count) -> None:
        self.files += other.files
        self.bytes += other.bytes
        self.until_us = max(self.until_us, other.until_us)


@dataclass
class Swept:
    """What was found below one directory, by kind of file and fate."""

    location: str
    counts: dict[tuple[str, Fate], Count] = field(default_factory=lambda: defaultdict(Count))
    damage: StorageError | None = None
    """A version that must stay and cannot be opened: what it needs is not known, so nothing was deleted."""
    is_live_manifest: bool = False

    @property
    def is_worth_a_fence(self) -> bool:
        """Garbage that is worth swapping every branch: each fence itself leaves a small file in each live manifest."""
        return not self.is_live_manifest and any(fate is Fate.DELETED for _, fate in self.counts)

    def spared(self) -> Swept:
        """The same where nothing was deleted after all."""
        kept = Swept(self.location, damage=self.damage, is_live_manifest=self.is_live_manifest)
        for (kind, fate), count in self.counts.items():
            kept.counts[kind, Fate.WAITING if fate is Fate.DELETED else fate].add(count)
        return kept

    def note(self, kind: str, fate: Fate, file: Listed, until_us: int = 0) -> None:
        self.counts[kind, fate].add(Count(1, file.size, until_us))


_KINDS = {
    "data": "data",
    "_deletions": "deletions",
    "_indices": "indexes",
    "_versions": "table versions",
    "_transactions": "transactions",
}


def sweep(store: Store, needs: Needs, terms: Terms) -> Swept:
    """Delete what is not needed below a dataset's directory, or say what would be deleted."""
    try:
        found = _Found.of(store, needs)
    except StorageError as error:
        return leave(store, needs, error)
    swept = Swept(needs.location, is_live_manifest=needs.keeps_names)
    garbage: list[str] = []
    is_empty = True
    for file in store.objects.walk(needs.location):
        fate, until_us = _fate(file, found, needs, terms)
        swept.note(needs.label or _kind(needs.location, file.path), fate, file, until_us)
        is_empty = is_empty and fate is Fate.DELETED
        if fate is Fate.DELETED:
            garbage.append(file.path)
    if not terms.is_dry:
        store.objects.delete_all(garbage)
        for directory in [needs.location] if is_empty else _own_directories(needs.location, garbage):
            store.objects.prune(directory)
    return swept


def leave(store: Store, needs: Needs, damage: StorageError | None = None) -> Swept:
    """Leave a dataset as it is: whatever lies there may be needed."""
    swept = Swept(needs.location, damage=damage, is_live_manifest=needs.keeps_names)
    for file in store.objects.walk(needs.location):
        swept.note(needs.label or _kind(needs.location, file.path), Fate.NEEDED, file)
    return swept


def _fate(file: Listed, found: _Found, needs: Needs, terms: Terms) -> tuple[Fate, int]:
    if file.path in needs.jobs:
        return Fate.JOBS, 0
    until_us = found.until(file.path)
    if until_us is None:
        return Fate.NEEDED, 0
    if file.modified_us >= terms.young_us:
        until_us = max(until_us, file.modified_us + terms.grace_us)
    return (Fate.WAITING, until_us) if until_us else (Fate.DELETED, 0)


@dataclass
class _Found:
    """Until when the files of some versions are needed: None for good, 0 for what none of them needs."""

    needs: Needs
    files: dict[str, int | None] = field(default_factory=dict)
    segments: dict[str, int | None] = field(default_factory=dict)

    @classmethod
    def of(cls, store: Store, needs: Needs) -> _Found:
        found = cls(needs)
        found.files.update(dict.fromkeys(needs.files))
        for record in needs.manifests:
            what = mismatch(store.root, record)
            if what is not None:
                raise CorruptionError(f"{record.path} {what}", path=record.path)
        for version, until_us in needs.versions.items():
            _need(found.files, manifest_file(needs.location, version), until_us)
            with translated(f"version {version} of {needs.location} cannot be read", location=needs.location):
                found._add(store.open(needs.location, version), until_us)
        return found

    def _add(self, dataset: LanceDataset, until_us: int | None) -> None:
        location = self.needs.location
        for segment in segment_ids(dataset):
            _need(self.segments, segment, until_us)
        for fragment in dataset.get_fragments():
            metadata = fragment.metadata
            for data in metadata.files:
                _need(self.files, f"{location}/data/{data.path}", until_us)
            if metadata.deletion_file is not None:
                _need(self.files, f"{location}/{metadata.deletion_file.path(metadata.id)}", until_us)

    def until(self, path: str) -> int | None:
        if path in self.files:
            return self.files[path]
        location = self.needs.location
        place, _, name = path.removeprefix(f"{location}/").partition("/")
        owner, is_inner, _ = name.partition("/")
        if place == "_indices" and is_inner:
            return self.segments.get(owner, 0)
        if place == "data" and is_inner:
            return self.files.get(f"{location}/data/{owner}.lance", 0)
        if place == "_versions" and self.needs.versions and self._stays(path, name):
            return None
        if place == MARKS and self.needs.keeps_names:
            return None
        return 0

    def _stays(self, path: str, name: str) -> bool:
        """Names in a live dataset that no version is asked for."""
        is_manifest = self.needs.keeps_names and name.endswith(".manifest")
        is_first = self.needs.keeps_first and path == manifest_file(self.needs.location, FIRST_VERSION)
        return is_manifest or is_first or name == "latest_version_hint.json"


def _need(known: dict[str, int | None], name: str, until_us: int | None) -> None:
    before = known.get(name, 0)
    known[name] = None if before is None or until_us is None else max(before, until_us)


def _kind(location: str, path: str) -> str:
    place, _, name = path.removeprefix(f"{location}/").partition("/")
    return "blobs" if place == "data" and "/" in name else _KINDS.get(place, "other")


def _own_directories(location: str, garbage: list[str]) -> Iterator[str]:
    """Directories that belong to one file or segment each. Those of a table stay: others write there."""
    found = {tuple(path.removeprefix(f"{location}/").split("/")[:-1]) for path in garbage}
    yield from (f"{location}/{parts[0]}/{parts[1]}" for parts in sorted(found) if len(parts) > 1)
