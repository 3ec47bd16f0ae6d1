"""Merge policies over columns: the value that results from concurrent changes of both sides."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import reduce
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.schema.ir import MergePolicy


def combine(
    policy: MergePolicy, base: pa.Array, source: pa.Array, target: pa.Array
) -> tuple[pa.Array, pa.BooleanArray]:
    """The merged values and a mask of valid ones: a sum may overflow its type. Nulls are ignored."""
    match policy:
        case MergePolicy.MAX:
            return _whole(_extreme(pc.max_element_wise, source, target))
        case MergePolicy.MIN:
            return _whole(_extreme(pc.min_element_wise, source, target))
        case MergePolicy.SUM:
            return _sum(base, source, target)
        case MergePolicy.UNION:
            rows = zip(base.to_pylist(), source.to_pylist(), target.to_pylist(), strict=True)
            return _whole(pa.array([_union(*row) for row in rows], source.type))
        case _:
            raise AssertionError(f"{policy} makes no value of its own")


def _whole(values: pa.Array) -> tuple[pa.Array, pa.BooleanArray]:
    return values, pa.array([True] * len(values), pa.bool_())


def _extreme(choose: Callable[[pa.Array, pa.Array], pa.Array], source: pa.Array, target: pa.Array) -> pa.Array:
    """The maximum or minimum of both sides. NaN is ignored."""
    chosen = choose(source, target)
    if not pa.types.is_floating(chosen.type):
        return chosen
    # -0.0 and 0.0 compare equal, so their bit patterns decide: as integers, the negative zero is smaller.
    zeros = pc.and_(pc.equal(source, 0), pc.equal(target, 0))
    bits = pa.int64() if chosen.type == pa.float64() else pa.int32()
    return pc.if_else(
        pc.fill_null(zeros, False), choose(source.view(bits), target.view(bits)).view(chosen.type), chosen
    )


def _sum(base: pa.Array, source: pa.Array, target: pa.Array) -> tuple[pa.Array, pa.BooleanArray]:
    """The base plus the difference of each side: base 10, source 13, target 8 give 11."""
    type_ = base.type
    if pa.types.is_floating(type_):
        before, left, right = (pc.fill_null(side, 0).cast(pa.float64()) for side in (base, source, target))
        return _float_sum(before, left, right, type_)
    sums: list[int | None] = []
    for row in zip(base.to_pylist(), source.to_pylist(), target.to_pylist(), strict=True):
        before, left, right = (value or 0 for value in row)
        sums.append(left + right - before)
    low, high = _bounds(type_)
    fits = [number is not None and low <= number <= high for number in sums]
    values = [number if fit else None for number, fit in zip(sums, fits, strict=True)]
    return pa.array(values, type_), pa.array(fits, pa.bool_())


def _float_sum(
    base: pa.Array, source: pa.Array, target: pa.Array, type_: pa.DataType
) -> tuple[pa.Array, pa.BooleanArray]:
    """Sums in the column's type. Infinity is valid only if a side is infinite, NaN only if an operand was NaN."""
    sums = pc.subtract(pc.add(source, target), base).cast(type_, safe=False)
    was_none = reduce(pc.or_, map(pc.is_nan, (base, source, target)))
    was_beyond = pc.and_(pc.is_inf(sums), pc.or_(pc.is_inf(source), pc.is_inf(target)))
    return sums, pc.or_(pc.is_finite(sums), pc.or_(was_none, was_beyond))


def _bounds(type_: pa.DataType) -> tuple[int, int]:
    bits = type_.bit_width
    return (0, 2**bits - 1) if pa.types.is_unsigned_integer(type_) else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


def _union(base: list[Any] | None, source: list[Any] | None, target: list[Any] | None) -> list[Any]:
    """Base items that neither side removed, then additions of the target, then of the source.

    base [a, b], source [b, c], target [a, b, d] give [b, d, c].
    """
    before, left, right = (_by_key(items) for items in (base, source, target))
    kept = {key: item for key, item in before.items() if key in left and key in right}
    added = {key: item for side in (right, left) for key, item in side.items() if key not in before}
    return [*kept.values(), *added.values()]


def _by_key(items: Iterable[Any] | None) -> dict[object, Any]:
    """Distinct items. NaN is not equal to itself, so a text is its key."""
    return {(item if item == item else "NaN", type(item)): item for item in items or ()}
