"""What of a graph is needed: every state of every branch that can be read, with the datasets and versions it pins."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from omnigraph.core.commit import GraphCommit
from omnigraph.core.tables import FileRecord, TablePin
from omnigraph.errors import CorruptionError, NotFoundError
from omnigraph.history.retention import Log, Record
from omnigraph.history.state import COMMIT_LOG_LOCATION, ManifestState
from omnigraph.manifest.branches import named_states
from omnigraph.manifest.commit_log import spilled
from omnigraph.manifest.layout import BRANCHES, DELETED, WITHDRAWN
from omnigraph.manifest.reader import Manifests
from omnigraph.manifest.refs import Damaged
from omnigraph.storage.objects.version_names import manifest_file
from omnigraph.storage.upkeep.sweep import Needs
from omnigraph.write import limits

_TABLES = ("nodes", "edges")


@dataclass(frozen=True)
class View:
    """All branches at one moment, and all incarnations that are on disk and have no name."""

    heads: Mapping[str, ManifestState]
    """By incarnation."""
    logs: Mapping[str, Log]
    unnamed: Mapping[str, ManifestState | None]
    """Their newest states, unless they have none or it is of no use any more."""
    unnamed_logs: Mapping[str, Log]
    dead: frozenset[str]
    """Incarnations whose time without a name is over."""
    undecided: tuple[Damaged, ...] = ()
    """Refs, heads and logs that cannot be read. The commits of a branch are not known then, so none can be given up."""
    unread: tuple[Damaged, ...] = ()
    """Logs of incarnations without a name. What they need is not known, so nothing can be deleted."""


def look(manifests: Manifests, ripe: Collection[str]) -> View:
    """Look at the refs and the newest manifests. ``ripe`` are incarnations that were nameless long enough."""
    # Directories first: one whose ref is missing afterwards is nameless, or is being made at this moment.
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
        # Files of a branch that was never finished may be gone, and nothing can be read of it.
        return None if state.branch == WITHDRAWN else state
    except (NotFoundError, CorruptionError):
        # Its creator has not come further, or cleanup deleted half of it before its creator wrote the rest. No ref and
        # no mark leads here, so no branch needs it.
        return None


@dataclass
class _Logs:
    """Logs of branches. Branches share most of theirs, so a version of the log is read once."""

    manifests: Manifests
    _read: dict[int, tuple[GraphCommit, ...]] = field(default_factory=dict)

    def of(self, state: ManifestState, damaged: list[Damaged]) -> Log:
        """The log of a branch, as far as it can be read; what cannot is added to ``damaged``."""
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
    manifests: Manifests, view: View, record: Record, grace_us: int, kept: Collection[str]
) -> tuple[list[Needs], list[Damaged]]:
    """The versions every dataset must keep, with an empty set for unreferenced ones; and unreadable states."""
    needed = _Needed(manifests)
    unread: list[Damaged] = []
    for state in view.heads.values():
        needed.add(state, state.incarnation, state.version, None)
    for name, unnamed in view.unnamed.items():
        if unnamed is not None:
            needed.add(unnamed, name, unnamed.version, _nameless_until(record, name, grace_us))
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
    """A branch that lost its name after the record was decided is not in it, and is as good as named."""
    since = record.nameless.get(incarnation)
    return None if since is None else since + grace_us


def _readable(view: View, record: Record, grace_us: int) -> list[tuple[GraphCommit, int | None]]:
    """Commits whose state must stay, and until when: None for good."""
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
    """Versions of datasets, collected state by state."""

    manifests: Manifests
    versions: dict[str, dict[int, int | None]] = field(default_factory=lambda: defaultdict(dict))
    files: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))

    def add(self, state: ManifestState, incarnation: str, version: int, until_us: int | None) -> None:
        self._need(self.manifests.location(incarnation), version, until_us)
        for pin in _pins(state):
            self._need(pin.location, pin.lance_version, until_us)

    def _need(self, location: str, version: int, until_us: int | None) -> None:
        versions = self.versions[location]
        before = versions.get(version, 0)
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
            for location in sorted({*self.versions, *states, *tables})
        ]


def _manifest_records(view: View) -> dict[str, FileRecord]:
    """Checksums of table versions, by the paths of their manifests."""
    logs = (*view.logs.values(), *view.unnamed_logs.values())
    every = (record for log in logs for commit in log for record in commit.files)
    return {record.path: record for record in every if record.path.endswith(".manifest")}


def _pins(state: ManifestState) -> list[TablePin]:
    return [*state.tables.values(), *([state.log] if state.log else [])]


def _dataset_of(path: str) -> str:
    """The table that a recorded file belongs to."""
    return COMMIT_LOG_LOCATION if path.startswith(f"{COMMIT_LOG_LOCATION}/") else "/".join(path.split("/")[:2])
