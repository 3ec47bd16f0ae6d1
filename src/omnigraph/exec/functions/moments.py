"""Kernels of dates and times. All of them compute in UTC, on days and milliseconds since 1970-01-01."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.core.temporal import CALENDAR, DAYS_RANGE, MILLISECONDS_PER_DAY, MILLISECONDS_RANGE
from omnigraph.errors import InputError
from omnigraph.exec.functions.rowwise import Mask, Numbers, flat, numbers_of, packed, rows

Values = Sequence[Any]

OUTSIDE = f"the sum of a date and a duration is outside {CALENDAR}"
"""The message of a shift that leaves the calendar."""

MONTHS_MAX = 12 * 9999
"""Months between the first and the last date."""


def year(arguments: Values, type_: pa.DataType) -> Any:
    """The year."""
    return pc.cast(pc.year(arguments[0]), type_)


def month(arguments: Values, type_: pa.DataType) -> Any:
    """1 to 12."""
    return pc.cast(pc.month(arguments[0]), type_)


def day(arguments: Values, type_: pa.DataType) -> Any:
    """The day of the month."""
    return pc.cast(pc.day(arguments[0]), type_)


def hour(arguments: Values, type_: pa.DataType) -> Any:
    """0 to 23."""
    return pc.cast(pc.hour(_timed(arguments[0])), type_)


def minute(arguments: Values, type_: pa.DataType) -> Any:
    """0 to 59."""
    return pc.cast(pc.minute(_timed(arguments[0])), type_)


def second(arguments: Values, type_: pa.DataType) -> Any:
    """0 to 59."""
    return pc.cast(pc.second(_timed(arguments[0])), type_)


def _timed(value: Any) -> Any:
    """A Date as the start of its day."""
    return pc.cast(value, pa.timestamp("ms", tz="UTC")) if pa.types.is_date32(value.type) else value


def truncated(arguments: Values, type_: pa.DataType) -> Any:
    """The start of the unit that a moment lies in; weeks start on Monday."""
    unit, value = arguments
    floored = pc.floor_temporal(_timed(value), unit=unit.as_py(), week_starts_monday=True)
    return pc.cast(floored, type_)


def later(arguments: Values, type_: pa.DataType) -> Any:
    """Days after a Date, or milliseconds after a DateTime."""
    (moment, moment_null), (amount, amount_null) = _sides(arguments)
    nulls = moment_null | amount_null
    low, high = _range(type_)
    # Amounts are compared before they are added: the sum of two 64-bit integers may wrap around.
    is_outside = (amount < low - moment) | (amount > high - moment)
    return _checked(moment + np.where(is_outside, 0, amount), is_outside, nulls, type_, arguments)


def months_later(arguments: Values, type_: pa.DataType) -> Any:
    """Calendar months later; a day that the month lacks becomes its last one."""
    (moment, moment_null), (amount, amount_null) = _sides(arguments)
    nulls = moment_null | amount_null
    is_time = not pa.types.is_date32(type_)
    days = moment // MILLISECONDS_PER_DAY if is_time else moment
    dates = days.astype("datetime64[D]")
    months = dates.astype("datetime64[M]")
    is_far = np.abs(np.clip(amount, -MONTHS_MAX - 1, MONTHS_MAX + 1)) > MONTHS_MAX
    wanted = months + np.where(is_far, 0, amount).astype("timedelta64[M]")
    first = wanted.astype("datetime64[D]")
    last = (wanted + 1).astype("datetime64[D]") - 1
    moved = np.minimum(first + (dates - months.astype("datetime64[D]")), last).astype(np.int64)
    low, high = DAYS_RANGE
    is_outside = is_far | (moved < low) | (moved > high)
    found = moved * MILLISECONDS_PER_DAY + moment % MILLISECONDS_PER_DAY if is_time else moved
    return _checked(found, is_outside, nulls, type_, arguments)


def difference(arguments: Values, type_: pa.DataType) -> Any:
    """Days between two Dates, milliseconds between two DateTimes."""
    (left, left_null), (right, right_null) = _sides(arguments)
    return packed(pa.array(left - right, type_, mask=left_null | right_null), arguments)


def _sides(arguments: Values) -> list[tuple[Numbers, Mask]]:
    length = rows(arguments)
    return [numbers_of(value, length) for value in arguments]


def _range(type_: pa.DataType) -> tuple[int, int]:
    return DAYS_RANGE if pa.types.is_date32(type_) else MILLISECONDS_RANGE


def _checked(found: Numbers, is_outside: Mask, nulls: Mask, type_: pa.DataType, arguments: Values) -> Any:
    if (is_outside & ~nulls).any():
        raise InputError(OUTSIDE, hint="compare with a date instead, or shift by less")
    width = pa.int32() if pa.types.is_date32(type_) else pa.int64()
    numbers = pa.array(np.where(nulls, 0, found), pa.int64(), mask=nulls).cast(width)
    return packed(flat(numbers.cast(type_)), arguments)
