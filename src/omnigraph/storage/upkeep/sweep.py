"""The sweep phase of garbage collection, for one dataset: every file is needed, waits, or is deleted.

Invariant: a file is deleted only if no version that must stay refers to it, no running job wrote it, and it is older
than the grace period. The mark phase (``write.upkeep.reachable``) supplies the versions; this module opens them and
collects their files. If one of them cannot be opened or its manifest is damaged, its references are not known, and
nothing of the dataset is deleted.

- A version names its data files, deletion files and index segments.
- Blob files lie in a directory beside their data file, and the files of a segment in its own directory.
- Transaction files are unreferenced once their commit is made.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from lance import LanceDataset

from omnigraph.core.tables import FileRecord, is_external
from omnigraph.errors import CorruptionError, NotFoundError, StorageError
from omnigraph.storage.index.indexes import segment_ids
from omnigraph.storage.objects.durability import mismatch
from omnigraph.storage.objects.failures import translated
from omnigraph.storage.objects.protocol import Listed
from omnigraph.storage.objects.version_names import FIRST_VERSION, manifest_file
from omnigraph.storage.publish.published import DIRECTORY as MARKS
from omnigraph.storage.tables.store import Store

HINT = "latest_version_hint.json"
"""A file that Lance writes on a local disk; nothing relies on it."""


class Fate(StrEnum):
    """The decision about a file."""

    NEEDED = "needed"
    JOBS = "kept by jobs"
    WAITING = "waiting"
    DELETED = "deleted"


@dataclass(frozen=True)
class Needs:
    """The references into one dataset. Pickled to executors."""

    location: str
    versions: Mapping[int, int | None]
    """Versions that must stay, with the moment until which; None without an end."""
    files: frozenset[str] = frozenset()
    """Files that are needed whatever the versions say."""
    jobs: frozenset[str] = frozenset()
    """Files that running jobs have written and not yet published."""
    keeps_names: bool = False
    """True for the manifest of a live branch. Names of its versions stay: if one were free, a suspended writer could
    create that number again, and win a swap that it has lost."""
    keeps_first: bool = True
    """True for a table: without its first version Lance does not recognise the directory as a dataset."""
    manifests: tuple[FileRecord, ...] = ()
    """Checksums of the versions' manifests. A damaged one that can still be opened may name other files."""
    label: str | None = None
    """Kind under which all files are counted; by default the directory decides."""


@dataclass(frozen=True, slots=True)
class Terms:
    """Parameters of a sweep: files written at or after ``young_us`` wait, and a dry run deletes nothing."""

    young_us: int
    grace_us: int
    is_dry: bool = False


@dataclass(slots=True)
class Count:
    """Files and bytes; for waiting files, the moment when the last of them may be deleted."""

    files: int = 0
    bytes: int = 0
    until_us: int = 0

    def add(self, other: Count) -> None:
        self.files += other.files
        self.bytes += other.bytes
        self.until_us = max(self.until_us, other.until_us)


@dataclass
class Swept:
    """The files below one directory, counted by kind and fate."""

    location: str
    counts: dict[tuple[str, Fate], Count] = field(default_factory=lambda: defaultdict(Count))
    damage: StorageError | None = None
    """The failure to open a version that must stay. Its references are not known, so nothing was deleted."""
    is_live_manifest: bool = False

    @property
    def is_worth_a_fence(self) -> bool:
        """True for garbage worth a fence on every branch: a fence itself leaves a small file in each live manifest."""
        return not self.is_live_manifest and any(fate is Fate.DELETED for _, fate in self.counts)

    def spared(self) -> Swept:
        """The same counts for a sweep that deleted nothing after all."""
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
    """Delete unreferenced files below a dataset's directory, or only report them in a dry run."""
    # References first, then the listing: a file that appears in between is younger than the grace period.
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
        # Only directories that belong to one file or segment: ``data`` and ``_versions`` of a live table stay, because
        # a writer may be about to create a file there.
        for directory in [needs.location] if is_empty else _own_directories(needs.location, garbage):
            store.objects.prune(directory)
    return swept


def needed_files(store: Store, needs: Needs) -> list[Listed]:
    """The files of a dataset that its versions refer to, for a copy; ``NotFoundError`` if one has vanished.

    Without marks and hints, which are about one store: a copy writes its own.
    """
    found = _Found.of(store, needs)
    listed = {file.path: file for file in store.objects.walk(needs.location)}
    for path, until_us in found.files.items():
        if until_us is None and path not in listed:
            raise NotFoundError(f"{path} is missing", path=path)
    return [file for path, file in listed.items() if found.until(path) != 0 and not _is_of_one_store(path)]


def _is_of_one_store(path: str) -> bool:
    return f"/{MARKS}/" in path or path.endswith(f"/{HINT}")


def leave(store: Store, needs: Needs, damage: StorageError | None = None) -> Swept:
    """Leave a dataset as it is: any of its files may be needed."""
    swept = Swept(needs.location, damage=damage, is_live_manifest=needs.keeps_names)
    for file in store.objects.walk(needs.location):
        swept.note(needs.label or _kind(needs.location, file.path), Fate.NEEDED, file)
    return swept


def _fate(file: Listed, found: _Found, needs: Needs, terms: Terms) -> tuple[Fate, int]:
    """The decision about one file, and for a waiting one until when it waits.

    With ``young_us`` 1000 and ``grace_us`` 50:

    ==========================  ========  =============  ==================
    reference                   modified  running job    fate
    ==========================  ========  =============  ==================
    None (no end)               10        no             NEEDED
    0 (none)                    10        no             DELETED
    0 (none)                    1020      no             WAITING until 1070
    2000 (an expiring version)  10        no             WAITING until 2000
    0 (none)                    10        yes            JOBS
    ==========================  ========  =============  ==================
    """
    if file.path in needs.jobs:
        return Fate.JOBS, 0
    until_us = found.until(file.path)
    if until_us is None:
        return Fate.NEEDED, 0
    # Young files may be staged by a writer that has not published yet: no version names them, and they are not garbage.
    if file.modified_us >= terms.young_us:
        until_us = max(until_us, file.modified_us + terms.grace_us)
    return (Fate.WAITING, until_us) if until_us else (Fate.DELETED, 0)


@dataclass
class _Found:
    """Expiry of the files of some versions: None without an end, 0 for files that none of them names."""

    needs: Needs
    files: dict[str, int | None] = field(default_factory=dict)
    segments: dict[str, int | None] = field(default_factory=dict)

    @classmethod
    def of(cls, store: Store, needs: Needs) -> _Found:
        found = cls(needs)
        found.files.update(dict.fromkeys(needs.files))
        # Before opening: a manifest with a flipped bit may open, and name other files than it did.
        for record in needs.manifests:
            what = mismatch(store.root, record)
            if what is not None:
                raise CorruptionError(f"{record.path} {what}", path=record.path)
        for version, until_us in needs.versions.items():
            _need(found.files, manifest_file(needs.location, version), until_us)
            if is_external(needs.location):
                # The version is the seal itself: the files that it lists belong to others.
                continue
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
        # The file itself is not named; its owner may be: a segment, or the data file that a blob belongs to.
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
        """Names that stay in a live dataset although no version that must stay refers to them."""
        is_manifest = self.needs.keeps_names and name.endswith(".manifest")
        is_first = self.needs.keeps_first and path == manifest_file(self.needs.location, FIRST_VERSION)
        return is_manifest or is_first or name == HINT


def _need(known: dict[str, int | None], name: str, until_us: int | None) -> None:
    # Files are shared between versions: the latest expiry wins, and no end wins over every expiry.
    before = known.get(name, 0)
    known[name] = None if before is None or until_us is None else max(before, until_us)


def _kind(location: str, path: str) -> str:
    place, _, name = path.removeprefix(f"{location}/").partition("/")
    return "blobs" if place == "data" and "/" in name else _KINDS.get(place, "other")


def _own_directories(location: str, garbage: list[str]) -> Iterator[str]:
    """Directories that belong to one file or segment each. The directories of the table stay: writers use them."""
    found = {tuple(path.removeprefix(f"{location}/").split("/")[:-1]) for path in garbage}
    yield from (f"{location}/{parts[0]}/{parts[1]}" for parts in sorted(found) if len(parts) > 1)
