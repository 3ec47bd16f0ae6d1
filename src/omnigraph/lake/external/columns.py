"""Columns of files as the columns of a type: the casts of loads, and ids from keys or places.

A column is read in two steps: *raw*, under the name of the type, and then cast. Sealing checks the raw columns as a
load does, so the casts of a sealed file do not fail.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.core.scalars import Scalar
from omnigraph.lake.external.files import ParquetRows
from omnigraph.lake.external.seal import Seal, SealedColumn, SealedFile
from omnigraph.rows.arrow_types import BLOB_METADATA, ID, PROPERTY_ID_METADATA, SRC, column_type
from omnigraph.rows.casting.arrow_casts import cast_column
from omnigraph.rows.id_columns import id_texts
from omnigraph.rows.keys import key_texts, tuple_texts
from omnigraph.schema.types import PropertyType

TEXT = PropertyType(Scalar.STRING)


def stored_schema(seal: Seal) -> pa.Schema:
    """The columns of the table, with the ids of properties, as tables of the graph have them."""
    return pa.schema([_field(column) for column in seal.columns])


def _field(column: SealedColumn) -> pa.Field:
    if column.property_id is None:
        return pa.field(column.name, pa.utf8(), nullable=False)
    metadata = {PROPERTY_ID_METADATA: str(column.property_id)}
    if column.type.is_blob:
        metadata |= BLOB_METADATA
    return pa.field(column.name, column_type(column.type), nullable=column.type.nullable, metadata=metadata)


def needed(seal: Seal, names: Iterable[str]) -> list[SealedColumn]:
    """The columns that some columns of the type are computed from; a derived id needs those of its key."""
    wanted = set(names)
    if ID in wanted and seal.key:
        wanted |= set(seal.key)
    return [column for column in seal.columns if column.name in wanted]


def file_columns(rows: ParquetRows, columns: Sequence[SealedColumn]) -> dict[str, str]:
    """The columns of a file to read, by the column of the type that they fill."""
    named = {column.name: rows.name_of(column) for column in columns}
    return {name: found for name, found in named.items() if found is not None}


def raw_columns(
    seal: Seal, file: SealedFile, read: Mapping[str, pa.Array], columns: Sequence[SealedColumn], start: int, count: int
) -> dict[str, pa.Array]:
    """Columns of rows from offset ``start`` of a file: those ``read`` from it, constants, and places as ids.

    A column that the file does not have is left out.
    """
    constants = dict(file.constants)
    found: dict[str, pa.Array] = {}
    for column in columns:
        if column.name in read:
            found[column.name] = read[column.name]
        elif column.source is not None and column.source in constants:
            found[column.name] = pa.repeat(_constant(column, constants[column.source]), count)
        elif column.name == ID and not seal.key and column.source is None:
            found[column.name] = _places(file, start, count)
    return found


def _constant(column: SealedColumn, text: str | None) -> pa.Scalar:
    """The value of a partition, as stored."""
    given = pa.array([text], pa.utf8())
    if column.property_id is None:
        return id_texts(given, column.type)[0]
    return cast_column(given, column.type, from_texts=True)[0]


def _places(file: SealedFile, start: int, count: int) -> pa.Array:
    """Ids of rows without a key and a column of ids: the path of their file and the offset in it."""
    offsets = pa.array(range(start, start + count), pa.int64()).cast(pa.utf8())
    return pc.binary_join_element_wise(pa.scalar(file.path), offsets, ":")


def cast_columns(
    seal: Seal, raw: Mapping[str, pa.Array], columns: Sequence[SealedColumn], count: int
) -> dict[str, pa.Array]:
    """Stored columns of raw ones; a missing one is null, and an id is derived from the key."""
    found = {column.name: _cast(seal, column, raw.get(column.name), count) for column in columns}
    if ID in found and seal.key:
        types = {column.name: column.type if column.property_id is not None else TEXT for column in seal.columns}
        found[ID] = tuple_texts([key_texts(found[name], types[name]) for name in seal.key])
    return found


def _cast(seal: Seal, column: SealedColumn, raw: pa.Array | None, count: int) -> pa.Array:
    if raw is None:
        return pa.nulls(count, pa.utf8() if column.property_id is None else column_type(column.type))
    if column.property_id is None:
        return id_texts(raw, column.type)
    is_edge = any(other.name == SRC and other.property_id is None for other in seal.columns)
    if column.name in seal.key and column.type.scalar is Scalar.STRING and not is_edge:
        # Text keys of nodes accept whole numbers and UUIDs, as in loads.
        return id_texts(raw, TEXT)
    return cast_column(raw, column.type)
