"""Reachability for garbage collection: the versions of every dataset that a readable state or a mirror pins.

Invariant: an error here must never make a needed file look unreferenced. Three rules follow:

* Directories are listed before refs. A branch that is created in between has a directory and a ref, or only a new
  directory that this run does not consider; the reverse order would see its directory without its ref.
* Anything unreadable (ref, head, log, state) is reported as damaged, and the caller then deletes nothing: branches
  share tables, so it may lead to any file.
* A version has an expiry time: None means it is needed without limit, and the latest expiry of all states wins.

====================================  ==========  ===================================
state that pins version 7             expiry      expiry of version 7 so far
====================================  ==========  ===================================
given up, gone at 100                 100         100
nameless branch, gone at 150          150         150
given up, gone at 120                 120         150
head of a branch                      None        None
given up, gone at 900                 900         None
====================================  ==========  ===================================
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from omnigraph.core.commit import GraphCommit
from omnigraph.core.tables import EXTERNAL_DIRECTORY, FileRecord, TablePin, is_external
from omnigraph.errors import CorruptionError, NotFoundError
from omnigraph.history.retention import Log, Record
from omnigraph.history.state import COMMIT_LOG_LOCATION, ManifestState
from omnigraph.manifest.branches import named_states
from omnigraph.manifest.commit_log import spilled
from omnigraph.manifest.layout import BRANCHES, DELETED, WITHDRAWN
from omnigraph.manifest.mirrors import DIRECTORY as MIRRORS
from omnigraph.manifest.mirrors import Version, mirrors
from omnigraph.manifest.reader import Manifests
from omnigraph.manifest.refs import Damaged
from omnigraph.storage.objects.version_names import manifest_file
from omnigraph.storage.upkeep.sweep import Needs
from omnigraph.write import limits

_TABLES = ("nodes", "edges", f"{EXTERNAL_DIRECTORY}/nodes", f"{EXTERNAL_DIRECTORY}/edges")


@dataclass(frozen=True)
class View:
    """All branches at one moment, and all incarnations on disk that have no name."""

    heads: Mapping[str, ManifestState]
    """By incarnation."""
    logs: Mapping[str, Log]
    unnamed: Mapping[str, ManifestState | None]
    """Newest states of incarnations without a name; None if it is unreadable, withdrawn or expired."""
    unnamed_logs: Mapping[str, Log]
    dead: frozenset[str]
    """Incarnations that have been without a name for a grace period."""
    undecided: tuple[Damaged, ...] = ()
    """Unreadable refs, heads and logs. The commits of a branch are unknown then, so no commit may be given up."""
    unread: tuple[Damaged, ...] = ()
    """Unreadable logs of incarnations without a name. Their needs are unknown, so nothing may be deleted."""


def look(manifests: Manifests, ripe: Collection[str]) -> View:
    """Read refs and newest manifests. ``ripe`` are incarnations that have been nameless for a grace period."""
    # Directories before refs (see above): one without a ref afterwards is nameless, or is being created.
    levels = manifests.store.objects.level(BRANCHES).directories
    found = [path.removeprefix(f"{BRANCHES}/") for path in levels]
    named = list(named_states(manifests))
    logs = _Logs(manifests)
    heads = {
        incarnation: state
        for incarnation, state in named
        if incarnation and isinstance(state, ManifestState) and state.branch not in (DELETED, WITHDRAWN)
    }
    undecided = [state for _, state in named if isinstance(state, Damaged)]
    known = {incarnation for incarnation, state in named if isinstance(state, Damaged)} | heads.keys()
    unnamed = {name: None if name in ripe else _newest(manifests, name) for name in found if name not in known}
    unread: list[Damaged] = []
    return View(
        heads,
        {incarnation: logs.of(state, undecided) for incarnation, state in heads.items()},
        unnamed,
        {name: () if state is None else logs.of(state, unread) for name, state in unnamed.items()},
        frozenset(name for name in unnamed if name in ripe),
        tuple(undecided),
        tuple(unread),
    )


def _newest(manifests: Manifests, incarnation: str) -> ManifestState | None:
    try:
        state = manifests.reload(incarnation)
        # A withdrawn branch was never completed: its files may be deleted, and nothing of it can be read.
        return None if state.branch == WITHDRAWN else state
    except (NotFoundError, CorruptionError):
        # Its creation is incomplete, or a cleanup deleted part of it. No ref leads here, so no branch needs it: unlike
        # other unreadable files this one is no reason to stop.
        return None


@dataclass
class _Logs:
    """Commit logs of branches. Branches share most of their log, so each version is read once."""

    manifests: Manifests
    _read: dict[int, tuple[GraphCommit, ...]] = field(default_factory=dict)

    def of(self, state: ManifestState, damaged: list[Damaged]) -> Log:
        """The readable part of the log of a branch; an unreadable part is added to ``damaged``."""
        older: tuple[GraphCommit, ...] = ()
        if state.log is not None:
            version = state.log.lance_version
            try:
                if version not in self._read:
                    self._read[version] = tuple(spilled(self.manifests.store, state.log))
                older = self._read[version]
            except CorruptionError as error:
                damaged.append(Damaged.of(error, state.log.location, state.branch))
        return (*reversed(state.commits), *older)


def collect_needs(
    manifests: Manifests, view: View, record: Record, grace_us: int, kept: Collection[str], *, mirrored: bool = True
) -> tuple[list[Needs], list[Damaged]]:
    """The versions every dataset must keep, with an empty set for unreferenced ones; and unreadable states.

    Without ``mirrored`` those of mirrors are left out: a copy of the graph has none.
    """
    needed = _Needed(manifests)
    unread: list[Damaged] = []
    for state in view.heads.values():
        needed.add(state, state.incarnation, state.version, None)
    for name, unnamed in view.unnamed.items():
        if unnamed is not None:
            needed.add(unnamed, name, unnamed.version, _nameless_until(record, name, grace_us))
    for mirror in mirrors(manifests.store.objects) if mirrored else ():
        if isinstance(mirror, CorruptionError):
            unread.append(Damaged.of(mirror, MIRRORS))
        else:
            needed.add_versions(mirror.versions)
            # By name and not as versions to open: a program that deletes one must not stop cleanup.
            needed.add_files(manifest_file(*version) for version in mirror.shown)
    readable = _readable(view, record, grace_us)
    with ThreadPoolExecutor(limits.CLEANUP_THREADS) as pool:
        found = pool.map(lambda item: _stored(manifests, item[0]), readable)
        for (commit, until_us), stored in zip(readable, found, strict=True):
            if isinstance(stored, Damaged):
                unread.append(stored)
                continue
            needed.add(stored, commit.manifest.incarnation, commit.manifest.version, until_us)
            if until_us is None:
                needed.add_files(record_.path for record_ in commit.files)
    return needed.by_dataset(view, kept), unread


def _stored(manifests: Manifests, commit: GraphCommit) -> ManifestState | Damaged:
    try:
        return manifests.stored(commit)
    except CorruptionError as error:
        place = commit.manifest
        return Damaged.of(error, manifest_file(manifests.location(place.incarnation), place.version), commit.branch)


def _nameless_until(record: Record, incarnation: str, grace_us: int) -> int | None:
    """Expiry of an incarnation without a name. One that is not in the record lost its name later: no expiry."""
    since = record.nameless.get(incarnation)
    return None if since is None else since + grace_us


def _readable(view: View, record: Record, grace_us: int) -> list[tuple[GraphCommit, int | None]]:
    """Commits whose state must be kept, with their expiry; None for no limit."""
    found: dict[str, tuple[GraphCommit, int | None]] = {}
    for name, log in view.unnamed_logs.items():
        until_us = _nameless_until(record, name, grace_us)
        found |= {commit.id: (commit, until_us) for commit in log if not record.is_gone(commit)}
    for commit in (commit for log in view.logs.values() for commit in log):
        if record.is_gone(commit):
            continue
        given_up = record.given_up_since(commit)
        _, before = found.get(commit.id, (commit, 0))
        if given_up is None or before is None:
            found[commit.id] = (commit, None)
        else:
            found[commit.id] = (commit, max(before, given_up + grace_us))
    return list(found.values())


@dataclass
class _Needed:
    """Needed versions of datasets, collected state by state."""

    manifests: Manifests
    versions: dict[str, dict[int, int | None]] = field(default_factory=lambda: defaultdict(dict))
    files: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))

    def add(self, state: ManifestState, incarnation: str, version: int, until_us: int | None) -> None:
        self._need(self.manifests.location(incarnation), version, until_us)
        for pin in _pins(state):
            self._need(pin.location, pin.lance_version, until_us)

    def add_versions(self, versions: Collection[Version]) -> None:
        for location, version in versions:
            self._need(location, version, None)

    def _need(self, location: str, version: int, until_us: int | None) -> None:
        versions = self.versions[location]
        before = versions.get(version, 0)
        # The latest expiry wins, and None beats all: a version stays as long as any state pins it.
        versions[version] = None if before is None or until_us is None else max(before, until_us)

    def add_files(self, paths: Iterator[str]) -> None:
        for path in paths:
            self.files[_dataset_of(path)].add(path)

    def by_dataset(self, view: View, kept: Collection[str]) -> list[Needs]:
        manifests = self.manifests
        swapped = {manifests.location(incarnation) for incarnation in view.heads}
        states = swapped | {manifests.location(incarnation) for incarnation in view.unnamed}
        tables = [path for kind in _TABLES for path in manifests.store.objects.level(kind).directories]
        jobs: dict[str, set[str]] = defaultdict(set)
        for path in kept:
            jobs[_dataset_of(path)].add(path)
        records = _manifest_records(view)
        labels = dict.fromkeys(states, "manifests") | {COMMIT_LOG_LOCATION: "commit log"}
        every = sorted({*self.versions, *states, *tables})
        labels |= {location: "seals" for location in every if is_external(location)}
        return [
            Needs(
                location,
                dict(self.versions.get(location, {})),
                frozenset(self.files.get(location, ())),
                frozenset(jobs.get(location, ())),
                keeps_names=location in swapped,
                keeps_first=location not in states,
                manifests=tuple(
                    records[path]
                    for path in (manifest_file(location, version) for version in self.versions.get(location, ()))
                    if path in records
                ),
                label=labels.get(location),
            )
            for location in every
        ]


def _manifest_records(view: View) -> dict[str, FileRecord]:
    """Checksums of table manifests by path."""
    logs = (*view.logs.values(), *view.unnamed_logs.values())
    every = (record for log in logs for commit in log for record in commit.files)
    return {record.path: record for record in every if record.path.endswith(".manifest")}


def _pins(state: ManifestState) -> list[TablePin]:
    return [*state.tables.values(), *([state.log] if state.log else [])]


def _dataset_of(path: str) -> str:
    """The dataset that a recorded file belongs to."""
    if path.startswith(f"{COMMIT_LOG_LOCATION}/"):
        return COMMIT_LOG_LOCATION
    return "/".join(path.split("/")[: 3 if is_external(path) else 2])
