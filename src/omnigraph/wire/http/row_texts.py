"""Rows of results as JSON text, made from whole Arrow columns.

The text is that of ``rows.write.results.result_rows``, which makes a Python object of every value. Columns of a type
that is rare in results, or with values that Arrow prints otherwise (NaN, years outside 1 to 9999), take that way one by
one. A property test compares the two.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from math import isfinite
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.rows.limits import BATCH_BYTES
from omnigraph.rows.write.json import (
    cast_texts,
    float_texts,
    in_quotes,
    iso_time_texts,
    joined,
    list_texts,
    quoted_text,
    string_texts,
)
from omnigraph.rows.write.results import result_rows

FEW_ROWS_MAX: Final = 200
"""Rows from which whole columns of Arrow are faster than values one by one."""

_PLAIN: Final = frozenset((pa.utf8(), pa.bool_(), pa.int32(), pa.int64(), pa.uint32(), pa.uint64(), pa.float64()))
"""Types whose stored form is their form in JSON."""

_DAYS: Final = (-719_162, 2_932_896)
_MILLISECONDS_PER_DAY: Final = 86_400_000


def few_rows(schema: pa.Schema, rows: Sequence[tuple[Any, ...]]) -> list[dict[str, Any]] | None:
    """A few rows of values in their stored forms as JSON values; None if a column has another form in JSON.

    Encoding these one by one costs less than the calls of Arrow that whole columns take.
    """
    if len(rows) > FEW_ROWS_MAX or not _PLAIN.issuperset(schema.types):
        return None
    if pa.float64() in schema.types and any(
        isinstance(cell, float) and not isfinite(cell) for row in rows for cell in row
    ):
        return None
    names = schema.names
    return [dict(zip(names, row, strict=True)) for row in rows]


def row_texts(batches: Iterable[pa.RecordBatch]) -> Iterator[bytes]:
    """JSON objects separated by commas, in chunks; nothing for no rows."""
    separator = b""
    for batch in batches:
        # The text of a slice must fit the 32-bit offsets of a string column with room to spare.
        rows = max(1, batch.num_rows * BATCH_BYTES // max(1, batch.nbytes))
        for start in range(0, batch.num_rows, rows):
            text = _objects(batch.slice(start, rows))
            yield separator + text
            separator = b","


def _objects(batch: pa.RecordBatch) -> bytes:
    names = batch.schema.names
    if not names or len(set(names)) < len(names):
        # An object has one member of a name; the last column of that name is the one that a dict keeps.
        return ",".join(_dumped(row) for row in result_rows(batch)).encode()
    parts: list[object] = []
    for name, column in zip(names, batch.columns, strict=True):
        parts += [f"{',' if parts else '{'}{quoted_text(name)}:", pc.coalesce(_texts(column), "null")]
    return joined(*parts, "},")[:-1]


def _texts(column: pa.Array) -> pa.Array:
    """The JSON text of each value, null where it is null."""
    kind = column.type
    if pa.types.is_list(kind) or pa.types.is_fixed_size_list(kind):
        return list_texts(column, _texts)
    if isinstance(kind, pa.JsonType):
        return column.storage
    if pa.types.is_string(kind):
        return string_texts(column)
    if pa.types.is_boolean(kind) or pa.types.is_integer(kind):
        return cast_texts(column)
    if pa.types.is_floating(kind) and pc.all(pc.is_finite(column), min_count=0).as_py():
        return float_texts(column.cast(pa.float64()))
    if pa.types.is_date32(kind) and _is_within(column.view(pa.int32()), *_DAYS):
        return in_quotes(cast_texts(column))
    if kind == pa.timestamp("ms", tz="UTC") and _is_within(column.view(pa.int64()), *_milliseconds()):
        return in_quotes(iso_time_texts(column))
    return _one_by_one(column)


def _milliseconds() -> tuple[int, int]:
    return _DAYS[0] * _MILLISECONDS_PER_DAY, (_DAYS[1] + 1) * _MILLISECONDS_PER_DAY - 1


def _is_within(numbers: pa.Array, low: int, high: int) -> bool:
    found = pc.min_max(numbers).as_py()
    return found["min"] is None or (low <= found["min"] and found["max"] <= high)


def _one_by_one(column: pa.Array) -> pa.Array:
    rows = result_rows(pa.table({"value": column}))
    return pa.array([None if row["value"] is None else _dumped(row["value"]) for row in rows], pa.utf8())


def _dumped(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
