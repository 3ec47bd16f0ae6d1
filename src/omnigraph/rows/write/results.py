"""Query results as JSON values, for the command line and the server, and as Python values.

Dates, times and durations are ISO texts, decimals the texts of their digits, non-finite floats the texts ``NaN``,
``Infinity`` and ``-Infinity``, bytes are omitted. Exports use ``rows.write.json``, which is lossless.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.core.classes.dataclass import dataclass
from omnigraph.core.decimals import decimal_text
from omnigraph.core.json_values.texts import plain_json
from omnigraph.core.temporal import format_date, format_datetime, format_duration, format_time

_DAYS_MIN, _DAYS_MAX = -719_162, 2_932_896
_MILLISECONDS_PER_DAY = 86_400_000
_DAYS_PER_ERA, _YEARS_PER_ERA = 146_097, 400
"""The Gregorian calendar repeats after 400 years."""

_WIDE_INTEGER = pa.decimal128(38, 0)
"""Arrow has no integer of 128 bits: sums of integers in SQL have this type."""


def result_rows(data: pa.RecordBatch | pa.Table, *, shortest_floats: bool = False) -> list[dict[str, Any]]:
    """One dict per row, columns in order.

    A 32-bit float is the double of the same value (0.10000000149011612), or with ``shortest_floats`` the double with
    the fewest digits that still denotes it (0.1).
    """
    names = data.schema.names
    columns = [_cells(column, shortest_floats) for column in data.columns]
    return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]


def _cells(column: pa.Array | pa.ChunkedArray, shortest: bool) -> list[Any]:
    if isinstance(column, pa.ChunkedArray):
        return [cell for chunk in column.chunks for cell in _cells(chunk, shortest)]
    kind = column.type
    if pa.types.is_dictionary(kind):
        return _cells(column.dictionary_decode(), shortest)
    if isinstance(kind, pa.JsonType):
        return [cell if cell is None else plain_json(cell) for cell in column.to_pylist()]
    if isinstance(column, pa.ExtensionArray):
        return _cells(column.storage, shortest)
    if pa.types.is_float32(kind) and shortest:
        # Arrow prints the fewest digits that identify the 32-bit value.
        return _float_cells(column.cast(pa.string()).cast(pa.float64()))
    if pa.types.is_floating(kind):
        return _float_cells(column)
    if pa.types.is_date32(kind):
        return [_date_text(days) for days in column.view(pa.int32()).to_pylist()]
    if pa.types.is_date64(kind):
        return [_time_text(moment) for moment in column.view(pa.int64()).to_pylist()]
    if pa.types.is_timestamp(kind):
        moments = pc.floor_temporal(column, unit="millisecond").cast(pa.timestamp("ms", tz=kind.tz))
        return [_time_text(moment) for moment in moments.view(pa.int64()).to_pylist()]
    if kind == _WIDE_INTEGER:
        return [cell if cell is None else int(cell) for cell in column.to_pylist()]
    if pa.types.is_decimal(kind):
        return [cell if cell is None else decimal_text(cell) for cell in column.to_pylist()]
    if kind == pa.time32("ms"):
        return [cell if cell is None else format_time(cell) for cell in column.view(pa.int32()).to_pylist()]
    if kind == pa.duration("ms"):
        return [cell if cell is None else format_duration(cell) for cell in column.view(pa.int64()).to_pylist()]
    if pa.types.is_time(kind) or pa.types.is_duration(kind) or pa.types.is_interval(kind):
        return [cell if cell is None else str(cell) for cell in column.to_pylist()]
    if pa.types.is_nested(kind):
        return _nested_cells(column, shortest)
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


def _nested_cells(column: pa.Array, shortest: bool) -> list[Any]:
    if pa.types.is_struct(column.type):
        names = [field.name for field in column.type]
        fields = [_cells(field, shortest) for field in column.flatten()]
        rows = zip(*fields, strict=True) if fields else [()] * len(column)
        cells = [dict(zip(names, row, strict=True)) for row in rows]
        return [cell if valid else None for cell, valid in zip(cells, column.is_valid().to_pylist(), strict=True)]
    if pa.types.is_map(column.type):
        # A list of pairs: keys need not be texts, so an object could not hold them.
        entry = pa.struct([("key", column.type.key_type), ("value", column.type.item_type)])
        column = column.cast(pa.list_(entry))
    # Lists of every kind: the lengths split the flattened items. A null list has no items and a null length.
    items = iter(_cells(pc.list_flatten(column), shortest))
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


def python_rows(data: pa.RecordBatch | pa.Table) -> list[dict[str, Any]]:
    """One dict per row with Python values, columns in order.

    Floats of 32 bits have the digits they were written with. Times outside Python's calendar are ISO texts.
    """
    columns = [python_values(column) for column in data.columns]
    names = data.schema.names
    return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]


_SAME = frozenset((pa.utf8(), pa.bool_(), pa.int32(), pa.int64(), pa.uint32(), pa.uint64(), pa.float64()))
"""Types whose stored form is the Python value."""


@dataclass(frozen=True, slots=True)
class StoredForm:
    """The columns of rows whose values have their stored forms: days for dates, milliseconds for times.

    Made once for a query that runs often: asking a schema for its names and types takes as long as reading a few rows.
    """

    schema: pa.Schema
    names: tuple[str, ...]
    changed: tuple[int, ...]
    """The places of the columns whose Python value is not the stored form."""

    @classmethod
    def of(cls, schema: pa.Schema) -> StoredForm:
        changed = tuple(place for place, type_ in enumerate(schema.types) if type_ not in _SAME)
        return cls(schema, tuple(schema.names), changed)

    def python_rows(self, rows: Sequence[tuple[Any, ...]]) -> list[dict[str, Any]]:
        """One dict per row with Python values, columns in order."""
        names = self.names
        if not self.changed:
            return [dict(zip(names, row, strict=True)) for row in rows]
        columns: list[Any] = list(zip(*rows, strict=True)) if rows else [()] * len(names)
        for place in self.changed:
            columns[place] = python_values(pa.array(columns[place], self.schema.field(place).type))
        return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]


def python_values(column: pa.Array | pa.ChunkedArray) -> list[Any]:
    """The values of a column, as ``python_rows`` gives them."""
    if _holds_json(column.type):
        return _unpacked(column)
    try:
        values: list[Any] = as_written(column).to_pylist()
        return values
    except (ValueError, OverflowError):
        # Python has no value for years outside 1 to 9999.
        return [row["value"] for row in result_rows(pa.table({"value": as_written(column)}))]


def _holds_json(kind: pa.DataType) -> bool:
    if pa.types.is_struct(kind):
        return any(_holds_json(field.type) for field in kind)
    return isinstance(kind, pa.JsonType)


def _unpacked(column: pa.Array | pa.ChunkedArray) -> list[Any]:
    """JSON values as Python's, also in the fields of structs."""
    array = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if isinstance(array.type, pa.JsonType):
        return [cell if cell is None else plain_json(cell) for cell in array.to_pylist()]
    fields = zip(*(python_values(field) for field in array.flatten()), strict=True)
    names, valid = [field.name for field in array.type], array.is_valid().to_pylist()
    return [
        dict(zip(names, row, strict=True)) if is_valid else None for row, is_valid in zip(fields, valid, strict=True)
    ]


def as_written(column: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """A column with floats of 64 bits for those of 32 bits, also in lists and structs, by their shortest digits."""
    texts = _with_floats(column.type, pa.string())
    # Arrow prints the shortest digits that read back as the same float, and does both in one pass over the column.
    return column if texts == column.type else column.cast(texts).cast(_with_floats(column.type, pa.float64()))


def _with_floats(kind: pa.DataType, instead: pa.DataType) -> pa.DataType:
    """A type with another one in place of floats of 32 bits."""
    if pa.types.is_float32(kind):
        return instead
    if pa.types.is_fixed_size_list(kind):
        return pa.list_(_with_floats(kind.value_type, instead), kind.list_size)
    if pa.types.is_list(kind):
        return pa.list_(_with_floats(kind.value_type, instead))
    if pa.types.is_struct(kind):
        return pa.struct([(field.name, _with_floats(field.type, instead)) for field in kind])
    return kind
