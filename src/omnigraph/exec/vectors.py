"""Vectors of a column in memory, and the exact nearest of them.

Squares are summed in stages, over the first quarter of the numbers, over half and over all. The first sums are lower
bounds: rows for which they are farther than rows already measured cannot be among the nearest. For vectors in clusters,
as embeddings are, about one row in four hundred is left to measure after the second stage::

    query    0 0 | 0 0
    vectors  3 0 | 0 0     first stage: 9, all: 9
             1 1 | 4 1     first stage: 2, all: 19
             5 0 | 1 1     first stage: 25: farther than the first vector, whatever follows

Vectors are kept by fragment, so a commit reads its own rows only.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import field
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from omnigraph.core.classes.dataclass import dataclass
from omnigraph.core.lru import Lru, held_bytes
from omnigraph.exec.adjacency import Mask, Rows
from omnigraph.exec.tables import HELD_BYTES_MAX, TableView
from omnigraph.storage.tables.columns_by_fragment import read_parts
from omnigraph.storage.tables.row_layout import Fragment

Floats = npt.NDArray[np.float32]
Doubles = npt.NDArray[np.float64]

VECTORS_BYTES_MAX = 2 * HELD_BYTES_MAX
"""Bytes of vectors kept by one process."""

COLUMNS_MAX = 256
"""Columns whose searches are counted."""

STAGE_ENDS = (4, 2, 1)
"""The stages of a sum end after a quarter of the numbers, after half of them, and after all."""

TILE_NUMBERS = 8_192
"""Numbers of one product. BLAS starts threads for a few more, which wait for each other on a busy machine: one thread
takes half of their processor time, and no longer than they do."""

LEFT_SHARE = 256
"""If at most one row in this many is left after a stage, measuring them is faster than the next stage."""

MEASURED_ROWS = 512
"""Vectors whose distances are computed together."""

EPSILON = float(np.finfo(np.float32).eps)


@dataclass(frozen=True, slots=True)
class Block:
    """The vectors of one fragment."""

    numbers: Sequence[Floats]
    """For every stage its numbers, one row per vector."""
    missing: Mask | None
    """Rows without a vector."""
    squares: Floats
    """The sum of the squares of every vector in each stage."""
    largest: float
    """The largest sum of all squares of a vector."""

    @classmethod
    def of(cls, column: pa.FixedSizeListArray) -> Block:
        width = column.type.list_size
        flat = column.values.to_numpy(zero_copy_only=False)[
            column.offset * width : (column.offset + len(column)) * width
        ]
        numbers = [np.array(flat.reshape(-1, width)[:, part], np.float32, order="C") for part in _stages(width)]
        missing = column.is_null().to_numpy(zero_copy_only=False) if column.null_count else None
        if missing is not None:
            # The numbers under a null are arbitrary.
            for part in numbers:
                part[missing] = 0
        squares = np.stack([np.einsum("ij,ij->i", part, part) for part in numbers])
        return cls(numbers, missing, squares, float(squares.sum(axis=0).max(initial=0)))

    @property
    def rows(self) -> int:
        return int(self.squares.shape[1])

    @property
    def nbytes(self) -> int:
        return int(sum(part.nbytes for part in self.numbers) + self.squares.nbytes)

    def product(self, stage: int, point: Floats) -> Floats:
        """The products of the vectors with a point, over the numbers of one stage."""
        numbers = self.numbers[stage]
        rows, width = numbers.shape
        tile = max(TILE_NUMBERS // width, 1)
        tiled = rows - rows % tile
        found = np.empty(rows, np.float32)
        np.matmul(numbers[:tiled].reshape(-1, tile, width), point, out=found[:tiled].reshape(-1, tile))
        np.matmul(numbers[tiled:], point, out=found[tiled:])
        return found

    def distances(self, rows: Rows, query: Doubles) -> Floats:
        """Exact distances of some rows."""
        starts = range(0, len(rows), MEASURED_ROWS)
        found = [
            # Contiguous, because the order of a sum depends on the layout.
            measured(np.concatenate([part[rows[start : start + MEASURED_ROWS]] for part in self.numbers], 1), query)
            for start in starts
        ]
        return np.concatenate(found)


def _stages(width: int) -> list[slice]:
    """The dimensions of every stage."""
    cuts = [0, *(width // end for end in STAGE_ENDS)]
    return [slice(start, stop) for start, stop in pairwise(cuts) if start < stop]


@dataclass(frozen=True, slots=True)
class Bounds:
    """Lower bounds of squares of distances by row number, off by at most ``slack``.

    They are infinite for rows that do not count. After the last stage they are the squares themselves.
    """

    squares: Floats
    slack: float
    is_last: bool


@dataclass(frozen=True, slots=True)
class Vectors:
    """All vectors of a column at one version."""

    starts: Rows
    """The first row number of every block."""
    blocks: Sequence[Block]

    @property
    def size(self) -> int:
        return sum(block.rows for block in self.blocks)

    def bounds(self, query: Doubles, alive: Mask | None) -> Iterator[Bounds]:
        """Bounds after every stage. All are one array, which the next stage overwrites."""
        point, own = query.astype(np.float32), float(query @ query)
        found = np.zeros(self.size, np.float32)
        if alive is not None:
            found[~alive[: len(found)]] = np.inf
        for start, block in self._placed():
            if block.missing is not None:
                found[start : start + len(block.missing)][block.missing] = np.inf
        largest = max(block.largest for block in self.blocks)
        # Every addition of the sums may round once, and so may the terms of every stage and the distance.
        stages = _stages(len(query))
        slack = 2 * (len(query) + 8 * len(stages)) * EPSILON * (largest + own)
        for stage, part in enumerate(stages):
            offset = np.float32(query[part] @ query[part])
            for start, block in self._placed():
                # |v - q|^2 = |v|^2 - 2 v q + |q|^2: one product of a vector and a matrix.
                added = block.product(stage, point[part])
                # In place: on a busy machine the pages of a new array cost more than the sums.
                added *= -2
                added += block.squares[stage]
                added += offset
                found[start : start + len(added)] += added
            yield Bounds(found, slack, stage == len(stages) - 1)

    def squares(self, query: Doubles, alive: Mask | None) -> Bounds:
        """Squares of all distances, about."""
        *_, last = self.bounds(query, alive)
        return last

    def _placed(self) -> Iterator[tuple[int, Block]]:
        return zip(self.starts.tolist(), self.blocks, strict=True)

    def distances(self, rows: Rows, query: Doubles) -> Floats:
        """Exact distances of ascending rows that have a vector."""
        cuts = np.append(np.searchsorted(rows, self.starts), len(rows)).tolist()
        found = [
            block.distances(rows[first:last] - start, query)
            for (start, block), first, last in zip(self._placed(), cuts[:-1], cuts[1:], strict=True)
            if last > first
        ]
        return np.concatenate([*found, np.zeros(0, np.float32)])

    def nearest(self, query: Doubles, alive: Mask | None, wanted: int) -> tuple[Rows, Floats] | None:
        """The nearest rows and those as near as the last of them, ascending, with distances; None on overflow."""
        for bounds in self.bounds(query, alive):
            if not np.isfinite(bounds.slack):
                return None
            few = _smallest(bounds.squares, 2 * wanted)
            if len(few) < wanted:
                return few, self.distances(few, query)
            last = np.partition(self.distances(few, query), wanted - 1)[wanted - 1]
            # One float further: rows at a distance that rounds to the same float are as near.
            reach = float(np.nextafter(last, np.float32(np.inf)))
            left = np.flatnonzero(bounds.squares <= reach * reach + bounds.slack)
            if bounds.is_last or len(left) <= max(len(bounds.squares) // LEFT_SHARE, 4 * wanted):
                found = self.distances(left, query)
                is_nearest = found <= np.partition(found, wanted - 1)[wanted - 1]
                return left[is_nearest], found[is_nearest]
        raise AssertionError("the last stage returns")


def _smallest(values: Floats, count: int) -> Rows:
    """Positions of the smallest finite values, ascending: ``count`` of them, or all if there are fewer."""
    if count >= len(values):
        return np.flatnonzero(np.isfinite(values))
    limit = np.partition(values, count - 1)[count - 1]
    found = np.flatnonzero(values <= limit) if np.isfinite(limit) else np.flatnonzero(np.isfinite(values))
    # With ties any of them will do.
    return found[:count]


def measured(matrix: Floats, query: Doubles) -> Floats:
    """L2 distances of the rows of a matrix: computed in doubles, rounded once."""
    squares = np.empty(len(matrix), np.float64)
    for start in range(0, len(matrix), MEASURED_ROWS):
        # Converting a few rows at a time keeps the doubles in the CPU cache and bounds the memory.
        offsets = matrix[start : start + MEASURED_ROWS] - query
        np.einsum("ij,ij->i", offsets, offsets, out=squares[start : start + MEASURED_ROWS])
    return np.sqrt(squares).astype(np.float32)


@dataclass
class VectorCache:
    """Vectors by fragment, read once a column was searched a few times."""

    _blocks: Lru[tuple[str, int], Block] = field(default_factory=lambda: Lru(VECTORS_BYTES_MAX, held_bytes))
    _searches: Lru[tuple[str, int], int] = field(default_factory=lambda: Lru(COLUMNS_MAX))

    def get(self, table: TableView, column: str, *, eager: bool) -> Vectors | None:
        """The vectors of a column; None if it does not fit into memory.

        With ``eager=False`` also None if the column has rarely been searched.
        """
        if not table.size or table.width(column) * table.size > HELD_BYTES_MAX:
            return None
        number = table.layout.fields[column]
        times = (self._searches.get((table.pin.location, number)) or 0) + 1
        self._searches.put((table.pin.location, number), times)
        if not eager and times <= table.store.tuning.vectors_held_after:
            return None
        return Vectors(table.layout.starts, [self._block(table, part, number, column) for part in table.layout.parts])

    def _block(self, table: TableView, part: Fragment, number: int, column: str) -> Block:
        known = self._blocks.get((part.data, number))
        if known is None:
            known = Block.of(read_parts(table.store, table.pin, [part], column))
            self._blocks.put((part.data, number), known)
        return known
