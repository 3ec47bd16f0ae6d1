"""Verify: every file that a commit needs exists and is as it was written, and the entities of the heads fit together.

A quick check looks at what the heads and the commits themselves say. A deep one opens the state of every commit and
every table version in it, compares checksums, and looks for ids that are there twice and for edges without their nodes.
Commits that cleanup has given up are left out.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field

from omnigraph.core.commit import GraphCommit
from omnigraph.core.tables import FileRecord, TablePin
from omnigraph.engine.mirror.in_place import shown_versions
from omnigraph.engine.results import VerifyProblem, VerifyReport
from omnigraph.engine.upkeep.small_files import (
    damaged_files,
    damaged_mark,
    damaged_schemas,
    damaged_version,
    foreign_versions,
    lost_versions,
    readable_record,
)
from omnigraph.errors import OmnigraphError, StorageError
from omnigraph.history.retention import Record
from omnigraph.history.state import ManifestState, schema_path
from omnigraph.lake.external.checks import unreadable_files
from omnigraph.lake.external.table import stored_seal
from omnigraph.manifest import branches
from omnigraph.manifest.commit_log import DistinctLogs
from omnigraph.manifest.layout import DELETED, WITHDRAWN
from omnigraph.manifest.reader import Manifests
from omnigraph.manifest.refs import Damaged
from omnigraph.manifest.salvage import newest_readable
from omnigraph.manifest.schemas import text_path
from omnigraph.storage.files import SegmentFiles, version_files
from omnigraph.storage.objects.durability import mismatch
from omnigraph.storage.objects.version_names import FIRST_VERSION, manifest_file
from omnigraph.storage.publish.published import newest_mark
from omnigraph.write.upkeep.entity_checks import entity_checks

Version = tuple[str, int]
"""A table's location and one of its Lance versions."""


def verify(
    manifests: Manifests, *, deep: bool, progress: Callable[[int], None] | None = None, sources: bool = True
) -> VerifyReport:
    """Check every file of every branch. A file that cannot be read is a problem, and the rest is checked as well.

    Without ``sources`` the files of external types, which are outside the graph, are left out.
    """
    record, problems = readable_record(manifests)
    survey = _Survey(manifests, deep, record)
    problems += survey.add_branches()
    survey.add_versions()
    # Listed after the references were collected: files that are published meanwhile are listed, and not yet required.
    sizes = dict(manifests.store.objects.list(""))
    wrong: dict[str, str] = {}
    for number, path in enumerate(sorted(survey.paths()), 1):
        what = _check(manifests, path, sizes.get(path), survey.records.get(path), deep)
        if what is not None:
            wrong[path] = what
        if progress is not None:
            progress(number)
    wrong |= {path: what for path, what in survey.small_files() if path not in wrong}
    remarks = [VerifyProblem(path, what, ()) for path, what in survey.remarks(sizes) if path not in wrong]
    moved = survey.sources()
    lost = [problem for problem, is_of_head in moved if is_of_head]
    found = [*problems, *survey.unreadable(), *survey.explained(wrong)]
    if sources:
        remarks += [problem for problem, is_of_head in moved if not is_of_head]
        found += lost
    if deep and not found and not lost:
        found = list(survey.unsound())
    needed = survey.paths()
    total = sum(sizes.get(path, 0) for path in needed)
    problems = survey.still_needed(found)
    return VerifyReport(len(survey.commits), len(needed), total, tuple(problems), tuple(remarks))


def _check(manifests: Manifests, path: str, size: int | None, record: FileRecord | None, deep: bool) -> str | None:
    if size is None:
        return "is missing"
    if record is None:
        return None
    if size != record.size:
        return f"has {size} bytes, not {record.size}"
    return mismatch(manifests.store.root, record) if deep else None


@dataclass
class _Survey:
    """The required files: those of commits themselves, and those of table versions."""

    manifests: Manifests
    deep: bool
    record: Record
    commits: dict[str, GraphCommit] = field(default_factory=dict)
    records: dict[str, FileRecord] = field(default_factory=dict)
    _logs: DistinctLogs = field(init=False)
    _heads: list[ManifestState] = field(default_factory=list)
    _named: set[str] = field(default_factory=set)
    _version_files: dict[tuple[str, int], tuple[FileRecord, ...]] = field(default_factory=dict)
    _by_commit: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    _by_version: dict[str, set[Version]] = field(default_factory=lambda: defaultdict(set))
    _sealed: dict[Version, set[str]] = field(default_factory=lambda: defaultdict(set))
    """Commits by the version of an external table that they have."""
    _failures: list[tuple[str, str, set[str], set[Version]]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._logs = DistinctLogs(self.manifests.store)

    def add_branches(self) -> list[VerifyProblem]:
        """Take in every branch, and say which cannot be read. Of a branch without a readable head older states do."""
        named: set[str] = set()
        problems: list[VerifyProblem] = []
        for incarnation, state in branches.named_states(self.manifests):
            if isinstance(state, Damaged):
                problems.append(VerifyProblem(state.path, state.what, ()))
            elif state.branch in (DELETED, WITHDRAWN):
                continue
            if incarnation is None:
                continue
            if isinstance(state, Damaged):
                problems += damaged_version(self.manifests.store, self.manifests.location(incarnation))
            named.add(incarnation)
            head = state if isinstance(state, ManifestState) else newest_readable(self.manifests, incarnation)
            if head is not None:
                self.add_branch(head)
        for lost in branches.lost_refs(self.manifests):
            problems.append(VerifyProblem(lost.path, lost.what, ()))
        self._named = named
        return problems

    def small_files(self) -> Iterator[tuple[str, str]]:
        """Damage of small files: the stamp, marks of refs, records, notes and schemas."""
        yield from damaged_files(self.manifests.store)
        if self.deep:
            digests = {commit.schema_digest for commit in self.commits.values()}
            yield from damaged_schemas(self.manifests.store, digests)

    def remarks(self, sizes: Mapping[str, int]) -> Iterator[tuple[str, str]]:
        """Findings that hurt no commit: lost names of given-up versions, lost marks, versions of other programs."""
        locations = [self.manifests.location(incarnation) for incarnation in sorted(self._named)]
        yield from lost_versions(locations, sizes)
        shown = {manifest_file(*version) for version in shown_versions(self.manifests)}
        yield from foreign_versions({pin.location for head in self._heads for pin in _pins(head)}, sizes, shown)
        if self.manifests.store.root.capabilities.links_versions:
            for head in self._heads:
                yield from damaged_mark(self.manifests.store, self.manifests.location(head.incarnation), head.version)

    def add_branch(self, head: ManifestState) -> None:
        """Take in a branch: its commits, and the files that they name."""
        self._heads.append(head)
        for commit in reversed(head.commits):
            self._add_commit(commit)
        if head.log is None:
            return
        try:
            for commit in self._logs.commits(head.log):
                self._add_commit(commit)
        except OmnigraphError as error:
            self._failures.append((head.log.location, error.message, {head.head}, set()))

    def _add_commit(self, commit: GraphCommit) -> None:
        # A file outlives the commit that made it as long as others need it.
        self.records.update((record.path, record) for record in commit.files)
        if commit.id in self.commits or self.record.given_up_since(commit) is not None:
            return
        self.commits[commit.id] = commit
        place = manifest_file(self.manifests.location(commit.manifest.incarnation), commit.manifest.version)
        schema = (schema_path(commit.schema_digest), text_path(commit.schema_digest))
        for path in (place, *schema, *(record.path for record in commit.files)):
            self._by_commit[path].add(commit.id)

    def add_versions(self) -> None:
        """Take in the table versions of the heads, or of every commit."""
        pins: dict[Version, TablePin] = {}
        for commit, state in self._states():
            for pin in _pins(state):
                pins[_version(pin)] = pin
                if pin.is_external:
                    self._sealed[_version(pin)].add(commit)
            self._add_previous(state)
        heads = [(head.head, head.incarnation, head.version) for head in self._heads]
        places = [(item.id, item.manifest.incarnation, item.manifest.version) for item in self.commits.values()]
        for head, incarnation, number in [*heads, *places] if self.deep else ():
            for record in self._files_of(incarnation, number):
                self.records[record.path] = record
                self._by_commit[record.path].add(head)
        segments = SegmentFiles(self.manifests.store)
        for version, pin in pins.items():
            path = manifest_file(*version)
            self._by_version[path].add(version)
            if not pin.is_external:
                # Lance takes a directory for a dataset because of its first version.
                self._by_version[manifest_file(pin.location, FIRST_VERSION)].add(version)
            if self.deep and path in self.records and mismatch(self.manifests.store.root, self.records[path]):
                # It is found once more with all other files; what it would lead to is not known.
                continue
            try:
                for path in version_files(self.manifests.store, pin, segments):
                    self._by_version[path].add(version)
            except OmnigraphError as error:
                self._failures.append((pin.location, error.message, set(), {version}))

    def sources(self) -> list[tuple[VerifyProblem, bool]]:
        """Files of external types that are not as they were sealed, and whether a head needs them.

        The programs that own these tables delete old files, so one that only earlier commits need is a remark.
        """
        heads = {_version(pin) for head in self._heads for pin in head.tables.values()}
        found: list[tuple[VerifyProblem, bool]] = []
        for version, commits in self._sealed.items():
            store, pin = self.manifests.store, TablePin("", *version, 0, 0)
            # A seal that cannot be read is found with all other files.
            with suppress(OmnigraphError):
                for path, what in unreadable_files(stored_seal(store, pin), store.options):
                    found.append((VerifyProblem(path, what, tuple(sorted(commits))), version in heads))
        return found

    def _add_previous(self, state: ManifestState) -> None:
        """Take in the checksums of manifest versions: each holds those of the one before, the newest has a mark."""
        store, location = self.manifests.store, self.manifests.location(state.incarnation)
        mark = newest_mark(store.root, location)
        if mark is not None:
            self._version_files[state.incarnation, mark.version] = mark.files
        self._version_files[state.incarnation, state.version - 1] = state.previous

    def _files_of(self, incarnation: str, version: int) -> tuple[FileRecord, ...]:
        """The files of a manifest version, if it is the newest or the one after it can be read."""
        if self.manifests.store.root.capabilities.keeps_checksums and (incarnation, version) not in self._version_files:
            # The next version may be of no commit that was looked at: a renaming, or one that was given up.
            with suppress(StorageError):
                self._add_previous(self.manifests.version(incarnation, version + 1))
        return self._version_files.get((incarnation, version), ())

    def _states(self) -> Iterator[tuple[str, ManifestState]]:
        yield from ((head.head, head) for head in self._heads)
        if not self.deep:
            return
        for commit in self.commits.values():
            try:
                state = self.manifests.stored(commit)
            except OmnigraphError as error:
                place = self.manifests.location(commit.manifest.incarnation)
                failure = (place, error.message, {commit.id}, set[Version]())
                if failure not in self._failures:
                    self._failures.append(failure)
                continue
            yield commit.id, state

    def paths(self) -> set[str]:
        return self._by_commit.keys() | self._by_version.keys()

    def unreadable(self) -> list[VerifyProblem]:
        """Manifests and table versions that could not be opened."""
        return [
            VerifyProblem(place, what, tuple(sorted(commits | self._holding(versions))))
            for place, what, commits, versions in list(self._failures)
        ]

    def unsound(self) -> Iterator[VerifyProblem]:
        """Entities of the heads that do not fit together. Tables that branches share are checked one time."""
        heads: dict[frozenset[Version], list[ManifestState]] = defaultdict(list)
        for head in self._heads:
            heads[frozenset(_version(pin) for pin in head.tables.values())].append(head)
        with entity_checks(self.manifests.store) as checks:
            for alike in heads.values():
                commits = tuple(sorted({head.head for head in alike}))
                try:
                    catalog = self.manifests.catalog(alike[0].schema_digest)
                    for pin, what in checks.unsound(catalog, alike[0]):
                        yield VerifyProblem(pin.location, what, commits)
                except OmnigraphError as error:
                    yield VerifyProblem("", error.message, commits)

    def explained(self, wrong: dict[str, str]) -> list[VerifyProblem]:
        """Wrong files with every commit that needs them."""
        return [
            VerifyProblem(path, what, tuple(sorted(self._by_commit[path] | self._holding(self._by_version[path]))))
            for path, what in wrong.items()
        ]

    def still_needed(self, problems: list[VerifyProblem]) -> list[VerifyProblem]:
        """Without what a cleanup has given up since the survey began."""
        record = readable_record(self.manifests)[0] if problems else self.record
        if record.number == self.record.number:
            return problems
        gone = {commit.id for commit in self.commits.values() if record.given_up_since(commit) is not None}
        return [problem for problem in problems if not problem.commits or not gone.issuperset(problem.commits)]

    def _holding(self, versions: set[Version]) -> set[str]:
        if not versions:
            return set()
        return {commit for commit, state in self._states() if any(_version(pin) in versions for pin in _pins(state))}


def _pins(state: ManifestState) -> list[TablePin]:
    return [*state.tables.values(), *([state.log] if state.log else [])]


def _version(pin: TablePin) -> Version:
    return pin.location, pin.lance_version
