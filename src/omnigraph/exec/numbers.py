"""Comparisons, membership and arithmetic of Arrow values, exact where Arrow is not.

Arrow compares an integer with a float by rounding the integer, and keeps two zeros apart when it hashes. Here numbers
are compared by value whatever their types, and both zeros are equal. Values are arrays, or scalars that apply to every
row.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.core.decimals import fitted
from omnigraph.core.operators import BinaryOperator
from omnigraph.exec.decimals import compare_decimals, decimal_arithmetic

Op = BinaryOperator
Mask = npt.NDArray[np.bool_]

_COMPARE = {
    Op.EQ: pc.equal,
    Op.NE: pc.not_equal,
    Op.LT: pc.less,
    Op.LE: pc.less_equal,
    Op.GT: pc.greater,
    Op.GE: pc.greater_equal,
}
_MIRRORED = {Op.LT: Op.GT, Op.LE: Op.GE, Op.GT: Op.LT, Op.GE: Op.LE, Op.EQ: Op.EQ, Op.NE: Op.NE}
_ANY_INTEGER = pa.decimal128(20, 0)
"""A type for both I64 and U64, which no integer type covers; twenty digits do."""


def compare(operator: BinaryOperator, left: Any, right: Any) -> Any:
    """Comparison by value; null if either side is null."""
    types = pa.types
    if left.type != right.type and (types.is_decimal(left.type) or types.is_decimal(right.type)):
        return compare_decimals(operator, left, right, _COMPARE[operator])
    if types.is_boolean(left.type):
        left, right = pc.cast(left, pa.int8()), pc.cast(right, pa.int8())
    if types.is_integer(left.type) and types.is_floating(right.type):
        return _compare_mixed(operator, left, right)
    if types.is_floating(left.type) and types.is_integer(right.type):
        return _compare_mixed(_MIRRORED[operator], right, left)
    if types.is_integer(left.type) and types.is_integer(right.type) and left.type != right.type:
        common = _common_integer(left.type, right.type)
        left, right = pc.cast(left, common), pc.cast(right, common)
    return _COMPARE[operator](left, right)


def _common_integer(left: pa.DataType, right: pa.DataType) -> pa.DataType:
    if pa.uint64() not in (left, right):
        return pa.int64()
    both_unsigned = pa.types.is_unsigned_integer(left) and pa.types.is_unsigned_integer(right)
    return pa.uint64() if both_unsigned else _ANY_INTEGER


def _compare_mixed(operator: BinaryOperator, integers: Any, floats: Any) -> Any:
    """Exact comparison of 64-bit integers with floats, by rounding the float and not the integer.

    ``n < x`` holds exactly if ``n < ceil(x)``, and ``n <= x`` exactly if ``n <= floor(x)``.
    """
    if integers.type.bit_width <= 32:
        return _COMPARE[operator](pc.cast(integers, pa.float64()), pc.cast(floats, pa.float64()))
    whole, whole_null = _parts(integers)
    number, number_null = _parts(pc.cast(floats, pa.float64()))
    limits = np.iinfo(whole.dtype)
    # The first float above the largest integer is a power of two, which a float holds exactly.
    above, below = number >= float(2 ** (63 if limits.min else 64)), number < float(limits.min)
    unknown = np.isnan(number)
    inside = np.where(above | below | unknown, 0.0, number)
    floor, ceiling = np.floor(inside).astype(whole.dtype), np.ceil(inside).astype(whole.dtype)
    less = above | (~below & (whole < ceiling))
    at_most = above | (~below & (whole <= floor))
    equal = ~above & ~below & (floor == ceiling) & (whole == floor)
    found = {
        Op.EQ: equal & ~unknown,
        Op.NE: ~equal | unknown,
        Op.LT: less & ~unknown,
        Op.LE: at_most & ~unknown,
        Op.GT: ~at_most & ~unknown,
        Op.GE: ~less & ~unknown,
    }[operator]
    return _packed(found, whole_null | number_null, pa.bool_(), _is_scalar(integers, floats))


def is_member(item: Any, values: pa.Array) -> Any:
    """Membership in a constant list. With a null in the list absence is unknown, as in SQL."""
    known = values.drop_null()
    # The type of an empty list is arbitrary: it may be a list of texts searched for a number.
    item, known = _alike(item, known) if len(known) else (item, pa.array([], item.type))
    found = pc.is_in(item, value_set=known)
    unknown = pc.is_null(item)
    if values.null_count:
        unknown = pc.or_(unknown, pc.invert(found))
    return pc.if_else(unknown, pa.scalar(None, pa.bool_()), found)


def _alike(item: Any, values: pa.Array) -> tuple[Any, pa.Array]:
    """Item and values in one type, without values that the item's type cannot represent."""
    types = pa.types
    if types.is_decimal(item.type) or types.is_decimal(values.type):
        return _alike_decimals(item, values)
    if types.is_integer(item.type) and types.is_integer(values.type):
        common = item.type if item.type == values.type else _common_integer(item.type, values.type)
        return pc.cast(item, common), pc.cast(values, common)
    if types.is_integer(item.type) and types.is_floating(values.type):
        limits = np.iinfo(item.type.to_pandas_dtype())
        whole = [int(value) for value in values.to_pylist() if value.is_integer()]
        return item, pa.array([value for value in whole if limits.min <= value <= limits.max], item.type)
    if types.is_floating(item.type):
        if types.is_integer(values.type):
            values = pa.array([float(value) for value in values.to_pylist() if float(value) == value], pa.float64())
        return one_zero(pc.cast(item, pa.float64())), one_zero(pc.cast(values, pa.float64()))
    return item, pc.cast(values, item.type)


def _alike_decimals(item: Any, values: pa.Array) -> tuple[Any, pa.Array]:
    """The same where one side is decimal: only values that the type of the item holds can equal it."""
    if not pa.types.is_decimal(item.type):
        numbers = [value for value in values.to_pylist() if value == value.to_integral_value()]
        if pa.types.is_floating(item.type):
            exact = [float(value) for value in values.to_pylist() if Decimal(float(value)) == value]
            return one_zero(pc.cast(item, pa.float64())), pa.array(exact, pa.float64())
        limits = np.iinfo(item.type.to_pandas_dtype())
        return item, pa.array([int(value) for value in numbers if limits.min <= value <= limits.max], item.type)
    found = [fitted(Decimal(value), (item.type.precision, item.type.scale)) for value in values.to_pylist()]
    return item, pa.array([value for value in found if value is not None], item.type)


def one_zero(values: Any) -> Any:
    """Floats with -0.0 replaced by 0.0, because Arrow hashes them differently."""
    return pc.add(values, pa.scalar(0.0, values.type)) if pa.types.is_floating(values.type) else values


def list_holds(lists: pa.Array, item: Any) -> pa.Array:
    """Membership row by row: list and item of the same row. With a null in the list absence is unknown."""
    length = len(lists)
    parents = pc.list_parent_indices(lists).to_numpy()
    flat = pc.list_flatten(lists)
    wanted = item if isinstance(item, pa.Scalar) else pc.take(item, pa.array(parents))
    hits = pc.fill_null(compare(Op.EQ, flat, wanted), False)
    held, unsure = np.zeros(length, bool), np.zeros(length, bool)
    held[parents[_mask(hits, len(flat))]] = True
    unsure[parents[_mask(pc.is_null(flat), len(flat))]] = True
    unknown = _mask(pc.is_null(lists), length) | _mask(pc.is_null(item), length) | (unsure & ~held)
    return pa.array(held, mask=unknown)


def _mask(value: Any, length: int) -> Mask:
    if isinstance(value, pa.Scalar):
        return np.full(length, value.as_py(), bool)
    mask: Mask = value.to_numpy(zero_copy_only=False)
    return mask


def arithmetic(operator: BinaryOperator, left: Any, right: Any, type_: pa.DataType) -> Any:
    """``+ - * / %`` in the type of the result. Dividing by zero gives null; ArrowInvalid if an integer does not fit.

    The remainder has the sign of the dividend, as in SQL.
    """
    if pa.types.is_decimal(type_):
        return decimal_arithmetic(operator, left, right, type_)
    exact = pa.types.is_integer(type_)
    left, right = pc.cast(left, type_, safe=exact), pc.cast(right, type_, safe=exact)
    match operator:
        case Op.ADD:
            return pc.add_checked(left, right)
        case Op.SUBTRACT:
            return pc.subtract_checked(left, right)
        case Op.MULTIPLY:
            return pc.multiply_checked(left, right)
        case Op.DIVIDE:
            zero = pc.equal(right, pa.scalar(0, type_))
            return pc.divide(left, pc.if_else(zero, pa.scalar(None, type_), right))
        case _:
            dividend, dividend_null = _parts(left)
            divisor, divisor_null = _parts(right)
            none = dividend_null | divisor_null | (divisor == 0)
            rest = np.fmod(dividend, np.where(divisor == 0, divisor.dtype.type(1), divisor))
            return _packed(rest, none, type_, _is_scalar(left, right))


def _is_scalar(left: Any, right: Any) -> bool:
    return isinstance(left, pa.Scalar) and isinstance(right, pa.Scalar)


def _parts(value: Any) -> tuple[npt.NDArray[Any], Mask]:
    """Values with a filler at nulls, and the null mask; a scalar gives arrays of length one."""
    array = pa.array([value.as_py()], value.type) if isinstance(value, pa.Scalar) else value
    nulls = pc.is_null(array).to_numpy(zero_copy_only=False)
    return pc.fill_null(array, pa.scalar(0, array.type)).to_numpy(zero_copy_only=False), nulls


def _packed(values: npt.NDArray[Any], nulls: Mask, type_: pa.DataType, scalar: bool) -> Any:
    array = pa.array(values, type_, mask=np.broadcast_to(nulls, values.shape))
    return array[0] if scalar else array
