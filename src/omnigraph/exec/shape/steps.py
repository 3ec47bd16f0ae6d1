"""The last steps of a query: grouping, ordering, keeping each row once.

Groups and order are computed on integer codes of the columns, so that one mechanism serves every type.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.core.operators import AggregateFunction
from omnigraph.exec.multiplicity import sums
from omnigraph.exec.numbers import one_zero
from omnigraph.exec.tables import Rows
from omnigraph.query import expressions as ir
from omnigraph.rows.arrow_types import column_type

Function = AggregateFunction


def codes(column: pa.Array) -> Rows:
    """Small integers, equal exactly where the values are equal; numbered as they first appear. Nulls are equal."""
    if pa.types.is_list(column.type) or pa.types.is_fixed_size_list(column.type):
        numbers: dict[str, int] = {}
        return np.array([numbers.setdefault(_list_text(value), len(numbers)) for value in column.to_pylist()], np.int64)
    encoded = pc.dictionary_encode(one_zero(column), null_encoding="encode")
    indices: Rows = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    return indices


def _list_text(items: list[Any] | None) -> str:
    """Equal for lists whose items are equal: zero has one sign, NaN is itself."""
    return repr(items and [item + 0.0 if isinstance(item, float) else item for item in items])


def group_codes(columns: Sequence[pa.Array], rows: int) -> tuple[Rows, Rows]:
    """The group of every row, numbered in order of first appearance, and the first row of every group."""
    combined = np.zeros(rows, np.int64)
    for column in columns:
        mine = codes(column)
        combined = codes(pa.array(combined * (int(mine.max(initial=0)) + 1) + mine))
    first = np.zeros(int(combined.max(initial=-1)) + 1, np.int64)
    first[combined[::-1]] = np.arange(rows)[::-1]
    return combined, first


def ranks(column: pa.Array) -> Rows:
    """Integers in the order of the values; null is smallest, what is not a number is above every number."""
    if pa.types.is_boolean(column.type):
        column = pc.cast(column, pa.int8())
    order: Rows = pc.array_sort_indices(column, null_placement="at_start").to_numpy().astype(np.int64)
    if not len(order):
        return order
    ordered = codes(column)[order]
    steps = np.zeros(len(order), np.int64)
    steps[1:] = ordered[1:] != ordered[:-1]
    placed = np.empty(len(order), np.int64)
    placed[order] = np.cumsum(steps)
    if pa.types.is_floating(column.type):
        placed[np.isnan(pc.fill_null(column, 0.0).to_numpy(zero_copy_only=False))] = len(order)
    return placed


def sorted_rows(keys: Sequence[tuple[pa.Array, bool]], rows: int) -> Rows:
    """Positions in the order of the keys, each with whether it descends; equal rows keep their order."""
    if not keys:
        return np.arange(rows)
    levels = [-ranks(column) if descending else ranks(column) for column, descending in keys]
    return np.lexsort(tuple(reversed(levels)))


# --- aggregates ------------------------------------------------------------------------------------------


def aggregate(
    expression: ir.Aggregate, values: pa.Array, groups: Rows, count: int, multiplicity: Rows | None = None
) -> pa.Array:
    """One value per group. Nulls are neither counted nor summed nor collected; a row counts as often as it weighs."""
    if values.null_count:
        present = pc.is_valid(values).to_numpy(zero_copy_only=False)
        values, groups = values.filter(pa.array(present)), groups[present]
        multiplicity = None if multiplicity is None else multiplicity[present]
    if expression.distinct and expression.function not in (Function.MIN, Function.MAX):
        _, first = group_codes([pa.array(groups), values], len(groups))
        values, groups, multiplicity = values.take(pa.array(first)), groups[first], None
    type_ = column_type(expression.type)
    match expression.function:
        case Function.COUNT:
            return pa.array(sums(groups, multiplicity, count), type_)
        case Function.SUM | Function.AVG:
            counts = sums(groups, multiplicity, count)
            numbers = pc.cast(values, pa.float64(), safe=False).to_numpy(zero_copy_only=False)
            numbers = numbers if multiplicity is None else numbers * multiplicity
            added = np.bincount(groups, weights=numbers, minlength=count).astype(np.float64)
            divisor = np.maximum(counts, 1) if expression.function is Function.AVG else 1
            return pa.array(added / divisor, type_, mask=counts == 0)
        case Function.MIN | Function.MAX:
            return _extreme(expression, values, groups, count, type_)
        case Function.COLLECT:
            order = np.argsort(groups, kind="stable")
            offsets = np.concatenate(([0], np.cumsum(sums(groups, multiplicity, count))))
            order = order if multiplicity is None else np.repeat(order, multiplicity[order])
            items = values.take(pa.array(order)).cast(type_.value_type)
            return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), items)


def _extreme(expression: ir.Aggregate, values: pa.Array, groups: Rows, count: int, type_: pa.DataType) -> pa.Array:
    """The row with the smallest or largest rank of each group."""
    place = ranks(values)
    if expression.function is Function.MAX:
        place = -place
    order = np.lexsort((place, groups))
    first = np.full(count, -1, np.int64)
    first[groups[order][::-1]] = order[::-1]
    return pc.take(values, pa.array(first, mask=first < 0)).cast(type_)
