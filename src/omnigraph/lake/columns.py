"""The columns of a type in Iceberg and Delta tables, which have fewer types than Arrow.

| Property | Column |
|---|---|
| ``U32`` | 64-bit integer |
| ``U64`` | ``decimal(20, 0)`` |
| ``DateTime`` | timestamp in microseconds, UTC |
| ``Time`` | text: Delta has no times of day |
| ``Duration`` | 64-bit integer of milliseconds |
| ``Blob`` | binary |
| ``Vector(n)`` | list of 32-bit floats |

All others keep their type; the items of lists follow the same table.
"""

from __future__ import annotations

from typing import Final

import pyarrow as pa

DIGITS: Final = 20
"""Decimal digits of the largest ``U64``."""


def lake_schema(stored: pa.Schema) -> pa.Schema:
    """The columns of a table, given those of a type."""
    return pa.schema([pa.field(field.name, _lake_type(field.type), field.nullable) for field in stored])


def _lake_type(kind: pa.DataType) -> pa.DataType:
    types = pa.types
    if types.is_list(kind) or types.is_fixed_size_list(kind):
        return pa.list_(pa.field("element", _lake_type(kind.value_type)))
    if types.is_uint32(kind):
        return pa.int64()
    if types.is_uint64(kind):
        return pa.decimal128(DIGITS, 0)
    if types.is_timestamp(kind):
        return pa.timestamp("us", kind.tz)
    if types.is_time(kind):
        return pa.utf8()
    if types.is_duration(kind):
        return pa.int64()
    return pa.binary() if types.is_large_binary(kind) else kind
