"""Supplied values of parameters as constants: one reader per scalar.

Follows the JSON rules of the reference implementation and also accepts values of Python and its libraries.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from numbers import Integral, Real
from typing import Final

from omnigraph.core.decimals import as_decimal, fitted, parse_decimal
from omnigraph.core.json_values.texts import NotJson, json_text
from omnigraph.core.numbers import round_float, round_vector
from omnigraph.core.scalars import INTEGER_RANGES, Scalar
from omnigraph.core.temporal import (
    CALENDAR,
    date_to_days,
    datetime_to_milliseconds,
    is_length,
    is_moment,
    parse_date,
    parse_datetime,
    parse_length,
    parse_time,
    time_to_milliseconds,
    timedelta_to_milliseconds,
)
from omnigraph.core.uuids import parse_uuid
from omnigraph.errors import ParameterError
from omnigraph.query import expressions as ir
from omnigraph.schema.types import PropertyType

_INTEGER = re.compile(r"[+-]?0*[0-9]{1,20}", re.ASCII)
"""At most as many digits as the largest U64: Python refuses to parse integers of arbitrary length."""


def kind_of(value: object) -> str:
    """The JSON name of a value's type."""
    match value:
        case None:
            return "null"
        case bool():
            return "bool"
        case int() | float() | Real():
            return "number"
        case str():
            return "string"
        case list() | tuple():
            return "array"
        case Mapping():
            return "object"
        case _:
            return type(value).__name__


def convert(name: str, value: object, type_: PropertyType) -> ir.ConstantValue:
    """A value as a constant of a parameter's type. Raises ParameterError."""
    if value is None:
        return None
    if type_.is_vector:
        return _vector(name, value, type_)
    read = READERS[type_.scalar]
    if type_.is_list:
        if not isinstance(value, list | tuple):
            raise wrong_kind(name, "array", value)
        return tuple(read(f"{name}[{index}]", item, type_.item) for index, item in enumerate(value))
    return read(name, value, type_)


def wrong_kind(name: str, wanted: str, value: object) -> ParameterError:
    """The error of a value that is of another kind than its parameter."""
    shown = "" if value is None else f" {shorten(value)}"
    return ParameterError(f"param '{name}': expected {wanted}, got {kind_of(value)}{shown}", parameter=name)


def _vector(name: str, value: object, type_: PropertyType) -> ir.ConstantValue:
    if not isinstance(value, list | tuple):
        raise wrong_kind(name, f"array of {type_.dimension} numbers", value)
    if len(value) != type_.dimension:
        raise ParameterError(f"param '{name}': expected {type_.dimension} numbers, got {len(value)}", parameter=name)
    single = PropertyType(Scalar.F32)
    return round_vector(value) or tuple(_number(f"{name}[{index}]", item, single) for index, item in enumerate(value))


def _boolean(name: str, value: object, type_: PropertyType) -> bool:
    if not isinstance(value, bool):
        raise wrong_kind(name, type_.scalar.value.lower(), value)
    return value


def _text(name: str, value: object, _: PropertyType) -> str:
    if not isinstance(value, str):
        raise wrong_kind(name, "string", value)
    try:
        value.encode()
    except UnicodeEncodeError as problem:
        message = f"param '{name}': character {problem.start + 1} of the string is half of a surrogate pair"
        raise ParameterError(message, parameter=name) from None
    return value


def _uuid(name: str, value: object, type_: PropertyType) -> str:
    found = parse_uuid(_text(name, value, type_))
    if found is None:
        raise ParameterError(f"param '{name}': {shorten(value)} is not a UUID", parameter=name)
    return found


def _time(name: str, value: object, _: PropertyType) -> int:
    if isinstance(value, time) and value.tzinfo is None:
        return time_to_milliseconds(value)
    if not isinstance(value, str):
        raise wrong_kind(name, "Time string", value)
    found = parse_time(value)
    if found is None:
        raise ParameterError(f"param '{name}': {shorten(value)} is not a Time", parameter=name)
    return found


def _length(name: str, value: object, _: PropertyType) -> int:
    if isinstance(value, timedelta):
        found: int | None = timedelta_to_milliseconds(value)
    elif isinstance(value, str):
        found = parse_length(value)
    else:
        raise wrong_kind(name, "Duration string", value)
    if found is None or not is_length(found):
        hint = "write an ISO 8601 duration without years and months, such as PT1H30M"
        raise ParameterError(f"param '{name}': {shorten(value)} is not a Duration", hint=hint, parameter=name)
    return found


def _decimal(name: str, value: object, type_: PropertyType) -> Decimal:
    if isinstance(value, str):
        number = parse_decimal(value)
    elif isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        raise wrong_kind(name, "number or string of digits", value)
    else:
        number = as_decimal(value)
    assert type_.digits is not None, "a decimal has digits"
    found = None if number is None else fitted(number, type_.digits)
    if found is None:
        raise ParameterError(f"param '{name}': {shorten(value)} does not fit {type_}", parameter=name)
    return found


def _json(name: str, value: object, _: PropertyType) -> str:
    try:
        return json_text(value)
    except NotJson as problem:
        raise ParameterError(f"param '{name}': {problem}", parameter=name) from None


def _temporal(name: str, value: object, type_: PropertyType) -> int:
    scalar = type_.scalar
    wants_date = scalar is Scalar.DATE
    if isinstance(value, datetime):
        milliseconds = datetime_to_milliseconds(value)
        if not is_moment(milliseconds):
            raise ParameterError(f"param '{name}': {value} is in UTC outside {CALENDAR}", parameter=name)
        return milliseconds // 86_400_000 if wants_date else milliseconds
    if isinstance(value, date):
        return date_to_days(value) if wants_date else date_to_days(value) * 86_400_000
    if not isinstance(value, str):
        raise wrong_kind(name, f"{scalar.value} string", value)
    parsed = parse_date(value) if wants_date else parse_datetime(value)
    if parsed is None:
        raise ParameterError(f"param '{name}': {shorten(value)} is not a {scalar.value}", parameter=name)
    return parsed


def _number(name: str, value: object, type_: PropertyType) -> float:
    scalar = type_.scalar
    if isinstance(value, bool) or not isinstance(value, Real | Decimal):
        raise wrong_kind(name, "number", value)
    number = round_float(int(value) if isinstance(value, Integral) else float(value), scalar)
    if not math.isfinite(number):
        raise ParameterError(f"param '{name}': {value} is not a finite {scalar.value}", parameter=name)
    return number


def _integer(name: str, value: object, type_: PropertyType) -> int:
    scalar = type_.scalar
    if isinstance(value, Decimal) and value.is_finite() and value == value.to_integral_value():
        value = int(value)
    if isinstance(value, str):
        if _INTEGER.fullmatch(value) is None:
            raise ParameterError(f"param '{name}': expected integer, got {shorten(value)}", parameter=name)
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise wrong_kind(name, "integer", value)
    low, high = INTEGER_RANGES[scalar]
    number = int(value)
    if not low <= number <= high:
        raise ParameterError(f"param '{name}': {number} is out of range for {scalar.value}", parameter=name)
    return number


READERS: Final[dict[Scalar, Callable[[str, object, PropertyType], ir.ConstantValue]]] = {
    Scalar.STRING: _text,
    Scalar.BLOB: _text,
    Scalar.BOOL: _boolean,
    Scalar.I32: _integer,
    Scalar.I64: _integer,
    Scalar.U32: _integer,
    Scalar.U64: _integer,
    Scalar.F32: _number,
    Scalar.F64: _number,
    Scalar.DATETIME: _temporal,
    Scalar.DATE: _temporal,
    Scalar.DECIMAL: _decimal,
    Scalar.TIME: _time,
    Scalar.DURATION: _length,
    Scalar.UUID: _uuid,
    Scalar.JSON: _json,
}
"""The reader of a single value, given the parameter's name, the value and its type; for every scalar but a vector."""


def shorten(value: object) -> str:
    """A value shortened for messages."""
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
