"""Merge policies that compute a value from base, source and target, one column at a time.

``COMBINERS`` has one row per policy whose outcome in ``schema.merge_policies`` is ``COMBINED``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from functools import reduce
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.core.decimals import exact_sum, fitted
from omnigraph.core.json_values.merge import merge_json
from omnigraph.core.temporal import is_length as is_length_in_range
from omnigraph.schema.ir import MergePolicy

Combined = tuple[pa.Array, pa.BooleanArray]
"""Values, and where there is one."""

Combiner = Callable[[pa.Array, pa.Array, pa.Array], Combined]
"""Combines base, source and target of one property, row by row."""


def combine(policy: MergePolicy, base: pa.Array, source: pa.Array, target: pa.Array) -> Combined:
    """Combined values, and a mask of the rows that have one: a sum may overflow its type. Null counts as absent."""
    return COMBINERS[policy](base, source, target)


def _max(_: pa.Array, source: pa.Array, target: pa.Array) -> Combined:
    return _whole(_extreme(pc.max_element_wise, source, target))


def _min(_: pa.Array, source: pa.Array, target: pa.Array) -> Combined:
    return _whole(_extreme(pc.min_element_wise, source, target))


def _unions(base: pa.Array, source: pa.Array, target: pa.Array) -> Combined:
    rows = zip(base.to_pylist(), source.to_pylist(), target.to_pylist(), strict=True)
    return _whole(pa.array([_union(*row) for row in rows], source.type))


def _keys(base: pa.Array, source: pa.Array, target: pa.Array) -> Combined:
    merged = [merge_json(*row) for row in zip(base.to_pylist(), source.to_pylist(), target.to_pylist(), strict=True)]
    fits = pa.array([item.conflict is None for item in merged], pa.bool_())
    return pa.array([item.text for item in merged], source.type), fits


def misfits(policy: MergePolicy, base: pa.Array, source: pa.Array, target: pa.Array) -> list[str]:
    """The reason of each row that has no combined value, as the end of a message."""
    if policy is not MergePolicy.KEYS:
        return [f", and their {policy.value} does not fit"] * len(source)
    rows = zip(base.to_pylist(), source.to_pylist(), target.to_pylist(), strict=True)
    paths = [merge_json(*row).conflict for row in rows]
    return [f" at {path}" if path else "" for path in paths]


def _whole(values: pa.Array) -> Combined:
    return values, pa.array([True] * len(values), pa.bool_())


def _extreme(choose: Callable[[pa.Array, pa.Array], pa.Array], source: pa.Array, target: pa.Array) -> pa.Array:
    """The greater or the smaller value of each row. Null and NaN count as absent."""
    if pa.types.is_timestamp(source.type):
        # Arrow has no such kernel for instants with a time zone; all columns of a property count in one unit.
        return choose(source.view(pa.int64()), target.view(pa.int64())).view(source.type)
    chosen = choose(source, target)
    if not pa.types.is_floating(chosen.type):
        return chosen
    # The two zeros compare as equal, so either could be chosen; their bit patterns order the negative one first.
    zeros = pc.and_(pc.equal(source, 0), pc.equal(target, 0))
    bits = pa.int64() if chosen.type == pa.float64() else pa.int32()
    return pc.if_else(
        pc.fill_null(zeros, False), choose(source.view(bits), target.view(bits)).view(chosen.type), chosen
    )


def _sum(base: pa.Array, source: pa.Array, target: pa.Array) -> Combined:
    """The base plus the deltas of both sides."""
    type_ = base.type
    if pa.types.is_floating(type_):
        before, left, right = (pc.fill_null(side, 0).cast(pa.float64()) for side in (base, source, target))
        return _float_sum(before, left, right, type_)
    if pa.types.is_decimal(type_) or pa.types.is_duration(type_):
        return _exact_sum(base, source, target)
    sums: list[int | None] = []
    for row in zip(base.to_pylist(), source.to_pylist(), target.to_pylist(), strict=True):
        before, left, right = (value or 0 for value in row)
        sums.append(left + right - before)
    low, high = _bounds(type_)
    fits = [number is not None and low <= number <= high for number in sums]
    values = [number if fit else None for number, fit in zip(sums, fits, strict=True)]
    return pa.array(values, type_), pa.array(fits, pa.bool_())


def _exact_sum(base: pa.Array, source: pa.Array, target: pa.Array) -> Combined:
    """The same for decimals and durations, which have ranges of their own."""
    type_ = base.type
    is_length = pa.types.is_duration(type_)
    columns = [side.cast(pa.int64()) if is_length else side for side in (base, source, target)]
    made: list[Any] = []
    for row in zip(*(column.to_pylist() for column in columns), strict=True):
        before, left, right = (value or 0 for value in row)
        if is_length:
            total = left + right - before
            made.append(total if is_length_in_range(total) else None)
        else:
            total = exact_sum(left, right, Decimal(before).copy_negate())
            made.append(fitted(total, (type_.precision, type_.scale)))
    values = pa.array(made, pa.int64()).cast(type_) if is_length else pa.array(made, type_)
    return values, pc.is_valid(values)


def _float_sum(base: pa.Array, source: pa.Array, target: pa.Array, type_: pa.DataType) -> Combined:
    """Sums in their type. An infinite sum fits only if a side is infinite, and NaN only if an input is NaN."""
    sums = pc.subtract(pc.add(source, target), base).cast(type_, safe=False)
    has_nan = reduce(pc.or_, map(pc.is_nan, (base, source, target)))
    has_infinity = pc.and_(pc.is_inf(sums), pc.or_(pc.is_inf(source), pc.is_inf(target)))
    return sums, pc.or_(pc.is_finite(sums), pc.or_(has_nan, has_infinity))


def _bounds(type_: pa.DataType) -> tuple[int, int]:
    bits = type_.bit_width
    return (0, 2**bits - 1) if pa.types.is_unsigned_integer(type_) else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


def _union(base: list[Any] | None, source: list[Any] | None, target: list[Any] | None) -> list[Any]:
    """Set union of both sides' edits, in a fixed order: items of the base that neither removed, then additions.

    >>> _union(["a", "b", "c"], ["a", "c", "x"], ["a", "b", "y"])
    ['a', 'y', 'x']
    """
    before, left, right = (_by_key(items) for items in (base, source, target))
    kept = {key: item for key, item in before.items() if key in left and key in right}
    added = {key: item for side in (right, left) for key, item in side.items() if key not in before}
    return [*kept.values(), *added.values()]


def _by_key(items: Iterable[Any] | None) -> dict[object, Any]:
    """Items without duplicates. NaN is not equal to itself, so its text is the key."""
    return {(item if item == item else "NaN", type(item)): item for item in items or ()}


COMBINERS: Final[Mapping[MergePolicy, Combiner]] = {
    MergePolicy.MAX: _max,
    MergePolicy.MIN: _min,
    MergePolicy.SUM: _sum,
    MergePolicy.UNION: _unions,
    MergePolicy.KEYS: _keys,
}
