"""Conversion of column types and batches to Spark's types.

Spark has no unsigned integers and no fixed-size lists: integers are widened, and lists become ordinary arrays. Times of
day, UUIDs and JSON values are texts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from omnigraph.core.decimals import DIGITS_MAX
from omnigraph.core.scalars import Scalar
from omnigraph.core.temporal import parse_time
from omnigraph.errors import UsageError
from omnigraph.rows.arrow_types import Entity, column_type, table_schema
from omnigraph.schema.types import PropertyType
from omnigraph.spark.cluster import limits

if TYPE_CHECKING:
    from pyspark.sql.types import DataType, StructType

_TEXT = PropertyType(Scalar.STRING)

SPARK_TYPES: Final[dict[Scalar, Callable[[Any], DataType]]] = {
    Scalar.STRING: lambda types: types.StringType(),
    Scalar.BLOB: lambda types: types.BinaryType(),
    Scalar.BOOL: lambda types: types.BooleanType(),
    Scalar.I32: lambda types: types.IntegerType(),
    Scalar.I64: lambda types: types.LongType(),
    Scalar.U32: lambda types: types.LongType(),
    Scalar.U64: lambda types: types.DecimalType(20, 0),
    Scalar.F32: lambda types: types.FloatType(),
    Scalar.F64: lambda types: types.DoubleType(),
    Scalar.DATETIME: lambda types: types.TimestampType(),
    Scalar.DATE: lambda types: types.DateType(),
    Scalar.VECTOR: lambda types: types.FloatType(),
    Scalar.DECIMAL: lambda types: types.DecimalType(DIGITS_MAX, 0),
    # A text, HH:MM:SS.mmm: Spark's own type of times of day must be enabled by a setting of the session.
    Scalar.TIME: lambda types: types.StringType(),
    Scalar.DURATION: lambda types: types.DayTimeIntervalType(),
    Scalar.UUID: lambda types: types.StringType(),
    Scalar.JSON: lambda types: types.StringType(),
}
"""The Spark type of a single value, given ``pyspark.sql.types``, which is imported only when it is used."""


def spark_schema(entity: Entity, columns: Sequence[str] | None = None) -> StructType:
    """The Spark schema of a type's table, or of the named columns. Blobs are included only if they are named."""
    from pyspark.sql.types import StructField, StructType

    fields = []
    for field in table_schema(entity):
        type_ = entity.properties[field.name].type if field.name in entity.properties else _TEXT
        if field.name in columns if columns is not None else not type_.is_blob:
            fields.append(StructField(field.name, spark_type(type_), field.nullable))
    if columns is not None:
        fields.sort(key=lambda field: columns.index(field.name))
    return StructType(fields)


def row_bytes(schema: StructType) -> int:
    """Estimated bytes of a row."""
    from pyspark.sql.types import ArrayType, StringType

    wide = [field for field in schema.fields if isinstance(field.dataType, ArrayType | StringType)]
    return limits.TEXT_BYTES * len(wide) + 8 * len(schema.fields)


def spark_type(type_: PropertyType) -> DataType:
    """The Spark type of a property."""
    from pyspark.sql import types

    scalar = SPARK_TYPES[type_.scalar](types) if type_.digits is None else types.DecimalType(*type_.digits)
    if type_.is_vector:
        return types.ArrayType(scalar, containsNull=False)
    return types.ArrayType(scalar, containsNull=True) if type_.is_list else scalar


def arrow_schema(schema: StructType) -> pa.Schema:
    """The Arrow schema that Spark expects for its own schema."""
    return pa.schema([pa.field(field.name, arrow_type(field.dataType), field.nullable) for field in schema.fields])


def arrow_type(kind: DataType) -> pa.DataType:
    """The Arrow type of a Spark type, as Spark expects it."""
    from pyspark.sql import types as t

    match kind:
        case t.ArrayType():
            return pa.list_(pa.field("element", arrow_type(kind.elementType), kind.containsNull))
        case t.StructType():
            return pa.struct([pa.field(item.name, arrow_type(item.dataType), item.nullable) for item in kind.fields])
        case t.DecimalType():
            return pa.decimal128(kind.precision, kind.scale)
        case t.TimestampType():
            return pa.timestamp("us", tz="UTC")
    plain = {
        t.StringType: pa.utf8(),
        t.BinaryType: pa.binary(),
        t.BooleanType: pa.bool_(),
        t.IntegerType: pa.int32(),
        t.LongType: pa.int64(),
        t.FloatType: pa.float32(),
        t.DoubleType: pa.float64(),
        t.DateType: pa.date32(),
        t.DayTimeIntervalType: pa.duration("us"),
    }
    if type(kind) not in plain:
        raise UsageError(f"unsupported column type {kind.simpleString()}", hint="omit the schema: it is inferred")
    return plain[type(kind)]


def from_spark(array: pa.Array, type_: PropertyType) -> pa.Array:
    """A column of Spark in the type of a property's column."""
    if type_.scalar is not Scalar.TIME:
        return array.cast(column_type(type_))
    if type_.is_list:
        items = from_spark(array.values, type_.item)
        return pa.ListArray.from_arrays(array.offsets, items, mask=array.is_null())
    encoded = array.dictionary_encode()
    numbers = pa.array(map(parse_time, encoded.dictionary.to_pylist()), pa.int32())
    return numbers.take(encoded.indices).cast(column_type(type_))


def cast_for_spark(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """Select the columns of a schema and cast them to its types."""
    arrays = [batch.column(field.name).cast(field.type) for field in schema]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)
