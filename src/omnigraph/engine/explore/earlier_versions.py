"""The commits that may have changed one entity, newest first, each with the entity before it.

The walk follows first parents: a merge is one step. Commits name the versions of the tables that they moved and count
the changes, so only versions of the table of the entity are opened. Mutations and loads write new files and delete
rows of old ones: the place of a row, once it is gone, never comes back. So between two versions with the row at its
place no such commit has changed it, and the walk looks ahead in steps that double:

=====================================  ==============================  =====================================
effect of a commit on the table        versions opened                 rows read
=====================================  ==============================  =====================================
none, or deletions alone               none                            none
changes of other entities              log2 of a run of such commits   none
a change of the entity, or a move      the same, at most twice         those of the changed fragments
a merge or a revert                    one                             none if the entity is at its place
=====================================  ==============================  =====================================

Where data rules restrict the actor, the entity is read as the actor may see it wherever that can differ: at changes of
the row, of the schema, of the branch that rules may name, and for an edge at changes of the types of its ends.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain, islice, pairwise
from typing import Any, Final

from omnigraph.compare.followed import FollowedEntity
from omnigraph.core.actors import Action
from omnigraph.core.commit import CommitKind, GraphCommit
from omnigraph.core.tables import TablePin
from omnigraph.engine.explore.entity import plain_row
from omnigraph.engine.interop.parts import plain_view
from omnigraph.engine.snapshot import Snapshot
from omnigraph.errors import HistoryCleaned, PolicyDenied, StorageError
from omnigraph.history.commits import first_parents, shown_commit
from omnigraph.history.retention import Record
from omnigraph.manifest.commit_log import newest_first
from omnigraph.manifest.reader import history_cleaned
from omnigraph.manifest.records import newest_record
from omnigraph.rows.arrow_types import Entity, as_results
from omnigraph.rows.ends.references import shown_batch
from omnigraph.rows.write.results import result_rows
from omnigraph.schema.catalog import EdgeType

VERSIONS_COMPARED_MAX: Final = 400
"""Versions of the table that a walk compares: about two milliseconds each."""
RUN_MAX: Final = 1_024
"""Commits that are looked at before the first of them is compared."""
COMMITS_SEEN_MAX: Final = 10_000
"""Commits whose lists of tables are looked at; most concern other types."""

At = Callable[[str], Snapshot]
"""The snapshot of a commit, as the actor may see it; raises PolicyDenied and HistoryCleaned."""

_WRITES: Final = (CommitKind.MUTATION, CommitKind.LOAD)
"""Commits that never bring a file back."""

Row = Mapping[str, Any]
"""The columns of an entity without blobs, as JSON values."""


@dataclass(frozen=True, slots=True)
class EarlierVersion:
    """A commit, and the entity before it; None if the commit inserted the entity."""

    commit: GraphCommit
    before: Row | None


def earlier_versions(snapshot: Snapshot, entity: Entity, entity_id: str, at: At) -> Iterator[EarlierVersion]:
    """Every commit that may have changed an entity of a snapshot; the last one inserted it.

    Commits that only moved the entity to another file are among them. If the last one did not insert the entity, the
    walk met a bound, a commit that cleanup gave up, or one that the actor may not read.
    """
    return _Walk(snapshot, entity, entity_id, at).versions()


@dataclass(frozen=True, slots=True)
class _Step:
    """A commit with its first parent, and the version of the table before it, if there was one.

    ``scopes`` are digests of what the actor may see before and after it; empty for everything.
    """

    commit: GraphCommit
    parent: GraphCommit | None
    before: TablePin | None
    scopes: tuple[str, str] = ("", "")
    concerns: bool = True
    """The commit may have inserted or changed the entity."""
    is_seen_anew: bool = False
    """The entity may look different although its row is the same: by another schema or other rules."""

    @property
    def is_alone(self) -> bool:
        """The versions around it say nothing about this one."""
        return self.before is None or self.is_seen_anew or self.commit.kind not in _WRITES

    def version(self, row: Row | None) -> EarlierVersion:
        return EarlierVersion(shown_commit(self.commit) if any(self.scopes) else self.commit, row)


@dataclass
class _Walk:
    snapshot: Snapshot
    entity: Entity
    id: str
    at: At
    _followed: FollowedEntity = field(init=False)
    _ends: frozenset[str] = field(init=False)
    _names: list[str] = field(init=False)
    _compared: int = 0
    _scopes: dict[tuple[str, str], str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        tables = self.snapshot.manifest.tables
        self._followed = FollowedEntity(self.snapshot.store, self.entity, self.id, tables[self.entity.table_key])
        ends = self.entity.ends if isinstance(self.entity, EdgeType) else ()
        keys = {f"node:{name}" for end in ends for name in end.types}
        self._ends = frozenset(tables[key].location for key in keys if key in tables)
        self._names = plain_view(self.snapshot, self.entity).schema.names

    def versions(self) -> Iterator[EarlierVersion]:
        for run in self._runs():
            start = 0
            while (start := self._first_moved(run, start)) < len(run):
                if self._compared >= VERSIONS_COMPARED_MAX:
                    return
                try:
                    found = self._before(run[start])
                except (HistoryCleaned, PolicyDenied):
                    return
                yield found
                if found.before is None:
                    return
                start += 1

    def _runs(self) -> Iterator[list[_Step]]:
        """The steps that concern the entity, in groups whose versions tell of each other."""
        run: list[_Step] = []
        try:
            # A snapshot at a commit needs the branch of the commit alone; the walk names other commits.
            self.snapshot.require(Action.READ)
            for step in self._steps():
                if run and (step.is_alone or len(run) == RUN_MAX) and step.concerns:
                    yield run
                    run = []
                if step.concerns and step.is_alone:
                    yield [step]
                elif step.concerns:
                    run.append(step)
        except (HistoryCleaned, PolicyDenied):
            pass
        if run:
            yield run

    def _first_moved(self, run: list[_Step], start: int) -> int:
        """The first step of a run, from one on, before which the entity was not at its place; its length if none."""
        width = 1
        while start < len(run) and self._compared < VERSIONS_COMPARED_MAX:
            last = min(start + width, len(run)) - 1
            if self._is_moved(run[last]):
                return start + bisect_left(run[start:last], True, key=self._is_moved)
            start, width = last + 1, 2 * width
        return start

    def _is_moved(self, step: _Step) -> bool:
        self._compared += 1
        return step.is_seen_anew or step.before is None or not self._followed.is_unmoved(step.before)

    def _before(self, step: _Step) -> EarlierVersion:
        """The entity before a step."""
        if step.before is None or step.parent is None:
            return step.version(None)
        try:
            return step.version(self._row(step.before, step.parent.id if step.scopes[0] else None))
        except StorageError:
            # Cleanup may have deleted the version since the walk began; otherwise it is damaged.
            self.at(step.parent.id)
            raise

    def _row(self, pin: TablePin, seen_at: str | None) -> Row | None:
        """The entity in a version, by the names of the later schema: a rename is no change.

        With ``seen_at``, as the actor may see it at that commit.
        """
        found = self._followed.read(pin)
        if not found.num_rows:
            return None
        if seen_at is not None:
            return self._seen_row(self.at(seen_at))
        (batch,) = as_results(self.entity, found.select(self._names)).combine_chunks().to_batches()
        rows = result_rows(shown_batch(self.entity, batch))
        return rows[0]

    def _seen_row(self, snapshot: Snapshot) -> Row | None:
        """The visible part of the entity in a table that may have had another name."""
        for entity in snapshot.entities():
            if snapshot.manifest.tables[entity.table_key].location == self._followed.pin.location:
                return plain_row(snapshot, entity, self.id)
        return None

    def _steps(self) -> Iterator[_Step]:
        """The commits of the walk that the actor may read."""
        store, state, visible = self.snapshot.store, self.snapshot.manifest, self.snapshot.visible
        pin, scope = self._followed.pin, "" if visible is None else visible.scope.digest
        record = newest_record(store, Record())
        line = islice(first_parents(newest_first(store, state), state.head), COMMITS_SEEN_MAX)
        for commit, parent in pairwise(chain(line, [None])):
            assert commit is not None, "None stands for the end alone"
            if parent is None:
                # The first commit of a graph, or of a copy that has no older history, brings its entities along.
                if not commit.parents:
                    yield _Step(commit, None, None, (scope, scope))
                return
            if record.given_up_since(parent) is not None:
                raise history_cleaned(parent, is_gone=record.is_gone(parent))
            earlier = self._scope(parent)
            step = self._step(commit, parent, pin, (earlier, scope))
            yield step
            if step.before is None:
                return
            pin, scope = step.before, earlier

    def _step(self, commit: GraphCommit, parent: GraphCommit, pin: TablePin, scopes: tuple[str, str]) -> _Step:
        named = [change for change in commit.tables if change.location == pin.location]
        # A rename drops the old name and creates the new one; the directory identifies the table.
        version = next((change.before for change in named if change.before is not None), None)
        before = pin if not named else None if version is None else TablePin(pin.key, pin.location, *version)
        is_reshaped = commit.schema_digest != parent.schema_digest
        is_seen_anew = any(scopes) and (
            scopes[0] != scopes[1] or is_reshaped or any(change.location in self._ends for change in commit.tables)
        )
        is_changed = any(change.inserted or change.updated for change in named)
        concerns = before is None or is_seen_anew or is_changed
        return _Step(
            commit,
            parent,
            before,
            scopes,
            concerns=concerns or (bool(named) and (is_reshaped or commit.kind is CommitKind.REFRESH)),
            is_seen_anew=is_seen_anew or (bool(named) and is_reshaped),
        )

    def _scope(self, commit: GraphCommit) -> str:
        """The digest of what the actor may see at a commit, for every branch and schema once."""
        if self.snapshot.permit.authorizer is None:
            return ""
        key = (commit.branch, commit.schema_digest)
        if key not in self._scopes:
            visible = self.at(commit.id).visible
            self._scopes[key] = "" if visible is None else visible.scope.digest
        return self._scopes[key]
