"""Comparisons and arithmetic on Spark columns with the semantics of the embedded executor.

Spark's own semantics differ: it rounds an integer to compare it with a float, and treats NaN as equal to itself. Its
results for overflow and division by zero depend on settings of the session. Nothing here depends on the session.
"""

from __future__ import annotations

import operator as python
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING

from omnigraph.core.operators import BinaryOperator
from omnigraph.core.scalars import INTEGER_RANGES, Scalar

if TYPE_CHECKING:
    from pyspark.sql import Column

Op = BinaryOperator

_COMPARE = {Op.EQ: python.eq, Op.NE: python.ne, Op.LT: python.lt, Op.LE: python.le, Op.GT: python.gt, Op.GE: python.ge}
_MIRRORED = {Op.LT: Op.GT, Op.LE: Op.GE, Op.GT: Op.LT, Op.GE: Op.LE, Op.EQ: Op.EQ, Op.NE: Op.NE}

U64 = "decimal(20,0)"
"""The Spark type of U64."""

_WIDE = frozenset(scalar for scalar, (_, high) in INTEGER_RANGES.items() if high > 2**53)
"""Integers that a float cannot hold exactly."""


@dataclass(frozen=True, slots=True)
class Value:
    """A column with the scalar type of its values. Only results of arithmetic may be NaN."""

    column: Column
    scalar: Scalar
    may_be_nan: bool = False


def compare(operator: BinaryOperator, left: Value, right: Value) -> Column:
    """Comparison by value; null if either side is null."""
    if left.scalar in _WIDE and right.scalar.is_float:
        return _compare_mixed(operator, left, right)
    if left.scalar.is_float and right.scalar in _WIDE:
        return _compare_mixed(_MIRRORED[operator], right, left)
    first, second = left.column, right.column
    if left.scalar.is_float or right.scalar.is_float:
        first, second = first.cast("double"), second.cast("double")
    found: Column = _COMPARE[operator](first, second)
    if left.may_be_nan or right.may_be_nan:
        return _unless_nan(operator, found, first, second)
    return found


def _unless_nan(operator: BinaryOperator, found: Column, *sides: Column) -> Column:
    """IEEE comparison: NaN is unequal to everything, including itself."""
    from pyspark.sql import functions as f

    unknown = f.lit(False)
    for side in sides:
        unknown = unknown | f.isnan(side)
    # Null takes precedence over NaN: the comparison is null if a side is null.
    return f.when(found.isNotNull() & unknown, f.lit(operator is Op.NE)).otherwise(found)


def _compare_mixed(operator: BinaryOperator, integers: Value, floats: Value) -> Column:
    """Exact comparison of integers with floats: the float is rounded to an integer, in the direction of the operator.

    For example, n < 2.5 is n < ceil(2.5), and n <= 2.5 is n <= floor(2.5).
    """
    from pyspark.sql import functions as f

    low, high = INTEGER_RANGES[integers.scalar]
    whole, number = integers.column.cast(U64), floats.column.cast("double")
    # high + 1 is a power of two, which a float represents exactly; high itself is not representable.
    above, below, unknown = number >= float(high + 1), number < float(low), f.isnan(number)
    inside = f.when(above | below | unknown, f.lit(0.0)).otherwise(number)
    floor, ceiling = _whole(f.floor, inside), _whole(f.ceil, inside)
    decided = {
        Op.EQ: (False, False, (floor == ceiling) & (whole == floor)),
        Op.NE: (True, True, (floor != ceiling) | (whole != floor)),
        Op.LT: (True, False, whole < ceiling),
        Op.LE: (True, False, whole <= floor),
        Op.GT: (False, True, whole > floor),
        Op.GE: (False, True, whole >= ceiling),
    }[operator]
    if_above, if_below, otherwise = decided
    known = (
        f.when(unknown, f.lit(operator is Op.NE))
        .when(above, f.lit(if_above))
        .when(below, f.lit(if_below))
        .otherwise(otherwise)
    )
    return f.when(whole.isNotNull() & number.isNotNull(), known)


def _whole(rounded: object, number: Column) -> Column:
    """A float below 2 ** 64, rounded to an integer, exactly. Spark's own cast goes through decimal digits."""
    from pyspark.sql import functions as f

    half = 2.0**63
    assert callable(rounded)
    small: Column = rounded(f.when(number < half, number)).cast("long").cast(U64)
    large = f.when(number >= half, (number - half).cast("long")).cast(U64) + f.lit(Decimal(2**63)).cast(U64)
    return f.coalesce(small, large.cast("decimal(21,0)"))


def floor_of(number: Column) -> Column:
    """The largest integer that is not above a float between 0 and 2 ** 64, exactly."""
    from pyspark.sql import functions as f

    return _whole(f.floor, number)


def one_zero(column: Column) -> Column:
    """Replace negative zero by zero."""
    from pyspark.sql import functions as f

    return f.when(column == 0, f.lit(0.0)).otherwise(column)


def arithmetic(operator: BinaryOperator, left: Value, right: Value, scalar: Scalar) -> Column:
    """``+ - * / %`` in the type of the result. Division by zero gives null; overflow raises."""
    from pyspark.sql import functions as f

    if scalar.is_float:
        return _float_arithmetic(operator, left.column.cast("double"), right.column.cast("double"))
    first, second = _fitting(left, scalar), _fitting(right, scalar)
    if operator is Op.MODULO:
        return first % f.when(second != 0, second)
    tried = {Op.ADD: f.try_add, Op.SUBTRACT: f.try_subtract, Op.MULTIPLY: f.try_multiply}[operator](first, second)
    low, high = INTEGER_RANGES[scalar]
    is_lost = tried.isNull()
    if scalar is Scalar.U64:
        is_lost = is_lost | (tried < f.lit(Decimal(low))) | (tried > f.lit(Decimal(high)))
    fitting = f.when(first.isNotNull() & second.isNotNull() & is_lost, misfit(scalar)).otherwise(tried)
    return fitting.cast(_name(scalar))


def _float_arithmetic(operator: BinaryOperator, left: Column, right: Column) -> Column:
    from pyspark.sql import functions as f

    match operator:
        case Op.ADD:
            return left + right
        case Op.SUBTRACT:
            return left - right
        case Op.MULTIPLY:
            return left * right
        case Op.DIVIDE:
            return left / f.when(right != 0, right)
        case _:
            return left % f.when(right != 0, right)


def _fitting(value: Value, scalar: Scalar) -> Column:
    """Convert an integer to another integer type; overflow raises."""
    from pyspark.sql import functions as f

    if value.scalar is scalar:
        return value.column
    if value.scalar is Scalar.U64:
        too_large = value.column > f.lit(Decimal(INTEGER_RANGES[scalar][1]))
        return f.when(too_large, misfit(scalar)).otherwise(value.column.try_cast(_name(scalar)))
    return value.column.cast(_name(scalar))


def _name(scalar: Scalar) -> str:
    return U64 if scalar is Scalar.U64 else "long"


MISFIT = "arithmetic does not fit "
"""Prefix of the overflow error."""


def misfit(scalar: Scalar) -> Column:
    """The error of a number that does not fit a type."""
    from pyspark.sql import functions as f

    return f.raise_error(f.lit(MISFIT + scalar.value)).cast(_name(scalar))
