"""Kernels of lists: size, items and slices by positions in the flat array of all items."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.exec.functions.rowwise import Mask, Numbers, flat, numbers_of, packed, rows

Values = Sequence[Any]


def size(arguments: Values, type_: pa.DataType) -> Any:
    """The number of items."""
    return pc.cast(pc.list_value_length(arguments[0]), type_)


def item(arguments: Values, type_: pa.DataType) -> Any:
    """One item of every list; null outside of it.

    Example: lists [a b] [] [c], index -1: starts 0 2 2, sizes 2 0 1, places 1 - 2, so b null c.
    """
    starts, sizes, nulls, items = _spread(arguments)
    index, index_null = numbers_of(arguments[1], len(starts))
    wanted = _from_start(index, sizes)
    is_absent = nulls | index_null | (wanted < 0) | (wanted >= sizes)
    places = pa.array(np.where(is_absent, 0, starts + np.where(is_absent, 0, wanted)), mask=is_absent)
    return packed(items.take(places).cast(type_), arguments)


def part(arguments: Values, type_: pa.DataType) -> Any:
    """A range of the items of every list; bounds outside of it are its ends."""
    starts, sizes, nulls, items = _spread(arguments)
    (first, first_null), (last, last_null) = (numbers_of(bound, len(starts)) for bound in arguments[1:])
    nulls = nulls | first_null | last_null
    begin = np.clip(_from_start(first, sizes), 0, sizes)
    end = np.clip(_from_start(last, sizes), begin, sizes)
    counts = np.where(nulls, 0, end - begin)
    offsets = np.concatenate(([0], np.cumsum(counts)))
    # The places of all items: every range starts where its list does, and counts up.
    places = np.arange(offsets[-1]) - np.repeat(offsets[:-1] - starts - begin, counts)
    found = pa.ListArray.from_arrays(
        pa.array(offsets, pa.int32()), items.take(pa.array(places)).cast(type_.value_type), mask=pa.array(nulls)
    )
    return packed(found, arguments)


def _from_start(index: Numbers, sizes: Numbers) -> Numbers:
    """Positions counted from the start; negative ones count from the end."""
    return np.where(index < 0, np.maximum(index, -sizes - 1) + sizes, index)


def _spread(arguments: Values) -> tuple[Numbers, Numbers, Mask, pa.Array]:
    """For every row where its list starts, its size and whether it is null; and the items of all lists."""
    lists, length = flat(arguments[0]), rows(arguments)
    nulls = pc.is_null(lists).to_numpy(zero_copy_only=False)
    sizes = pc.fill_null(pc.list_value_length(lists), 0).to_numpy(zero_copy_only=False).astype(np.int64)
    starts = np.concatenate(([0], np.cumsum(sizes)[:-1])) if len(sizes) else sizes
    spread = [np.broadcast_to(column, length) for column in (starts, sizes, nulls)]
    return spread[0], spread[1], spread[2], pc.list_flatten(lists)
