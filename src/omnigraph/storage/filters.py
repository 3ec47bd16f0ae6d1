"""Conditions as Lance filters, with typed literals only.

A filter is built from values, never from text that a user wrote: a hostile value is compared, not interpreted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from operator import and_

import pyarrow as pa
import pyarrow.compute as pc


@dataclass(frozen=True, slots=True)
class Comparison:
    """``column operator value``; the value is a scalar of exactly the column's type."""

    column: str
    operator: str
    value: pa.Scalar


@dataclass(frozen=True, slots=True)
class Membership:
    """``column in values``; the values have exactly the column's type, and none is null."""

    column: str
    values: pa.Array


@dataclass(frozen=True, slots=True)
class Range:
    """Both ends of a range of one column: two comparisons that must hold."""

    low: Comparison
    high: Comparison


@dataclass(frozen=True, slots=True)
class Part:
    """``column`` holds the text, exactly."""

    column: str
    text: str


Condition = Comparison | Membership | Range | Part


def condition_filter(condition: Condition) -> pc.Expression | str:
    """The filter of a condition."""
    match condition:
        case Comparison():
            return build_filter(condition)
        case Membership(column, values):
            if not pa.types.is_unsigned_integer(values.type):
                return pc.field(column).isin(values)
            return f"`{column}` IN ({', '.join(str(int(value)) for value in values.to_pylist())})"
        case Range(low, high):
            first, second = build_filter(low), build_filter(high)
            if isinstance(first, str) or isinstance(second, str):
                return f"{first} AND {second}"
            return first & second
        case Part(column, text):
            return f"contains(`{column}`, {_literal(text)})"


def build_filter(comparison: Comparison) -> pc.Expression | str:
    """The filter of one comparison.

    Lance cannot take expressions on unsigned columns: those become SQL with a number in it.
    """
    if pa.types.is_unsigned_integer(comparison.value.type):
        return f"`{comparison.column}` {comparison.operator} {int(comparison.value.as_py())}"
    field, value = pc.field(comparison.column), comparison.value
    match comparison.operator:
        case "=":
            return field == value
        case "!=":
            return field != value
        case "<":
            return field < value
        case "<=":
            return field <= value
        case ">":
            return field > value
        case ">=":
            return field >= value
        case _:
            raise AssertionError(f"not a comparison: {comparison.operator}")


def split_filter(
    comparisons: Sequence[Comparison], schema: pa.Schema
) -> tuple[pc.Expression | str | None, list[Comparison]]:
    """One filter for as many comparisons as Lance takes together, and the others, which ``satisfied_rows`` tests."""
    if not takes_expressions(schema):
        return None, list(comparisons)
    built = [(comparison, build_filter(comparison)) for comparison in comparisons]
    expressions = [made for _, made in built if not isinstance(made, str)]
    if expressions:
        return reduce(and_, expressions), [comparison for comparison, made in built if isinstance(made, str)]
    return " AND ".join(str(made) for _, made in built) or None, []


def takes_expressions(schema: pa.Schema) -> bool:
    """Whether Lance can take any expression on a table: not if a column holds lists of unsigned numbers."""
    return not any(pa.types.is_list(field.type) and _is_unsigned(field.type.value_type) for field in schema)


def _is_unsigned(type_: pa.DataType) -> bool:
    return bool(pa.types.is_unsigned_integer(type_))


def ids_filter(column: str, values: Sequence[str], schema: pa.Schema) -> pc.Expression | str:
    """``column in values`` for text."""
    if takes_expressions(schema):
        return pc.field(column).isin(pa.array(values, pa.string()))
    return f"`{column}` IN ({', '.join(map(_literal, values))})"


def _literal(text: str) -> str:
    """A text in Lance's SQL: it ends at a single quote and nothing else; a quote inside is doubled."""
    return "'" + text.replace("'", "''") + "'"


def satisfied(column: pa.Array, comparison: Comparison) -> pa.Array:
    """Which values satisfy a comparison, for tables that Lance cannot filter; null does not."""
    compare = {
        "=": pc.equal,
        "!=": pc.not_equal,
        "<": pc.less,
        "<=": pc.less_equal,
        ">": pc.greater,
        ">=": pc.greater_equal,
    }[comparison.operator]
    value = comparison.value
    if pa.types.is_boolean(column.type):
        column, value = column.cast(pa.int8()), value.cast(pa.int8())
    return pc.fill_null(compare(column, value), False)


def satisfied_rows(batch: pa.RecordBatch, comparisons: Sequence[Comparison]) -> pa.Array:
    """Which rows satisfy every comparison."""
    return reduce(pc.and_, (satisfied(batch.column(comparison.column), comparison) for comparison in comparisons))
