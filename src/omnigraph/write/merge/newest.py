"""The side that changed a property last, for the policy ``newest``.

Commits record the versions of each table before and after. The last commit that changed a value is found by comparing
those versions, newest first, restricted to the entities in question.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import reduce

import pyarrow.compute as pc

from omnigraph.compare.tables import table_changes
from omnigraph.core.commit import CommitKind, GraphCommit, TableChange
from omnigraph.core.tables import TablePin
from omnigraph.rows.arrow_types import Entity
from omnigraph.rows.ends.references import with_types
from omnigraph.storage.tables.store import Store
from omnigraph.write.merge.sides import GraphSides

Moment = tuple[int, str]
"""Commit time and id; the id breaks ties."""

_NEVER: Moment = (0, "")


def source_is_newer(sides: GraphSides, entity: Entity, ids: list[str], name: str) -> list[bool]:
    """For each entity, True if the source changed the property later than the target."""
    relation, history = (
        sides.relation,
        TableHistory(sides.store, sides.pin(entity.table_key).location, sides.is_readable),
    )
    source, target = (
        last_changes(history, entity, commits, ids, name) for commits in (relation.only_source, relation.only_target)
    )
    return [source.get(id_, _NEVER) > target.get(id_, _NEVER) for id_ in ids]


@dataclass(frozen=True, slots=True)
class TableHistory:
    """The versions of one table, and whether the state at a commit may be read."""

    store: Store
    location: str
    is_readable: Callable[[str], bool]


def last_changes(
    history: TableHistory, entity: Entity, commits: Iterable[GraphCommit], ids: list[str], name: str
) -> dict[str, Moment]:
    """The last of these commits that changed a property of each entity.

    A merge commit repeats earlier changes, so it counts only for entities that no other commit changed. A commit that
    cleanup has given up cannot be read and counts as a change of every entity.
    """
    found: dict[str, Moment] = {}
    newest_first = sorted(commits, key=lambda commit: (len(commit.parents) > 1, -commit.created_at_us, commit.id))
    for commit in newest_first:
        wanted = [id_ for id_ in ids if id_ not in found]
        if not wanted:
            break
        change = next((item for item in commit.tables if item.location == history.location), None)
        # A schema change rewrites columns and leaves values as they are.
        if change is None or not commit.kind.is_logical or commit.kind is CommitKind.SCHEMA:
            continue
        # The first commit of a branch has no parent, and its tables have no earlier version.
        is_readable = all(history.is_readable(id_) for id_ in (commit.id, *commit.parents[:1]))
        changed = _changed(history.store, entity, change, wanted, name) if is_readable else wanted
        found |= dict.fromkeys(changed, (commit.created_at_us, commit.id))
    return found


def _changed(store: Store, entity: Entity, change: TableChange, ids: list[str], name: str) -> list[str]:
    before, after = (
        None if version is None else TablePin(change.key, change.location, *version)
        for version in (change.before, change.after)
    )
    changes = table_changes(store, entity, before, after, ids)
    differs = reduce(pc.or_, (changes.differs[part] for part in with_types(entity, [name])))
    updated: list[str] = changes.after.filter(differs).column("id").to_pylist()
    return updated + list(changes.inserted.column("id").to_pylist())
