"""All commits that changed one entity, newest first, with the values before and after each of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from omnigraph.core.commit import GraphCommit
from omnigraph.engine.explore.entity import find_type, missing_entity, plain_row
from omnigraph.engine.explore.property_history import commits_of_table, earlier_row
from omnigraph.engine.snapshot import Snapshot
from omnigraph.errors import HistoryCleaned, PolicyDenied
from omnigraph.history.changes import Op


@dataclass(frozen=True, slots=True)
class EntityStep:
    """One commit that changed the entity: names of properties with their values before and after."""

    commit: GraphCommit
    op: Op
    values: tuple[tuple[str, Any, Any], ...]


@dataclass(frozen=True, slots=True)
class EntityHistory:
    """The steps of an entity; a bounded, cleaned or hidden history is not complete."""

    steps: tuple[EntityStep, ...]
    is_complete: bool


def entity_history(
    snapshot: Snapshot,
    kind: str,
    type_name: str,
    entity_id: str,
    commits: Iterator[GraphCommit],
    at: Callable[[str], Snapshot],
    limit: int,
) -> EntityHistory:
    """Walk back from a snapshot, along first parents: a merge is one step. Blobs are left out."""
    entity = find_type(snapshot, kind, type_name)
    after = plain_row(snapshot, entity, entity_id)
    if after is None:
        raise missing_entity(entity.name, entity_id)
    names = [name for name in snapshot.column_order(entity) if name in after and name != "id"]
    location = snapshot.manifest.tables[entity.table_key].location
    steps: list[EntityStep] = []
    for commit in commits_of_table(commits, snapshot, location):
        try:
            before = None if not commit.parents else earlier_row(at(commit.parents[0]), location, entity_id)
        except (HistoryCleaned, PolicyDenied):
            break
        if before is None:
            steps.append(EntityStep(commit, Op.INSERT, tuple(_values(names, {}, after))))
            return EntityHistory(tuple(steps), is_complete=True)
        values = tuple(_values(names, before, after))
        if values:
            steps.append(EntityStep(commit, Op.UPDATE, values))
        if len(steps) == limit:
            break
        after = before
    return EntityHistory(tuple(steps), is_complete=False)


def _values(names: list[str], before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[tuple[str, Any, Any]]:
    for name in names:
        if before.get(name) != after.get(name):
            yield name, before.get(name), after.get(name)
