"""Kernels of durations and times of day, on milliseconds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from omnigraph.core.temporal import DURATION_RANGE, MILLISECONDS_PER_DAY
from omnigraph.errors import InputError
from omnigraph.exec.functions.rowwise import Mask, Numbers, numbers_of, packed, rows

Values = Sequence[Any]

TOO_LONG = "a duration is longer than a Duration can be"
"""The message of a sum or multiple beyond the range."""


def added(arguments: Values, type_: pa.DataType) -> Any:
    """The sum of two durations."""
    (left, left_null), (right, right_null) = _sides(arguments)
    return _checked(left + right, left_null | right_null, type_, arguments)


def scaled(arguments: Values, type_: pa.DataType) -> Any:
    """A multiple of a duration, to the nearest millisecond, halves away from zero; null for a factor that is NaN."""
    (length, length_null), (factor, factor_null) = _sides(arguments)
    with np.errstate(all="ignore"):
        product = length.astype(np.float64) * factor
        whole = np.trunc(product)
        rounded = whole + np.where(np.abs(product - whole) >= 0.5, np.copysign(1.0, product), 0.0)
    nulls = length_null | factor_null | np.isnan(product)
    is_far = ~nulls & (np.abs(rounded) > DURATION_RANGE[1])
    if is_far.any():
        raise InputError(TOO_LONG)
    # A product beyond 2**53 is out of range, so a factor of one or minus one is exact too.
    return _checked(np.where(nulls, 0, rounded).astype(np.int64), nulls, type_, arguments)


def time_later(arguments: Values, type_: pa.DataType) -> Any:
    """A time of day later by a duration, around midnight."""
    (moment, moment_null), (length, length_null) = _sides(arguments)
    found = (moment + length % MILLISECONDS_PER_DAY) % MILLISECONDS_PER_DAY
    nulls = moment_null | length_null
    return packed(pa.array(found.astype(np.int32), pa.int32(), mask=nulls).cast(type_), arguments)


def _sides(arguments: Values) -> list[tuple[Numbers, Mask]]:
    length = rows(arguments)
    return [numbers_of(value, length) for value in arguments]


def _checked(found: Numbers, nulls: Mask, type_: pa.DataType, arguments: Values) -> Any:
    low, high = DURATION_RANGE
    if (~nulls & ((found < low) | (found > high))).any():
        raise InputError(TOO_LONG)
    return packed(pa.array(np.where(nulls, 0, found), pa.int64(), mask=nulls).cast(type_), arguments)
