"""One entity at one commit, with all of its properties; blobs by their size."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from omnigraph.engine import blobs
from omnigraph.engine.interop.parts import plain_view
from omnigraph.engine.snapshot import Snapshot
from omnigraph.errors import NotFoundError
from omnigraph.rows.arrow_types import ID, SRC, Entity
from omnigraph.rows.write.results import result_rows
from omnigraph.schema.catalog import EdgeType


@dataclass(frozen=True, slots=True)
class EntityFound:
    """An entity. ``ends`` are the types and ids of the nodes that an edge connects."""

    kind: str
    type: str
    id: str
    properties: Mapping[str, Any]
    ends: tuple[tuple[str, str], tuple[str, str]] | None = None


def find_type(snapshot: Snapshot, kind: str, type_name: str) -> Entity:
    """The node or edge type of a name; raises NotFoundError."""
    view = snapshot.nodes(type_name) if kind == "node" else snapshot.edges(type_name)
    return view.entity


def read_entity(snapshot: Snapshot, kind: str, type_name: str, entity_id: str) -> EntityFound:
    """The entity of an id; raises NotFoundError."""
    entity = find_type(snapshot, kind, type_name)
    row = plain_row(snapshot, entity, entity_id)
    if row is None:
        raise missing_entity(entity.name, entity_id)
    del row[ID]
    ends = None
    if SRC in row:
        ends = edge_ends(snapshot.catalog.edges[entity.name], row)
    named = {
        name: row[name] if name in row else _blob(snapshot, entity, entity_id, name)
        for name in _order(snapshot, entity)
    }
    return EntityFound(kind, entity.name, entity_id, named, ends)


Node = tuple[str, str]
"""The type and the id of a node."""


def edge_ends(edge: EdgeType, row: dict[str, Any]) -> tuple[Node, Node]:
    """The nodes that an edge connects, taken out of its row."""
    source, target = (
        (row.pop(end.type_column) if end.is_typed and end.type_column else end.types[0], row.pop(end.column))
        for end in edge.ends
    )
    return source, target


def missing_entity(type_name: str, entity_id: str) -> NotFoundError:
    """The error for an id that a type does not have."""
    return NotFoundError(f"there is no {type_name} with id {entity_id!r}", type=type_name, id=entity_id)


def plain_row(snapshot: Snapshot, entity: Entity, entity_id: str) -> dict[str, Any] | None:
    """The columns of an entity without blobs, as JSON values; None if it does not exist."""
    rows = result_rows(plain_view(snapshot, entity).where(id=entity_id).limit(1).arrow())
    return rows[0] if rows else None


def _order(snapshot: Snapshot, entity: Entity) -> list[str]:
    return [name for name in snapshot.column_order(entity) if name in entity.properties]


def _blob(snapshot: Snapshot, entity: Entity, entity_id: str, name: str) -> dict[str, Any] | None:
    """The size of a blob, which stands for its bytes; None for null."""
    kind = entity.table_key.partition(":")[0]
    try:
        found = blobs.read_blob(snapshot, *blobs.read_selector(kind, entity.name, entity_id, name))
    except NotFoundError:
        return None
    return {"size": found.size}
