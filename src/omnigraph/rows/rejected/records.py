"""Rows as records, in the JSON form that loads read, so that rejected rows can be corrected and loaded again."""

from __future__ import annotations

import base64
import math
from datetime import date, datetime, time, timedelta
from typing import Any

import pyarrow as pa

from omnigraph.core.python_values import plain_value
from omnigraph.core.temporal import format_duration, timedelta_to_milliseconds
from omnigraph.rows.arrow_types import ID, Entity
from omnigraph.rows.casting.json_values import MANAGED_BLOB
from omnigraph.rows.ends.references import UNRESOLVED
from omnigraph.schema.catalog import EdgeEnd, EdgeType


def record_of(entity: Entity, row: pa.RecordBatch, *, with_id: bool = True) -> dict[str, Any]:
    """The record of one row, with values of any type: a wrong type may be the reason for its rejection."""
    given = {name: _value(row.column(name)[0]) for name in row.schema.names}
    if not with_id:
        given.pop(ID, None)
    if not isinstance(entity, EdgeType):
        return {"type": entity.name, "data": given}
    ends = {end.word: _node(end, given) for end in entity.ends}
    return {"edge": entity.name, **ends, "data": given}


def _node(end: EdgeEnd, given: dict[str, Any]) -> object:
    """A node at an end, with its type if the end has several and the row names one."""
    id_, tag = given.pop(end.column, None), given.pop(end.type_column or "", None)
    # A row that was not read yet has the name of the type, a stored one its tag.
    name = (tag if tag in end.types else end.type_of(tag)) if end.is_typed and tag != UNRESOLVED else None
    return id_ if name is None or id_ is None else {"type": name, "id": id_}


def _value(given: pa.Scalar) -> object:
    try:
        return json_form(given.as_py())
    except (ValueError, OverflowError):
        return _unreadable(given)


def _unreadable(given: pa.Scalar) -> object:
    """A readable form of invalid UTF-8, and of times outside Python's range."""
    items = getattr(given, "values", None)
    if items is not None:
        return [_value(item) for item in items]
    if pa.types.is_string(given.type) or pa.types.is_large_string(given.type):
        return given.as_buffer().to_pybytes().decode(errors="replace")
    return pa.array([given], given.type).cast(pa.utf8())[0].as_py()


def json_form(value: object) -> object:
    """A value of Python in its JSON form; the text of a value that has none."""
    match value:
        case bytes():
            return MANAGED_BLOB + base64.b64encode(value).decode()
        case list() | tuple():
            return [json_form(item) for item in value]
        case dict():
            return {str(key): json_form(item) for key, item in value.items()}
        case datetime() | date() | time():
            return value.isoformat()
        case timedelta():
            return format_duration(timedelta_to_milliseconds(value))
        case None | bool() | int() | str():
            return value
        case float() if math.isfinite(value):
            return value
    plain = plain_value(value)
    return str(value) if plain is value else json_form(plain)
