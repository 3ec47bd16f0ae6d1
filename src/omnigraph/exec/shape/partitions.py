"""Work on more rows than fit into memory, some at a time.

What would be spilled is already on disk: rows are row numbers of immutable tables, so their properties can be read
again whenever their turn comes. Rows are divided by the value that they are ordered or compared by.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa

from omnigraph.exec.budget import BYTES_PER_BINDING, Budget
from omnigraph.exec.shape.order import Key, first_rows
from omnigraph.exec.shape.steps import codes, group_codes, ranks
from omnigraph.exec.tables import Rows

SAMPLE_ROWS = 1024
"""Rows that stand for all when sizes are estimated and limits between parts are chosen."""

SLICE_ROWS = 65_536
"""Rows whose values are read at once while rows are divided."""

PARTS_MAX = 256

DIVIDED_ROWS_MIN = 16_384
"""So few rows are not divided, and their sizes are not estimated."""

AT_ONCE_MAX = 2**62
"""Rows worked on at the same time, however much memory there is."""

LARGE_VALUE_BYTES = 1024
"""Rows that would fit with values of this size are not sampled."""

WORK_BYTES = 3 * BYTES_PER_BINDING
"""What ordering and comparing need for every row and column beside the values."""

Read = Callable[[Rows], pa.Array]


def rows_at_once(reads: Sequence[Read], rows: Rows, budget: Budget, held: int) -> int:
    """How many rows may be worked on at the same time, when so much is held already."""
    if budget.bytes_max is None or len(rows) <= DIVIDED_ROWS_MIN:
        return min(max(len(rows), 1), AT_ONCE_MAX)
    # Twice: values are copied when they are put in order.
    room = max(budget.bytes_max - held, budget.bytes_max // 4) // 2
    if len(rows) * len(reads) * LARGE_VALUE_BYTES <= room:
        return min(len(rows), AT_ONCE_MAX)
    few = _sample(rows)
    needed = sum(read(few).nbytes / len(few) + WORK_BYTES for read in reads) + BYTES_PER_BINDING
    return min(max(int(room / needed), 1), AT_ONCE_MAX)


def divided(read: Read, rows: Rows, size: int) -> list[tuple[Rows, bool]]:
    """The rows in parts of about this size, by ascending value; with each whether all its values are equal.

    Rows of equal value are in one part. Within a part rows keep their order.
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
    """Between which limits a value lies (even), or which of them it is (odd)."""
    placed = ranks(pa.concat_arrays([values, limits]))
    mine, edges = placed[: len(values)], placed[len(values) :]
    codes: Rows = np.searchsorted(edges, mine, side="left") + np.searchsorted(edges, mine, side="right")
    return codes


def _sample(rows: Rows) -> Rows:
    return rows[np.linspace(0, len(rows) - 1, min(len(rows), SAMPLE_ROWS)).astype(np.int64)]


def _slices(rows: Rows, size: int) -> list[Rows]:
    return [rows[start : start + size] for start in range(0, len(rows), size)]


def ordered(keys: Sequence[Key], rows: Rows, stop: int, size: int) -> Rows:
    """The first ``stop`` rows in the order of the keys, with the keys of at most about ``size`` rows in memory."""
    if len(rows) <= size or not keys:
        return first_rows(keys, rows, stop)
    if stop * 2 <= size:
        return _best(keys, rows, stop, size)
    read, descending = keys[0]
    parts = divided(read, rows, size)
    found: list[Rows] = []
    for part, is_level in reversed(parts) if descending else parts:
        wanted = stop - sum(map(len, found))
        if wanted <= 0:
            break
        # A part that could not be divided is tried as a whole; the budget decides.
        within = len(part) if len(part) == len(rows) and not is_level else size
        found.append(ordered(keys[1:] if is_level else keys, part, min(wanted, len(part)), within))
    return np.concatenate(found) if found else rows[:0]


def _best(keys: Sequence[Key], rows: Rows, stop: int, size: int) -> Rows:
    """Few of many: the first of some rows, then of these and some more."""
    best = rows[:0]
    for start in range(0, len(rows), size - stop):
        best = first_rows(keys, np.concatenate((best, rows[start : start + size - stop])), stop)
    return best


def coded(read: Read, rows: Rows, size: int) -> Rows:
    """Integers, equal exactly where the values at the rows are equal; rows are positions without repetition."""
    if len(rows) <= size:
        return codes(read(rows))
    # Each row's place in ``rows``, whichever part it comes to stand in.
    places = np.empty(int(rows.max()) + 1, np.int64)
    places[rows] = np.arange(len(rows))
    found, used = np.empty(len(rows), np.int64), 0
    for part, _ in divided(read, rows, size):
        mine = codes(read(part))
        found[places[part]] = mine + used
        used += int(mine.max()) + 1
    return found


def different(reads: Sequence[Read], by: Read | None, rows: Rows, size: int) -> Rows:
    """Of rows that agree in all values the first; ``by`` is what rows may be divided by."""
    parts = [rows] if by is None or len(rows) <= size else [part for part, _ in divided(by, rows, size)]
    kept = [part[group_codes([read(part) for read in reads], len(part))[1]] for part in parts]
    return np.concatenate(kept) if kept else rows
