"""Result columns from the columns that an executor computes: the fields of an entity become one struct."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.query.ir import Column
from omnigraph.query.shaping.entities import result_columns
from omnigraph.rows.arrow_types import result_type


def result_schema(columns: tuple[Column, ...]) -> pa.Schema:
    """The schema of a result."""
    return pa.schema([pa.field(group[0].name, _type(group)) for _, group in result_columns(columns)])


def _type(group: tuple[Column, ...]) -> pa.DataType:
    if group[0].field is None:
        return result_type(group[0].expression.type)
    return pa.struct([pa.field(str(item.field), result_type(item.expression.type)) for item in group])


def nested(columns: tuple[Column, ...], computed: Sequence[pa.Array]) -> list[pa.Array]:
    """The columns of a result. An entity that is null, that is without an id, is a null struct."""
    if not any(column.field for column in columns):
        return list(computed)
    made: list[pa.Array] = []
    for start, group in result_columns(columns):
        parts = computed[start : start + len(group)]
        if group[0].field is None:
            made.append(parts[0])
            continue
        type_ = _type(group)
        arrays = [part.cast(field.type) for part, field in zip(parts, type_, strict=True)]
        made.append(pa.StructArray.from_arrays(arrays, fields=list(type_), mask=pc.is_null(arrays[0])))
    return made
