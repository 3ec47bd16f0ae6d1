"""Snapshot isolation: capturing one coherent view of a branch before working on it.

A cached state may be outdated. A writer detects that by a lost swap; a reader looks up the newest version first.
"""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field, replace

import pyarrow as pa

from omnigraph.core.commit import GraphCommit
from omnigraph.core.hints import verify_hint
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


@dataclass
class Manifests:
    """The manifests of one graph, with the newest known state of each incarnation."""

    store: Store
    stamp: Stamp
    _states: dict[str, ManifestState] = field(default_factory=dict)
    _files: dict[str, tuple[FileRecord, ...]] = field(default_factory=dict)
    """The files of the manifest version that the newest known state was read from or written as."""
    _seen: dict[str, float] = field(default_factory=dict)
    """When the newest known state was last verified to be the newest, in wall-clock time: a monotonic clock may stop
    while the machine is suspended."""
    _catalogs: dict[str, Catalog] = field(default_factory=dict)
    _record: Record = field(default_factory=Record)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _checks: CheckedReads | None = None

    def __post_init__(self) -> None:
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
        with self._lock:
            known = self._states.get(incarnation)
            is_recent = abs(time.time() - self._seen.get(incarnation, 0)) < self.store.tuning.warm_seconds_max
        return known if known is not None and is_recent else self.fresh(incarnation)

    def fresh(self, incarnation: str) -> ManifestState:
        """The newest state: looks up the newest version, and reads it if it is not cached."""
        with self._lock:
            known = self._states.get(incarnation)
        if known is None:
            return self.reload(incarnation)
        place = ManifestVersion(self.location(incarnation), known.version)
        looked = time.time()
        if not is_newest(self.store, place):
            return self.reload(incarnation)
        with self._lock:
            self._seen[incarnation] = looked
        return known

    def fresh_in_memory(self, incarnation: str) -> ManifestState | None:
        """The newest state, if it is cached and known to be the newest without a request; else None."""
        known = self._states.get(incarnation)
        if known is None or not self.store.root.capabilities.links_versions:
            return None
        is_current = is_newest(self.store, ManifestVersion(self.location(incarnation), known.version))
        return known if is_current else None

    def reload(self, incarnation: str) -> ManifestState:
        """Read the newest state."""
        looked = time.time()
        with self._lock:
            known = self._states.get(incarnation)
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
            known = self._states.get(state.incarnation)
            if known is None or known.version <= state.version:
                self._states[state.incarnation] = state
                self._seen[state.incarnation] = time.time() if seen is None else seen
                if files is not None or known is None or known.version < state.version:
                    self._files[state.incarnation] = files or ()

    def files(self, state: ManifestState) -> tuple[FileRecord, ...]:
        """The files of the manifest version that holds a state, if it is the newest known one."""
        with self._lock:
            known = self._states.get(state.incarnation)
            is_newest_known = known is not None and known.version == state.version
            return self._files.get(state.incarnation, ()) if is_newest_known else ()

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
        with self._lock:
            known = self._catalogs.get(digest)
        if known is not None:
            return known
        catalog = Catalog(read_schema(self.store, digest))
        with self._lock:
            return self._catalogs.setdefault(digest, catalog)

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
