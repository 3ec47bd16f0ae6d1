"""Conditions as Lance filters, with typed literals only.

A filter is built from values, never from text that a user wrote: a hostile value is compared, not interpreted. It is
SQL and no expression of Arrow's: Lance takes none that names an unsigned column, and none at all on a table with lists
of unsigned numbers. To Lance the two zeros are equal, a NaN equals itself, and NaNs stand at both ends: those with a
sign below minus infinity, the others above infinity.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, assert_never

import pyarrow as pa


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
class Part:
    """``column`` holds the text, exactly; if so it is asked, at its end."""

    column: str
    text: str
    at_end: bool = False


@dataclass(frozen=True, slots=True)
class Missing:
    """``column`` is null."""

    column: str


@dataclass(frozen=True, slots=True)
class Not:
    """The condition does not hold, and its column is not null."""

    part: Membership | Part | Missing


@dataclass(frozen=True, slots=True)
class AllOf:
    """Every part holds."""

    parts: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class AnyOf:
    """Some part holds."""

    parts: tuple[Condition, ...]


Condition = Comparison | Membership | Part | Missing | Not | AllOf | AnyOf


def condition_filter(condition: Condition) -> str:
    """The filter of a condition. Of a null nothing holds, except that it is missing."""
    match condition:
        case Comparison(column, operator, value):
            return f"`{column}` {operator} {_literal(value)}"
        case Membership(column, values):
            return f"`{column}` IN ({', '.join(map(_literal, values))})"
        case Part(column, text, at_end):
            return f"{'ends_with' if at_end else 'contains'}(`{column}`, {_text(text)})"
        case Missing(column):
            return f"`{column}` IS NULL"
        case Not(part):
            return f"NOT ({condition_filter(part)})"
        case AllOf(parts):
            return " AND ".join(f"({condition_filter(part)})" for part in parts) or "true"
        case AnyOf(parts):
            return " OR ".join(f"({condition_filter(part)})" for part in parts) or "false"
        case _:
            assert_never(condition)


def _literal(value: pa.Scalar) -> str:
    """A value in Lance's SQL, of its own type."""
    return LITERALS[value.type](value)


def _float(value: pa.Scalar, name: str) -> str:
    return f"arrow_cast('{value.as_py()!r}', '{name}')"


def _integer(value: pa.Scalar) -> str:
    number = int(value.as_py())
    # The least of all numbers is a float to Lance, because it reads the digits before the sign.
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
}
"""Literals by the type of the column they are compared with."""


def _text(text: str) -> str:
    """A text in Lance's SQL: it ends at a single quote and nothing else; a quote inside is doubled."""
    return "'" + text.replace("'", "''") + "'"


def ids_filter(column: str, values: Sequence[str]) -> str:
    """``column in values`` for text."""
    return f"`{column}` IN ({', '.join(map(_text, values))})" if values else "false"
