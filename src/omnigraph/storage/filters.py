"""Conditions as Lance filters, with typed literals only.

A filter is built from values, never from text that a user wrote: a hostile value is compared, not interpreted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc


@dataclass(frozen=True, slots=True)
class Comparison:
    """``column operator value``; the value is a scalar of exactly the column's type."""

    column: str
    operator: str
    value: pa.Scalar


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


def ids_filter(column: str, values: Sequence[str]) -> pc.Expression:
    """``column in values`` for text."""
    return pc.field(column).isin(pa.array(values, pa.string()))
