"""Grouping by row numbers: with a dense array where the key space is small, otherwise by hashing."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.exec.adjacency import Integers
from omnigraph.exec.frame import BLOCK_MARK, Frame
from omnigraph.exec.multiplicity import sums, total
from omnigraph.exec.shape.steps import codes
from omnigraph.exec.tables import Rows

SPAN_MAX = 2**62
"""Several row numbers are packed into one integer below this."""

DENSE_SHARE = 8
"""A dense array is used if the key space is at most this many times the number of rows."""

DENSE_MIN = 4096
"""Below this key space a dense array costs nothing."""


def row_groups(bindings: Sequence[Integers], sizes: Sequence[int], rows: int) -> tuple[Rows, Rows]:
    """The group of every row, and the first row of every group. Null (-1) is a value like others.

    Example with two bindings over tables of 3 and 2 rows::

        bindings   0 2 0 -1 2    1 0 1 0 0
        key        5 10 5 1 10   (binding + 1) in mixed radix: (b0 + 1) * 3 + (b1 + 1)
        groups     1 2 1 0 2     numbered by key; first 3 0 1
    """
    key, span = np.zeros(rows, np.int64), 1
    for binding, size in zip(bindings, sizes, strict=True):
        if span * (size + 1) >= SPAN_MAX:
            key, first = _hashed(key)
            span = len(first)
        key, span = key * (size + 1) + binding + 1, span * (size + 1)
    return _counted(key, span) if span <= max(rows * DENSE_SHARE, DENSE_MIN) else _hashed(key)


def _counted(key: Rows, span: int) -> tuple[Rows, Rows]:
    first = np.full(span, -1, np.int64)
    first[key[::-1]] = np.arange(len(key) - 1, -1, -1)
    present = np.flatnonzero(first >= 0)
    number = np.zeros(span, np.int64)
    number[present] = np.arange(len(present))
    return number[key], first[present]


def _hashed(key: Rows) -> tuple[Rows, Rows]:
    encoded = pc.dictionary_encode(pa.array(key))
    groups: Rows = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    first = np.zeros(len(encoded.dictionary), np.int64)
    first[groups[::-1]] = np.arange(len(key) - 1, -1, -1)
    return groups, first


def frame_groups(frame: Frame, names: Sequence[str]) -> tuple[Rows, Rows]:
    """``row_groups`` over variables of a frame."""
    bindings = [frame.bindings[name] for name in names]
    sizes = [
        frame.tables[name].size if name in frame.tables else int(rows.max(initial=-1)) + 1
        for name, rows in zip(names, bindings, strict=True)
    ]
    return row_groups(bindings, sizes, frame.length)


def collapse(frame: Frame, rows_min: int, *, counted: bool) -> Frame:
    """Collapse equal rows into one, which carries their summed multiplicity if rows are counted.

    Fewer than ``rows_min`` rows are left as they are.
    """
    if not frame.repeats or frame.length < rows_min or any(map(_is_costly, frame.columns.items())):
        return frame
    if not frame.bindings and not frame.columns:
        rows = min(frame.length, 1)
        multiplicity = np.full(rows, total(frame.multiplicity, frame.length), np.int64) if counted else None
        return Frame(rows, {}, multiplicity=multiplicity)
    groups, first = _equal_rows(frame)
    multiplicity = sums(groups, frame.multiplicity, len(first)) if counted else None
    collapsed = frame if len(first) == frame.length else frame.take(first)
    return Frame(
        len(first),
        collapsed.tables,
        collapsed.bindings,
        collapsed.columns,
        multiplicity=frame.multiplicity if collapsed is frame and counted else multiplicity,
    )


def _is_costly(item: tuple[str, pa.Array]) -> bool:
    """True for paths and scores, which take long to compare: they occur late and on few rows."""
    name, column = item
    return name.startswith(BLOCK_MARK) or pa.types.is_nested(column.type)


def _equal_rows(frame: Frame) -> tuple[Rows, Rows]:
    """Groups of rows that are equal in all bindings and computed columns."""
    groups, first = frame_groups(frame, list(frame.bindings))
    if not frame.columns:
        return groups, first
    coded = [groups, *(codes(column) for column in frame.columns.values())]
    return row_groups(coded, [int(code.max(initial=-1)) + 1 for code in coded], frame.length)
