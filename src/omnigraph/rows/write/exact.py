"""Lossless JSON values, in the encoding of exports.

Floats of 32 bits have the digits that exports write. Dates are day numbers, times milliseconds, bytes base64.
Non-finite numbers are the texts ``NaN``, ``Infinity`` and ``-Infinity``, as in results.
"""

from __future__ import annotations

import base64
from typing import Any

import pyarrow as pa

from omnigraph.rows.casting.json_values import MANAGED_BLOB
from omnigraph.rows.write.results import as_written, result_rows


def exact_rows(table: pa.Table) -> list[dict[str, Any]]:
    """One dict per row, columns in order."""
    columns = [_plain(column.combine_chunks()) for column in table.columns]
    return result_rows(pa.Table.from_arrays(columns, table.schema.names))


def exact_values(column: pa.Array) -> list[Any]:
    """The values of a column as JSON has them: dates, times and durations as ISO texts, floats as Python's."""
    rows = result_rows(pa.table({"value": as_written(column)}))
    return [row["value"] for row in rows]


def _plain(column: pa.Array) -> pa.Array:
    kind = column.type
    if pa.types.is_large_binary(kind):
        return pa.array([None if value is None else _text(value) for value in column.to_pylist()], pa.large_utf8())
    if pa.types.is_list(kind):
        number = _number(kind.value_type)
        return as_written(column) if number is None else column.cast(pa.list_(number))
    number = _number(kind)
    return as_written(column) if number is None else column.cast(number)


def _number(kind: pa.DataType) -> pa.DataType | None:
    if pa.types.is_date32(kind):
        return pa.int32()
    return pa.int64() if pa.types.is_timestamp(kind) else None


def _text(value: bytes) -> str:
    return MANAGED_BLOB + base64.b64encode(value).decode()
