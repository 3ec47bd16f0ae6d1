"""External sorting and grouping: more rows than fit into memory, partition by partition.

Nothing is spilled: rows are row numbers of immutable tables, so their properties can be read again for each
partition. Rows are range-partitioned by the value that they are sorted or compared by.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa

from omnigraph.core.tuning import Tuning
from omnigraph.exec.budget import BYTES_PER_BINDING, Budget
from omnigraph.exec.shape.order import Key, first_rows
from omnigraph.exec.shape.steps import codes, group_codes, ranks
from omnigraph.exec.tables import Rows

SAMPLE_ROWS = 1024
"""Sample size for estimating value sizes and choosing partition boundaries."""

SLICE_ROWS = 65_536
"""Rows whose values are read together while partitioning."""

PARTS_MAX = 256

LARGE_VALUE_BYTES = 1024
"""Rows that would fit with values of this size are not sampled."""

WORK_BYTES = 3 * BYTES_PER_BINDING
"""Working memory of sorting and comparing per row and column, beside the values."""

Read = Callable[[Rows], pa.Array]


def rows_at_once(reads: Sequence[Read], rows: Rows, budget: Budget, held: int, tuning: Tuning) -> int:
    """The number of rows that may be processed together, given the bytes already held."""
    rows_max = tuning.rows_at_once_max
    if budget.bytes_max is None or len(rows) <= tuning.divided_rows_min:
        return min(max(len(rows), 1), rows_max)
    # Twice: sorting copies the values.
    room = max(budget.bytes_max - held, budget.bytes_max // 4) // 2
    if len(rows) * len(reads) * LARGE_VALUE_BYTES <= room:
        return min(len(rows), rows_max)
    few = _sample(rows)
    needed = sum(read(few).nbytes / len(few) + WORK_BYTES for read in reads) + BYTES_PER_BINDING
    return min(max(int(room / needed), 1), rows_max)


def divided(read: Read, rows: Rows, size: int) -> list[tuple[Rows, bool]]:
    """Range partitions of about this size, by ascending value; each with whether all its values are equal.

    Equal values are in one partition. Within a partition rows keep their order.
    """
    sample = read(_sample(rows))
    order = np.argsort(ranks(sample), kind="stable")
    parts = min(-(-len(rows) // size) * 2, PARTS_MAX, len(sample) + 1)
    chosen = sample.take(pa.array(order[np.linspace(0, len(order) - 1, parts + 1).astype(np.int64)[1:-1]]))
    limits = chosen.take(pa.array(np.unique(ranks(chosen), return_index=True)[1]))
    codes = np.concatenate([_codes(read(part), limits) for part in _slices(rows, min(size, SLICE_ROWS))])
    by_code = np.argsort(codes, kind="stable")
    counts = np.bincount(codes, minlength=2 * len(limits) + 1)
    ends = np.cumsum(counts)
    return [
        (rows[by_code[end - count : end]], code % 2 == 1)
        for code, (end, count) in enumerate(zip(ends, counts, strict=True))
        if count
    ]


def _codes(values: pa.Array, limits: pa.Array) -> Rows:
    """The code of a value: even for the gap between two boundaries, odd for a boundary itself."""
    placed = ranks(pa.concat_arrays([values, limits]))
    ranked, edges = placed[: len(values)], placed[len(values) :]
    codes: Rows = np.searchsorted(edges, ranked, side="left") + np.searchsorted(edges, ranked, side="right")
    return codes


def _sample(rows: Rows) -> Rows:
    return rows[np.linspace(0, len(rows) - 1, min(len(rows), SAMPLE_ROWS)).astype(np.int64)]


def _slices(rows: Rows, size: int) -> list[Rows]:
    return [rows[start : start + size] for start in range(0, len(rows), size)]


def ordered(keys: Sequence[Key], rows: Rows, stop: int, size: int, tuning: Tuning) -> Rows:
    """The first ``stop`` rows in the order of the keys, with the keys of at most about ``size`` rows in memory."""
    if len(rows) <= size or not keys:
        return first_rows(keys, rows, stop, tuning)
    if stop * 2 <= size:
        return _best(keys, rows, stop, size, tuning)
    read, descending = keys[0]
    parts = divided(read, rows, size)
    found: list[Rows] = []
    for part, is_level in reversed(parts) if descending else parts:
        wanted = stop - sum(map(len, found))
        if wanted <= 0:
            break
        # A partition of equal values cannot be divided further; the budget decides whether it fits.
        within = len(part) if len(part) == len(rows) and not is_level else size
        found.append(ordered(keys[1:] if is_level else keys, part, min(wanted, len(part)), within, tuning))
    return np.concatenate(found) if found else rows[:0]


def _best(keys: Sequence[Key], rows: Rows, stop: int, size: int, tuning: Tuning) -> Rows:
    """Top-k over slices: keep the best of one slice and merge them with the next."""
    best = rows[:0]
    for start in range(0, len(rows), size - stop):
        best = first_rows(keys, np.concatenate((best, rows[start : start + size - stop])), stop, tuning)
    return best


def coded(read: Read, rows: Rows, size: int) -> Rows:
    """Integer codes, equal exactly for equal values at the rows; positions must not repeat."""
    if len(rows) <= size:
        return codes(read(rows))
    # The index of each row in ``rows``, needed because partitions reorder rows.
    places = np.empty(int(rows.max()) + 1, np.int64)
    places[rows] = np.arange(len(rows))
    found, used = np.empty(len(rows), np.int64), 0
    for part, _ in divided(read, rows, size):
        local = codes(read(part))
        found[places[part]] = local + used
        used += int(local.max()) + 1
    return found


def different(reads: Sequence[Read], by: Read | None, rows: Rows, size: int) -> Rows:
    """The first of rows that are equal in all values; ``by`` is the column to partition by."""
    parts = [rows] if by is None or len(rows) <= size else [part for part, _ in divided(by, rows, size)]
    kept = [part[group_codes([read(part) for read in reads], len(part))[1]] for part in parts]
    return np.concatenate(kept) if kept else rows
