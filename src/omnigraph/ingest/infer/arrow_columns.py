"""The property type that an Arrow column declares, and batches in a form that DuckDB reads."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final

import pyarrow as pa

from omnigraph.core.scalars import Scalar
from omnigraph.rows.casting.arrow_casts import plain
from omnigraph.schema.types import PropertyType

_SCALARS: Final[tuple[tuple[Callable[[pa.DataType], bool], Scalar], ...]] = (
    (pa.types.is_string, Scalar.STRING),
    (pa.types.is_large_string, Scalar.STRING),
    (pa.types.is_string_view, Scalar.STRING),
    (pa.types.is_null, Scalar.STRING),
    (pa.types.is_boolean, Scalar.BOOL),
    (pa.types.is_uint64, Scalar.U64),
    (pa.types.is_uint32, Scalar.U32),
    (pa.types.is_int64, Scalar.I64),
    (pa.types.is_integer, Scalar.I32),
    (pa.types.is_float64, Scalar.F64),
    (pa.types.is_floating, Scalar.F32),
    (pa.types.is_decimal, Scalar.F64),
    (pa.types.is_timestamp, Scalar.DATETIME),
    (pa.types.is_date64, Scalar.DATETIME),
    (pa.types.is_date32, Scalar.DATE),
    (pa.types.is_binary, Scalar.BLOB),
    (pa.types.is_large_binary, Scalar.BLOB),
    (pa.types.is_binary_view, Scalar.BLOB),
    (pa.types.is_fixed_size_binary, Scalar.BLOB),
)
"""The first row that holds decides: 16-bit integers are I32, and half floats are F32."""


def declared_type(kind: pa.DataType) -> PropertyType | None:
    """The type that a property needs for values of an Arrow type; None if no property can hold them."""
    kind = _bare(kind)
    if _is_list(kind):
        item = declared_type(kind.value_type)
        if item is None or item.is_list or item.is_blob or item.is_vector:
            return None
        if pa.types.is_fixed_size_list(kind) and item.scalar.is_float:
            return PropertyType(Scalar.VECTOR, dimension=kind.list_size) if kind.list_size else None
        return PropertyType(item.scalar, is_list=True)
    scalar = next((scalar for is_kind, scalar in _SCALARS if is_kind(kind)), None)
    return None if scalar is None else PropertyType(scalar)


def held(kind: pa.DataType) -> str:
    """The values of an Arrow type in words."""
    kind = _bare(kind)
    if pa.types.is_struct(kind) or pa.types.is_map(kind):
        return "objects"
    if _is_list(kind):
        return f"lists of {held(kind.value_type)}"
    return str(kind)


def readable(
    schema: pa.Schema, batches: Iterator[pa.RecordBatch], columns: Sequence[int]
) -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
    """Some columns without encodings, named ``c`` and their position."""
    target = pa.schema([(f"c{index}", _plain_type(schema.field(index).type)) for index in columns])

    def converted() -> Iterator[pa.RecordBatch]:
        for batch in batches:
            arrays = [_widened(plain(batch.column(index))) for index in columns]
            if not arrays:
                # A batch without columns has no rows, so a column of nulls carries their number.
                yield pa.RecordBatch.from_arrays([pa.nulls(batch.num_rows)], names=["c"])
            else:
                yield pa.RecordBatch.from_arrays(arrays, schema=target)

    return target if columns else pa.schema([("c", pa.null())]), converted()


def _plain_type(kind: pa.DataType) -> pa.DataType:
    return _widened(plain(pa.array([], kind))).type


def _widened(array: pa.Array) -> pa.Array:
    """The array with wider numbers in place of those that DuckDB does not know: half floats, large decimals."""
    kind = array.type
    if pa.types.is_float16(kind):
        return array.cast(pa.float32())
    if pa.types.is_decimal256(kind):
        return array.cast(pa.float64(), safe=False)
    if _is_list(kind) and pa.types.is_float16(kind.value_type):
        return array.cast(pa.list_(pa.float32()))
    return array


def _bare(kind: pa.DataType) -> pa.DataType:
    """The type without its encoding."""
    if isinstance(kind, pa.BaseExtensionType):
        return _bare(kind.storage_type)
    if pa.types.is_dictionary(kind) or pa.types.is_run_end_encoded(kind):
        return _bare(kind.value_type)
    return kind


def _is_list(kind: pa.DataType) -> bool:
    types = pa.types
    kinds = (types.is_list, types.is_large_list, types.is_fixed_size_list, types.is_list_view, types.is_large_list_view)
    return any(is_kind(kind) for is_kind in kinds)
