"""Tables of types: their location, the mapping of properties to columns, and schema evolution of their columns.

Properties are matched by stable id, so the column may have another name in an older version.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa

from omnigraph.core.tables import TableId, TablePin
from omnigraph.errors import ExternalTypeError, Hint
from omnigraph.rows.arrow_types import Entity, column_identity, stored_fields, table_schema
from omnigraph.schema.catalog import Catalog, EdgeType
from omnigraph.storage.stage import staging
from omnigraph.storage.stage.evolution import stage_columns
from omnigraph.storage.tables.lance_table import open_table
from omnigraph.storage.tables.scan import scan
from omnigraph.storage.tables.store import Store


def entities(catalog: Catalog) -> list[Entity]:
    """The types that have tables."""
    return [*catalog.nodes.values(), *catalog.edges.values()]


def stored_entities(catalog: Catalog) -> list[Entity]:
    """The types whose rows are in the graph."""
    return [entity for entity in entities(catalog) if entity.ir.external is None]


def external_entities(catalog: Catalog) -> list[Entity]:
    """The types whose rows are in tables outside the graph."""
    return [entity for entity in entities(catalog) if entity.ir.external is not None]


def refuse_external(entity: Entity, what: str | None = None) -> None:
    """Raise ExternalTypeError for a write to a type whose rows are outside the graph; ``what`` is the problem."""
    external = entity.ir.external
    if external is not None:
        raise ExternalTypeError(
            what or f"{entity.name} is external: its rows are in {external.address!r}, and the graph only reads them",
            hint=Hint(
                f"change that table, then call graph.refresh_external({entity.name!r})",
                f"change that table, then run omnigraph external refresh --type {entity.name}",
            ),
            type=entity.name,
        )


@dataclass(frozen=True)
class TypeChange:
    """One node or edge type before and after; None where it does not exist."""

    before: Entity | None
    after: Entity | None


def type_changes(before: Catalog, after: Catalog) -> Iterator[TypeChange]:
    """The node and edge types of two schemas, paired by stable id."""
    old = {item.ir.id: item for item in entities(before)}
    for item in entities(after):
        yield TypeChange(old.pop(item.ir.id, None), item)
    for gone in old.values():
        yield TypeChange(gone, None)


def table_id(entity: Entity) -> TableId:
    """The table of a type."""
    kind = "edge" if isinstance(entity, EdgeType) else "node"
    return TableId(kind, entity.ir.id, entity.ir.incarnation, is_external=entity.ir.external is not None)


def entity_batches(store: Store, pin: TablePin, entity: Entity, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """Columns of a type, in its order, from a version that may name them differently; missing ones are null."""
    stored = stored_fields(entity, open_table(store, pin).schema)
    schema = pa.schema([field.with_nullable(True) for field in table_schema(entity) if field.name in names])
    wanted = [stored[field.name].name for field in schema if field.name in stored]
    for batch in scan(store, pin, wanted, blobs_as_bytes=True):
        arrays = [
            batch.column(stored[field.name].name) if field.name in stored else pa.nulls(batch.num_rows, field.type)
            for field in schema
        ]
        yield pa.RecordBatch.from_arrays(arrays, schema=schema)


def align_columns(store: Store, pin: TablePin, entity: Entity) -> staging.StagedVersion | None:
    """A staged version of a table with the columns of a type; None if it has them already."""
    base = store.open(pin.location, pin.lance_version)
    return stage_columns(store, base, pin.location, table_schema(entity), column_identity)
