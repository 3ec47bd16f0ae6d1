"""Filters on columns, and their form in Lance's SQL, with typed literals only.

A filter is built from values, never from text that a user wrote: a hostile value is compared, not interpreted (no SQL
injection). It is SQL rather than an Arrow expression: Lance accepts none that names an unsigned column, and none at all
on a table with lists of unsigned numbers. Lance orders floats totally: the two zeros are equal, a NaN equals
itself, NaNs with a sign are below minus infinity and the others above infinity.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, assert_never

import pyarrow as pa

from omnigraph.core.classes.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Comparison:
    """``column operator value``; the value is a scalar of exactly the column's type."""

    column: str
    operator: str
    value: pa.Scalar


@dataclass(frozen=True, slots=True)
class Membership:
    """``column in values``; the values have exactly the column's type, and none is null. There is at least one."""

    column: str
    values: pa.Array


@dataclass(frozen=True, slots=True)
class Substring:
    """``column`` contains the text, case-sensitive; with ``at_end``, it ends with the text."""

    column: str
    text: str
    at_end: bool = False


@dataclass(frozen=True, slots=True)
class Missing:
    """``column`` is null."""

    column: str


@dataclass(frozen=True, slots=True)
class Not:
    """The filter does not hold, and its column is not null."""

    part: Membership | Substring | Missing


@dataclass(frozen=True, slots=True)
class AllOf:
    """Every part holds."""

    parts: tuple[RowFilter, ...]


@dataclass(frozen=True, slots=True)
class AnyOf:
    """Some part holds."""

    parts: tuple[RowFilter, ...]


RowFilter = Comparison | Membership | Substring | Missing | Not | AllOf | AnyOf


def filter_sql(row_filter: RowFilter) -> str:
    """The SQL of a filter. On a null only ``Missing`` holds."""
    match row_filter:
        case Comparison(column, operator, value):
            return f"`{column}` {operator} {_literal(value)}"
        case Membership(column, values):
            return f"`{column}` IN ({', '.join(map(_literal, values))})"
        case Substring(column, text, at_end):
            return f"{'ends_with' if at_end else 'contains'}(`{column}`, {_text(text)})"
        case Missing(column):
            return f"`{column}` IS NULL"
        case Not(part):
            return f"NOT ({filter_sql(part)})"
        case AllOf(parts):
            return " AND ".join(f"({filter_sql(part)})" for part in parts) or "true"
        case AnyOf(parts):
            return " OR ".join(f"({filter_sql(part)})" for part in parts) or "false"
        case _:
            assert_never(row_filter)


def _literal(value: pa.Scalar) -> str:
    """A value in Lance's SQL, of its own type."""
    if pa.types.is_decimal(value.type):
        return _decimal(value)
    return LITERALS[value.type](value)


def _decimal(value: pa.Scalar) -> str:
    return f"arrow_cast('{value.as_py():f}', 'Decimal128({value.type.precision}, {value.type.scale})')"


def _clock_time(value: pa.Scalar) -> str:
    return f"arrow_cast(arrow_cast({_integer(value.cast(pa.int32()))}, 'Int32'), 'Time32(Millisecond)')"


def _length(value: pa.Scalar) -> str:
    return f"arrow_cast({_integer(value.cast(pa.int64()))}, 'Duration(Millisecond)')"


def _float(value: pa.Scalar, name: str) -> str:
    return f"arrow_cast('{value.as_py()!r}', '{name}')"


def _integer(value: pa.Scalar) -> str:
    number = int(value.as_py())
    # Lance parses the digits before the sign, and 2**63 without a sign overflows to a float.
    return str(number) if number > -(2**63) else f"arrow_cast('{number}', 'Int64')"


def _days(value: pa.Scalar) -> str:
    return f"arrow_cast({_integer(value.cast(pa.int32()))}, 'Date32')"


def _moment(value: pa.Scalar) -> str:
    return f"arrow_cast({_integer(value.cast(pa.int64()))}, 'Timestamp(Millisecond, Some(\"UTC\"))')"


LITERALS: Final[dict[pa.DataType, Callable[[pa.Scalar], str]]] = {
    pa.utf8(): lambda value: _text(value.as_py()),
    pa.bool_(): lambda value: "true" if value.as_py() else "false",
    pa.int32(): _integer,
    pa.int64(): _integer,
    pa.uint32(): _integer,
    pa.uint64(): _integer,
    pa.float32(): lambda value: _float(value, "Float32"),
    pa.float64(): lambda value: _float(value, "Float64"),
    pa.timestamp("ms", tz="UTC"): _moment,
    pa.date32(): _days,
    pa.time32("ms"): _clock_time,
    pa.duration("ms"): _length,
    pa.decimal128(38, 0): _decimal,
}
"""Literals by the type of the column they are compared with; the last row stands for decimals of any digits."""


def _text(text: str) -> str:
    """A text in Lance's SQL: it ends at a single quote and nothing else; a quote inside is doubled."""
    return "'" + text.replace("'", "''") + "'"


def ids_filter(column: str, values: Sequence[str]) -> str:
    """``column in values`` for text."""
    return f"`{column}` IN ({', '.join(map(_text, values))})" if values else "false"
