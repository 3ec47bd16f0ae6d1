"""Verify: every file that a commit needs exists and is as it was written, and the entities of the heads fit together.

A quick check looks at what the heads and the commits themselves say. A deep one opens the state of every commit and
every table version in it, compares checksums, and looks for ids that are there twice and for edges without their nodes.
Commits that cleanup has given up are left out.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from omnigraph.core.commit import GraphCommit
from omnigraph.core.tables import FileRecord, TablePin
from omnigraph.engine.results import VerifyProblem, VerifyReport
from omnigraph.errors import OmnigraphError
from omnigraph.history.retention import Record
from omnigraph.history.state import ManifestState, schema_path
from omnigraph.manifest.commit_log import newest_first
from omnigraph.manifest.reader import Manifests
from omnigraph.storage.durability import digest_file
from omnigraph.storage.files import SegmentFiles, version_files
from omnigraph.storage.version_names import manifest_file
from omnigraph.write.soundness import unsound

Version = tuple[str, int]
"""A table's location and one of its Lance versions."""


def verify(
    manifests: Manifests, heads: Iterable[ManifestState], *, deep: bool, progress: Callable[[int], None] | None = None
) -> VerifyReport:
    """Check every file of the branches that these are the heads of."""
    survey = _Survey(manifests, deep, manifests.record())
    for head in heads:
        survey.add_branch(head)
    survey.add_versions()
    # After the needs: whatever is published meanwhile is in the listing, and not yet asked for.
    sizes = dict(manifests.store.objects.list(""))
    wrong: dict[str, str] = {}
    for number, path in enumerate(sorted(survey.paths()), 1):
        what = _check(manifests, path, sizes.get(path), survey.records.get(path), deep)
        if what is not None:
            wrong[path] = what
        if progress is not None:
            progress(number)
    found = [*survey.unreadable(), *survey.explained(wrong)]
    if deep and not found:
        found = list(survey.unsound())
    problems = survey.still_needed(found)
    needed = survey.paths()
    return VerifyReport(len(survey.commits), len(needed), sum(sizes.get(path, 0) for path in needed), tuple(problems))


def _check(manifests: Manifests, path: str, size: int | None, record: FileRecord | None, deep: bool) -> str | None:
    if size is None:
        return "is missing"
    if record is None:
        return None
    if size != record.size:
        return f"has {size} bytes, not {record.size}"
    if deep and record.checksum is not None and manifests.store.root.is_local:
        found = digest_file(manifests.store.root.local(path))[1]
        if found != record.checksum:
            return "is damaged: its checksum is not the recorded one"
    return None


@dataclass
class _Survey:
    """What must be there: paths that commits need by themselves, and paths that table versions need."""

    manifests: Manifests
    deep: bool
    record: Record
    commits: dict[str, GraphCommit] = field(default_factory=dict)
    records: dict[str, FileRecord] = field(default_factory=dict)
    _heads: list[ManifestState] = field(default_factory=list)
    _by_commit: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    _by_version: dict[str, set[Version]] = field(default_factory=lambda: defaultdict(set))
    _failures: list[tuple[str, str, set[str], set[Version]]] = field(default_factory=list)

    def add_branch(self, head: ManifestState) -> None:
        """Take in a branch: its commits, and the files that they name."""
        self._heads.append(head)
        try:
            found = list(newest_first(self.manifests.store, head))
        except OmnigraphError as error:
            self._failures.append((head.log.location if head.log else "", error.message, {head.head}, set()))
            found = list(head.commits)
        for commit in found:
            if commit.id in self.commits or self.record.given_up_since(commit) is not None:
                continue
            self.commits[commit.id] = commit
            place = manifest_file(self.manifests.location(commit.manifest.incarnation), commit.manifest.version)
            for path in (place, schema_path(commit.schema_digest), *(record.path for record in commit.files)):
                self._by_commit[path].add(commit.id)
            self.records.update((record.path, record) for record in commit.files)

    def add_versions(self) -> None:
        """Take in the table versions of the heads, or of every commit."""
        pins: dict[Version, TablePin] = {}
        for _, state in self._states():
            pins.update((_version(pin), pin) for pin in _pins(state))
        segments = SegmentFiles(self.manifests.store)
        for version, pin in pins.items():
            try:
                for path in version_files(self.manifests.store, pin, segments):
                    self._by_version[path].add(version)
            except OmnigraphError as error:
                self._failures.append((pin.location, error.message, set(), {version}))

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
        """Entities of the heads that do not fit together. Branches that have the same tables are looked at once."""
        heads: dict[frozenset[Version], list[ManifestState]] = defaultdict(list)
        for head in self._heads:
            heads[frozenset(_version(pin) for pin in head.tables.values())].append(head)
        for alike in heads.values():
            commits = tuple(sorted({head.head for head in alike}))
            catalog = self.manifests.catalog(alike[0].schema_digest)
            try:
                for pin, what in unsound(self.manifests.store, catalog, alike[0]):
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
        record = self.manifests.record() if problems else self.record
        if record.number == self.record.number:
            return problems
        gone = {commit.id for commit in self.commits.values() if record.given_up_since(commit) is not None}
        return [problem for problem in problems if not gone.issuperset(problem.commits)]

    def _holding(self, versions: set[Version]) -> set[str]:
        if not versions:
            return set()
        return {commit for commit, state in self._states() if any(_version(pin) in versions for pin in _pins(state))}


def _pins(state: ManifestState) -> list[TablePin]:
    return [*state.tables.values(), *([state.log] if state.log else [])]


def _version(pin: TablePin) -> Version:
    return pin.location, pin.lance_version
