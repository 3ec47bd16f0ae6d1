"""Kernels of numbers, and of the smallest and largest of several values."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_UP, Context, Decimal
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.core.decimals import fitted
from omnigraph.core.operators import BinaryOperator
from omnigraph.errors import InputError
from omnigraph.exec.functions.rowwise import each, numbers_of, packed, rows
from omnigraph.exec.numbers import compare

Values = Sequence[Any]

DIGITS_MAX: Final = 400
"""Decimal places beyond which rounding changes no F64, or makes it zero."""

_EXACT: Final = Context(prec=1500)
"""Enough digits for every F64 rounded to any number of places."""


def absolute(arguments: Values, _type: pa.DataType) -> Any:
    """The absolute value; ArrowInvalid for the smallest I64, which has none."""
    (value,) = arguments
    return value if pa.types.is_unsigned_integer(value.type) else pc.abs_checked(value)


def sign(arguments: Values, type_: pa.DataType) -> Any:
    """-1, 0 or 1; NaN stays NaN."""
    if pa.types.is_decimal(type_):
        return each(lambda number: Decimal((number > 0) - (number < 0)), arguments, type_)
    return pc.cast(pc.sign(arguments[0]), type_)


def floor(arguments: Values, type_: pa.DataType) -> Any:
    """The next whole number below."""
    (value,) = arguments
    if pa.types.is_decimal(type_):
        return each(lambda number: _fitting(number.to_integral_value(ROUND_FLOOR), type_), arguments, type_)
    return pc.floor(value) if pa.types.is_floating(value.type) else value


def ceiling(arguments: Values, type_: pa.DataType) -> Any:
    """The next whole number above."""
    (value,) = arguments
    if pa.types.is_decimal(type_):
        return each(lambda number: _fitting(number.to_integral_value(ROUND_CEILING), type_), arguments, type_)
    return pc.ceil(value) if pa.types.is_floating(value.type) else value


def rounded(arguments: Values, type_: pa.DataType) -> Any:
    """Rounded half away from zero. With digits, the number is rounded as it is written, with the fewest digits."""
    value, *digits = arguments
    if digits and not digits[0].is_valid:
        return pa.scalar(None, type_)
    if pa.types.is_decimal(type_):
        places = digits[0].as_py() if digits else 0
        return each(lambda number: _rounded_to(number, places, type_), (value,), type_)
    if digits:
        places = max(-DIGITS_MAX, min(digits[0].as_py(), DIGITS_MAX))
        return each(lambda number: round_decimal(number, places), (pc.cast(value, type_, safe=False),), type_)
    if not pa.types.is_floating(value.type):
        return value
    return pc.round(value, round_mode="half_towards_infinity")


def round_decimal(number: float, places: int) -> float:
    """The nearest number with this many decimal places, halves away from zero."""
    if not math.isfinite(number):
        return number
    step = Decimal(1).scaleb(-places)
    return float(Decimal(repr(number)).quantize(step, ROUND_HALF_UP, _EXACT))


def _rounded_to(number: Decimal, places: int, type_: pa.DataType) -> Decimal:
    """A decimal with at most this many places, halves away from zero."""
    if places >= type_.scale:
        return number
    step = Decimal(1).scaleb(-max(places, -DIGITS_MAX))
    return _fitting(number.quantize(step, ROUND_HALF_UP, _EXACT), type_)


def _fitting(number: Decimal, type_: pa.DataType) -> Decimal:
    found = fitted(number, (type_.precision, type_.scale))
    if found is None:
        raise InputError(f"a rounded number does not fit Decimal({type_.precision}, {type_.scale})")
    return found


def root(arguments: Values, type_: pa.DataType) -> Any:
    """The square root; null for negative numbers."""
    return _within(arguments, type_, lambda value: value >= 0, np.sqrt)


def logarithm(arguments: Values, type_: pa.DataType) -> Any:
    """The natural logarithm; null for zero and negative numbers."""
    return _within(arguments, type_, lambda value: value > 0, np.log)


def power(arguments: Values, type_: pa.DataType) -> Any:
    """A power; null for a negative number and a fraction, and for zero and a negative number."""
    return _within(arguments, type_, _has_power, np.power)


def _has_power(base: Any, exponent: Any) -> Any:
    is_fraction = np.isfinite(exponent) & (np.floor(exponent) != exponent)
    return ~((base < 0) & np.isfinite(base) & is_fraction) & ~((base == 0) & (exponent < 0))


def _within(arguments: Values, type_: pa.DataType, test: Callable[..., Any], compute: Callable[..., Any]) -> Any:
    """A function of floats; null where the arguments are null, or are known to be outside of its domain."""
    length = rows(arguments)
    sides = [numbers_of(value, length) for value in arguments]
    values, nulls = [side[0] for side in sides], np.logical_or.reduce([side[1] for side in sides])
    with np.errstate(all="ignore"):
        # NaN is in no domain and outside of none: it stays NaN.
        outside = ~test(*values) & ~np.logical_or.reduce([np.isnan(value) for value in values])
        found = compute(*values)
    return packed(pa.array(found, type_, mask=nulls | outside), arguments)


def least(arguments: Values, type_: pa.DataType) -> Any:
    """The smallest value that is not null; NaN is above every number, as in an order."""
    return _extreme(arguments, type_, BinaryOperator.LT)


def greatest(arguments: Values, type_: pa.DataType) -> Any:
    """The largest value that is not null."""
    return _extreme(arguments, type_, BinaryOperator.GT)


def _extreme(arguments: Values, type_: pa.DataType, better: BinaryOperator) -> Any:
    best = arguments[0]
    for other in arguments[1:]:
        wins = compare(better, other, best)
        if pa.types.is_floating(type_):
            # NaN loses every comparison, but it is the largest value.
            unknown = best if better is BinaryOperator.LT else other
            wins = pc.and_(pc.fill_null(pc.or_kleene(wins, pc.is_nan(unknown)), False), pc.is_valid(other))
        best = pc.if_else(pc.fill_null(wins, False), other, pc.coalesce(best, other))
    return best
