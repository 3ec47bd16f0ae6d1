"""Snapshot isolation: capturing one coherent view of a branch before working on it.

A cached state may be outdated. A writer detects that by a lost swap; a reader looks up the newest version first.
"""

from __future__ import annotations

import threading
import time
from dataclasses import field, replace

import pyarrow as pa

from omnigraph.core.classes.dataclass import dataclass
from omnigraph.core.commit import GraphCommit
from omnigraph.core.hints import verify_hint
from omnigraph.core.lru import Lru
from omnigraph.core.tables import FileRecord, TablePin
from omnigraph.errors import CorruptionError, Hint, HistoryCleaned, NotFoundError
from omnigraph.history.retention import Record
from omnigraph.history.state import ManifestState, from_rows
from omnigraph.manifest.commit_log import spilled
from omnigraph.manifest.layout import Stamp, manifest_location, rows_from_arrow
from omnigraph.manifest.records import newest_record
from omnigraph.manifest.schemas import read_schema
from omnigraph.schema.catalog import Catalog
from omnigraph.storage.checked_reads import CheckedReads, wants_checks
from omnigraph.storage.publish.swap import ManifestVersion, is_newest, latest_manifest, read_manifest
from omnigraph.storage.tables.store import Store


@dataclass(frozen=True)
class Capture:
    """One coherent view: a state and the catalog of its schema."""

    state: ManifestState
    catalog: Catalog


@dataclass(slots=True)
class _Newest:
    """The newest known state of an incarnation."""

    state: ManifestState
    place: ManifestVersion
    """The location and the version that hold it."""
    seen: float
    """When it was last verified to be the newest, in wall-clock time: a monotonic clock may stop while the machine is
    suspended."""
    files: tuple[FileRecord, ...]
    """The files of the manifest version that it was read from or written as."""


@dataclass
class Manifests:
    """The manifests of one graph, with the newest known states of the incarnations that were used last."""

    store: Store
    stamp: Stamp
    _newest: Lru[str, _Newest] = field(init=False)
    _catalogs: Lru[str, Catalog] = field(init=False)
    _record: Record = field(default_factory=Record)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _checks: CheckedReads | None = None

    def __post_init__(self) -> None:
        self._newest = Lru(self.store.tuning.known_branches_max)
        self._catalogs = Lru(self.store.tuning.known_schemas_max)
        if self.store.root.capabilities.keeps_checksums and wants_checks():
            self._checks = CheckedReads(self.store)
            self.store.guard = self._checks

    def _know(self, state: ManifestState) -> None:
        """Pass the checksums that the commits of a state have recorded to the read guard."""
        if self._checks is None:
            return
        self._checks.know(record for commit in state.commits for record in commit.files)
        if (log := state.log) is not None:
            self._checks.know_later(
                log.lance_version,
                lambda: [record for commit in spilled(self.store, log) for record in commit.files],
            )

    def location(self, incarnation: str) -> str:
        return manifest_location(incarnation, self.stamp.graph_id)

    def warm(self, incarnation: str) -> ManifestState:
        """The newest cached state; reads the store only if there is none, or it was not verified recently."""
        known = self._newest.get(incarnation)
        if known is not None and abs(time.time() - known.seen) < self.store.tuning.warm_seconds_max:
            return known.state
        return self.fresh(incarnation)

    def fresh(self, incarnation: str) -> ManifestState:
        """The newest state: looks up the newest version, and reads it if it is not cached."""
        newest = self._newest.get(incarnation)
        if newest is None:
            return self.reload(incarnation)
        looked = time.time()
        if not is_newest(self.store, newest.place):
            return self.reload(incarnation)
        # An entry that another thread has replaced meanwhile is not read again.
        newest.seen = looked
        return newest.state

    def known(self, incarnation: str) -> ManifestState | None:
        """The newest cached state, whenever it was verified; another process may have committed since."""
        newest = self._newest.get(incarnation)
        return None if newest is None else newest.state

    @property
    def is_checked_at_once(self) -> bool:
        """True if a state is verified to be the newest by calls of ``stat`` instead of a request."""
        return self.store.root.capabilities.links_versions

    def fresh_in_memory(self, incarnation: str) -> ManifestState | None:
        """The newest state, if it is cached and known to be the newest without a request; else None."""
        known = self._newest.get(incarnation)
        if known is None or not self.is_checked_at_once:
            return None
        return known.state if is_newest(self.store, known.place) else None

    def reload(self, incarnation: str) -> ManifestState:
        """Read the newest state."""
        looked = time.time()
        known = self.known(incarnation)
        location = self.location(incarnation)
        found = latest_manifest(self.store, location, known.version if known else 0)
        if found is None:
            raise NotFoundError(f"the manifest of incarnation {incarnation} is gone", incarnation=incarnation)
        version, rows = found
        state = self._state(location, version.version, rows)
        self.remember(state, looked, version.files)
        return state

    def _state(self, location: str, version: int, rows: pa.Table) -> ManifestState:
        try:
            return from_rows(rows_from_arrow(rows), version)
        except (KeyError, CorruptionError) as error:
            raise CorruptionError(
                f"{location} is damaged at version {version}: {error}",
                hint=verify_hint("lists the affected commits"),
                location=location,
                version=version,
            ) from error

    def remember(
        self, state: ManifestState, seen: float | None = None, files: tuple[FileRecord, ...] | None = None
    ) -> None:
        """Cache a state unless a newer one is cached. ``seen``: when it was verified to be the newest; default now."""
        self._know(state)
        with self._lock:
            known = self._newest.get(state.incarnation)
            if known is not None and known.state.version > state.version:
                return
            if files is None and known is not None and known.state.version == state.version:
                files = known.files
            place = ManifestVersion(self.location(state.incarnation), state.version)
            found = _Newest(state, place, time.time() if seen is None else seen, files or ())
            self._newest.put(state.incarnation, found)

    def files(self, state: ManifestState) -> tuple[FileRecord, ...]:
        """The files of the manifest version that holds a state, if it is the newest known one."""
        known = self._newest.get(state.incarnation)
        return known.files if known is not None and known.state.version == state.version else ()

    def record(self) -> Record:
        """The current record of cleanup."""
        found = newest_record(self.store, self._record)
        self._record = found
        return found

    def at(self, commit: GraphCommit) -> ManifestState:
        """The state right after a commit; raises if cleanup has given it up."""
        record = self.record()
        if record.given_up_since(commit) is not None:
            raise history_cleaned(commit, is_gone=record.is_gone(commit))
        return self.stored(commit)

    def check_files_kept(self, commit: GraphCommit) -> None:
        """Refuse a commit whose files cleanup may have deleted. One that was only given up is still readable."""
        if self.record().is_gone(commit):
            raise history_cleaned(commit, is_gone=True)

    def stored(self, commit: GraphCommit) -> ManifestState:
        """The state right after a commit, whether or not cleanup has given it up."""
        state = self.version(commit.manifest.incarnation, commit.manifest.version)
        return state if state.head == commit.id else _before(state, commit)

    def version(self, incarnation: str, version: int) -> ManifestState:
        """The state that a version of a manifest holds."""
        location = self.location(incarnation)
        state = self._state(location, version, read_manifest(self.store, location, version))
        self._know(state)
        return state

    def catalog(self, digest: str) -> Catalog:
        """The catalog of an accepted schema. Schemas are content-addressed, so a cached one is never stale."""
        known = self._catalogs.get(digest)
        if known is not None:
            return known
        catalog = Catalog(read_schema(self.store, digest))
        with self._lock:
            # One object for all: plans are remembered by the catalog that they were compiled with.
            known = self._catalogs.get(digest)
            if known is None:
                self._catalogs.put(digest, catalog)
        return catalog if known is None else known

    def capture(self, state: ManifestState) -> Capture:
        """A state with its catalog."""
        return Capture(state, self.catalog(state.schema_digest))


def history_cleaned(commit: GraphCommit, *, is_gone: bool) -> HistoryCleaned:
    """The error for a commit that cleanup has given up."""
    return HistoryCleaned(
        f"the state of commit {commit.id} was given up by cleanup and can no longer be read",
        hint="read a newer commit"
        if is_gone
        else Hint(
            "read a newer commit, or call graph.cleanup with a larger keep= before its files are deleted",
            "read a newer commit, or run omnigraph cleanup with a larger --keep before its files are deleted",
        ),
        commit=commit.id,
        is_gone=is_gone,
    )


def _before(state: ManifestState, commit: GraphCommit) -> ManifestState:
    """The state at a commit that shares its manifest version with later ones: undo those, newest first.

    A group commit of a, b and c in one version, where c changed table t from version 4 to 5: the state at b is that
    of the version with t at 4, head b and commits up to b.
    """
    tables = dict(state.tables)
    commits = list(state.commits)
    while commits and commits[-1].id != commit.id:
        later = commits.pop()
        # A merge brings commits of other incarnations along; only the merge commit itself changed these tables.
        moved = later.tables if later.manifest.incarnation == state.incarnation else ()
        for change in reversed(moved):
            if change.before is None:
                tables.pop(change.key, None)
            else:
                tables[change.key] = TablePin(change.key, change.location, *change.before)
    return replace(
        state,
        head=commit.id,
        counter=commit.manifest.counter,
        schema_digest=commit.schema_digest,
        tables=tables,
        commits=tuple(commits),
    )
