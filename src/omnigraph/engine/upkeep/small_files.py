"""Checks of files that no table holds: sealed files, schemas, and the names of manifest versions."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Container, Iterable, Iterator, Mapping

from omnigraph.engine.results import VerifyProblem
from omnigraph.errors import CorruptionError, NotAGraphError
from omnigraph.history.retention import Record
from omnigraph.manifest.layout import STAMP_PATH, read_stamp
from omnigraph.manifest.reader import Manifests
from omnigraph.manifest.records import read_record, record_paths
from omnigraph.manifest.refs import Damaged, marks
from omnigraph.manifest.schemas import read_schema, read_text
from omnigraph.storage.objects.durability import mismatch
from omnigraph.storage.objects.version_names import FIRST_VERSION, manifest_file, version_of
from omnigraph.storage.publish.published import mark_path, newest_mark
from omnigraph.storage.tables.store import Store
from omnigraph.storage.upkeep import jobs

FOREIGN_VERSION = (
    "is an ordinary Lance version that no commit uses: another program wrote it, or a mirror in place left it; "
    "cleanup deletes it"
)


def readable_record(manifests: Manifests) -> tuple[Record, list[VerifyProblem]]:
    """The newest record of cleanup that can be read, and what is wrong with newer ones."""
    problems: list[VerifyProblem] = []
    for path in record_paths(manifests.store):
        try:
            found = read_record(manifests.store, path)
        except CorruptionError as error:
            problems.append(VerifyProblem(path, error.message, ()))
            continue
        if found is not None:
            return found, problems
    return Record(), problems


def damaged_files(store: Store) -> Iterator[tuple[str, str]]:
    """Sealed files that are not as they were written: the stamp, marks of refs, records and notes of jobs."""
    yield from _unreadable(STAMP_PATH, lambda _: read_stamp(store))
    for path in record_paths(store):
        yield from _unreadable(path, lambda path: read_record(store, path))
    for path, _ in sorted(store.objects.list(f"{jobs.DIRECTORY}/")):
        if path.endswith(".json"):
            yield from _unreadable(path, lambda path: jobs.check(store.objects, path))
    for _, mark in marks(store):
        if isinstance(mark, Damaged):
            yield mark.path, mark.what


def _unreadable(path: str, read: Callable[[str], object]) -> Iterator[tuple[str, str]]:
    try:
        read(path)
    except (CorruptionError, NotAGraphError) as error:
        yield path, error.message


def damaged_version(store: Store, location: str) -> Iterator[VerifyProblem]:
    """Files of the newest published version of a manifest that are not as they were written."""
    mark = newest_mark(store.root, location)
    for record in mark.files if mark is not None else ():
        what = mismatch(store.root, record)
        if what is not None:
            yield VerifyProblem(record.path, what, ())


def damaged_mark(store: Store, location: str, version: int) -> Iterator[tuple[str, str]]:
    """The mark of the newest published version of a manifest, if it is missing or damaged."""
    mark = newest_mark(store.root, location)
    path = mark_path(location, mark.version if mark is not None else version)
    if mark is None:
        yield path, "is missing: damage of the newest version could be taken for an unfinished commit"
    elif not mark.files:
        yield path, "is damaged: the newest version of the manifest cannot be checked"


def damaged_schemas(store: Store, digests: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Schemas whose content is not what their name says, and texts that mean something else."""
    for digest in sorted(digests):
        for read in (read_schema, read_text):
            try:
                read(store, digest)
            except CorruptionError as error:
                yield str(error.facts["path"]), error.message
                break


def foreign_versions(
    locations: Iterable[str], sizes: Mapping[str, int], shown: Container[str]
) -> Iterator[tuple[str, str]]:
    """Ordinary versions of tables: those of a graph are detached, except the first, so another program wrote them.

    ``shown`` are the manifests of a mirror in place.
    """
    tables = {f"{location}/_versions" for location in locations}
    for path in sorted(sizes):
        version = version_of(path) if path.rpartition("/")[0] in tables else None
        if version is not None and version != FIRST_VERSION and path not in shown:
            yield path, FOREIGN_VERSION


def lost_versions(locations: Iterable[str], sizes: Mapping[str, int]) -> Iterator[tuple[str, str]]:
    """Names of manifest versions that are missing. A sleeping writer could take such a number for the next one."""
    found: dict[str, set[int]] = defaultdict(set)
    for path in sizes:
        location, is_version, _ = path.rpartition("/_versions/")
        version = version_of(path) if is_version else None
        if version is not None:
            found[location].add(version)
    for location in locations:
        versions = found[location]
        for version in range(1, max(versions, default=0)):
            if version not in versions:
                yield manifest_file(location, version), "is missing"
