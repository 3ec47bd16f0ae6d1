"""Tables of types: their location, the mapping of properties to columns, and schema evolution of their columns.

Properties are matched by stable id, so the column may have another name in an older version.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa

from omnigraph.core.tables import TableId, TablePin
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
