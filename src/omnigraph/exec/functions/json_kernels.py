"""Kernels of JSON values, which are canonical texts: equal values have equal texts."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import pyarrow as pa

from omnigraph.core.json_values.texts import (
    NoPlace,
    NotJson,
    Step,
    canonical_text,
    parse_path,
    path_text,
    text_at,
    value_at,
    with_value,
)
from omnigraph.errors import InputError
from omnigraph.exec.functions.rowwise import each, each_different, listed, packed, rows

Values = Sequence[Any]


def parsed(arguments: Values, type_: pa.DataType) -> Any:
    """The value that a text denotes; null for the null of JSON, and for a text that denotes none."""
    return each_different(_parsed, arguments[0], type_)


def _parsed(text: str) -> str | None:
    try:
        found = canonical_text(text)
    except NotJson:
        return None
    return None if found == "null" else found


def at(arguments: Values, type_: pa.DataType) -> Any:
    """The value at the end of some steps."""
    value, *steps = arguments
    if all(isinstance(step, pa.Scalar) for step in steps):
        path = [step.as_py() for step in steps]
        if None in path:
            return pa.scalar(None, type_)
        return each_different(lambda text: text_at(text, path), value, type_)
    return each(lambda text, *path: text_at(text, path), arguments, type_)


def size(arguments: Values, type_: pa.DataType) -> Any:
    """The number of members or items."""
    return each_different(_size, arguments[0], type_)


def _size(text: str) -> int | None:
    value = value_at(text, ())
    return len(value) if isinstance(value, list | dict) else None


def contains(arguments: Values, type_: pa.DataType) -> Any:
    """Membership in an array; null for values that are none."""
    return each(_contains, arguments, type_)


def _contains(text: str, item: str) -> bool | None:
    value = value_at(text, ())
    if not isinstance(value, list):
        return None
    return any(text_at(text, (place,)) == item for place in range(len(value)))


def order(arguments: Values, type_: pa.DataType) -> Any:
    """-1, 0 or 1 for two numbers, two texts or two truth values; null for other pairs."""
    return each(_order, arguments, type_)


def _order(left: str, right: str) -> int | None:
    first, second = value_at(left, ()), value_at(right, ())
    kinds = {_kind(first), _kind(second)}
    if len(kinds) > 1 or kinds == {None}:
        return None
    return int(first > second) - int(first < second)


def _kind(value: object) -> str | None:
    match value:
        case bool():
            return "boolean"
        case int() | Decimal():
            return "number"
        case str():
            return "text"
        case _:
            return None


def with_part(arguments: Values, type_: pa.DataType) -> Any:
    """JSON values with another value at a path. A null whole is an empty object, and a null part is removed."""
    whole, path, part = arguments
    if not path.is_valid:
        return pa.scalar(None, type_)
    steps = parse_path(path.as_py())
    if steps is None:
        raise InputError(f"{path.as_py()!r} is no path", hint='write a path such as "address.city" or "tags[0]"')
    length = rows(arguments)
    pairs = zip(listed(whole, length), listed(part, length), strict=True)
    return packed(pa.array([_placed(text, steps, value) for text, value in pairs], type_), arguments)


def _placed(text: str | None, path: tuple[Step, ...], value: str | None) -> str | None:
    try:
        return with_value(text, path, value)
    except NoPlace as problem:
        raise InputError(
            f"`{path_text(path)}` cannot be set: {problem} is no object, or has no such item",
            hint="assign the whole value",
        ) from None
