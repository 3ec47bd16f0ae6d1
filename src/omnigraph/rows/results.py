"""Query results as JSON values, for the command line and the server.

Dates and times are ISO texts, non-finite floats are the texts ``NaN``, ``Infinity`` and ``-Infinity``, bytes are
omitted. Exports use ``write_json``, which is lossless.
"""

from __future__ import annotations

import json
import math
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.core.temporal import format_date, format_datetime

_DAYS_MIN, _DAYS_MAX = -719_162, 2_932_896
_MILLISECONDS_PER_DAY = 86_400_000
_DAYS_PER_ERA, _YEARS_PER_ERA = 146_097, 400
"""The Gregorian calendar repeats after 400 years."""


def result_rows(data: pa.RecordBatch | pa.Table) -> list[dict[str, Any]]:
    """One dict per row, columns in order."""
    names = data.schema.names
    columns = [_cells(column) for column in data.columns]
    return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]


def _cells(column: pa.Array | pa.ChunkedArray) -> list[Any]:
    if isinstance(column, pa.ChunkedArray):
        return [cell for chunk in column.chunks for cell in _cells(chunk)]
    kind = column.type
    if pa.types.is_dictionary(kind):
        return _cells(column.dictionary_decode())
    if isinstance(kind, pa.JsonType):
        return [cell if cell is None else json.loads(cell) for cell in column.to_pylist()]
    if isinstance(column, pa.ExtensionArray):
        return _cells(column.storage)
    if pa.types.is_floating(kind):
        return _float_cells(column)
    if pa.types.is_date32(kind):
        return [_date_text(days) for days in column.view(pa.int32()).to_pylist()]
    if pa.types.is_date64(kind):
        return [_time_text(moment) for moment in column.view(pa.int64()).to_pylist()]
    if pa.types.is_timestamp(kind):
        moments = pc.floor_temporal(column, unit="millisecond").cast(pa.timestamp("ms", tz=kind.tz))
        return [_time_text(moment) for moment in moments.view(pa.int64()).to_pylist()]
    if pa.types.is_decimal(kind):
        return [cell if cell is None else float(cell) if kind.scale > 0 else int(cell) for cell in column.to_pylist()]
    if pa.types.is_time(kind) or pa.types.is_duration(kind) or pa.types.is_interval(kind):
        return [cell if cell is None else str(cell) for cell in column.to_pylist()]
    if pa.types.is_nested(kind):
        return _nested_cells(column)
    if _is_bytes(kind):
        return [None] * len(column)
    cells: list[Any] = column.to_pylist()
    return cells


def _is_bytes(kind: pa.DataType) -> bool:
    types = pa.types
    return bool(
        types.is_binary(kind)
        or types.is_large_binary(kind)
        or types.is_binary_view(kind)
        or types.is_fixed_size_binary(kind)
    )


def _float_cells(column: pa.Array) -> list[Any]:
    cells: list[Any] = column.to_pylist()
    if pc.all(pc.is_finite(column), min_count=0).as_py():
        return cells
    return [cell if cell is None or math.isfinite(cell) else _not_finite(cell) for cell in cells]


def _not_finite(value: float) -> str:
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def _nested_cells(column: pa.Array) -> list[Any]:
    if pa.types.is_struct(column.type):
        names = [field.name for field in column.type]
        fields = [_cells(field) for field in column.flatten()]
        rows = zip(*fields, strict=True) if fields else [()] * len(column)
        cells = [dict(zip(names, row, strict=True)) for row in rows]
        return [cell if valid else None for cell, valid in zip(cells, column.is_valid().to_pylist(), strict=True)]
    # Lists of every kind: the lengths split the flattened items. A null list has no items and a null length.
    items = iter(_cells(pc.list_flatten(column)))
    return [
        None if length is None else [next(items) for _ in range(length)]
        for length in pc.list_value_length(column).to_pylist()
    ]


def _date_text(days: int | None) -> str | None:
    if days is None:
        return None
    if _DAYS_MIN <= days <= _DAYS_MAX:
        return format_date(days)
    return _shifted(days)[0]


def _time_text(moment: int | None) -> str | None:
    if moment is None:
        return None
    days, rest = divmod(moment, _MILLISECONDS_PER_DAY)
    if _DAYS_MIN <= days <= _DAYS_MAX:
        return format_datetime(moment)
    date, day = _shifted(days)
    return date + format_datetime(day * _MILLISECONDS_PER_DAY + rest)[10:]


def _shifted(days: int) -> tuple[str, int]:
    """A date outside the years 1 to 9999 in the signed form of ISO 8601, and the equivalent day in a year near 1970."""
    eras, day = divmod(days, _DAYS_PER_ERA)
    near = format_date(day)
    year = int(near[:4]) + eras * _YEARS_PER_ERA
    return f"{'-' if year < 0 else '+'}{abs(year):06d}{near[4:]}", day
