"""All commits that changed one entity, newest first, with the values before and after each of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from omnigraph.core.commit import GraphCommit
from omnigraph.engine.explore.earlier_versions import At, earlier_versions
from omnigraph.engine.explore.entity import find_type, missing_entity, plain_row
from omnigraph.engine.snapshot import Snapshot
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


def entity_history(snapshot: Snapshot, kind: str, type_name: str, entity_id: str, at: At, limit: int) -> EntityHistory:
    """Walk back from a snapshot, along first parents: a merge is one step. Blobs are left out."""
    entity = find_type(snapshot, kind, type_name)
    after: Mapping[str, Any] | None = plain_row(snapshot, entity, entity_id)
    if after is None:
        raise missing_entity(entity.name, entity_id)
    names = [name for name in snapshot.column_order(entity) if name in after and name != "id"]
    steps: list[EntityStep] = []
    for earlier in earlier_versions(snapshot, entity, entity_id, at):
        if earlier.before is None:
            steps.append(EntityStep(earlier.commit, Op.INSERT, tuple(_values(names, {}, after))))
            return EntityHistory(tuple(steps), is_complete=True)
        values = tuple(_values(names, earlier.before, after))
        if values:
            steps.append(EntityStep(earlier.commit, Op.UPDATE, values))
        if len(steps) == limit:
            break
        after = earlier.before
    return EntityHistory(tuple(steps), is_complete=False)


def _values(names: list[str], before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[tuple[str, Any, Any]]:
    for name in names:
        if before.get(name) != after.get(name):
            yield name, before.get(name), after.get(name)
