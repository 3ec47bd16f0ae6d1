"""Kernels of ``cast``: one per pair of scalar families; null where the other type has no such value.

Texts of numbers are those of the query language with an optional exponent; texts of dates and times are ISO 8601.
A float becomes the text that identifies it with the fewest digits, without an exponent.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.core.decimals import as_decimal, parse_decimal, rounded
from omnigraph.core.json_values.texts import json_text, value_at
from omnigraph.core.numbers import round_float
from omnigraph.core.scalars import INTEGER_RANGES, Family, Scalar
from omnigraph.core.temporal import DURATION_RANGE, parse_date, parse_datetime, parse_length, parse_time
from omnigraph.core.uuids import parse_uuid
from omnigraph.exec.decimals import truncated
from omnigraph.exec.functions.rowwise import each_different, flat, packed
from omnigraph.rows.arrow_types import item_type
from omnigraph.rows.keys import decimal_texts, key_texts
from omnigraph.rows.write.exact import exact_values
from omnigraph.rows.write.json import duration_texts
from omnigraph.rows.write.results import as_written
from omnigraph.schema.types import PropertyType

_INTEGER: Final = re.compile(r"[+-]?0*[0-9]{1,20}", re.ASCII)
_NUMBER: Final = re.compile(r"[+-]?[0-9]{1,400}(\.[0-9]{1,400})?([eE][+-]?[0-9]{1,4})?", re.ASCII)
_TRUTHS: Final = {"true": True, "false": False}
_NOT_FINITE: Final = {math.inf: "Infinity", -math.inf: "-Infinity"}

Cast = Callable[[Any, PropertyType, PropertyType], Any]
"""A kernel: the value, its type and the wanted one."""


def cast(value: Any, given: PropertyType, wanted: PropertyType) -> Any:
    """The value in another type."""
    return CASTS[given.scalar.info.family, wanted.scalar.info.family](value, given, wanted)


def _read(value: Any, _given: PropertyType, wanted: PropertyType) -> Any:
    """A text as a value of another type."""
    read = READERS[wanted.scalar.info.family]
    return each_different(lambda text: read(text, wanted), value, item_type(wanted))


def _integer(text: str, wanted: PropertyType) -> int | None:
    if _INTEGER.fullmatch(text) is None:
        return None
    number = int(text)
    low, high = INTEGER_RANGES[wanted.scalar]
    return number if low <= number <= high else None


def _float(text: str, wanted: PropertyType) -> float | None:
    if _NUMBER.fullmatch(text) is None:
        return None
    number = round_float(float(text), wanted.scalar)
    return number if math.isfinite(number) else None


def _decimal(text: str, wanted: PropertyType) -> Decimal | None:
    number = parse_decimal(text)
    return None if number is None else _rounded_decimal(number, wanted)


def _rounded_decimal(number: Decimal, wanted: PropertyType) -> Decimal | None:
    assert wanted.digits is not None, "a decimal has digits"
    return rounded(number, wanted.digits)


def _moment(text: str, wanted: PropertyType) -> int | None:
    return parse_date(text) if wanted.scalar is Scalar.DATE else parse_datetime(text)


READERS: Final[dict[Family, Callable[[str, PropertyType], Any]]] = {
    Family.BOOLEAN: lambda text, _: _TRUTHS.get(text),
    Family.INTEGER: _integer,
    Family.FLOAT: _float,
    Family.DECIMAL: _decimal,
    Family.TEMPORAL: _moment,
    Family.TIME: lambda text, _: parse_time(text),
    Family.DURATION: lambda text, _: parse_length(text),
    Family.UUID: lambda text, _: parse_uuid(text),
}
"""The value that a text denotes, or None."""


def _written(value: Any, _given: PropertyType, wanted: PropertyType) -> Any:
    """An integer, a truth value or a time of day as a text."""
    return pc.cast(value, item_type(wanted))


def _same(value: Any, _given: PropertyType, _wanted: PropertyType) -> Any:
    return value


def _float_text(value: Any, given: PropertyType, wanted: PropertyType) -> Any:
    numbers = flat(value)
    texts = key_texts(numbers, given)
    if texts.null_count > numbers.null_count:
        named = [_NOT_FINITE.get(number, "NaN") for number in numbers.to_pylist()]
        texts = pc.if_else(pc.is_valid(numbers), pc.coalesce(texts, pa.array(named)), pa.scalar(None, pa.utf8()))
    return packed(texts.cast(item_type(wanted)), (value,))


def _decimal_text(value: Any, _given: PropertyType, _wanted: PropertyType) -> Any:
    return packed(decimal_texts(flat(value)), (value,))


def _duration_text(value: Any, _given: PropertyType, _wanted: PropertyType) -> Any:
    return packed(duration_texts(flat(value)), (value,))


def _moment_text(value: Any, _given: PropertyType, wanted: PropertyType) -> Any:
    """ISO 8601. Arrow writes a space between date and time."""
    return pc.replace_substring(pc.cast(value, item_type(wanted)), pattern=" ", replacement="T")


def _whole(value: Any, _given: PropertyType, wanted: PropertyType) -> Any:
    """An integer of another width; null outside of its range."""
    array, (low, high) = flat(value), INTEGER_RANGES[wanted.scalar]
    limits = np.iinfo(array.type.to_pandas_dtype())
    fits = pa.scalar(True)
    if limits.min < low:
        fits = pc.greater_equal(array, pa.scalar(low, array.type))
    if limits.max > high:
        fits = pc.and_(fits, pc.less_equal(array, pa.scalar(high, array.type)))
    kept = pc.if_else(fits, array, pa.scalar(None, array.type))
    return packed(pc.cast(kept, item_type(wanted)), (value,))


def _truncated(value: Any, _given: PropertyType, wanted: PropertyType) -> Any:
    """A float without its fraction; null if no integer of the type is that number."""
    array, (low, high) = flat(pc.trunc(value)), INTEGER_RANGES[wanted.scalar]
    # high + 1 is a power of two, which a float represents exactly; high itself may not be representable.
    inside = pc.and_(pc.greater_equal(array, float(low)), pc.less(array, float(high + 1)))
    kept = pc.if_else(pc.fill_null(inside, False), array, pa.scalar(None, array.type))
    return packed(pc.cast(kept, item_type(wanted)), (value,))


def _rounded(value: Any, _given: PropertyType, wanted: PropertyType) -> Any:
    """The nearest float; null if a finite number becomes infinite."""
    array = flat(value)
    if pa.types.is_decimal(array.type):
        # Arrow multiplies and divides by powers of ten, which rounds twice.
        return each_different(lambda number: round_float(float(number), wanted.scalar), value, item_type(wanted))
    found = pc.cast(array, item_type(wanted), safe=False)
    if wanted.scalar is Scalar.F32:
        is_lost = pc.and_(pc.is_inf(found), pc.is_finite(pc.cast(array, pa.float64(), safe=False)))
        found = pc.if_else(is_lost, pa.scalar(None, found.type), found)
    return packed(found, (value,))


def _to_decimal(value: Any, _given: PropertyType, wanted: PropertyType) -> Any:
    """The nearest decimal, halves away from zero; null if it has more digits than the type."""

    return each_different(lambda number: _rounded_decimal(as_decimal(number), wanted), value, item_type(wanted))


def _whole_decimal(value: Any, _given: PropertyType, wanted: PropertyType) -> Any:
    """A decimal without its fraction; null outside of the range of the integer."""
    low, high = INTEGER_RANGES[wanted.scalar]

    def change(number: Decimal) -> int | None:
        whole = truncated(number)
        return whole if low <= whole <= high else None

    return each_different(change, value, item_type(wanted))


def _from_truth(value: Any, _given: PropertyType, wanted: PropertyType) -> Any:
    return pc.cast(value, item_type(wanted))


def _decimal_truth(value: Any, _given: PropertyType, wanted: PropertyType) -> Any:
    return each_different(Decimal, value, item_type(wanted))


def _between_moments(value: Any, _given: PropertyType, wanted: PropertyType) -> Any:
    """A Date as the start of its day, a DateTime as its day."""
    floored = value if wanted.scalar is Scalar.DATETIME else pc.floor_temporal(value, unit="day")
    return pc.cast(floored, item_type(wanted))


def _time_of(value: Any, given: PropertyType, wanted: PropertyType) -> Any:
    """The time of day of a DateTime; midnight for a Date."""
    array = flat(value)
    moments = pc.cast(array, pa.timestamp("ms", tz="UTC")) if given.scalar is Scalar.DATE else array
    midnight = pc.floor_temporal(moments, unit="day")
    numbers = pc.subtract(moments.cast(pa.int64()), midnight.cast(pa.int64()))
    return packed(numbers.cast(pa.int32()).cast(item_type(wanted)), (value,))


def _milliseconds(value: Any, _given: PropertyType, wanted: PropertyType) -> Any:
    """The milliseconds of a duration or time of day; null outside of the range of the integer."""
    array = flat(value)
    width = pa.int32() if pa.types.is_time32(array.type) else pa.int64()
    found = _whole(array.cast(width), PropertyType(Scalar.I64), wanted)
    return packed(found, (value,))


def _length(value: Any, _given: PropertyType, wanted: PropertyType) -> Any:
    """A number of milliseconds as a duration; null beyond its range."""
    array = flat(value)
    wide = array.cast(pa.int64(), safe=False) if array.type != pa.uint64() else _clipped(array)
    low, high = DURATION_RANGE
    inside = pc.and_(pc.greater_equal(wide, low), pc.less_equal(wide, high))
    kept = pc.if_else(pc.fill_null(inside, False), wide, pa.scalar(None, pa.int64()))
    return packed(kept.cast(item_type(wanted)), (value,))


def _clipped(array: pa.Array) -> pa.Array:
    """Unsigned integers as signed ones; those that do not fit are beyond every duration."""
    fits = pc.less_equal(array, pa.scalar(2**63 - 1, pa.uint64()))
    return pc.if_else(fits, array, pa.scalar(None, array.type)).cast(pa.int64())


def _json_of(value: Any, _given: PropertyType, wanted: PropertyType) -> Any:
    """A value as JSON: dates, times and durations as ISO texts; NaN and infinities are null."""
    array = flat(value)
    values = exact_values(array) if pa.types.is_temporal(array.type) else as_written(array).to_pylist()
    made = [json_text(item) if item is not None and _is_json(item) else None for item in values]
    return packed(pa.array(made, item_type(wanted)), (value,))


def _is_json(value: Any) -> bool:
    return not isinstance(value, float) or math.isfinite(value)


def _of_json(value: Any, _given: PropertyType, wanted: PropertyType) -> Any:
    """The value of a JSON text, number or truth value; null for others, and where the type has no such value."""
    return each_different(lambda text: _unwrapped(text, wanted), value, item_type(wanted))


def _unwrapped(text: str, wanted: PropertyType) -> Any:
    value = value_at(text, ())
    family = wanted.scalar.info.family
    if family is Family.TEXT:
        return value if isinstance(value, str) else text
    if isinstance(value, bool):
        return value if family is Family.BOOLEAN else None
    if isinstance(value, str):
        return READERS[family](value, wanted)
    if isinstance(value, int | Decimal) and family in _FROM_NUMBERS:
        return _FROM_NUMBERS[family](Decimal(value), wanted)
    return None


def _integer_of(number: Decimal, wanted: PropertyType) -> int | None:
    low, high = INTEGER_RANGES[wanted.scalar]
    return truncated(number) if low - 1 < number < high + 1 else None


def _float_of(number: Decimal, wanted: PropertyType) -> float | None:
    found = round_float(float(number), wanted.scalar)
    return found if math.isfinite(found) else None


_FROM_NUMBERS: Final[dict[Family, Callable[[Decimal, PropertyType], Any]]] = {
    Family.INTEGER: _integer_of,
    Family.FLOAT: _float_of,
    Family.DECIMAL: _rounded_decimal,
}
"""The value of a JSON number in another type, or None."""

_SCALARS: Final = (Family.TEXT, *READERS)

CASTS: Final[dict[tuple[Family, Family], Cast]] = {
    **{(Family.TEXT, family): _read for family in READERS},
    (Family.BOOLEAN, Family.TEXT): _written,
    (Family.INTEGER, Family.TEXT): _written,
    (Family.FLOAT, Family.TEXT): _float_text,
    (Family.DECIMAL, Family.TEXT): _decimal_text,
    (Family.TEMPORAL, Family.TEXT): _moment_text,
    (Family.TIME, Family.TEXT): _written,
    (Family.DURATION, Family.TEXT): _duration_text,
    (Family.UUID, Family.TEXT): _same,
    (Family.BOOLEAN, Family.INTEGER): _from_truth,
    (Family.BOOLEAN, Family.FLOAT): _from_truth,
    (Family.BOOLEAN, Family.DECIMAL): _decimal_truth,
    (Family.INTEGER, Family.INTEGER): _whole,
    (Family.INTEGER, Family.FLOAT): _rounded,
    (Family.INTEGER, Family.DECIMAL): _to_decimal,
    (Family.INTEGER, Family.DURATION): _length,
    (Family.FLOAT, Family.INTEGER): _truncated,
    (Family.FLOAT, Family.FLOAT): _rounded,
    (Family.FLOAT, Family.DECIMAL): _to_decimal,
    (Family.DECIMAL, Family.INTEGER): _whole_decimal,
    (Family.DECIMAL, Family.FLOAT): _rounded,
    (Family.DECIMAL, Family.DECIMAL): _to_decimal,
    (Family.TEMPORAL, Family.TEMPORAL): _between_moments,
    (Family.TEMPORAL, Family.TIME): _time_of,
    (Family.TIME, Family.INTEGER): _milliseconds,
    (Family.DURATION, Family.INTEGER): _milliseconds,
    **{(family, Family.JSON): _json_of for family in _SCALARS},
    **{(Family.JSON, family): _of_json for family in _SCALARS},
}
"""One row per pair of families that ``query/types/forms.py`` allows, and that of a time to its milliseconds."""
