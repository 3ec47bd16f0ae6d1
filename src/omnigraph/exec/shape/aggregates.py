"""Aggregate functions over groups of rows: one row of the table per function.

Invariant: a row counts as often as its multiplicity says, and nulls are removed before a function sees the values. A
function therefore gets non-null values, the group of each, and the multiplicity of each (None: one).

Example: ``sum`` over five rows in two groups::

    values        1  4  null  2  3
    groups        0  1  0     0  1
    multiplicity  2  1  5     1  1
    sum           4  7              group 0: 1 * 2 + 2, group 1: 4 + 3
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.core.classes.dataclass import dataclass
from omnigraph.core.operators import AggregateFunction
from omnigraph.core.temporal import is_length
from omnigraph.errors import InputError
from omnigraph.exec.adjacency import Mask
from omnigraph.exec.decimals import decimal_sums
from omnigraph.exec.functions.lengths import TOO_LONG
from omnigraph.exec.multiplicity import sums
from omnigraph.exec.shape.steps import group_codes, sorted_rows
from omnigraph.exec.tables import Rows
from omnigraph.query import expressions as ir
from omnigraph.query.aggregates import AGGREGATES
from omnigraph.rows.arrow_types import column_type


@dataclass(frozen=True)
class Grouped:
    """Non-null values of an argument with their groups and multiplicities; ``count`` groups in all."""

    values: pa.Array
    groups: Rows
    count: int
    multiplicity: Rows | None
    fraction: float = 0.0
    """The fraction of a percentile."""
    places: Rows | None = None
    """The rank of each row in the order of ``first`` and ``last``."""

    @cached_property
    def sizes(self) -> Rows:
        """The number of values per group."""
        return sums(self.groups, self.multiplicity, self.count)


def aggregate(
    expression: ir.Aggregate,
    values: pa.Array,
    groups: Rows,
    count: int,
    multiplicity: Rows | None = None,
    by: Sequence[pa.Array] = (),
) -> pa.Array:
    """One value per group. Nulls are not counted, summed or collected; ``by`` are the order keys of the rows."""
    places = _places([*by, values], groups) if expression.by else None
    if values.null_count:
        present = pc.is_valid(values).to_numpy(zero_copy_only=False)
        values, groups = values.filter(pa.array(present)), groups[present]
        multiplicity = None if multiplicity is None else multiplicity[present]
        places = None if places is None else places[present]
    if expression.distinct and not AGGREGATES[expression.function].ignores_duplicates:
        _, first = group_codes([pa.array(groups), values], len(groups))
        values, groups, multiplicity = values.take(pa.array(first)), groups[first], None
    rows = Grouped(values, groups, count, multiplicity, expression.fraction or 0.0, places)
    return REDUCERS[expression.function](rows, column_type(expression.type))


def _places(keys: Sequence[pa.Array], groups: Rows) -> Rows:
    """The position of every row in the order of the keys; null is smallest."""
    placed = np.empty(len(groups), np.int64)
    placed[sorted_rows([(key, False) for key in keys], len(groups))] = np.arange(len(groups))
    return placed


def _count(rows: Grouped, type_: pa.DataType) -> pa.Array:
    return pa.array(rows.sizes, type_)


def _sum(rows: Grouped, type_: pa.DataType) -> pa.Array:
    if pa.types.is_decimal(type_):
        return decimal_sums(rows.values, rows.groups, rows.multiplicity, rows.count, type_)
    if pa.types.is_duration(type_):
        return pa.array(_total_length(rows), pa.int64(), mask=rows.sizes == 0).cast(type_)
    return pa.array(_added(rows), type_, mask=rows.sizes == 0)


def _mean(rows: Grouped, type_: pa.DataType) -> pa.Array:
    sizes = rows.sizes
    if pa.types.is_duration(type_):
        means = [_nearest(total, size) for total, size in zip(_total_length(rows), sizes.tolist(), strict=True)]
        return pa.array(means, pa.int64(), mask=sizes == 0).cast(type_)
    return pa.array(_added(rows) / np.maximum(sizes, 1), type_, mask=sizes == 0)


def _total_length(rows: Grouped) -> list[int]:
    """The milliseconds of each group, in whole numbers. Raises if a sum is longer than a Duration can be."""
    totals = [0] * rows.count
    times = [1] * len(rows.groups) if rows.multiplicity is None else rows.multiplicity.tolist()
    lengths = rows.values.cast(pa.int64()).to_pylist()
    for group, length, number in zip(rows.groups.tolist(), lengths, times, strict=True):
        totals[group] += length * number
    if any(not is_length(total) for total in totals):
        raise InputError(TOO_LONG)
    return totals


def _nearest(total: int, size: int) -> int:
    """The mean in whole milliseconds, halves away from zero."""
    if not size:
        return 0
    mean = (2 * abs(total) + size) // (2 * size)
    return mean if total >= 0 else -mean


def _added(rows: Grouped) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    numbers = pc.cast(rows.values, pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    numbers = numbers if rows.multiplicity is None else numbers * rows.multiplicity
    return np.bincount(rows.groups, weights=numbers, minlength=rows.count).astype(np.float64)


def _smallest(rows: Grouped, type_: pa.DataType) -> pa.Array:
    return _extreme(rows, type_, largest=False)


def _largest(rows: Grouped, type_: pa.DataType) -> pa.Array:
    return _extreme(rows, type_, largest=True)


def _extreme(rows: Grouped, type_: pa.DataType, *, largest: bool) -> pa.Array:
    """The smallest or largest value of each group, in one pass and without sorting the rows."""
    numbers = _numbers(rows.values)
    if numbers is not None:
        found, is_empty = _extreme_numbers(rows, numbers, largest=largest)
        return pa.array(found, mask=is_empty).cast(rows.values.type).cast(type_)
    # Texts: the distinct ones are sorted, and the rows are compared by rank.
    encoded = pc.dictionary_encode(rows.values)
    order = pc.array_sort_indices(encoded.dictionary).to_numpy()
    placed = np.empty(len(order), np.int64)
    placed[order] = np.arange(len(order))
    found, is_empty = _extreme_numbers(rows, placed[encoded.indices.to_numpy()], largest=largest)
    places = pa.array(np.where(is_empty, 0, found), mask=is_empty)
    return encoded.dictionary.take(pa.array(order)).take(places).cast(type_)


def _numbers(values: pa.Array) -> npt.NDArray[Any] | None:
    """Values of a fixed width as numbers in the same order; None for texts."""
    kind = values.type
    if pa.types.is_boolean(kind):
        values = values.cast(pa.int8())
    elif pa.types.is_date32(kind):
        values = values.cast(pa.int32())
    elif pa.types.is_timestamp(kind):
        values = values.cast(pa.int64())
    elif not pa.types.is_integer(kind) and not pa.types.is_floating(kind):
        return None
    numbers: npt.NDArray[Any] = values.to_numpy(zero_copy_only=False)
    return numbers


def _extreme_numbers(rows: Grouped, numbers: npt.NDArray[Any], *, largest: bool) -> tuple[npt.NDArray[Any], Mask]:
    """The smallest or largest number of each group, and the groups that have none. NaN is above every number."""
    is_float = numbers.dtype.kind == "f"
    # fmin passes over NaN unless there is nothing else; maximum returns it.
    reduce = np.maximum if largest else np.fmin if is_float else np.minimum
    limits = np.finfo(numbers.dtype) if is_float else np.iinfo(numbers.dtype)
    start = (-np.inf if is_float else limits.min) if largest else (np.nan if is_float else limits.max)
    found = np.full(rows.count, start, numbers.dtype)
    if rows.count == 1:
        found[0] = reduce.reduce(numbers, initial=start)
    else:
        reduce.at(found, rows.groups, numbers)
    # A group that still has the first value is empty, or has that value.
    is_first = np.isnan(found) if is_float and not largest else found == start
    return found, (is_first & (rows.sizes == 0)) if is_first.any() else is_first


def _first_by(rows: Grouped, place: Rows, type_: pa.DataType) -> pa.Array:
    """The value with the smallest place of each group; null for a group without values."""
    order = np.lexsort((place, rows.groups))
    first = np.full(rows.count, -1, np.int64)
    # Assigned backwards: of several rows of a group the first one in order is written last and stays.
    first[rows.groups[order][::-1]] = order[::-1]
    return pc.take(rows.values, pa.array(first, mask=first < 0)).cast(type_)


def _collected(rows: Grouped, type_: pa.DataType) -> pa.Array:
    # A stable sort keeps the order of rows within a list.
    order = np.argsort(rows.groups, kind="stable")
    offsets = np.concatenate(([0], np.cumsum(rows.sizes)))
    order = order if rows.multiplicity is None else np.repeat(order, rows.multiplicity[order])
    items = rows.values.take(pa.array(order)).cast(type_.value_type)
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), items)


def _deviation(rows: Grouped, type_: pa.DataType) -> pa.Array:
    """The standard deviation of a sample, in two passes: the sum of squares alone would lose digits."""
    sizes = rows.sizes
    numbers = pc.cast(rows.values, pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    means = _added(rows) / np.maximum(sizes, 1)
    squares = (numbers - means[rows.groups]) ** 2
    squares = squares if rows.multiplicity is None else squares * rows.multiplicity
    total = np.bincount(rows.groups, weights=squares, minlength=rows.count)
    return pa.array(np.sqrt(total / np.maximum(sizes - 1, 1)), type_, mask=sizes < 2)


def _percentile(rows: Grouped, type_: pa.DataType) -> pa.Array:
    """The value at a fraction of the sorted values, interpolated between its two neighbours."""
    numbers = pc.cast(rows.values, pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    order = np.lexsort((numbers, rows.groups))
    sizes = rows.sizes
    counts = np.ones(len(order), np.int64) if rows.multiplicity is None else rows.multiplicity[order]
    # Value number n of the sorted groups, counted with multiplicity, is the first whose count of values exceeds n.
    ends = np.cumsum(counts)
    position = rows.fraction * (np.maximum(sizes, 1) - 1)
    low, high = np.floor(position).astype(np.int64), np.ceil(position).astype(np.int64)
    starts = np.cumsum(sizes) - sizes
    found = np.zeros(rows.count)
    filled = sizes > 0
    below = numbers[order][np.searchsorted(ends, (starts + low)[filled], side="right")]
    above = numbers[order][np.searchsorted(ends, (starts + high)[filled], side="right")]
    exact = (low == high)[filled] | (below == above)
    left, right = (high - position)[filled], (position - low)[filled]
    # The formula of Spark, so that both executors round alike.
    found[filled] = np.where(exact, below, left * below + right * above)
    return pa.array(found, type_, mask=~filled)


def _first(rows: Grouped, type_: pa.DataType) -> pa.Array:
    assert rows.places is not None, "the order of the rows is given"
    return _first_by(rows, rows.places, type_)


def _last(rows: Grouped, type_: pa.DataType) -> pa.Array:
    assert rows.places is not None, "the order of the rows is given"
    return _first_by(rows, -rows.places, type_)


REDUCERS: Mapping[AggregateFunction, Callable[[Grouped, pa.DataType], pa.Array]] = {
    AggregateFunction.COUNT: _count,
    AggregateFunction.SUM: _sum,
    AggregateFunction.AVG: _mean,
    AggregateFunction.MIN: _smallest,
    AggregateFunction.MAX: _largest,
    AggregateFunction.COLLECT: _collected,
    AggregateFunction.STDDEV: _deviation,
    AggregateFunction.PERCENTILE: _percentile,
    AggregateFunction.FIRST: _first,
    AggregateFunction.LAST: _last,
}
