"""Arrow schemas of tables and Arrow types of properties.

Blob columns are plain ``large_binary`` marked by metadata; storage decides their representation.
"""

from __future__ import annotations

from typing import Final

import pyarrow as pa

from omnigraph.core.decimals import DIGITS_MAX
from omnigraph.core.scalars import Scalar
from omnigraph.schema.catalog import EdgeType, NodeType
from omnigraph.schema.ir import PropertyIR
from omnigraph.schema.types import PropertyType

Entity = NodeType | EdgeType

ID: Final = "id"
SRC: Final = "src"
DST: Final = "dst"

PRIMARY_KEY_METADATA: Final = {"lance-schema:unenforced-primary-key": "true"}
BLOB_METADATA: Final = {"omnigraph:blob": "true"}
PROPERTY_ID_METADATA: Final = "omnigraph:property-id"

BLOB_BYTES: Final = 1024 * 1024
"""Assumed size of a blob."""

VALUE_BYTES: Final = 64
"""Assumed size of any other value but a vector."""

_KEPT: Final = "_table_schema"

ARROW_TYPES: Final[dict[Scalar, pa.DataType]] = {
    Scalar.STRING: pa.utf8(),
    Scalar.BLOB: pa.large_binary(),
    Scalar.BOOL: pa.bool_(),
    Scalar.I32: pa.int32(),
    Scalar.I64: pa.int64(),
    Scalar.U32: pa.uint32(),
    Scalar.U64: pa.uint64(),
    Scalar.F32: pa.float32(),
    Scalar.F64: pa.float64(),
    Scalar.DATETIME: pa.timestamp("ms", tz="UTC"),
    Scalar.DATE: pa.date32(),
    Scalar.VECTOR: pa.float32(),
    Scalar.DECIMAL: pa.decimal128(DIGITS_MAX, 0),
    Scalar.TIME: pa.time32("ms"),
    Scalar.DURATION: pa.duration("ms"),
    Scalar.UUID: pa.utf8(),
    # Plain text: Lance would store a column of Arrow's JSON type in binary, and round its numbers to floats.
    Scalar.JSON: pa.utf8(),
}
"""The type a single value is stored as; of a decimal, the type for all of its digits (see ``item_type``)."""


def table_schema(entity: Entity) -> pa.Schema:
    """The columns of a type's table: ``id``, then the properties by name.

    Those of edges begin with ``id``, ``src``, ``dst``, and the tags of ends with several types.
    """
    # An entity type never changes, so its columns are kept beside its fields: a write asks for them a dozen times.
    kept: dict[str, pa.Schema] = vars(entity)
    if _KEPT not in kept:
        kept[_KEPT] = _table_schema(entity)
    return kept[_KEPT]


def _table_schema(entity: Entity) -> pa.Schema:
    fields = [pa.field(ID, pa.utf8(), nullable=False, metadata=PRIMARY_KEY_METADATA)]
    if isinstance(entity, EdgeType):
        fields += [pa.field(SRC, pa.utf8(), nullable=False), pa.field(DST, pa.utf8(), nullable=False)]
        columns = (end.type_column for end in entity.ends)
        fields += [pa.field(name, pa.utf8()) for name in columns if name is not None]
    fields += [property_field(entity.properties[name]) for name in sorted(entity.properties)]
    return pa.schema(fields)


def property_field(prop: PropertyIR) -> pa.Field:
    """The column of a property. It carries the stable id, which distinguishes a rename from a drop and an add."""
    metadata = {PROPERTY_ID_METADATA: str(prop.id)}
    if prop.type.is_blob:
        metadata |= BLOB_METADATA
    return pa.field(prop.name, column_type(prop.type), nullable=prop.type.nullable, metadata=metadata)


def column_type(type_: PropertyType) -> pa.DataType:
    """The Arrow type of a property's column. List items are nullable, vector items are not."""
    if type_.is_vector:
        assert type_.dimension is not None
        return pa.list_(pa.float32(), type_.dimension)
    item = item_type(type_)
    return pa.list_(item) if type_.is_list else item


def item_type(type_: PropertyType) -> pa.DataType:
    """The Arrow type of a single value, or of the items of a list; a vector's is that of its numbers."""
    return ARROW_TYPES[type_.scalar] if type_.digits is None else pa.decimal128(*type_.digits)


def result_type(type_: PropertyType) -> pa.DataType:
    """The Arrow type of a value in a result: JSON values are marked as such, so that no one takes them for texts."""
    return pa.json_(pa.utf8()) if type_.is_json else column_type(type_)


def result_schema(entity: Entity) -> pa.Schema:
    """The columns of a type's table as results have them."""
    types = {name: result_type(prop.type) for name, prop in entity.properties.items()}
    stored = table_schema(entity)
    return pa.schema([pa.field(field.name, types.get(field.name, field.type), field.nullable) for field in stored])


def as_results(entity: Entity, rows: pa.Table) -> pa.Table:
    """Columns of a type's table as results have them."""
    for name, prop in entity.properties.items():
        place = rows.schema.get_field_index(name)
        if prop.type.is_json and place >= 0:
            rows = rows.set_column(place, name, rows.column(place).cast(result_type(prop.type)))
    return rows


def column_identity(field: pa.Field) -> object:
    """Identity of a column across renames: the property's id, or the name of a system column."""
    number = (field.metadata or {}).get(PROPERTY_ID_METADATA.encode())
    return field.name if number is None else int(number)


def stored_fields(entity: Entity, stored: pa.Schema) -> dict[str, pa.Field]:
    """The fields of a stored version, by the current column names of the type; absent columns are omitted."""
    known = {column_identity(field): field for field in stored}
    wanted = {field.name: column_identity(field) for field in table_schema(entity)}
    return {name: known[identity] for name, identity in wanted.items() if identity in known}


def row_bytes(entity: Entity) -> int:
    """Estimated bytes of a row, which decide the number of rows that are read together."""
    types = [prop.type for prop in entity.properties.values()]
    return VALUE_BYTES + sum(
        BLOB_BYTES if type_.is_blob else 4 * (type_.dimension or 0) or VALUE_BYTES for type_ in types
    )
