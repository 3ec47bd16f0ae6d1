"""What a property and a table are in Arrow.

Blob columns are plain ``large_binary`` marked by metadata; how they are stored is up to storage.
"""

from __future__ import annotations

from typing import Final, assert_never

import pyarrow as pa

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


def table_schema(entity: Entity) -> pa.Schema:
    """The columns of a type's table: ``id``, for edges ``src`` and ``dst``, then the properties by name."""
    fields = [pa.field(ID, pa.utf8(), nullable=False, metadata=PRIMARY_KEY_METADATA)]
    if isinstance(entity, EdgeType):
        fields += [pa.field(SRC, pa.utf8(), nullable=False), pa.field(DST, pa.utf8(), nullable=False)]
    fields += [property_field(entity.properties[name]) for name in sorted(entity.properties)]
    return pa.schema(fields)


def property_field(prop: PropertyIR) -> pa.Field:
    """The column of a property: it carries the stable id, so that a rename can be told from a drop and an add."""
    metadata = {PROPERTY_ID_METADATA: str(prop.id)}
    if prop.type.is_blob:
        metadata |= BLOB_METADATA
    return pa.field(prop.name, column_type(prop.type), nullable=prop.type.nullable, metadata=metadata)


def column_type(type_: PropertyType) -> pa.DataType:
    """The Arrow type values of a property are stored as. List items are nullable, vector items are never null."""
    if type_.is_vector:
        assert type_.dimension is not None
        return pa.list_(pa.float32(), type_.dimension)
    scalar = scalar_type(type_.scalar)
    return pa.list_(scalar) if type_.is_list else scalar


def scalar_type(scalar: Scalar) -> pa.DataType:
    """The Arrow type of a scalar; a vector's is that of its numbers."""
    match scalar:
        case Scalar.STRING:
            return pa.utf8()
        case Scalar.BLOB:
            return pa.large_binary()
        case Scalar.BOOL:
            return pa.bool_()
        case Scalar.I32:
            return pa.int32()
        case Scalar.I64:
            return pa.int64()
        case Scalar.U32:
            return pa.uint32()
        case Scalar.U64:
            return pa.uint64()
        case Scalar.F32 | Scalar.VECTOR:
            return pa.float32()
        case Scalar.F64:
            return pa.float64()
        case Scalar.DATETIME:
            return pa.timestamp("ms", tz="UTC")
        case Scalar.DATE:
            return pa.date32()
        case _:
            assert_never(scalar)


def column_identity(field: pa.Field) -> object:
    """A property's column is known by the property's id, and the others by their names."""
    number = (field.metadata or {}).get(PROPERTY_ID_METADATA.encode())
    return field.name if number is None else int(number)


def stored_fields(entity: Entity, stored: pa.Schema) -> dict[str, pa.Field]:
    """The columns of a type, by name, as a stored version holds them; columns that the version lacks are missing."""
    known = {column_identity(field): field for field in stored}
    wanted = {field.name: column_identity(field) for field in table_schema(entity)}
    return {name: known[identity] for name, identity in wanted.items() if identity in known}
