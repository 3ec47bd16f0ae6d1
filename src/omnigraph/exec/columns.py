"""Whole columns in memory, within a bound.

A column is remembered for its pin, and every fragment in it for all other pins that share the fragment: after a commit
only the new fragments of a column are read.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

import pyarrow as pa

from omnigraph.core.lru import Lru
from omnigraph.core.tables import TablePin
from omnigraph.storage.layout import Layout, Part
from omnigraph.storage.parts import layout_of, read_parts
from omnigraph.storage.store import Store

CACHED_BYTES_MAX = 512 * 1024 * 1024
"""Columns remembered in one process."""

CACHED_PARTS_MAX = 65_536
"""Fragments of columns whose place is remembered."""

PinKey = tuple[str, int, str]
"""Location, version, column."""


class Columns:
    """Columns by pin."""

    def __init__(self) -> None:
        self._columns: Lru[PinKey, pa.Array] = Lru(CACHED_BYTES_MAX, lambda column: column.nbytes)
        # Where the values of a fragment stand: in which remembered column, and from where.
        self._places: Lru[tuple[str, int], tuple[PinKey, int]] = Lru(CACHED_PARTS_MAX)

    def known(self, pin: TablePin, name: str) -> pa.Array | None:
        """A column that is remembered for this very pin."""
        return self._columns.get((pin.location, pin.lance_version, name))

    def read(self, store: Store, pin: TablePin, name: str, *, remember: bool = True) -> pa.Array:
        """A whole column by row number; what stands at deleted rows means nothing."""
        known = self.known(pin, name)
        if known is not None:
            return known
        layout = layout_of(store, pin)
        pieces = list(self._pieces(store, pin, layout, name))
        column = pieces[0] if len(pieces) == 1 else pa.concat_arrays(pieces)
        if not remember:
            return column
        key = (pin.location, pin.lance_version, name)
        self._columns.put(key, column)
        for part in layout.parts:
            self._places.put((part.data, layout.fields[name]), (key, part.start))
        return column

    def _pieces(self, store: Store, pin: TablePin, layout: Layout, name: str) -> Iterator[pa.Array]:
        field = layout.fields[name]
        remembered = [self._part(part, field) for part in layout.parts]
        neighbours = groupby(zip(layout.parts, remembered, strict=True), key=lambda pair: pair[1] is None)
        for is_missing, group in neighbours:
            if is_missing:
                yield read_parts(store, pin, [part for part, _ in group], name)
            else:
                yield from (piece for _, piece in group)

    def _part(self, part: Part, field: int) -> pa.Array | None:
        place = self._places.get((part.data, field))
        whole = None if place is None else self._columns.get(place[0])
        return None if place is None or whole is None else whole.slice(place[1], part.rows)
