"""Verify: every file that a commit needs exists and is as it was written."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable

from omnigraph.core.commit import GraphCommit
from omnigraph.core.tables import FileRecord
from omnigraph.engine.results import VerifyProblem, VerifyReport
from omnigraph.errors import OmnigraphError
from omnigraph.history.state import ManifestState
from omnigraph.manifest.commit_log import newest_first
from omnigraph.manifest.reader import Manifests, schema_path
from omnigraph.storage.durability import digest_file
from omnigraph.storage.files import version_files


def verify(
    manifests: Manifests, heads: Iterable[ManifestState], *, deep: bool, progress: Callable[[int], None] | None = None
) -> VerifyReport:
    """Check the heads' files and every recorded file of their commits; ``deep`` also compares checksums."""
    needed: dict[str, set[str]] = defaultdict(set)
    records: dict[str, FileRecord] = {}
    problems: list[VerifyProblem] = []
    seen: dict[str, GraphCommit] = {}
    for head in heads:
        for commit in newest_first(manifests.store, head):
            seen.setdefault(commit.id, commit)
        needed[schema_path(head.schema_digest)].add(head.head)
        for pin in [*head.tables.values(), *([head.log] if head.log else [])]:
            try:
                for path in version_files(manifests.store, pin):
                    needed[path].add(head.head)
            except OmnigraphError as error:
                problems.append(VerifyProblem(pin.location, error.message, (head.head,)))
    for commit in seen.values():
        needed[schema_path(commit.schema_digest)].add(commit.id)
        for record in commit.files:
            records[record.path] = record
            needed[record.path].add(commit.id)
    total = 0
    for number, (path, commits) in enumerate(sorted(needed.items()), 1):
        size, what = _check(manifests, path, records.get(path), deep)
        total += size
        if what is not None:
            problems.append(VerifyProblem(path, what, tuple(sorted(commits))))
        if progress is not None:
            progress(number)
    return VerifyReport(len(seen), len(needed), total, tuple(problems))


def _check(manifests: Manifests, path: str, record: FileRecord | None, deep: bool) -> tuple[int, str | None]:
    size = manifests.store.objects.size(path)
    if size is None:
        return 0, "is missing"
    if record is None:
        return size, None
    if size != record.size:
        return size, f"has {size} bytes, not {record.size}"
    if deep and record.checksum is not None and manifests.store.root.is_local:
        found = digest_file(manifests.store.root.local(path))[1]
        if found != record.checksum:
            return size, "is damaged: its checksum is not the recorded one"
    return size, None
