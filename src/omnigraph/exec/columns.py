"""Columns in memory, within a bound.

What is remembered belongs to a fragment, which never changes: after a commit only new fragments are read. A whole
column, once put together for a pin, replaces its fragments. A fragment that single rows are taken from again and again
is read whole.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

import numpy as np
import pyarrow as pa

from omnigraph.core.lru import Lru
from omnigraph.core.tables import TablePin
from omnigraph.exec.adjacency import Rows
from omnigraph.storage.layout import Layout, Part
from omnigraph.storage.parts import layout_of, read_parts
from omnigraph.storage.store import Store

CACHED_BYTES_MAX = 512 * 1024 * 1024
"""Columns remembered in one process."""

CACHED_PARTS_MAX = 65_536
"""Fragments of columns whose place is remembered."""

TAKES_MAX = 3
"""Times that rows are taken from a fragment of a column before it is read whole."""

SMALL_ROWS_MAX = 4096
"""Fragments with fewer rows are read whole at once: it takes no longer, and often they are still in memory."""

READ_ROWS_MAX = 2_000_000
"""Fragments with more rows are not read whole for the sake of a few."""

Key = tuple[str, int, str]
"""Location, version and column of a pin; or data file, field and nothing of a fragment."""


class Columns:
    """Columns by pin and by fragment."""

    def __init__(self) -> None:
        self._columns: Lru[Key, pa.Array] = Lru(CACHED_BYTES_MAX, lambda column: column.nbytes)
        # Where the values of a fragment stand: in which remembered column, and from where.
        self._places: Lru[tuple[str, int], tuple[Key, int]] = Lru(CACHED_PARTS_MAX)
        self._takes: Lru[tuple[str, int], int] = Lru(CACHED_PARTS_MAX)

    def known(self, pin: TablePin, name: str) -> pa.Array | None:
        """A column that is remembered for this very pin."""
        return self._columns.get((pin.location, pin.lance_version, name))

    def read(self, store: Store, pin: TablePin, name: str, *, remember: bool = True) -> pa.Array:
        """A whole column by row number; what stands at deleted rows means nothing."""
        known = self.known(pin, name)
        if known is not None:
            return known
        layout = layout_of(store, pin)
        pieces = self._pieces(store, pin, layout, name)
        column = pieces[0] if len(pieces) == 1 else pa.concat_arrays(pieces)
        if not remember:
            return column
        key = (pin.location, pin.lance_version, name)
        self._columns.put(key, column)
        for part in layout.parts:
            self._places.put((part.data, layout.fields[name]), (key, part.start))
        return column

    def _pieces(self, store: Store, pin: TablePin, layout: Layout, name: str) -> list[pa.Array]:
        field = layout.fields[name]
        remembered = [(part, self._piece(part, field)) for part in layout.parts]
        pieces: list[pa.Array] = []
        for is_missing, group in groupby(remembered, key=lambda pair: pair[1] is None):
            if is_missing:
                pieces.append(read_parts(store, pin, [part for part, _ in group], name))
            else:
                pieces.extend(piece for _, piece in group)
        return pieces

    def _piece(self, part: Part, field: int) -> pa.Array | None:
        place = self._places.get((part.data, field))
        whole = None if place is None else self._columns.get(place[0])
        return None if place is None or whole is None else whole.slice(place[1], part.rows)

    def gather(self, store: Store, pin: TablePin, name: str, rows: Rows) -> pa.Array | None:
        """Some rows of a column from what is remembered; None if they are to be taken from storage."""
        layout = layout_of(store, pin)
        starts = np.array([part.start for part in layout.parts], np.int64)
        owners = np.searchsorted(starts, rows, side="right") - 1
        touched = [layout.parts[index] for index in sorted(set(owners.tolist()))]
        found = [self._wanted(store, pin, part, layout.fields[name], name) for part in touched]
        pieces = [piece for piece in found if piece is not None]
        if not pieces or len(pieces) < len(touched):
            return None
        if len(touched) == 1:
            return pieces[0].take(pa.array(rows - touched[0].start))
        ends = np.cumsum([part.rows for part in touched])
        place = np.searchsorted(np.array([part.start for part in touched]), rows, side="right") - 1
        shifts = ends - [part.start + part.rows for part in touched]
        return _taken_across(pieces, rows + shifts[place], place)

    def _wanted(self, store: Store, pin: TablePin, part: Part, field: int, name: str) -> pa.Array | None:
        known = self._piece(part, field)
        if known is not None or part.rows > READ_ROWS_MAX:
            return known
        takes = (self._takes.get((part.data, field)) or 0) + 1
        self._takes.put((part.data, field), takes)
        if takes <= TAKES_MAX and part.rows > SMALL_ROWS_MAX:
            return None
        column = read_parts(store, pin, [part], name)
        key = (part.data, field, "")
        self._columns.put(key, column)
        self._places.put((part.data, field), (key, 0))
        return column


def _taken_across(pieces: Sequence[pa.Array], positions: Rows, owners: Rows) -> pa.Array:
    """Values at positions in the pieces one after the other, without putting those together."""
    order = np.argsort(owners, kind="stable")
    cuts = np.searchsorted(owners[order], np.arange(len(pieces) + 1))
    taken: list[pa.Array] = []
    before = 0
    for index, piece in enumerate(pieces):
        mine = positions[order[cuts[index] : cuts[index + 1]]] - before
        taken.append(piece.take(pa.array(mine)))
        before += len(piece)
    back = np.empty(len(order), np.int64)
    back[order] = np.arange(len(order))
    return pa.concat_arrays(taken).take(pa.array(back))
