"""Python objects as records: dicts, dataclasses and pydantic models, one type or one class per record.

Libraries are recognised by protocol, never imported.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from typing import Any

from omnigraph.core.display import with_article
from omnigraph.errors import UsageError
from omnigraph.rows.violations import shown

ACCEPTED = (
    "pass the path of a file, an open file, a frame (pandas, polars, Arrow, DuckDB), a dict of columns, or an iterable "
    'of records, dataclasses or pydantic models; for example graph.load([{"name": "Ada"}], type_name="Person")'
)
"""The input that a load takes, for messages."""


def is_object(item: object) -> bool:
    """True for an instance of a dataclass or of a pydantic model."""
    if isinstance(item, type):
        return False
    return dataclasses.is_dataclass(item) or callable(getattr(item, "model_dump", None))


def class_name(item: object) -> str | None:
    """The name of the class of an object that ``as_record`` takes apart."""
    return type(item).__name__ if is_object(item) else None


def as_record(item: object) -> object:
    """An object as a dict of its fields, a named tuple too; anything else as it is."""
    if not is_object(item):
        fields = getattr(item, "_asdict", None)
        return fields() if callable(fields) and isinstance(item, tuple) else item
    if dataclasses.is_dataclass(item):
        return {field.name: getattr(item, field.name) for field in dataclasses.fields(item)}
    dump: Any = getattr(item, "model_dump", None)
    return dump()


def as_items(data: object) -> Iterable[object]:
    """The records of an iterable; raises UsageError that names the type of anything else."""
    kind = type(data).__name__
    if is_object(data) or (isinstance(data, tuple) and hasattr(data, "_asdict")):
        hint = f"put it into a list: graph.load([{kind}(...)])"
        raise UsageError(f"a single {kind} is not a list of records", hint=hint)
    if isinstance(data, str | bytes | bytearray | memoryview | Mapping) or not isinstance(data, Iterable):
        raise UsageError(f"{with_article(kind)} cannot be loaded{_shown(data)}", hint=_hint(data))
    if hasattr(data, "__array__") or hasattr(data, "__arrow_c_array__"):
        raise UsageError(
            f"{with_article(kind)} is a single column or has no names of columns",
            hint='give the columns their names: graph.load({"name": values}, type_name="Person")',
        )
    return data


def _shown(data: object) -> str:
    """The value behind a colon. The address of an object says nothing to a person."""
    text = shown(data)
    return "" if " at 0x" in text else f": {text}"


def _hint(data: object) -> str:
    if isinstance(data, bytes | bytearray | memoryview):
        return "for the content of a file: graph.load(io.BytesIO(data), ...)"
    if callable(getattr(data, "sql", None)):
        return 'pass the rows of a query: graph.load(connection.sql("select ..."), type_name="Person")'
    return ACCEPTED
