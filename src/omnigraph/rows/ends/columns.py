"""Columns of an input for the ends of edges: their names, and nodes that are one nested value."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.rows.arrow_types import DST, SRC, Entity
from omnigraph.schema.catalog import EdgeType

Placed = tuple[pa.RecordBatch, pa.Array]
"""Rows before typing, and the line of each."""

_ENDS: Final = {"from": SRC, "to": DST, SRC: SRC, DST: DST}
_TYPED_END: Final = {"type", "id"}


def stored_name(entity: Entity, given: str) -> str:
    """The column of a table that a column of the input is for."""
    if not isinstance(entity, EdgeType) or given in entity.properties:
        return given
    for end in entity.ends:
        if end.is_typed and given in (end.type_word, end.type_column):
            return str(end.type_column)
    return _ENDS.get(given, given)


def flat_ends(entity: Entity, schema: pa.Schema, placed: Iterable[Placed]) -> tuple[pa.Schema, Iterable[Placed]]:
    """The input with two columns for a node that is one value: ``{"type": "Post", "id": "7"}``."""
    if not isinstance(entity, EdgeType):
        return schema, placed
    nested = [
        place
        for place, field in enumerate(schema)
        if pa.types.is_struct(field.type)
        and {item.name for item in field.type} == _TYPED_END
        and any(end.is_typed and end.column == stored_name(entity, field.name) for end in entity.ends)
    ]
    if not nested:
        return schema, placed

    def flat(batch: pa.RecordBatch) -> pa.RecordBatch:
        for place in nested:
            name, column = batch.schema.names[place], batch.column(place)
            batch = batch.append_column(f"{name}_type", pc.struct_field(column, "type"))
            batch = batch.set_column(place, name, pc.struct_field(column, "id"))
        return batch

    empty = flat(pa.RecordBatch.from_arrays([pa.nulls(0, field.type) for field in schema], schema=schema))
    return empty.schema, ((flat(batch), lines) for batch, lines in placed)
