"""Strict conversion of one JSON or Python value to its stored form.

Dates become day numbers, times milliseconds, blobs bytes, decimals Python's, JSON values their canonical text. Python
dates, times, decimals and bytes are accepted too; JSON cannot produce them. Constraints such as enum membership are
checked by ``values``.
"""

from __future__ import annotations

import binascii
import math
from collections.abc import Callable
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from numbers import Integral, Real
from typing import Final

from omnigraph.core.decimals import DIGITS_MAX, Digits, as_decimal, fitted, parse_decimal
from omnigraph.core.display import with_article
from omnigraph.core.json_values.texts import NotJson, json_text
from omnigraph.core.scalars import INTEGER_RANGES, Scalar
from omnigraph.core.temporal import (
    CALENDAR,
    date_to_days,
    datetime_to_milliseconds,
    is_day,
    is_length,
    is_moment,
    is_time,
    parse_date,
    parse_datetime,
    parse_length,
    parse_time,
    time_to_milliseconds,
    timedelta_to_milliseconds,
)
from omnigraph.core.uuids import parse_uuid
from omnigraph.rows.violations import shown
from omnigraph.schema.types import PropertyType

Convert = Callable[[object], object]

F32_OVERFLOW: Final = 3.4028235677973366e38
"""The smallest double that rounds to an infinite 32-bit float: the largest finite one plus half a unit in the last
place."""

MANAGED_BLOB: Final = "base64:"


class Unfit(Exception):
    """The value does not fit its declared type; the text gives the reason. Callers add the row."""


def converter(type_: PropertyType) -> Convert:
    """The function that converts a non-null value to its stored form, or raises Unfit."""
    if type_.is_vector:
        assert type_.dimension is not None
        return _vector_converter(type_.dimension)
    convert = CONVERTERS[type_.scalar] if type_.digits is None else _decimal_converter(type_.digits)
    return _list_converter(convert, type_) if type_.is_list else convert


def kind_of(value: object) -> str:
    """The JSON kind of a value for messages, with the value itself if it is short."""
    match value:
        case None:
            return "null"
        case bool():
            return f"the boolean {'true' if value else 'false'}"
        case int() if abs(value) >= 10**40:
            return "a huge integer"
        case float() if value != value:
            return "NaN"
        case int() | float() | Decimal():
            return f"the number {value}"
        case str():
            return f"the string {shown(value)}"
        case list() | tuple():
            return f"an array of {len(value)}"
        case dict():
            return "an object"
        case _:
            return with_article(type(value).__name__)


def _missing(value: object) -> str:
    """The advice for NaN, by which other libraries mark a missing value."""
    return "; a missing value is null" if value != value else ""


def to_text(value: object) -> str:
    if not isinstance(value, str):
        raise Unfit(f"expected a string, got {kind_of(value)}")
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError as problem:
            raise Unfit(f"character {problem.start + 1} of the string is half of a surrogate pair") from None
    return value


def _to_bool(value: object) -> bool:
    if not isinstance(value, bool):
        raise Unfit(f"expected true or false, got {kind_of(value)}")
    return value


def _integer_converter(scalar: Scalar) -> Convert:
    low, high = INTEGER_RANGES[scalar]

    def convert(value: object) -> int:
        # Libraries register their integers as Integral; the common case must not pay for the isinstance check.
        if type(value) is not int:
            if isinstance(value, Decimal) and value.is_finite() and value == value.to_integral_value():
                value = int(value)
            if isinstance(value, bool) or not isinstance(value, Integral):
                raise Unfit(f"expected an integer, got {kind_of(value)}{_missing(value)}")
            value = int(value)
        if not low <= value <= high:
            raise Unfit(f"{kind_of(value)} is outside the range of {scalar.value}, {low} to {high}")
        return value

    return convert


def _to_f64(value: object) -> float:
    if type(value) is float:
        number = value
    elif isinstance(value, bool) or not isinstance(value, Real | Decimal):
        raise Unfit(f"expected a number, got {kind_of(value)}")
    else:
        try:
            number = float(value)
        except OverflowError:
            number = math.inf
    if not math.isfinite(number):
        raise Unfit(f"{kind_of(value)} is not a finite 64-bit float{_missing(value)}")
    return number


def _to_f32(value: object) -> float:
    number = _to_f64(value)
    if abs(number) >= F32_OVERFLOW:
        raise Unfit(f"{kind_of(value)} is not finite as a 32-bit float")
    return number


def _day(days: int, value: object) -> int:
    if not is_day(days):
        raise Unfit(f"{kind_of(value)} is a day outside {CALENDAR}")
    return days


def _moment(milliseconds: int, value: object) -> int:
    if not is_moment(milliseconds):
        raise Unfit(f"{kind_of(value)} is a time outside {CALENDAR}")
    return milliseconds


def _to_days(value: object) -> object:
    match value:
        case str():
            days = parse_date(value)
            if days is None:
                raise Unfit(f"expected an ISO date such as 2024-01-31 or days since 1970, got {kind_of(value)}")
            return days
        case datetime():
            return _day(datetime_to_milliseconds(value) // 86_400_000, value)
        case date():
            return date_to_days(value)
        case int() if not isinstance(value, bool):
            return _day(value, value)
        case _:
            raise Unfit(f"expected an ISO date or days since 1970, got {kind_of(value)}")


def _to_milliseconds(value: object) -> object:
    match value:
        case str():
            moment = parse_datetime(value)
            if moment is None:
                raise Unfit(
                    f"expected an ISO time such as 2024-01-31T12:00:00Z or milliseconds since 1970, "
                    f"got {kind_of(value)}"
                )
            return moment
        case datetime():
            return _moment(datetime_to_milliseconds(value), value)
        case date():
            return date_to_days(value) * 86_400_000
        case int() if not isinstance(value, bool):
            return _moment(value, value)
        case _:
            raise Unfit(f"expected an ISO time or milliseconds since 1970, got {kind_of(value)}")


def _decimal_converter(digits: Digits) -> Convert:
    precision, scale = digits

    def convert(value: object) -> Decimal:
        if isinstance(value, str):
            number = parse_decimal(value)
        elif isinstance(value, bool) or not isinstance(value, int | float | Decimal | Integral):
            number = None
        else:
            number = as_decimal(value if isinstance(value, int | float | Decimal) else int(value))
        if number is None or not number.is_finite():
            raise Unfit(f"expected a decimal number, got {kind_of(value)}{_missing(value)}")
        found = fitted(number, digits)
        if found is None:
            raise Unfit(f"{kind_of(value)} does not fit {precision} digits, {scale} of them behind the point")
        return found

    return convert


def _to_time(value: object) -> object:
    match value:
        case str() if (parsed := parse_time(value)) is not None:
            return parsed
        case time() if value.tzinfo is None:
            return time_to_milliseconds(value)
        case int() if not isinstance(value, bool) and is_time(value):
            return value
        case _:
            raise Unfit(f"expected a time such as 12:30:15 or milliseconds of a day, got {kind_of(value)}")


def _to_length(value: object) -> object:
    match value:
        case str():
            found = parse_length(value)
        case timedelta():
            found = timedelta_to_milliseconds(value)
        case int() if not isinstance(value, bool):
            found = value
        case _:
            found = None
    if found is None or not is_length(found):
        raise Unfit(
            f"expected an ISO duration without years and months, such as P1DT2H, or milliseconds, got {kind_of(value)}"
        )
    return found


def _to_uuid(value: object) -> str:
    found = parse_uuid(value) if isinstance(value, str) else None
    if found is None:
        raise Unfit(f"expected a UUID, got {kind_of(value)}")
    return found


def _to_json(value: object) -> str:
    try:
        return json_text(value)
    except NotJson as problem:
        raise Unfit(f"expected a JSON value: {problem}") from None


def _to_bytes(value: object) -> bytes:
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value)
    if not isinstance(value, str) or not value:
        raise Unfit(f"expected a string starting with {MANAGED_BLOB!r}, got {kind_of(value)}")
    if not value.startswith(MANAGED_BLOB):
        raise Unfit(
            f"{shown(value)} refers to bytes outside the graph, which is not allowed here; "
            f"give the bytes themselves as {MANAGED_BLOB!r} and standard base64"
        )
    try:
        return binascii.a2b_base64(value[len(MANAGED_BLOB) :], strict_mode=True)
    except (binascii.Error, ValueError) as problem:
        raise Unfit(f"not valid base64: {problem}") from None


def _vector_converter(dimension: int) -> Convert:
    def convert(value: object) -> list[float]:
        if not isinstance(value, list | tuple):
            raise Unfit(f"expected an array of {dimension} numbers, got {kind_of(value)}")
        if len(value) != dimension:
            raise Unfit(f"expected an array of {dimension} numbers, got {len(value)}")
        numbers = []
        for index, item in enumerate(value):
            try:
                numbers.append(_to_f32(item))
            except Unfit as problem:
                raise Unfit(f"item {index + 1}: {problem}") from None
        return numbers

    return convert


def _list_converter(convert_item: Convert, type_: PropertyType) -> Convert:
    def convert(value: object) -> list[object]:
        if not isinstance(value, list | tuple):
            raise Unfit(f"expected an array for {type_}, got {kind_of(value)}")
        items: list[object] = []
        for index, item in enumerate(value):
            try:
                items.append(convert_item(item))
            except Unfit as problem:
                raise Unfit(f"item {index + 1}: {problem}") from None
        return items

    return convert


CONVERTERS: Final[dict[Scalar, Convert]] = {
    Scalar.STRING: to_text,
    Scalar.BLOB: _to_bytes,
    Scalar.BOOL: _to_bool,
    Scalar.I32: _integer_converter(Scalar.I32),
    Scalar.I64: _integer_converter(Scalar.I64),
    Scalar.U32: _integer_converter(Scalar.U32),
    Scalar.U64: _integer_converter(Scalar.U64),
    Scalar.F32: _to_f32,
    Scalar.F64: _to_f64,
    Scalar.DATETIME: _to_milliseconds,
    Scalar.DATE: _to_days,
    Scalar.DECIMAL: _decimal_converter((DIGITS_MAX, 0)),
    Scalar.TIME: _to_time,
    Scalar.DURATION: _to_length,
    Scalar.UUID: _to_uuid,
    Scalar.JSON: _to_json,
}
"""The reader of a single non-null value, for every scalar but a vector."""
