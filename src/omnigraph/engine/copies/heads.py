"""Copying the heads of branches into a fresh graph: the same entities, ids and schema, without the history.

The files of the tables are copied as they are, with their indexes. Every branch gets one commit that names its origin:
the first branch becomes ``main``, and the others continue from it under their own names.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from omnigraph.core.commit import CommitKind, GraphCommit, ManifestPlace, TableChange
from omnigraph.core.ports import Clock, IdSource
from omnigraph.core.tables import FileRecord, TablePin
from omnigraph.engine.copies.fill import Copied, Progress, fill
from omnigraph.engine.copies.pins import damaged, recorded_files, with_records
from omnigraph.engine.history.diff import compare
from omnigraph.engine.history.snapshots import head_snapshot
from omnigraph.engine.snapshot import Snapshot
from omnigraph.errors import ContentionError, CorruptionError, NotFoundError
from omnigraph.history.changes import ChangeFilter, Counts
from omnigraph.history.state import ManifestState, schema_path
from omnigraph.manifest.commit_log import create_log, newest_first
from omnigraph.manifest.copied import publish_heads
from omnigraph.manifest.layout import MAIN
from omnigraph.manifest.reader import Manifests
from omnigraph.manifest.refs import Ref
from omnigraph.manifest.schemas import text_path
from omnigraph.storage.objects.durability import record_files
from omnigraph.storage.objects.protocol import Listed
from omnigraph.storage.tables.store import Store
from omnigraph.storage.upkeep.sweep import Needs, needed_files

HEAD_ATTEMPTS_MAX = 20
"""Times that the heads are captured while cleanups delete the files of earlier ones."""


@dataclass(frozen=True)
class Origin:
    """A branch of the source, as it was captured."""

    branch: str
    state: ManifestState
    counts: Mapping[str, Counts]
    """Differences to the first branch, by table key; of the first branch itself, its entities."""


@dataclass
class HeadCopy:
    """One run of a copy of heads."""

    manifests: Manifests
    target: Store
    clock: Clock
    ids: IdSource
    actor: str | None
    copied: Copied
    progress: Progress | None = None

    def run(self, branches: Sequence[str]) -> tuple[str, dict[str, str]]:
        """Copy the heads; returns the id of the new graph, and the head commit of each of its branches."""
        failures: set[str] = set()
        for _ in range(HEAD_ATTEMPTS_MAX):
            origins = self._capture(branches)
            try:
                files = self._files([origin.state for origin in origins])
                fill(self.manifests.store, self.target, files, self.copied, self.progress)
            except (NotFoundError, CorruptionError) as error:
                # As for pins: the head may have moved, and cleanup deleted its files. Twice the same is damage.
                if error.message in failures:
                    raise damaged(error) from error
                failures.add(error.message)
                continue
            return self._publish(origins, files)
        raise ContentionError("cleanup deleted files faster than they were copied", hint="copy again after the cleanup")

    def _capture(self, branches: Sequence[str]) -> list[Origin]:
        first, *others = [head_snapshot(self.manifests, name) for name in branches]
        own = {key: Counts(inserted=rows) for key, rows in first.counts().items()}
        return [
            Origin(first.branch, first.state, own),
            *(Origin(other.branch, other.state, _difference(first, other)) for other in others),
        ]

    def _files(self, states: Sequence[ManifestState]) -> list[FileRecord]:
        store = self.manifests.store
        versions: dict[str, dict[int, int | None]] = defaultdict(dict)
        for state in states:
            for pin in state.tables.values():
                versions[pin.location][pin.lance_version] = None
        listed = [file for place in versions for file in needed_files(store, Needs(place, versions[place]))]
        for digest in sorted({state.schema_digest for state in states}):
            for path in (schema_path(digest), text_path(digest)):
                size = store.objects.size(path)
                if size is None:
                    raise NotFoundError(f"{path} is missing", path=path)
                listed.append(Listed(path, size, 0))
        return with_records(listed, recorded_files((list(newest_first(store, state)) for state in states), states))

    def _publish(self, origins: Sequence[Origin], files: Sequence[FileRecord]) -> tuple[str, dict[str, str]]:
        log, log_files = create_log(self.target)
        sizes = {file.path: file.size for file in files}
        records = (*record_files(self.target.root, sizes, sizes), *log_files)
        main = self._first(origins[0], log, records)
        others = [self._branch(origin, main) for origin in origins[1:]]
        publish_heads(self.target, main, others)
        return main.incarnation, {MAIN: main.head} | {ref.name: state.head for ref, state in others}

    def _first(self, origin: Origin, log: TablePin, files: tuple[FileRecord, ...]) -> ManifestState:
        graph_id, commit_id = self.ids.new_id(), self.ids.new_id()
        pins = _renumbered(origin.state)
        changes = tuple(_change(key, None, pin, origin.counts) for key, pin in sorted(pins.items()))
        place = ManifestPlace(graph_id, 1, 1)
        commit = self._commit(commit_id, (), MAIN, CommitKind.INIT, place, origin, changes, files)
        return ManifestState(MAIN, graph_id, 1, 1, commit_id, origin.state.schema_digest, pins, (commit,), log)

    def _branch(self, origin: Origin, main: ManifestState) -> tuple[Ref, ManifestState]:
        incarnation = self.ids.new_id()
        ref = Ref(origin.branch, incarnation, main.head, self.actor, self.clock.now_us())
        pins = _renumbered(origin.state)
        moved = [key for key in sorted({*pins, *main.tables}) if pins.get(key) != main.tables.get(key)]
        if not moved and origin.state.schema_digest == main.schema_digest:
            same = ManifestState(
                origin.branch, incarnation, 1, 1, main.head, main.schema_digest, pins, main.commits, main.log
            )
            return ref, same
        changes = tuple(_change(key, main.tables.get(key), pins.get(key), origin.counts) for key in moved)
        place = ManifestPlace(incarnation, 1, 2)
        commit = self._commit(
            self.ids.new_id(), (main.head,), origin.branch, CommitKind.LOAD, place, origin, changes, ()
        )
        digest, commits = origin.state.schema_digest, (*main.commits, commit)
        return ref, ManifestState(origin.branch, incarnation, 1, 2, commit.id, digest, pins, commits, main.log)

    def _commit(
        self,
        commit_id: str,
        parents: tuple[str, ...],
        branch: str,
        kind: CommitKind,
        place: ManifestPlace,
        origin: Origin,
        changes: tuple[TableChange, ...],
        files: tuple[FileRecord, ...],
    ) -> GraphCommit:
        source = str(self.manifests.store.root)
        return GraphCommit(
            commit_id,
            parents,
            branch,
            kind,
            self.clock.now_us() + len(parents),
            place,
            origin.state.schema_digest,
            self.actor,
            f"copy of {origin.branch} at {origin.state.head}",
            tables=changes,
            provenance={
                "source": source,
                "source_graph": self.manifests.stamp.graph_id,
                "source_branch": origin.branch,
                "source_commit": origin.state.head,
            },
            files=files,
        )


def _difference(first: Snapshot, other: Snapshot) -> Mapping[str, Counts]:
    return compare(first, other, ChangeFilter()).counts


def _renumbered(state: ManifestState) -> dict[str, TablePin]:
    """The pins of a fresh graph: the same files, and table versions that count from 1 again."""
    return {key: TablePin(pin.key, pin.location, pin.lance_version, 1, pin.rows) for key, pin in state.tables.items()}


def _change(key: str, before: TablePin | None, after: TablePin | None, counts: Mapping[str, Counts]) -> TableChange:
    pin = after or before
    assert pin is not None
    counted = counts.get(key, Counts())
    numbers = (counted.inserted, counted.updated, counted.deleted)
    return TableChange(key, pin.location, _version(before), _version(after), *numbers)


def _version(pin: TablePin | None) -> tuple[int, int, int] | None:
    return None if pin is None else (pin.lance_version, pin.table_version, pin.rows)
