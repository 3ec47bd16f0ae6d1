"""Scalar functions as Spark columns: one row per function; None for a function that runs in the Python workers.

Spark's own functions are used where they mean the same as the kernels of the embedded executor. Times are computed from
milliseconds, so the time zone of the session does not matter.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from omnigraph.core.functions import ScalarFunction
from omnigraph.core.operators import BinaryOperator
from omnigraph.core.scalars import INTEGER_RANGES, Scalar
from omnigraph.core.temporal import DAYS_RANGE, MILLISECONDS_PER_DAY, MILLISECONDS_RANGE
from omnigraph.exec.functions.moments import MONTHS_MAX, OUTSIDE
from omnigraph.exec.functions.numbers import DIGITS_MAX
from omnigraph.exec.functions.texts import BLANKS
from omnigraph.query import expressions as ir
from omnigraph.spark.cluster.spark_types import spark_type
from omnigraph.spark.query.numbers import Value, compare, misfit

if TYPE_CHECKING:
    from pyspark.sql import Column

F = ScalarFunction
Make = Callable[[ir.Call, Sequence["Column"]], "Column"]
"""The column of a call, given the columns of its arguments."""

_HOUR, _MINUTE, _SECOND = 3_600_000, 60_000, 1_000


def _lower(_call: ir.Call, arguments: Sequence[Column]) -> Column:
    from pyspark.sql import functions as f

    return f.lower(arguments[0])


def _upper(_call: ir.Call, arguments: Sequence[Column]) -> Column:
    from pyspark.sql import functions as f

    return f.upper(arguments[0])


def _trim(_call: ir.Call, arguments: Sequence[Column]) -> Column:
    from pyspark.sql import functions as f

    return f.btrim(arguments[0], f.lit(BLANKS))


def _length(_call: ir.Call, arguments: Sequence[Column]) -> Column:
    from pyspark.sql import functions as f

    return f.length(arguments[0]).cast("long")


def _substring(_call: ir.Call, arguments: Sequence[Column]) -> Column:
    from pyspark.sql import functions as f

    text, start, *count = arguments
    size = f.length(text).cast("long")
    first = f.when(start < 0, f.greatest(f.greatest(start, -size) + size, f.lit(0))).otherwise(f.least(start, size))
    wanted = f.least(f.greatest(count[0], f.lit(0)), size) if count else size
    bounds = (f.when(bound.isNotNull(), bound) for bound in (start, *count))
    known = f.lit(True)
    for bound in bounds:
        known = known & bound.isNotNull()
    return f.when(known, f.substr(text, (first + 1).cast("int"), wanted.cast("int")))


def _replace(_call: ir.Call, arguments: Sequence[Column]) -> Column:
    from pyspark.sql import functions as f

    return f.replace(*arguments)


def _split(_call: ir.Call, arguments: Sequence[Column]) -> Column:
    from pyspark.sql import functions as f

    text, separator = arguments
    # The pattern is a regular expression: \Q and \E quote it, and an \E of its own is written outside of the quotes.
    quoted = f.concat(f.lit("\\Q"), f.replace(separator, f.lit("\\E"), f.lit("\\E\\\\E\\Q")), f.lit("\\E"))
    parts = f.when(separator != "", f.split(text, quoted)).otherwise(f.array(text))
    return f.when(text.isNotNull() & separator.isNotNull(), parts)


def _concat(_call: ir.Call, arguments: Sequence[Column]) -> Column:
    from pyspark.sql import functions as f

    return f.concat(*arguments)


def _absolute(call: ir.Call, arguments: Sequence[Column]) -> Column:
    from pyspark.sql import functions as f

    (value,), scalar = arguments, call.type.scalar
    if scalar is not Scalar.I64:
        return f.abs(value)
    return f.when(value == INTEGER_RANGES[scalar][0], misfit(scalar)).otherwise(f.abs(value))


def _sign(call: ir.Call, arguments: Sequence[Column]) -> Column:
    from pyspark.sql import functions as f

    (value,) = arguments
    if call.type.scalar is Scalar.U64:
        return f.when(value > 0, f.lit(1)).when(value == 0, f.lit(0)).cast(spark_type(call.type))
    return f.signum(value).cast(spark_type(call.type))


def _rounded(call: ir.Call, arguments: Sequence[Column]) -> Column:
    from pyspark.sql import functions as f

    value, scalar = arguments[0], call.arguments[0].type.scalar
    if len(arguments) == 1:
        return f.round(value, 0) if scalar.is_float else value
    digits = call.arguments[1]
    assert isinstance(digits, ir.Constant), "the digits were bound"
    if not isinstance(digits.value, int):
        return f.lit(None).cast("double")
    return f.round(value.cast("double"), max(-DIGITS_MAX, min(digits.value, DIGITS_MAX)))


def _floor(call: ir.Call, arguments: Sequence[Column]) -> Column:
    from pyspark.sql import functions as f

    return _whole(call, arguments[0], f.floor)


def _ceil(call: ir.Call, arguments: Sequence[Column]) -> Column:
    from pyspark.sql import functions as f

    return _whole(call, arguments[0], f.ceil)


def _whole(call: ir.Call, value: Column, rounded: Callable[[Column], Column]) -> Column:
    """Spark's functions give a long, which is too small for large floats; those are whole already."""
    from pyspark.sql import functions as f

    if not call.type.scalar.is_float:
        return value
    small = f.when(f.abs(value) < 2.0**53, value)
    return f.coalesce(rounded(small).cast("double"), value)


def _root(_call: ir.Call, arguments: Sequence[Column]) -> Column:
    from pyspark.sql import functions as f

    # NaN is above every number in Spark, so it takes the branch and stays NaN.
    return f.when(arguments[0] >= 0, f.sqrt(arguments[0]))


def _logarithm(_call: ir.Call, arguments: Sequence[Column]) -> Column:
    from pyspark.sql import functions as f

    return f.when(arguments[0] > 0, f.ln(arguments[0]))


def _power(_call: ir.Call, arguments: Sequence[Column]) -> Column:
    from pyspark.sql import functions as f

    base, exponent = arguments
    # An exponent from 2 ** 53 on is whole, and too large for Spark's `floor`.
    small = f.when(f.abs(exponent) < 2.0**53, exponent)
    is_fraction = f.coalesce(f.floor(small).cast("double") != small, f.lit(False))
    outside = ((base < 0) & (base > float("-inf")) & is_fraction) | ((base == 0) & (exponent < 0))
    # Java differs from C: a power of one with an infinite exponent is NaN there.
    is_one = (f.abs(base) == 1) & (f.abs(exponent) == float("inf"))
    return f.when(outside, f.lit(None)).when(is_one, f.lit(1.0)).otherwise(f.pow(base, exponent))


def _least(_call: ir.Call, arguments: Sequence[Column]) -> Column:
    from pyspark.sql import functions as f

    return f.least(*arguments)


def _greatest(_call: ir.Call, arguments: Sequence[Column]) -> Column:
    from pyspark.sql import functions as f

    return f.greatest(*arguments)


def day_of(moment: Column, scalar: Scalar) -> Column:
    """A Date, or the day of a DateTime in UTC."""
    from pyspark.sql import functions as f

    if scalar is Scalar.DATE:
        return moment
    milliseconds = f.unix_millis(moment)
    days = (milliseconds - _time_of_day(milliseconds)) / MILLISECONDS_PER_DAY
    return f.date_from_unix_date(days.cast("int"))


def start_of(day: Column) -> Column:
    """The first moment of a Date."""
    from pyspark.sql import functions as f

    return f.timestamp_millis(f.unix_date(day).cast("long") * MILLISECONDS_PER_DAY)


def _time_of_day(milliseconds: Column) -> Column:
    from pyspark.sql import functions as f

    return f.pmod(milliseconds, f.lit(MILLISECONDS_PER_DAY).cast("long"))


def _year(call: ir.Call, arguments: Sequence[Column]) -> Column:
    from pyspark.sql import functions as f

    return f.year(day_of(arguments[0], call.arguments[0].type.scalar)).cast("long")


def _month(call: ir.Call, arguments: Sequence[Column]) -> Column:
    from pyspark.sql import functions as f

    return f.month(day_of(arguments[0], call.arguments[0].type.scalar)).cast("long")


def _day(call: ir.Call, arguments: Sequence[Column]) -> Column:
    from pyspark.sql import functions as f

    return f.dayofmonth(day_of(arguments[0], call.arguments[0].type.scalar)).cast("long")


def _clock(unit: int, count: int) -> Make:
    """The number of whole units since midnight, or since the start of the next longer unit."""

    def make(call: ir.Call, arguments: Sequence[Column]) -> Column:
        from pyspark.sql import functions as f

        (moment,) = arguments
        if call.arguments[0].type.scalar is Scalar.DATE:
            return f.when(moment.isNotNull(), f.lit(0).cast("long"))
        passed = _time_of_day(f.unix_millis(moment))
        return f.pmod(f.floor(passed / unit).cast("long"), f.lit(count).cast("long"))

    return make


_CLOCK_UNITS: Final = {"hour": _HOUR, "minute": _MINUTE, "second": _SECOND}


def _truncated(call: ir.Call, arguments: Sequence[Column]) -> Column:
    from pyspark.sql import functions as f

    unit, moment = call.arguments
    assert isinstance(unit, ir.Constant)
    name, column = str(unit.value), arguments[1]
    is_date = moment.type.scalar is Scalar.DATE
    if name in _CLOCK_UNITS:
        milliseconds = f.unix_millis(column)
        step = f.lit(_CLOCK_UNITS[name]).cast("long")
        return column if is_date else f.timestamp_millis(milliseconds - f.pmod(milliseconds, step))
    day = day_of(column, moment.type.scalar)
    first = day if name == "day" else f.trunc(day, name)
    return first if is_date else start_of(first)


def _months_later(call: ir.Call, arguments: Sequence[Column]) -> Column:
    from pyspark.sql import functions as f

    moment, months = arguments
    scalar = call.type.scalar
    day = day_of(moment, scalar)
    is_far = (months > MONTHS_MAX) | (months < -MONTHS_MAX)
    moved = f.add_months(day, f.when(~is_far, months).cast("int"))
    low, high = DAYS_RANGE
    outside = is_far | f.coalesce((f.unix_date(moved) < low) | (f.unix_date(moved) > high), f.lit(False))
    shifted = moved
    if scalar is not Scalar.DATE:
        passed = _time_of_day(f.unix_millis(moment))
        shifted = f.timestamp_millis(f.unix_date(moved).cast("long") * MILLISECONDS_PER_DAY + passed)
    return _inside(call, outside & day.isNotNull(), shifted)


def _later(call: ir.Call, arguments: Sequence[Column]) -> Column:
    """Days after a Date, milliseconds after a DateTime. Amounts are compared before they are added: sums may wrap."""
    from pyspark.sql import functions as f

    moment, amount = arguments
    is_date = call.type.scalar is Scalar.DATE
    low, high = DAYS_RANGE if is_date else MILLISECONDS_RANGE
    number = f.unix_date(moment).cast("long") if is_date else f.unix_millis(moment)
    outside = (amount < f.lit(low) - number) | (amount > f.lit(high) - number)
    moved = number + f.when(~outside, amount)
    return _inside(call, outside, f.date_from_unix_date(moved.cast("int")) if is_date else f.timestamp_millis(moved))


def _inside(call: ir.Call, outside: Column, moved: Column) -> Column:
    from pyspark.sql import functions as f

    refused = f.raise_error(f.lit(OUTSIDE)).cast(spark_type(call.type))
    return f.when(outside, refused).otherwise(moved)


def _difference(call: ir.Call, arguments: Sequence[Column]) -> Column:
    from pyspark.sql import functions as f

    is_date = call.arguments[0].type.scalar is Scalar.DATE
    left, right = (f.unix_date(side).cast("long") if is_date else f.unix_millis(side) for side in arguments)
    return left - right


def _size(_call: ir.Call, arguments: Sequence[Column]) -> Column:
    from pyspark.sql import functions as f

    return f.when(arguments[0].isNotNull(), f.size(arguments[0]).cast("long"))


def _item(_call: ir.Call, arguments: Sequence[Column]) -> Column:
    from pyspark.sql import functions as f

    items, index = arguments
    size = f.size(items).cast("long")
    inside = items.isNotNull() & (index >= -size) & (index < size)
    place = f.when(inside, f.when(index < 0, index + size).otherwise(index))
    return f.get(items, place.cast("int"))


def _part(_call: ir.Call, arguments: Sequence[Column]) -> Column:
    from pyspark.sql import functions as f

    items, *bounds = arguments
    size = f.size(items).cast("long")

    def placed(bound: Column) -> Column:
        from_end = f.greatest(f.greatest(bound, -size - 1) + size, f.lit(0))
        return f.when(bound < 0, from_end).otherwise(f.least(bound, size))

    first, last = map(placed, bounds)
    known = items.isNotNull() & bounds[0].isNotNull() & bounds[1].isNotNull()
    count = f.greatest(last - first, f.lit(0))
    return f.when(known, f.slice(items, (first + 1).cast("int"), count.cast("int")))


def _coalesce(_call: ir.Call, arguments: Sequence[Column]) -> Column:
    from pyspark.sql import functions as f

    return f.coalesce(*arguments)


def _nullif(call: ir.Call, arguments: Sequence[Column]) -> Column:
    from pyspark.sql import functions as f

    scalar = call.type.scalar
    left, right = (Value(side, scalar, may_be_nan=scalar.is_float) for side in arguments)
    equal = f.coalesce(compare(BinaryOperator.EQ, left, right), f.lit(False))
    return f.when(~equal, arguments[0])


EXPRESSIONS: Final[Mapping[ScalarFunction, Make | None]] = {
    F.LOWER: _lower,
    F.UPPER: _upper,
    F.TRIM: _trim,
    F.LENGTH: _length,
    F.SUBSTRING: _substring,
    F.REPLACE: _replace,
    F.SPLIT: _split,
    F.CONCAT: _concat,
    # Java's regular expressions backtrack and have another dialect.
    F.REGEX_MATCH: None,
    F.REGEX_EXTRACT: None,
    F.ABS: _absolute,
    F.SIGN: _sign,
    F.ROUND: _rounded,
    F.FLOOR: _floor,
    F.CEIL: _ceil,
    F.SQRT: _root,
    F.POW: _power,
    F.LOG: _logarithm,
    F.LEAST: _least,
    F.GREATEST: _greatest,
    F.YEAR: _year,
    F.MONTH: _month,
    F.DAY: _day,
    F.HOUR: _clock(_HOUR, 24),
    F.MINUTE: _clock(_MINUTE, 60),
    F.SECOND: _clock(_SECOND, 60),
    F.DATE_TRUNC: _truncated,
    F.ADD_MONTHS: _months_later,
    F.ADD_DAYS: _later,
    F.ADD_MILLISECONDS: _later,
    F.DIFFERENCE: _difference,
    F.SIZE: _size,
    F.ITEM: _item,
    F.SLICE: _part,
    F.COALESCE: _coalesce,
    F.NULLIF: _nullif,
    F.ADD_DURATIONS: None,
    F.SCALE_DURATION: None,
    F.ADD_TO_TIME: None,
    F.JSON: None,
    F.JSON_AT: None,
    F.JSON_SIZE: None,
    F.JSON_CONTAINS: None,
    F.JSON_ORDER: None,
    F.JSON_SET: None,
}
"""One row per function; ``query/types/rules.py`` describes the functions."""
