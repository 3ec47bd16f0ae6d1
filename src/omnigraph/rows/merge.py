"""Values made of two changes of one value, by policy, column by column."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.schema.ir import MergePolicy


def combine(
    policy: MergePolicy, base: pa.Array, source: pa.Array, target: pa.Array
) -> tuple[pa.Array, pa.BooleanArray]:
    """The combined values, and where there is one: a sum may not fit its type. Null counts as nothing."""
    match policy:
        case MergePolicy.MAX:
            return _whole(pc.max_element_wise(source, target))
        case MergePolicy.MIN:
            return _whole(pc.min_element_wise(source, target))
        case MergePolicy.SUM:
            return _sum(base, source, target)
        case MergePolicy.UNION:
            rows = zip(base.to_pylist(), source.to_pylist(), target.to_pylist(), strict=True)
            return _whole(pa.array([_union(*row) for row in rows], source.type))
        case _:
            raise AssertionError(f"{policy} makes no value of its own")


def _whole(values: pa.Array) -> tuple[pa.Array, pa.BooleanArray]:
    return values, pa.array([True] * len(values), pa.bool_())


def _sum(base: pa.Array, source: pa.Array, target: pa.Array) -> tuple[pa.Array, pa.BooleanArray]:
    """The base and what both sides added to it."""
    type_ = base.type
    if pa.types.is_floating(type_):
        before, left, right = (pc.fill_null(side, 0).cast(pa.float64()) for side in (base, source, target))
        return _whole(pc.subtract(pc.add(left, right), before).cast(type_, safe=False))
    sums: list[int | None] = []
    for row in zip(base.to_pylist(), source.to_pylist(), target.to_pylist(), strict=True):
        before, left, right = (value or 0 for value in row)
        sums.append(left + right - before)
    low, high = _bounds(type_)
    fits = [number is not None and low <= number <= high for number in sums]
    values = [number if fit else None for number, fit in zip(sums, fits, strict=True)]
    return pa.array(values, type_), pa.array(fits, pa.bool_())


def _bounds(type_: pa.DataType) -> tuple[int, int]:
    bits = type_.bit_width
    return (0, 2**bits - 1) if pa.types.is_unsigned_integer(type_) else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


def _union(base: list[Any] | None, source: list[Any] | None, target: list[Any] | None) -> list[Any]:
    """What the base has and neither side removed, then what the target added, then what the source added."""
    before, left, right = (_by_key(items) for items in (base, source, target))
    kept = {key: item for key, item in before.items() if key in left and key in right}
    added = {key: item for side in (right, left) for key, item in side.items() if key not in before}
    return [*kept.values(), *added.values()]


def _by_key(items: Iterable[Any] | None) -> dict[object, Any]:
    """Items once each. NaN is not equal to itself, so its text stands for it."""
    return {(item if item == item else "NaN", type(item)): item for item in items or ()}
