"""Comparison, arithmetic and sums of decimals, exact whatever the digits.

Arrow's own kernels are used where the result has room; pairs that need more than 38 digits are computed one by one.
"""

from __future__ import annotations

import operator as python
from collections.abc import Callable
from decimal import ROUND_DOWN, Context, Decimal, localcontext
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.core.decimals import DIGITS_MAX, INTEGER_DIGITS, rounded
from omnigraph.core.operators import BinaryOperator
from omnigraph.errors import InputError

Op = BinaryOperator
Rows = npt.NDArray[np.int64]

_EXACT: Final = Context(prec=500)
_COMPARE: Final[dict[BinaryOperator, Callable[[Any, Any], bool]]] = {
    Op.EQ: python.eq,
    Op.NE: python.ne,
    Op.LT: python.lt,
    Op.LE: python.le,
    Op.GT: python.gt,
    Op.GE: python.ge,
}
_ARITHMETIC: Final[dict[BinaryOperator, Callable[[Decimal, Decimal], Decimal | None]]] = {
    Op.ADD: python.add,
    Op.SUBTRACT: python.sub,
    Op.MULTIPLY: python.mul,
    Op.MODULO: lambda left, right: left % right if right else None,
}


def compare_decimals(operator: BinaryOperator, left: Any, right: Any, kernel: Callable[[Any, Any], Any]) -> Any:
    """Comparison by value of two numbers, at least one of them a decimal; ``kernel`` compares two of one type."""
    common = _common(left.type, right.type)
    if common is not None:
        return kernel(pc.cast(left, common), pc.cast(right, common))
    return _each(_COMPARE[operator], left, right, pa.bool_())


def _common(left: pa.DataType, right: pa.DataType) -> pa.DataType | None:
    """The decimal that holds all values of both types; None if there is none, as for floats."""
    digits = [_digits(kind) for kind in (left, right)]
    if None in digits:
        return None
    known = [pair for pair in digits if pair is not None]
    scale = max(places for _, places in known)
    precision = max(precision - places for precision, places in known) + scale
    return pa.decimal128(precision, scale) if precision <= DIGITS_MAX else None


def _digits(kind: pa.DataType) -> tuple[int, int] | None:
    if pa.types.is_decimal(kind):
        return kind.precision, kind.scale
    return (INTEGER_DIGITS, 0) if pa.types.is_integer(kind) else None


def decimal_arithmetic(operator: BinaryOperator, left: Any, right: Any, type_: pa.DataType) -> Any:
    """``+ - * %`` in the type of the result; a result with more digits than that is an error."""

    def compute(first: Decimal, second: Decimal) -> Decimal | None:
        with localcontext(_EXACT):
            found = _ARITHMETIC[operator](first, second)
        fitting = None if found is None else rounded(found, (type_.precision, type_.scale))
        if found is not None and fitting is None:
            raise InputError(f"arithmetic does not fit Decimal({type_.precision}, {type_.scale})")
        return fitting

    return _each(compute, left, right, type_)


def _each(change: Callable[[Any, Any], Any], left: Any, right: Any, type_: pa.DataType) -> Any:
    """``change`` of every pair, null where one is."""
    arrays = [side for side in (left, right) if not isinstance(side, pa.Scalar)]
    length = len(arrays[0]) if arrays else 1
    sides = [[side.as_py()] * length if isinstance(side, pa.Scalar) else side.to_pylist() for side in (left, right)]
    pairs = zip(*sides, strict=True)
    found = [None if first is None or second is None else change(first, second) for first, second in pairs]
    array = pa.array(found, type_)
    return array if arrays else array[0]


def decimal_sums(values: pa.Array, groups: Rows, multiplicity: Rows | None, count: int, type_: pa.DataType) -> pa.Array:
    """The sum of each group; null for a group without values. A sum with more digits than its type is an error."""
    sums: list[Decimal | None] = [None] * count
    times = multiplicity.tolist() if multiplicity is not None else [1] * len(values)
    with localcontext(_EXACT):
        for group, value, number in zip(groups.tolist(), values.to_pylist(), times, strict=True):
            before = sums[group]
            sums[group] = value * number if before is None else before + value * number
    for total in sums:
        if total is not None and rounded(total, (type_.precision, type_.scale)) is None:
            raise InputError(f"a sum does not fit Decimal({type_.precision}, {type_.scale})")
    return pa.array(sums, type_)


def truncated(value: Decimal) -> int:
    """The whole number of a decimal, its fraction cut off."""
    return int(value.to_integral_value(ROUND_DOWN, _EXACT))
