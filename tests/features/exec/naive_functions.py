"""The meaning of every scalar function and cast, value by value in plain Python, from the text of the manual.

Dates are days and times milliseconds since 1970-01-01, durations milliseconds, JSON values canonical texts, lists are
lists, null is None. Written for the tests only: it
shares no code with the kernels.
"""

from __future__ import annotations

import calendar
import json
import math
import re
from collections.abc import Callable
from datetime import date, timedelta
from decimal import ROUND_HALF_UP, Context, Decimal
from fractions import Fraction
from typing import Any
from uuid import UUID

import numpy as np

from omnigraph.core.functions import ScalarFunction
from omnigraph.core.scalars import INTEGER_RANGES, Scalar
from omnigraph.core.temporal import (
    format_date,
    format_datetime,
    format_duration,
    format_time,
    parse_date,
    parse_datetime,
    parse_length,
    parse_time,
)

F = ScalarFunction
DAY_MS = 86_400_000
EPOCH = date(1970, 1, 1)
DIGITS = (12, 3)
"""The digits of all decimals of the cases, and those behind the point."""
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
    if isinstance(value, Decimal):
        return Decimal((value > 0) - (value < 0))
    return type(value)((value > 0) - (value < 0))


@strict
def rounded(scalar: Scalar, value: Any, digits: int | None = None) -> Any:
    if digits is None and isinstance(value, int):
        return value
    if isinstance(value, Decimal):
        return fitted(value.quantize(Decimal(1).scaleb(-(digits or 0)), ROUND_HALF_UP, Context(prec=2000)))
    number = float(value)
    if not math.isfinite(number):
        return number
    step = Decimal(1).scaleb(-(digits or 0))
    exact = Decimal(repr(number)) if digits is not None else Decimal(number)
    return float(exact.quantize(step, ROUND_HALF_UP, Context(prec=2000)))


@strict
def floor(_: Scalar, value: Any) -> Any:
    if isinstance(value, Decimal):
        return fitted(Decimal(math.floor(value)))
    return value if isinstance(value, int) or not math.isfinite(value) else float(math.floor(value))


@strict
def ceil(_: Scalar, value: Any) -> Any:
    if isinstance(value, Decimal):
        return fitted(Decimal(math.ceil(value)))
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


def fitted(value: Decimal) -> Decimal:
    """A decimal with the places of the cases. Raises Misfit if it has too many digits."""
    found = in_decimal(value)
    if found is None:
        raise Misfit
    return found


def in_decimal(value: Decimal) -> Decimal | None:
    found = value.quantize(Decimal(1).scaleb(-DIGITS[1]), ROUND_HALF_UP, Context(prec=2000))
    return found if found.copy_abs() < 10 ** (DIGITS[0] - DIGITS[1]) else None


def length(milliseconds: Fraction | int) -> int:
    """A duration to the nearest millisecond. Raises Misfit beyond the range."""
    found = int(abs(milliseconds) + Fraction(1, 2)) * (1 if milliseconds >= 0 else -1)
    if abs(found) > 10**15:
        raise Misfit
    return found


@strict
def multiple(_: Scalar, milliseconds: int, factor: float) -> int | None:
    product = milliseconds * factor
    if math.isnan(product):
        return None
    if math.isinf(product):
        raise Misfit
    return length(Fraction(product))


def json_value(text: str) -> Any:
    """The value of a JSON text. Raises ValueError."""

    def refuse(text: str) -> Any:
        raise ValueError(text)

    def members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        return dict(pairs) if len(dict(pairs)) == len(pairs) else refuse("twice")

    return json.loads(text, parse_float=Decimal, parse_int=Decimal, parse_constant=refuse, object_pairs_hook=members)


def json_form(value: Any) -> str:
    """The canonical text of a value. Raises ValueError for a number that no float holds."""
    if isinstance(value, dict):
        return "{" + ",".join(f"{json_form(name)}:{json_form(value[name])}" for name in sorted(value)) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(json_form, value)) + "]"
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        return json.dumps(value, ensure_ascii=False)
    number = Decimal(repr(value)) if isinstance(value, float) else Decimal(value)
    if math.isinf(float(number)):
        raise ValueError(value)
    if not number:
        return "0"
    plain = format(number.normalize(Context(prec=500)), "f")
    if -7 < number.adjusted() < 21:
        return plain
    return format(number.normalize(Context(prec=500)), "e").replace("+", "").replace("E", "e")


def as_json(value: Any) -> str | None:
    """The canonical text; the null of JSON is no value."""
    return None if value is None else json_form(value)


@strict
def parsed(_: Scalar, text: str) -> str | None:
    try:
        return as_json(json_value(text))
    except ValueError:
        return None


def step_into(value: Any, step: str | int) -> Any:
    if isinstance(step, str):
        return value.get(step) if isinstance(value, dict) else None
    return value[step] if isinstance(value, list) and -len(value) <= step < len(value) else None


@strict
def at(_: Scalar, text: str, *steps: str | int) -> str | None:
    value = json_value(text)
    for step in steps:
        value = step_into(value, step)
    return as_json(value)


@strict
def json_size(_: Scalar, text: str) -> int | None:
    value = json_value(text)
    return len(value) if isinstance(value, list | dict) else None


@strict
def json_contains(_: Scalar, text: str, item: str) -> bool | None:
    value = json_value(text)
    return item in map(json_form, value) if isinstance(value, list) else None


@strict
def json_order(_: Scalar, left: str, right: str) -> int | None:
    first, second = json_value(left), json_value(right)
    if type(first) is not type(second) or not isinstance(first, bool | str | Decimal):
        return None
    return (first > second) - (first < second)


def json_set(_: Scalar, text: str | None, path: str, part: str | None) -> str | None:
    steps = [int(step[1:-1]) if step.startswith("[") else step for step in re.findall(r"\w+|\[-?\d+\]", path)]
    return as_json(
        placed(None if text is None else json_value(text), steps, None if part is None else json_value(part))
    )


def placed(whole: Any, steps: list[Any], part: Any) -> Any:
    if not steps:
        return part
    if isinstance(steps[0], int):
        if not isinstance(whole, list) or not -len(whole) <= steps[0] < len(whole):
            raise Misfit
        whole[steps[0]] = placed(whole[steps[0]], steps[1:], part)
        return whole
    if whole is not None and not isinstance(whole, dict):
        raise Misfit
    changed = {**(whole or {}), steps[0]: placed((whole or {}).get(steps[0]), steps[1:], part)}
    if changed[steps[0]] is None:
        del changed[steps[0]]
    return changed


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
    F.ADD_DURATIONS: strict(lambda _, left, right: length(left + right)),
    F.SCALE_DURATION: multiple,
    F.ADD_TO_TIME: strict(lambda _, moment, later: (moment + later) % DAY_MS),
    F.JSON: parsed,
    F.JSON_AT: at,
    F.JSON_SIZE: json_size,
    F.JSON_CONTAINS: json_contains,
    F.JSON_ORDER: json_order,
    F.JSON_SET: json_set,
}
"""Every function, given the scalar of its (last temporal) argument and the arguments."""


def read_uuid(text: str) -> str | None:
    digits = text.lower().removeprefix("{").removesuffix("}").replace("-", "")
    return str(UUID(digits)) if re.fullmatch("[0-9a-f]{32}", digits) else None


DECIMAL = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]{1,4})?")
NUMBER = re.compile(r"[+-]?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?")


def cast(value: Any, given: Scalar, wanted: Scalar) -> Any:
    """The value in another type, or None."""
    if value is None:
        return None
    if given is Scalar.JSON:
        return unwrapped(value, wanted)
    if wanted is Scalar.JSON:
        return wrapped(value, given)
    if wanted is Scalar.STRING:
        return text_of(value, given)
    if given is Scalar.STRING:
        return read(value, wanted)
    if wanted is Scalar.TIME:
        return 0 if given is Scalar.DATE else value % DAY_MS
    if given.is_temporal:
        return value * DAY_MS if wanted is Scalar.DATETIME else value // DAY_MS
    if wanted is Scalar.DURATION:
        return value if abs(value) <= 10**15 else None
    if wanted is Scalar.DECIMAL:
        return to_decimal(value)
    if wanted.is_integer:
        if isinstance(value, float) and not math.isfinite(value):
            return None
        number = int(value)
        low, high = INTEGER_RANGES[wanted]
        return number if low <= number <= high else None
    return nearest_float(value, wanted)


def to_decimal(value: Any) -> Decimal | None:
    if isinstance(value, float):
        return in_decimal(Decimal(repr(value))) if math.isfinite(value) else None
    return in_decimal(Decimal(value))


def wrapped(value: Any, given: Scalar) -> str | None:
    """A value as JSON."""
    is_text = given.is_temporal or given in (Scalar.TIME, Scalar.DURATION)
    if isinstance(value, float):
        if not math.isfinite(value):
            return None
        value = float(str(np.float32(value))) if given is Scalar.F32 else value
    return json_form(text_of(value, given) if is_text else value)


def unwrapped(text: str, wanted: Scalar) -> Any:
    """A JSON value in another type."""
    value = json_value(text)
    if wanted is Scalar.STRING:
        return value if isinstance(value, str) else text
    if isinstance(value, str):
        return read(value, wanted)
    if isinstance(value, bool):
        return value if wanted is Scalar.BOOL else None
    if isinstance(value, Decimal) and wanted.is_numeric:
        return cast(value, Scalar.DECIMAL, wanted)
    return None


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
    if given is Scalar.TIME:
        return format_time(value)
    if given is Scalar.DURATION:
        return format_duration(value)
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Decimal):
        return f"{value:.{DIGITS[1]}f}"
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
    if wanted is Scalar.TIME:
        return parse_time(text)
    if wanted is Scalar.DURATION:
        return parse_length(text)
    if wanted is Scalar.UUID:
        return read_uuid(text)
    if wanted is Scalar.DECIMAL:
        return to_decimal(Decimal(text.strip())) if DECIMAL.fullmatch(text.strip()) else None
    if wanted.is_integer:
        number = int(text) if re.fullmatch(r"[+-]?[0-9]{1,40}", text) else None
        low, high = INTEGER_RANGES[wanted]
        return number if number is not None and low <= number <= high else None
    return nearest_float(float(text), wanted) if NUMBER.fullmatch(text) and math.isfinite(float(text)) else None
