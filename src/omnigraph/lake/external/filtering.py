"""Filters on external tables: row groups that cannot match are skipped by their statistics, the rest is evaluated.

Lance evaluates the filters of ordinary tables in SQL. The kernels of Arrow agree with it on all values that a type can
hold: sealing refuses NaN and infinities, on which they would differ.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, Any, Final, assert_never

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.core.scalars import INTEGER_RANGES, Scalar
from omnigraph.lake.external.seal import Seal
from omnigraph.rows.arrow_types import ID, column_type
from omnigraph.storage.tables.filters import (
    AllOf,
    AnyOf,
    Comparison,
    Membership,
    Missing,
    Not,
    RowFilter,
    Substring,
)

if TYPE_CHECKING:
    import pyarrow.parquet as pq

_COMPARED: Final[Mapping[str, Callable[[Any, Any], pa.Array]]] = {
    "=": pc.equal,
    "!=": pc.not_equal,
    "<": pc.less,
    "<=": pc.less_equal,
    ">": pc.greater,
    ">=": pc.greater_equal,
}


def filter_columns(row_filter: RowFilter) -> Iterator[str]:
    """The columns that a filter reads."""
    match row_filter:
        case Comparison(column=column) | Membership(column=column) | Substring(column=column) | Missing(column=column):
            yield column
        case Not(part):
            yield from filter_columns(part)
        case AllOf(parts) | AnyOf(parts):
            for each in parts:
                yield from filter_columns(each)
        case _:
            assert_never(row_filter)


def mask(row_filter: RowFilter, columns: Mapping[str, pa.Array], count: int) -> pa.BooleanArray:
    """For every row whether the filter holds; on a null only ``Missing`` does."""
    return pc.fill_null(_holds(row_filter, columns, count), False)


def _holds(row_filter: RowFilter, columns: Mapping[str, pa.Array], count: int) -> pa.BooleanArray:
    match row_filter:
        case Comparison(column, operator, value):
            return _COMPARED[operator](columns[column], value)
        case Membership(column, values):
            return pc.and_(pc.is_in(columns[column], value_set=values), pc.is_valid(columns[column]))
        case Substring(column, text, at_end):
            return (pc.ends_with if at_end else pc.match_substring)(columns[column], text)
        case Missing(column):
            return pc.is_null(columns[column])
        case Not(Missing(column)):
            return pc.is_valid(columns[column])
        case Not(part):
            return pc.and_(pc.invert(_holds(part, columns, count)), pc.is_valid(columns[part.column]))
        case AllOf(parts):
            return _all(parts, columns, count, pc.and_kleene, everything=True)
        case AnyOf(parts):
            return _all(parts, columns, count, pc.or_kleene, everything=False)
        case _:
            assert_never(row_filter)


def _all(
    parts: tuple[RowFilter, ...],
    columns: Mapping[str, pa.Array],
    count: int,
    join: Callable[[Any, Any], pa.Array],
    *,
    everything: bool,
) -> pa.BooleanArray:
    found = pa.repeat(everything, count)
    for part in parts:
        found = join(found, _holds(part, columns, count))
    return found


Bounds = tuple[Any, Any]
"""The least and the greatest value of a column in a row group."""


def may_match(row_filter: RowFilter, seal: Seal, bounds: Callable[[str], Bounds | None]) -> bool:
    """False if no row of a row group can satisfy a filter. ``bounds`` gives those of a column of the type, if known."""
    match row_filter:
        case Comparison() | Membership() if row_filter.column == ID:
            by_key = _on_key(row_filter, seal)
            return by_key is None or may_match(by_key, seal, bounds)
        case Comparison(column, operator, value):
            return _within(operator, value.as_py(), bounds(column))
        case Membership(column, values):
            known = bounds(column)
            return known is None or any(_within("=", value, known) for value in values.to_pylist())
        case AllOf(parts):
            return all(may_match(part, seal, bounds) for part in parts)
        case AnyOf(parts):
            return any(may_match(part, seal, bounds) for part in parts)
        case Substring() | Missing() | Not():
            return True
        case _:
            assert_never(row_filter)


def _within(operator: str, value: Any, bounds: Bounds | None) -> bool:
    if bounds is None or value is None:
        return True
    low, high = bounds
    match operator:
        case "=":
            return bool(low <= value <= high)
        case "<":
            return bool(low < value)
        case "<=":
            return bool(low <= value)
        case ">":
            return bool(high > value)
        case ">=":
            return bool(high >= value)
        case _:
            return True


def _on_key(row_filter: Comparison | Membership, seal: Seal) -> RowFilter | None:
    """A filter on ids as one on the property that is the key; None if the property does not decide it."""
    keys = [column for column in seal.columns if seal.key == (column.name,) and column.property_id is not None]
    if len(keys) != 1:
        return None
    [key] = keys
    if key.type.scalar is Scalar.STRING:
        return replace(row_filter, column=key.name)
    if not isinstance(row_filter, Membership) or not key.type.scalar.is_integer:
        return None
    low, high = INTEGER_RANGES[key.type.scalar]
    numbers = [int(text) for text in row_filter.values.to_pylist() if _is_whole(text)]
    return Membership(key.name, pa.array([item for item in numbers if low <= item <= high], column_type(key.type)))


def _is_whole(text: str) -> bool:
    digits = text.removeprefix("-")
    return digits.isascii() and digits.isdigit()


def group_bounds(
    footer: pq.FileMetaData, group: int, names: Mapping[str, str], seal: Seal
) -> Callable[[str], Bounds | None]:
    """The bounds of columns of the type in a row group. ``names`` are those of the columns in the file."""
    types = {column.name: column.type for column in seal.columns if column.property_id is not None}
    places = {footer.schema.column(number).path: number for number in range(footer.num_columns)}

    def bounds(column: str) -> Bounds | None:
        type_, place = types.get(column), places.get(names.get(column, ""))
        if type_ is None or place is None or type_.is_list or type_.is_vector:
            return None
        statistics = footer.row_group(group).column(place).statistics
        if statistics is None or not statistics.has_min_max:
            return None
        low, high = statistics.min, statistics.max
        # Only where the cast keeps the order of values: a number that becomes a date, say, has other bounds.
        if {type(low), type(high)} != {BOUNDS.get(type_.scalar)}:
            return None
        return (low, high) if type_.scalar is not Scalar.DATETIME else (_stored_time(low), _stored_time(high))

    return bounds


def _stored_time(moment: datetime) -> datetime:
    """A time as it is stored: milliseconds of UTC."""
    known = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
    return known.replace(microsecond=known.microsecond // 1000 * 1000)


BOUNDS: Final[Mapping[Scalar, type | None]] = {
    Scalar.STRING: str,
    Scalar.BOOL: None,
    Scalar.I32: int,
    Scalar.I64: int,
    # Statistics of unsigned numbers depend on the program that wrote them.
    Scalar.U32: None,
    Scalar.U64: None,
    # A number that is rounded to 32 bits may lie outside the bounds of its file.
    Scalar.F32: None,
    Scalar.F64: float,
    Scalar.DATETIME: datetime,
    Scalar.DATE: date,
    # Their statistics have the form of the format, not that of the graph.
    **dict.fromkeys((Scalar.DECIMAL, Scalar.TIME, Scalar.DURATION, Scalar.UUID), None),
}
"""Type of the statistics that bound a scalar; None if they are not compared."""
