"""Column cache, bounded by bytes.

Entries belong to immutable fragments: after a commit only new fragments are read. A whole column, once concatenated
for a pin, replaces the entries of its fragments. A fragment from which single rows are taken repeatedly is read
whole.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import groupby
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa

from omnigraph.core.classes.dataclass import dataclass
from omnigraph.core.lru import Lru, held_bytes
from omnigraph.core.tables import TablePin
from omnigraph.exec.adjacency import Rows
from omnigraph.exec.coded.codes import Coded
from omnigraph.exec.coded.columns import CodedColumns
from omnigraph.storage.tables.columns_by_fragment import layout_of, read_parts
from omnigraph.storage.tables.row_layout import Fragment, Layout
from omnigraph.storage.tables.scan import take_rows
from omnigraph.storage.tables.store import Store

CACHED_BYTES_MAX = 512 * 1024 * 1024
"""Bytes of cached columns in one process."""

CACHED_PARTS_MAX = 65_536
"""Column fragments whose location in the cache is recorded."""

TAKES_MAX = 3
"""Reads of single rows from a column fragment before it is read whole."""

SMALL_ROWS_MAX = 4096
"""Smaller fragments are always read whole: it takes no longer, and often the pages are still cached."""

READ_ROWS_MAX = 2_000_000
"""Larger fragments are never read whole for a few rows."""

READERS_MAX = 1_024
"""Readers of columns kept, each some closures. A commit leaves those of other tables as they are."""

SAMPLE_ROWS = 256
"""Rows that the average size of a value is taken from."""

Key = tuple[str, int, str]
"""Location, version and column of a pin; for a fragment: data file, field and an empty text."""

T = TypeVar("T")


class Columns:
    """Columns by pin and by fragment."""

    def __init__(self) -> None:
        self._columns: Lru[Key, pa.Array] = Lru(CACHED_BYTES_MAX, held_bytes)
        # The location of a fragment's values: the cached column, and the offset in it.
        self._places: Lru[tuple[str, int], tuple[Key, int]] = Lru(CACHED_PARTS_MAX)
        self._takes: Lru[tuple[str, int], int] = Lru(CACHED_PARTS_MAX)
        self._widths: Lru[tuple[str, int], float] = Lru(CACHED_PARTS_MAX)
        self._coded = CodedColumns()
        self._readers: Lru[Key, Any] = Lru(READERS_MAX)
        self._readers_evictions = 0

    @property
    def evictions(self) -> int:
        """Grows whenever a column leaves the cache: holders of its parts should let go of them."""
        return self._columns.evictions

    def reader(self, pin: TablePin, use: str, make: Callable[[], T | None]) -> T | None:
        """The reader of cached columns that ``make`` returns for this use of exactly this pin, cached unless None.

        Readers keep columns in memory, so all are dropped when a column leaves the cache.
        """
        if self._readers_evictions != self._columns.evictions:
            self._readers_evictions = self._columns.evictions
            self._readers.clear()
        key = (pin.location, pin.lance_version, use)
        known: T | None = self._readers.get(key)
        if known is None:
            known = make()
            if known is not None:
                self._readers.put(key, known)
        return known

    def known(self, pin: TablePin, name: str) -> pa.Array | None:
        """A column cached for exactly this pin."""
        return self._columns.get((pin.location, pin.lance_version, name))

    def read(self, store: Store, pin: TablePin, name: str, *, remember: bool = True) -> pa.Array:
        """A whole column by row number; values at deleted rows are undefined."""
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

    def codes(self, store: Store, pin: TablePin, name: str) -> Coded | None:
        """The codes of a column by row number; None if it has too many values."""
        return self._coded.get(store, pin, name, lambda: self.read(store, pin, name, remember=False))

    def known_codes(self, pin: TablePin, name: str) -> Coded | None:
        """The codes of a column that are cached for exactly this pin."""
        return self._coded.known(pin, name)

    def width(self, store: Store, pin: TablePin, name: str) -> float:
        """The average bytes of a value, from a sample."""
        key = (pin.location, layout_of(store, pin).fields[name])
        known = self._widths.get(key)
        if known is None:
            rows = np.linspace(0, pin.rows - 1, min(pin.rows, SAMPLE_ROWS)).astype(np.int64)
            known = take_rows(store, pin, rows, [name])[name].nbytes / max(len(rows), 1)
            self._widths.put(key, known)
        return known

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

    def _piece(self, part: Fragment, field: int) -> pa.Array | None:
        place = self._places.get((part.data, field))
        whole = None if place is None else self._columns.get(place[0])
        return None if place is None or whole is None else whole.slice(place[1], part.rows)

    def piece(self, store: Store, pin: TablePin, part: Fragment, name: str) -> pa.Array | None:
        """A column of one fragment from the cache. Small fragments are read if they are not there."""
        field = layout_of(store, pin).fields[name]
        known = self._piece(part, field)
        return self._load(store, pin, part, field, name) if known is None and part.rows <= SMALL_ROWS_MAX else known

    def gather(self, store: Store, pin: TablePin, name: str, spread: Spread) -> pa.Array | None:
        """Some rows of a column from the cache; None if storage has to be read."""
        field = layout_of(store, pin).fields[name]
        found = [self._wanted(store, pin, part, field, name) for part in spread.parts]
        pieces = [piece for piece in found if piece is not None]
        if not pieces or len(pieces) < len(spread.parts):
            return None
        if len(pieces) == 1:
            return pieces[0].take(as_indices(spread.offsets))
        taken = [
            piece.take(pa.array(spread.offsets[spread.order[start:end]]))
            for piece, start, end in zip(pieces, spread.cuts[:-1], spread.cuts[1:], strict=True)
        ]
        return pa.concat_arrays(taken).take(pa.array(spread.back))

    def _wanted(self, store: Store, pin: TablePin, part: Fragment, field: int, name: str) -> pa.Array | None:
        known = self._piece(part, field)
        if known is not None or part.rows > READ_ROWS_MAX:
            return known
        takes = (self._takes.get((part.data, field)) or 0) + 1
        self._takes.put((part.data, field), takes)
        if takes <= TAKES_MAX and part.rows > SMALL_ROWS_MAX:
            return None
        return self._load(store, pin, part, field, name)

    def _load(self, store: Store, pin: TablePin, part: Fragment, field: int, name: str) -> pa.Array:
        column = read_parts(store, pin, [part], name)
        key = (part.data, field, "")
        self._columns.put(key, column)
        self._places.put((part.data, field), (key, 0))
        return column


@dataclass(frozen=True)
class Spread:
    """The distribution of rows over the fragments of a table."""

    parts: tuple[Fragment, ...]
    """The fragments that hold some of the rows."""
    offsets: Rows
    """The offset of every row in its fragment."""
    order: Rows
    """Positions of the rows grouped by fragment; ``cuts`` are the bounds of each fragment."""
    cuts: Rows

    @classmethod
    def of(cls, layout: Layout, rows: Rows) -> Spread:
        owners = np.searchsorted(layout.starts, rows, side="right") - 1
        offsets = rows - layout.starts[owners]
        if len(owners) and owners[0] == owners[-1] and (owners == owners[0]).all():
            nothing = np.zeros(0, np.int64)
            return cls((layout.parts[int(owners[0])],), offsets, nothing, nothing)
        order = np.argsort(owners, kind="stable")
        touched = sorted(set(owners.tolist()))
        cuts = np.append(np.searchsorted(owners[order], touched), len(rows))
        return cls(tuple(layout.parts[index] for index in touched), offsets, order, cuts)

    @property
    def back(self) -> Rows:
        """The inverse permutation of ``order``."""
        places = np.empty(len(self.order), np.int64)
        places[self.order] = np.arange(len(self.order))
        return places


def as_indices(rows: Rows) -> pa.Array:
    """Row numbers as Arrow, on the same memory. ``pa.array`` would import the masked arrays of NumPy."""
    stored = np.ascontiguousarray(rows, np.int64)
    return pa.Array.from_buffers(pa.int64(), len(stored), [None, pa.py_buffer(stored)])
