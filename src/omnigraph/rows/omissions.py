"""Omitted cells: columns that a row of the input does not name.

An omitted cell is null in the row but says nothing about the entity: an upsert keeps the committed value. A null that
the input writes is not omitted.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from enum import Enum
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Cells = npt.NDArray[np.bool_]
"""One row per entity, one column per column of its table; True where the input does not name the cell."""


class Omissions(Enum):
    """Treatment of columns that a row does not name."""

    IGNORED = "ignored"
    """They are null. Only omitted ids are noted."""
    NOTED = "noted"
    """They are null and noted."""
    ALLOWED = "allowed"
    """They are noted, and may be required ones."""


def omitting(columns: Sequence[str], omitted: Collection[str], rows: int) -> Cells | None:
    """Rows that omit the same columns; None if they omit none."""
    if not omitted:
        return None
    cells: Cells = np.zeros((rows, len(columns)), np.bool_)
    cells[:, [columns.index(name) for name in omitted]] = True
    return cells


def cells_of_rows(rows: Sequence[Sequence[bool]]) -> Cells | None:
    """The cells of rows, each with a mark per column; None if no cell is marked."""
    cells: Cells = np.array(rows, np.bool_)
    return cells if cells.any() else None


def cells_of_columns(columns: Sequence[str], masks: Mapping[str, pa.BooleanArray], rows: int) -> Cells | None:
    """The cells of columns, given a mask for some of them; None if no cell is marked."""
    cells: Cells = np.zeros((rows, len(columns)), np.bool_)
    for name, mask in masks.items():
        cells[:, columns.index(name)] = mask.to_numpy(zero_copy_only=False)
    return cells if cells.any() else None


def lines_without(data: bytes, places: Sequence[int], lines: int) -> pa.BooleanArray:
    """A mask of the lines in which none of these places lies."""
    ends = np.flatnonzero(np.frombuffer(data, np.uint8) == ord("\n"))
    is_without = np.ones(lines, np.bool_)
    is_without[np.searchsorted(ends, np.asarray(places, np.int64))] = False
    return pa.array(is_without)


def moved_cells(cells: Cells | None, rows: int, places: Sequence[int | None]) -> Cells | None:
    """The cells in other columns: each has its place in the old ones, or None if it is new and every row omits it."""
    moved: Cells = np.ones((rows, len(places)), np.bool_)
    for number, place in enumerate(places):
        if place is not None:
            moved[:, number] = False if cells is None else cells[:, place]
    return moved if moved.any() else None


def joined_cells(parts: Sequence[tuple[int, Cells | None]], columns: int) -> Cells | None:
    """Concatenate the cells of pieces, given with their numbers of rows."""
    if all(cells is None for _, cells in parts):
        return None
    whole: Cells = np.concatenate(
        [np.zeros((rows, columns), np.bool_) if cells is None else cells for rows, cells in parts]
    )
    return whole


def chosen_cells(cells: Cells | None, rows: pa.Array) -> Cells | None:
    """The cells of some rows: positions, or a mask of all rows."""
    return None if cells is None else cells[rows.to_numpy(zero_copy_only=False)]


def named_runs(cells: Cells, columns: Sequence[str]) -> Iterator[tuple[int, int, list[str]]]:
    """Consecutive rows that omit the same cells: the first row, their number, and the columns that they name."""
    changes = (np.flatnonzero((cells[1:] != cells[:-1]).any(axis=1)) + 1).tolist()
    bounds = [0, *changes, len(cells)]
    for start, stop in pairwise(bounds):
        omitted = cells[start].tolist() if stop > start else []
        yield start, stop - start, [name for name, is_omitted in zip(columns, omitted, strict=False) if not is_omitted]


def with_stand_ins(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The batch with some value in place of every null of a required column, which storage would refuse.

    For rows that are completed before they can be seen.
    """
    arrays = [
        _stood_in(array, field.type) if array.null_count and not field.nullable else array
        for array, field in zip(batch.columns, batch.schema, strict=True)
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=batch.schema)


def _stood_in(array: pa.Array, type_: pa.DataType) -> pa.Array:
    places = np.where(array.is_null().to_numpy(zero_copy_only=False), len(array), np.arange(len(array)))
    return pa.concat_arrays([array, _stand_in(type_)]).take(pa.array(places))


def _stand_in(type_: pa.DataType) -> pa.Array:
    if pa.types.is_fixed_size_list(type_):
        return pa.array([[0.0] * type_.list_size], type_)
    if pa.types.is_list(type_):
        return pa.array([[]], type_)
    if pa.types.is_string(type_) or pa.types.is_large_binary(type_):
        return pa.array([b""], pa.binary()).cast(type_)
    if pa.types.is_boolean(type_):
        return pa.array([False], type_)
    return pa.array([0], pa.int32() if type_.bit_width == pa.int32().bit_width else pa.int64()).cast(type_)
