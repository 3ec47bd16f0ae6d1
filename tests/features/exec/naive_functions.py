"""The meaning of every scalar function and cast, value by value in plain Python, from the text of the manual.

Dates are days and times milliseconds since 1970-01-01, lists are lists, null is None. Written for the tests only: it
shares no code with the kernels.
"""

from __future__ import annotations

import calendar
import math
import re
from collections.abc import Callable
from datetime import date, timedelta
from decimal import ROUND_HALF_UP, Context, Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from omnigraph.core.functions import ScalarFunction
from omnigraph.core.scalars import INTEGER_RANGES, Scalar
from omnigraph.core.temporal import format_date, format_datetime, parse_date, parse_datetime

F = ScalarFunction
DAY_MS = 86_400_000
EPOCH = date(1970, 1, 1)
BLANKS = " \t\n\r\f\v"


class Misfit(Exception):
    """The function raises for these arguments."""


def strict(function: Callable[..., Any]) -> Callable[..., Any]:
    def run(scalar: Scalar, *arguments: Any) -> Any:
        return None if None in arguments else function(scalar, *arguments)

    return run


def order_key(value: Any) -> tuple[bool, Any]:
    """NaN is above every number."""
    is_nan = isinstance(value, float) and math.isnan(value)
    return is_nan, 0 if is_nan else value


def least(_: Scalar, *values: Any) -> Any:
    return min((value for value in values if value is not None), key=order_key, default=None)


def greatest(_: Scalar, *values: Any) -> Any:
    return max((value for value in values if value is not None), key=order_key, default=None)


@strict
def substring(_: Scalar, text: str, start: int, count: int | None = None) -> str:
    characters = list(text)
    first = max(len(characters) + start, 0) if start < 0 else start
    rest = characters[first:]
    return "".join(rest if count is None else rest[: max(count, 0)])


@strict
def split(_: Scalar, text: str, mark: str) -> list[str]:
    parts, rest = [], text
    while mark and mark in rest:
        head, _, rest = rest.partition(mark)
        parts.append(head)
    return [*parts, rest]


@strict
def regex_extract(_: Scalar, text: str, pattern: str) -> str | None:
    found = re.search(pattern, text)
    return None if found is None else (found[1] or "") if found.re.groups else found[0]


@strict
def absolute(scalar: Scalar, value: Any) -> Any:
    return in_range(scalar, abs(value))


def in_range(scalar: Scalar, value: Any) -> Any:
    if scalar.is_integer and not INTEGER_RANGES[scalar][0] <= value <= INTEGER_RANGES[scalar][1]:
        raise Misfit
    return value


@strict
def sign(_: Scalar, value: Any) -> Any:
    if value != value:
        return value
    return type(value)((value > 0) - (value < 0))


@strict
def rounded(scalar: Scalar, value: Any, digits: int | None = None) -> Any:
    if digits is None and isinstance(value, int):
        return value
    number = float(value)
    if not math.isfinite(number):
        return number
    step = Decimal(1).scaleb(-(digits or 0))
    exact = Decimal(repr(number)) if digits is not None else Decimal(number)
    return float(exact.quantize(step, ROUND_HALF_UP, Context(prec=2000)))


@strict
def floor(_: Scalar, value: Any) -> Any:
    return value if isinstance(value, int) or not math.isfinite(value) else float(math.floor(value))


@strict
def ceil(_: Scalar, value: Any) -> Any:
    return value if isinstance(value, int) or not math.isfinite(value) else float(math.ceil(value))


@strict
def root(_: Scalar, value: float) -> float | None:
    return None if value < 0 else math.sqrt(value)


@strict
def logarithm(_: Scalar, value: float) -> float | None:
    return None if value <= 0 else math.log(value)


@strict
def power(_: Scalar, base: float, exponent: float) -> float | None:
    if math.isnan(base) or math.isnan(exponent):
        return 1.0 if exponent == 0 else math.nan
    if base == 0 and exponent < 0:
        return None
    if base < 0 and math.isfinite(base) and math.isfinite(exponent) and exponent != int(exponent):
        return None
    with np.errstate(all="ignore"):
        return float(np.power(np.float64(base), np.float64(exponent)))


def as_date(scalar: Scalar, moment: int) -> date:
    return EPOCH + timedelta(days=moment if scalar is Scalar.DATE else moment // DAY_MS)


def part_of_day(unit: int, count: int) -> Callable[[Scalar, int], int]:
    def run(scalar: Scalar, moment: int) -> int:
        return 0 if scalar is Scalar.DATE else moment % DAY_MS // unit % count

    return run


def truncated(scalar: Scalar, unit: str, moment: int) -> int:
    day = as_date(scalar, moment)
    starts = {
        "year": date(day.year, 1, 1),
        "quarter": date(day.year, (day.month - 1) // 3 * 3 + 1, 1),
        "month": date(day.year, day.month, 1),
        "week": day - timedelta(days=day.weekday()),
        "day": day,
    }
    if unit in starts:
        days = (starts[unit] - EPOCH).days
        return days if scalar is Scalar.DATE else days * DAY_MS
    width = {"hour": 3_600_000, "minute": 60_000, "second": 1_000}[unit]
    return moment if scalar is Scalar.DATE else moment - moment % width


def months_later(scalar: Scalar, moment: int, months: int) -> int:
    day = as_date(scalar, moment)
    number = day.year * 12 + day.month - 1 + months
    year, month = divmod(number, 12)
    if not 1 <= year <= 9999:
        raise Misfit
    moved = date(year, month + 1, min(day.day, calendar.monthrange(year, month + 1)[1]))
    days = (moved - EPOCH).days
    return days if scalar is Scalar.DATE else days * DAY_MS + moment % DAY_MS


def later(scalar: Scalar, moment: int, amount: int) -> int:
    unit = 1 if scalar is Scalar.DATE else DAY_MS
    low, high = (date.min - EPOCH).days * unit, ((date.max - EPOCH).days + 1) * unit - 1
    if not low <= moment + amount <= high:
        raise Misfit
    return moment + amount


@strict
def item(_: Scalar, items: list[Any], index: int) -> Any:
    return items[index] if -len(items) <= index < len(items) else None


def nullif(_: Scalar, value: Any, other: Any) -> Any:
    return None if value is not None and value == other else value


FUNCTIONS: dict[ScalarFunction, Callable[..., Any]] = {
    F.LOWER: strict(lambda _, text: text.lower()),
    F.UPPER: strict(lambda _, text: text.upper()),
    F.TRIM: strict(lambda _, text: text.strip(BLANKS)),
    F.LENGTH: strict(lambda _, text: len(list(text))),
    F.SUBSTRING: substring,
    F.REPLACE: strict(lambda _, text, part, other: other.join(text.split(part)) if part else text),
    F.SPLIT: split,
    F.CONCAT: strict(lambda _, *texts: "".join(texts)),
    F.REGEX_MATCH: strict(lambda _, text, pattern: re.search(pattern, text) is not None),
    F.REGEX_EXTRACT: regex_extract,
    F.ABS: absolute,
    F.SIGN: sign,
    F.ROUND: rounded,
    F.FLOOR: floor,
    F.CEIL: ceil,
    F.SQRT: root,
    F.POW: power,
    F.LOG: logarithm,
    F.LEAST: least,
    F.GREATEST: greatest,
    F.YEAR: strict(lambda scalar, moment: as_date(scalar, moment).year),
    F.MONTH: strict(lambda scalar, moment: as_date(scalar, moment).month),
    F.DAY: strict(lambda scalar, moment: as_date(scalar, moment).day),
    F.HOUR: strict(part_of_day(3_600_000, 24)),
    F.MINUTE: strict(part_of_day(60_000, 60)),
    F.SECOND: strict(part_of_day(1_000, 60)),
    F.DATE_TRUNC: strict(truncated),
    F.ADD_MONTHS: strict(months_later),
    F.ADD_DAYS: strict(later),
    F.ADD_MILLISECONDS: strict(later),
    F.DIFFERENCE: strict(lambda _, left, right: left - right),
    F.SIZE: strict(lambda _, items: len(items)),
    F.ITEM: item,
    F.SLICE: strict(lambda _, items, start, stop: items[start:stop]),
    F.COALESCE: lambda _, *values: next((value for value in values if value is not None), None),
    F.NULLIF: nullif,
}
"""Every function, given the scalar of its (last temporal) argument and the arguments."""

NUMBER = re.compile(r"[+-]?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?")


def cast(value: Any, given: Scalar, wanted: Scalar) -> Any:
    """The value in another type, or None."""
    if value is None:
        return None
    if wanted is Scalar.STRING:
        return text_of(value, given)
    if given is Scalar.STRING:
        return read(value, wanted)
    if given.is_temporal:
        return value * DAY_MS if wanted is Scalar.DATETIME else value // DAY_MS
    if wanted.is_integer:
        if isinstance(value, float) and not math.isfinite(value):
            return None
        number = int(value)
        low, high = INTEGER_RANGES[wanted]
        return number if low <= number <= high else None
    return nearest_float(value, wanted)


def nearest_float(value: Any, wanted: Scalar) -> float | None:
    with np.errstate(all="ignore"):
        if isinstance(value, int) and wanted is Scalar.F32:
            found = exact_f32(value)
        else:
            found = float(np.float32(float(value))) if wanted is Scalar.F32 else float(value)
    is_lost = math.isinf(found) and (isinstance(value, int) or math.isfinite(value))
    return None if is_lost else found


def exact_f32(value: int) -> float:
    """The nearest 32-bit float of an integer, rounded once: from 64 bits directly."""
    near = float(np.float32(float(value)))
    around = [
        near,
        float(np.nextafter(np.float32(near), np.float32(math.inf))),
        float(np.nextafter(np.float32(near), np.float32(-math.inf))),
    ]
    best = min(abs(Fraction(one) - value) for one in around if math.isfinite(one))
    closest = [one for one in around if math.isfinite(one) and abs(Fraction(one) - value) == best]
    return next(one for one in closest if len(closest) == 1 or int(np.float32(one).view(np.uint32)) % 2 == 0)


def text_of(value: Any, given: Scalar) -> str:
    if given is Scalar.DATE:
        return format_date(value)
    if given is Scalar.DATETIME:
        return format_datetime(value)
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        if not math.isfinite(value):
            return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
        digits = str(np.float32(value)) if given is Scalar.F32 else repr(value)
        plain = format(Decimal(digits), "f")
        whole = plain.rstrip("0").rstrip(".") if "." in plain else plain
        return "0" if whole in ("-0", "0") else whole
    return str(value)


def read(text: str, wanted: Scalar) -> Any:
    if wanted is Scalar.BOOL:
        return {"true": True, "false": False}.get(text)
    if wanted is Scalar.DATE:
        return parse_date(text)
    if wanted is Scalar.DATETIME:
        return parse_datetime(text)
    if wanted.is_integer:
        number = int(text) if re.fullmatch(r"[+-]?[0-9]{1,40}", text) else None
        low, high = INTEGER_RANGES[wanted]
        return number if number is not None and low <= number <= high else None
    return nearest_float(float(text), wanted) if NUMBER.fullmatch(text) and math.isfinite(float(text)) else None
