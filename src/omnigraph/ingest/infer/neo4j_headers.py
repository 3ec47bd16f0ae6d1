"""Headers of ``neo4j-admin import``: ``personId:ID(Person)``, ``age:int``, ``:LABEL``, ``:START_ID``, ``:TYPE``.

A field is a name, a role or a type, an id group in parentheses, and options in braces. Only the first label of a node
becomes its type, because a node has one type here.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final

from omnigraph.core.scalars import Scalar
from omnigraph.core.suggestions import did_you_mean
from omnigraph.schema.types import PropertyType

DIVIDER: Final = ";"
"""Divides labels, and the items of an array."""

_FIELD = re.compile(
    r"(?P<name>[^:]*):(?P<word>[A-Za-z_]+)(?P<array>\[\])?(?:\((?P<group>[^)]*)\))?(?:\{(?P<more>[^}]*)\})?"
)
_ID_TYPE = re.compile(r"id-type\s*:\s*(?P<word>\w+)")


class Role(Enum):
    """A meaning of a column beyond a property."""

    ID = "ID"
    LABEL = "LABEL"
    START = "START_ID"
    END = "END_ID"
    TYPE = "TYPE"
    IGNORE = "IGNORE"


_SCALARS: Final = {
    **dict.fromkeys(("byte", "short", "int", "integer", "long"), Scalar.I64),
    **dict.fromkeys(("float", "double"), Scalar.F64),
    "boolean": Scalar.BOOL,
    "date": Scalar.DATE,
    **dict.fromkeys(("datetime", "localdatetime"), Scalar.DATETIME),
    **dict.fromkeys(("string", "char", "point", "duration", "time", "localtime"), Scalar.STRING),
}


@dataclass(frozen=True, slots=True)
class HeaderField:
    """One field of a header."""

    column: str
    """The field as written."""
    name: str
    """The name of the property, empty if only a role is given."""
    role: Role | None = None
    group: str = ""
    """The id group of an id or an end."""
    type: PropertyType | None = None


def parse_header(columns: Sequence[str]) -> list[HeaderField] | None:
    """The fields of a header; None if it is not one of this kind: it needs an id, or both ends."""
    fields = [_field(column) for column in columns]
    roles = {field.role for field in fields}
    return fields if Role.ID in roles or {Role.START, Role.END} <= roles else None


def misspelled(columns: Sequence[str]) -> tuple[str, str] | None:
    """The first field whose role or type is nearly a known one, with the suggestion.

    Any other text behind a colon belongs to the name of an ordinary column.
    """
    words = [*(role.value for role in Role), *_SCALARS]
    for column in columns:
        found = _FIELD.fullmatch(column.strip())
        known = found is None or found["word"].upper() in words or found["word"].lower() in words
        near = None if found is None or known else did_you_mean(found["word"], words)
        if near is not None:
            return column, near
    return None


def _field(column: str) -> HeaderField:
    found = _FIELD.fullmatch(column.strip())
    if found is None:
        return HeaderField(column, column)
    name, word, group = found["name"].strip(), found["word"], found["group"] or ""
    role = next((role for role in Role if role.value == word.upper()), None)
    if role is not None:
        stated = _ID_TYPE.search(found["more"] or "")
        return HeaderField(column, name, role, group, _type(stated["word"], False) if stated else None)
    type_ = _type(word, found["array"] is not None)
    return HeaderField(column, column) if type_ is None else HeaderField(column, name, type=type_)


def _type(word: str, is_list: bool) -> PropertyType | None:
    scalar = _SCALARS.get(word.lower())
    return None if scalar is None else PropertyType(scalar, is_list=is_list)
