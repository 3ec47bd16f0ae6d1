"""Rows of one type as a batch that fits its table, and the coalescing of small batches."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.core.classes.dataclass import dataclass
from omnigraph.rows.arrow_types import Entity
from omnigraph.rows.limits import BATCH_BYTES, PENDING_BYTES
from omnigraph.rows.omissions import Cells, chosen_cells, joined_cells
from omnigraph.rows.violations import Place


@dataclass(frozen=True, slots=True)
class TypedRows:
    """Rows with exactly the columns of ``table_schema(entity)``, and the line or record number of each.

    A reader reports an invalid value and puts null in its place, even of a required property (``has_holes``). Such rows
    take part in the checks over several rows, so that a wrong value hides no other mistake. They are never written.
    """

    entity: Entity
    batch: pa.RecordBatch
    lines: pa.Array
    has_holes: bool = False
    omitted: Cells | None = None
    """Cells that the input does not name, all null; None if there are none."""

    @property
    def table_key(self) -> str:
        return self.entity.table_key

    def slice(self, start: int, rows: int) -> TypedRows:
        """Consecutive rows."""
        omitted = None if self.omitted is None else self.omitted[start : start + rows]
        return TypedRows(
            self.entity, self.batch.slice(start, rows), self.lines.slice(start, rows), self.has_holes, omitted
        )

    def take(self, positions: pa.Array) -> TypedRows:
        """The rows at some positions."""
        omitted = chosen_cells(self.omitted, positions)
        return TypedRows(self.entity, self.batch.take(positions), self.lines.take(positions), self.has_holes, omitted)

    def filter(self, keep: pa.BooleanArray) -> TypedRows:
        """The rows where a mask is true."""
        omitted = chosen_cells(self.omitted, keep)
        return TypedRows(self.entity, self.batch.filter(keep), self.lines.filter(keep), self.has_holes, omitted)

    def places(self, source: str) -> Callable[[int], Place]:
        """The source location of the row at an index."""
        return lambda row: Place(source, self.lines[row].as_py())


class Gathering:
    """Coalesces rows per type, in order, up to at least half a batch; larger pieces are not worth the copy."""

    def __init__(self, batch_rows: int) -> None:
        self._batch_rows = batch_rows
        self._pieces: dict[str, list[TypedRows]] = {}
        self._rows: dict[str, int] = {}
        self._bytes: dict[str, int] = {}

    def add(self, piece: TypedRows) -> Iterator[TypedRows]:
        """Add a piece; yields the batches that are now large enough."""
        if piece.batch.num_rows == 0:
            return
        key = piece.table_key
        self._pieces.setdefault(key, []).append(piece)
        self._rows[key] = self._rows.get(key, 0) + piece.batch.num_rows
        self._bytes[key] = self._bytes.get(key, 0) + piece.batch.nbytes
        if 2 * self._rows[key] >= self._batch_rows or self._bytes[key] >= BATCH_BYTES:
            yield from self._give(key)
        elif sum(self._bytes.values()) >= PENDING_BYTES:
            yield from self._give(max(self._bytes, key=self._bytes.__getitem__))

    def rest(self) -> Iterator[TypedRows]:
        """The remaining batches, by type."""
        for key in sorted(self._pieces):
            yield from self._give(key)

    def _give(self, key: str) -> Iterator[TypedRows]:
        pieces = self._pieces.pop(key)
        bytes_per_row = max(1, self._bytes.pop(key) // self._rows.pop(key))
        rows_max = max(1, min(self._batch_rows, 2 * BATCH_BYTES // bytes_per_row))
        whole = joined(pieces)
        for start in range(0, whole.batch.num_rows, rows_max):
            yield whole.slice(start, rows_max)


class PlacedBatch(NamedTuple):
    """Rows of a source before typing, and the number of each: the line of a text file, else the row, from 1."""

    batch: pa.RecordBatch
    lines: pa.Array


def numbered(batches: Iterable[pa.RecordBatch]) -> Iterator[PlacedBatch]:
    """Batches whose places are row numbers."""
    first = 1
    for batch in batches:
        yield PlacedBatch(batch, counting(first, batch.num_rows))
        first += batch.num_rows


def counting(first: int, count: int) -> pa.Array:
    """``first``, ``first + 1`` and so on, without a Python object for each."""
    return pa.array(np.arange(first, first + count, dtype=np.int64))


def joined(pieces: list[TypedRows]) -> TypedRows:
    """Concatenate pieces of the same type, in order."""
    if len(pieces) == 1:
        return pieces[0]
    batch = pa.concat_batches([piece.batch for piece in pieces])
    lines = pa.concat_arrays([piece.lines for piece in pieces])
    omitted = joined_cells([(piece.batch.num_rows, piece.omitted) for piece in pieces], batch.num_columns)
    return TypedRows(pieces[0].entity, batch, lines, any(piece.has_holes for piece in pieces), omitted)


def in_line_order(rows: TypedRows) -> TypedRows:
    """The rows sorted by line."""
    return rows.take(pc.sort_indices(rows.lines))
