"""Grouping, ordering and deduplication on integer codes of columns, so that one mechanism serves every type."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.exec.numbers import one_zero
from omnigraph.exec.tables import Rows


def codes(column: pa.Array) -> Rows:
    """Dictionary codes: equal integers for equal values, numbered by first appearance. Nulls are equal."""
    if pa.types.is_list(column.type) or pa.types.is_fixed_size_list(column.type):
        numbers: dict[str, int] = {}
        return np.array([numbers.setdefault(_list_text(value), len(numbers)) for value in column.to_pylist()], np.int64)
    encoded = pc.dictionary_encode(one_zero(column), null_encoding="encode")
    indices: Rows = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    return indices


def _list_text(items: list[Any] | None) -> str:
    """A text that is equal for equal lists: -0.0 equals 0.0, and NaN equals NaN."""
    return repr(items and [item + 0.0 if isinstance(item, float) else item for item in items])


def group_codes(columns: Sequence[pa.Array], rows: int) -> tuple[Rows, Rows]:
    """The group of every row, numbered by first appearance, and the first row of every group.

    Example with two columns::

        columns    a b a a b    x x y x x
        combined   0 1 2 0 1    first  0 1 2
    """
    combined = np.zeros(rows, np.int64)
    for column in columns:
        code = codes(column)
        # Recoding after every column keeps the combined values small, so the product cannot overflow.
        combined = codes(pa.array(combined * (int(code.max(initial=0)) + 1) + code))
    first = np.zeros(int(combined.max(initial=-1)) + 1, np.int64)
    # Assigned backwards: of several rows of a group the first one is written last and stays.
    first[combined[::-1]] = np.arange(rows)[::-1]
    return combined, first


def ranks(column: pa.Array) -> Rows:
    """Dense ranks of the values: null is smallest, NaN is above every number.

    Example: values 5 null 7 5 -> order 1 0 3 2 -> ranks 1 0 2 1.
    """
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
    """Positions sorted by keys, each a column and whether it descends; a stable sort."""
    if not keys:
        return np.arange(rows)
    levels = [-ranks(column) if descending else ranks(column) for column, descending in keys]
    return np.lexsort(tuple(reversed(levels)))
