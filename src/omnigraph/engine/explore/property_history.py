"""The commits that set the properties of one entity: a walk back through the history of its branch.

Each commit is compared with its first parent, so a value that a merge brought in is set by the merge.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from omnigraph.core.commit import GraphCommit
from omnigraph.engine.explore.earlier_versions import At, earlier_versions
from omnigraph.engine.explore.entity import find_type, missing_entity, plain_row
from omnigraph.engine.snapshot import Snapshot


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


def property_history(snapshot: Snapshot, kind: str, type_name: str, entity_id: str, at: At) -> PropertyHistory:
    """The history of an entity of a snapshot. Blobs are left out: comparing them would read their bytes."""
    entity = find_type(snapshot, kind, type_name)
    row = plain_row(snapshot, entity, entity_id)
    if row is None:
        raise missing_entity(entity.name, entity_id)
    walk = _Walk({name: value for name, value in row.items() if name in entity.properties})
    for earlier in earlier_versions(snapshot, entity, entity_id, at):
        if earlier.before is None:
            return walk.close(earlier.commit)
        walk.compare(earlier.commit, earlier.before)
    return PropertyHistory(walk.found, None, is_complete=False)
