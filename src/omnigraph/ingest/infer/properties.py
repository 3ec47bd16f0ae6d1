"""The type of a property, guessed from the statistics of its column, with the reason.

A guess holds for every row that was read: rows of the same source can be loaded with it. Where the values allow more
than one type, the one that fits later rows too is chosen: ``I64`` for integers of any size, text for ``007``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Final

from omnigraph.core.scalars import INTEGER_RANGES, Scalar
from omnigraph.ingest.infer.facts import ColumnFacts
from omnigraph.ingest.infer.names import words
from omnigraph.schema.types import PropertyType

ENUM_VALUES_MAX: Final = 10
"""Different values of an enum. A longer list is usually not complete."""

ROWS_PER_ENUM_VALUE: Final = 3
"""Rows that an enum needs per value: fewer may be few by chance."""

VECTOR_NUMBERS_MIN: Final = 16
"""Numbers of a vector that is recognised by its length alone; one that is named like a vector may be shorter."""

_VECTOR_WORDS: Final = frozenset({"embedding", "embeddings", "vector", "vectors", "emb", "vec"})
_ENUM_VALUE = re.compile(r"[A-Za-z0-9_-]+", re.ASCII)
_TEXT = PropertyType(Scalar.STRING)


@dataclass(frozen=True, slots=True)
class PropertyGuess:
    """A type, and the reason for it in a few words."""

    type: PropertyType
    reason: str


def guess_property(column: ColumnFacts) -> PropertyGuess | None:
    """The type of a column; None if no property can hold its values."""
    if column.declared is None or (column.is_json and column.forms.objects):
        return None
    type_, reason = _guess_type(column, column.declared)
    presence = _presence(column)
    return PropertyGuess(replace(type_, nullable=not column.is_full), f"{reason}; {presence}" if reason else presence)


def counted(rows: int) -> str:
    """A number of rows in words."""
    return f"{rows:,} row{'' if rows == 1 else 's'}"


def _presence(column: ColumnFacts) -> str:
    if not column.rows:
        return "no rows"
    rows = counted(column.rows)
    if column.is_full:
        return f"never null in {rows}"
    return f"null in {column.rows - column.present:,} of {rows}"


def _guess_type(column: ColumnFacts, declared: PropertyType) -> tuple[PropertyType, str]:
    if declared.is_list:
        return _list_type(column, declared)
    if column.is_gapped and declared.scalar is Scalar.F64:
        return PropertyType(Scalar.I64), "whole numbers, which pandas stores as floats where some are missing"
    if declared.scalar is not Scalar.STRING:
        return declared, ""
    if not column.present:
        return _TEXT, "no value to guess from"
    return _form_type(column) or _enum_type(column) or (_TEXT, "")


def _form_type(column: ColumnFacts) -> tuple[PropertyType, str] | None:
    """The type of texts that all have the same form."""
    forms, present = column.forms, column.present
    if present == forms.dates:
        return PropertyType(Scalar.DATE), "every value is an ISO date"
    if present == forms.dates + forms.times:
        return PropertyType(Scalar.DATETIME), "every value is an ISO date and time"
    # Texts of a source with types are texts on purpose: "12" of a JSON file is not a number.
    if column.is_written:
        found = _number_type(column)
        if found is not None:
            return found
    if column.is_written or column.is_json:
        return _array_type(column)
    return None


def _number_type(column: ColumnFacts) -> tuple[PropertyType, str] | None:
    forms, present = column.forms, column.present
    if present == forms.integers:
        return _integer_type(column)
    if present == forms.decimals:
        return PropertyType(Scalar.F64), "every value is a number"
    if present == forms.booleans:
        return PropertyType(Scalar.BOOL), "every value is true or false"
    return None


def _array_type(column: ColumnFacts) -> tuple[PropertyType, str] | None:
    forms, present = column.forms, column.present
    if present == forms.integer_lists and column.lengths != (0, 0):
        found = _list_type(column, PropertyType(Scalar.I64, is_list=True))
    elif present == forms.decimal_lists and column.lengths != (0, 0):
        found = _list_type(column, PropertyType(Scalar.F64, is_list=True))
    elif present == forms.text_lists:
        found = PropertyType(Scalar.STRING, is_list=True), ""
    else:
        return None
    return found[0], found[1] or "every value is a JSON array"


def _integer_type(column: ColumnFacts) -> tuple[PropertyType, str]:
    low, high = column.low or 0, column.high or 0
    for scalar in (Scalar.I64, Scalar.U64):
        smallest, largest = INTEGER_RANGES[scalar]
        if smallest <= low and high <= largest:
            return PropertyType(scalar), f"integers from {low} to {high}" if low != high else f"the integer {low}"
    return _TEXT, "integers of more than 64 bits"


def _enum_type(column: ColumnFacts) -> tuple[PropertyType, str] | None:
    values = column.values
    is_small = 2 <= len(values) <= ENUM_VALUES_MAX and column.present >= ROWS_PER_ENUM_VALUE * len(values)
    if not is_small or not all(map(_ENUM_VALUE.fullmatch, values)):
        return None
    return PropertyType(Scalar.STRING, enum_values=tuple(sorted(values))), f"{len(values)} different values"


def _list_type(column: ColumnFacts, declared: PropertyType) -> tuple[PropertyType, str]:
    """A list, or a vector if all lists of numbers are equally long."""
    shortest, longest = column.lengths or (0, 0)
    is_named = not _VECTOR_WORDS.isdisjoint(words(column.name))
    is_long = longest >= (1 if is_named else VECTOR_NUMBERS_MIN)
    is_number = declared.scalar.is_float or (is_named and declared.scalar.is_numeric)
    if is_number and is_long and shortest == longest:
        return PropertyType(Scalar.VECTOR, dimension=longest), f"every list has {longest} numbers"
    return declared, ""
