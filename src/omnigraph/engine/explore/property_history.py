"""The commits that set the properties of one entity: a walk back through the history of its branch.

Each commit is compared with its first parent, so a value that a merge brought in is set by the merge. Only commits that
changed the table of the type are read, and the walk ends when every property is explained or a bound is reached.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Final

from omnigraph.core.commit import GraphCommit
from omnigraph.engine.explore.entity import find_type, missing_entity, plain_row
from omnigraph.engine.snapshot import Snapshot
from omnigraph.errors import HistoryCleaned, PolicyDenied

COMMITS_READ_MAX: Final = 200
"""Commits whose state is read: about 5 ms each."""
COMMITS_SEEN_MAX: Final = 10_000
"""Commits whose lists of tables are looked at; most concern other types."""


@dataclass(frozen=True, slots=True)
class PropertyHistory:
    """The commit that set each property to its value; ``created`` is the one that inserted the entity.

    Properties that a bounded, cleaned or hidden history does not explain are missing, and ``is_complete`` is false.
    """

    commits: Mapping[str, GraphCommit]
    created: GraphCommit | None
    is_complete: bool


@dataclass(slots=True)
class _Walk:
    pending: dict[str, Any]
    found: dict[str, GraphCommit] = field(default_factory=dict)

    def compare(self, commit: GraphCommit, before: Mapping[str, Any]) -> None:
        """Explain the properties that had another value before a commit."""
        changed = [name for name, value in self.pending.items() if name not in before or before[name] != value]
        for name in changed:
            self.found[name] = commit
            del self.pending[name]

    def close(self, commit: GraphCommit) -> PropertyHistory:
        """The result if a commit inserted the entity."""
        return PropertyHistory(self.found | dict.fromkeys(self.pending, commit), commit, is_complete=True)


def property_history(
    snapshot: Snapshot,
    kind: str,
    type_name: str,
    entity_id: str,
    commits: Iterator[GraphCommit],
    at: Callable[[str], Snapshot],
) -> PropertyHistory:
    """The history of an entity of a snapshot.

    ``commits`` are those of its branch, newest first, and ``at`` gives the snapshot of one of them. Blobs are left out:
    comparing them would read their bytes.
    """
    entity = find_type(snapshot, kind, type_name)
    row = plain_row(snapshot, entity, entity_id)
    if row is None:
        raise missing_entity(entity.name, entity_id)
    location = snapshot.manifest.tables[entity.table_key].location
    walk = _Walk({name: value for name, value in row.items() if name in entity.properties})
    for commit in commits_of_table(commits, snapshot, location):
        try:
            before = None if not commit.parents else earlier_row(at(commit.parents[0]), location, entity_id)
        except (HistoryCleaned, PolicyDenied):
            return PropertyHistory(walk.found, None, is_complete=False)
        if before is None:
            return walk.close(commit)
        walk.compare(commit, before)
    return PropertyHistory(walk.found, None, is_complete=False)


def commits_of_table(commits: Iterator[GraphCommit], snapshot: Snapshot, location: str) -> Iterator[GraphCommit]:
    """The commits of a snapshot that changed a table, as many as a walk may read."""
    changing = _until(commits, snapshot.commit_id)
    # Commits do not tell an actor with a scope which tables they changed, so all of them are compared.
    if snapshot.visible is None:
        changing = _of_table(changing, location)
    return islice(changing, COMMITS_READ_MAX)


def _until(commits: Iterator[GraphCommit], commit_id: str) -> Iterator[GraphCommit]:
    """The commits from one on, along first parents: those of merged branches are not part of the walk."""
    wanted: str | None = commit_id
    for commit in islice(commits, COMMITS_SEEN_MAX):
        if commit.id == wanted:
            yield commit
            wanted = commit.parents[0] if commit.parents else None


def _of_table(commits: Iterator[GraphCommit], location: str) -> Iterator[GraphCommit]:
    """The commits that changed entities of a table, whatever the name of the type was."""
    for commit in commits:
        changes = [change for change in commit.tables if change.location == location]
        if any(change.inserted or change.updated for change in changes):
            yield commit


def earlier_row(snapshot: Snapshot, location: str, entity_id: str) -> dict[str, Any] | None:
    """The entity before a commit, in a table that may have had another name; None if it did not exist."""
    for entity in snapshot.entities():
        if snapshot.manifest.tables[entity.table_key].location == location:
            return plain_row(snapshot, entity, entity_id)
    return None
