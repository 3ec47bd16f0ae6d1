"""Top-k selection: the first rows of an order, without sorting the others or reading their later keys."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.core.tuning import Tuning
from omnigraph.exec.shape.steps import sorted_rows
from omnigraph.exec.tables import Rows
from omnigraph.query.ir import Slice

Key = tuple[Callable[[Rows], pa.Array], bool]
"""A reader of values at positions, and whether the order is descending."""


def bounds(operator: Slice, length: int) -> tuple[int, int]:
    """The half-open range of a slice; limits may exceed 64 bits."""
    stop = length if operator.limit is None else min(operator.offset + operator.limit, length)
    return min(operator.offset, stop), stop


def first_rows(keys: Sequence[Key], rows: Rows, stop: int, tuning: Tuning) -> Rows:
    """The first ``stop`` of these positions in the order of the keys; ties keep their order."""
    if not keys or len(rows) < tuning.selected_rows_min or stop * tuning.selected_share > len(rows):
        return rows[sorted_rows([(read(rows), descending) for read, descending in keys], len(rows))[:stop]]
    if not stop:
        return rows[:0]
    read, descending = keys[0]
    before, tied = split(read(rows), descending, stop)
    # Later keys are read only for rows that tie at the boundary.
    head = first_rows(keys, rows[before], len(before), tuning)
    return np.concatenate((head, first_rows(keys[1:], rows[tied], stop - len(before), tuning)))


def split(column: pa.Array, descending: bool, stop: int) -> tuple[Rows, Rows]:
    """Rows strictly before the boundary of the first ``stop``, and rows that tie with it; both ascending.

    Example: 7 3 5 3 9, ascending, stop 3: the boundary is 5, so rows 1 3 come before it and row 2 ties.
    """
    missing = pc.is_null(column).to_numpy(zero_copy_only=False)
    nulls, known = np.flatnonzero(missing), np.flatnonzero(~missing)
    # Null is smallest: first ascending, last descending.
    if not descending and len(nulls) >= stop:
        return nulls[:0], nulls
    if descending and len(known) < stop:
        return known, nulls
    values = column if not len(nulls) else column.filter(pa.array(~missing))
    ahead, level = _split_values(values, descending, stop if descending else stop - len(nulls))
    before = known[ahead]
    return (before if descending else np.sort(np.concatenate((nulls, before)))), known[level]


def _split_values(values: pa.Array, descending: bool, stop: int) -> tuple[Rows, Rows]:
    """The same for values that are not null; there are at least ``stop`` of them."""
    numbers = _numbers(values)
    if numbers is None:
        order = "descending" if descending else "ascending"
        chosen = pc.select_k_unstable(pa.table({"value": values}), stop, [("value", order)])
        edge = values[chosen[-1].as_py()]
        compare = pc.greater if descending else pc.less
        ahead, level = compare(values, edge), pc.equal(values, edge)
        return _positions(ahead), _positions(level)
    place = len(numbers) - stop if descending else stop - 1
    limit = np.partition(numbers, place)[place]
    if np.isnan(limit):
        # NaN is above every number and equal to itself.
        unknown = np.isnan(numbers)
        return np.flatnonzero(~unknown) if not descending else np.zeros(0, np.int64), np.flatnonzero(unknown)
    ahead_mask = (numbers > limit) | np.isnan(numbers) if descending else numbers < limit
    return np.flatnonzero(ahead_mask), np.flatnonzero(numbers == limit)


def _positions(mask: pa.Array) -> Rows:
    return np.flatnonzero(mask.to_numpy(zero_copy_only=False))


def _numbers(values: pa.Array) -> npt.NDArray[Any] | None:
    """Values as numbers in the same order; None for texts."""
    types = pa.types
    if types.is_boolean(values.type):
        values = values.cast(pa.int8())
    elif types.is_date32(values.type):
        values = values.cast(pa.int32())
    elif types.is_timestamp(values.type) or types.is_duration(values.type):
        values = values.cast(pa.int64())
    elif types.is_time32(values.type):
        values = values.cast(pa.int32())
    if types.is_integer(values.type) or types.is_floating(values.type):
        numbers: npt.NDArray[Any] = values.to_numpy(zero_copy_only=False)
        return numbers
    return None
