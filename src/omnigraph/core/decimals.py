"""Decimal numbers: exact values of a fixed number of digits, a fixed number of them behind the point.

A value either fits a type exactly or does not fit. Only casts and products with a fraction round, half away from zero.
"""

from __future__ import annotations

import re
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Final

DIGITS_MAX: Final = 38
"""Digits of a decimal: the width of Arrow's, Lance's and Spark's 128-bit decimals."""

_EXACT: Final = Context(prec=500)
"""Enough digits for every F64 and for products of two decimals."""

_NUMBER: Final = re.compile(
    r"[+-]?(?:[0-9]{1,400}(?:\.[0-9]{0,400})?|\.[0-9]{1,400})(?:[eE][+-]?[0-9]{1,4})?", re.ASCII
)

Digits = tuple[int, int]
"""The digits of a type in all, and those behind the point."""

INTEGER_DIGITS: Final = 20
"""Digits of the largest U64: enough for every integer."""


class WrittenNumber(float):
    """A float that remembers the digits it was written with, for types that hold more of them than a float."""

    __slots__ = ("text",)

    text: str

    def __new__(cls, text: str) -> WrittenNumber:
        made = super().__new__(cls, text)
        made.text = text
        return made


def parse_decimal(text: str) -> Decimal | None:
    """The number that a text denotes, exactly; None if it denotes none."""
    return Decimal(text.strip()) if _NUMBER.fullmatch(text.strip()) else None


def as_decimal(value: int | float | Decimal) -> Decimal:
    """A number as a decimal. A float is the number that its shortest digits denote, as it is written."""
    if isinstance(value, WrittenNumber):
        return Decimal(value.text)
    return Decimal(repr(value)) if isinstance(value, float) else Decimal(value)


def exact(value: int | float | Decimal) -> Decimal:
    """A number as a decimal of exactly its value: a float is a sum of powers of two."""
    return Decimal(value)


def fitted(value: int | float | Decimal, digits: Digits) -> Decimal | None:
    """The value with the places of a type; None if the type cannot represent it exactly."""
    number = as_decimal(value)
    found = rounded(number, digits) if number.is_finite() else None
    return found if found is not None and found == number else None


def rounded(value: Decimal, digits: Digits) -> Decimal | None:
    """The nearest value of a type, halves away from zero; None if it has too many digits."""
    precision, scale = digits
    if not value.is_finite() or (value and value.adjusted() > DIGITS_MAX):
        return None
    found = value.quantize(Decimal(1).scaleb(-scale), ROUND_HALF_UP, _EXACT)
    # The operators of Python would round to 28 digits first.
    return found if found.copy_abs() < Decimal(1).scaleb(precision - scale) else None


def around(value: int | float | Decimal, digits: Digits) -> tuple[Decimal | None, Decimal | None]:
    """The largest value of a type that is not above a number, and the smallest one that is not below it."""
    precision, scale = digits
    largest = Decimal(10**precision - 1).scaleb(-scale, _EXACT)
    number = as_decimal(value)
    if number > largest:
        return largest, None
    if number < largest.copy_negate():
        return None, largest.copy_negate()
    step = Decimal(1).scaleb(-scale)
    below = number.quantize(step, "ROUND_FLOOR", _EXACT)
    return below, below if below == number else _EXACT.add(below, step)


def exact_sum(*values: Decimal | int) -> Decimal:
    """The sum with all digits."""
    total = Decimal(0)
    for value in values:
        total = _EXACT.add(total, value)
    return total


def decimal_text(value: Decimal) -> str:
    """The digits of a decimal, without an exponent."""
    return f"{value:f}"


def sum_digits(left: Digits, right: Digits) -> Digits:
    """The type of a sum or difference: one digit more than the wider operand, at most ``DIGITS_MAX``."""
    scale = max(left[1], right[1])
    whole = max(left[0] - left[1], right[0] - right[1]) + 1
    return min(whole + scale, DIGITS_MAX), scale


def product_digits(left: Digits, right: Digits) -> Digits | None:
    """The type of a product: all digits of both operands; None if there are more places than digits."""
    scale = left[1] + right[1]
    return (min(left[0] + right[0], DIGITS_MAX), scale) if scale <= DIGITS_MAX else None


def common_digits(left: Digits, right: Digits) -> Digits | None:
    """The type that holds all values of two; None if it would have too many digits."""
    scale = max(left[1], right[1])
    whole = max(left[0] - left[1], right[0] - right[1])
    return (whole + scale, scale) if whole + scale <= DIGITS_MAX else None
