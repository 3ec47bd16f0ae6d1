"""Reading the layout of a pinned table, and columns fragment by fragment."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from omnigraph.core.tables import TablePin
from omnigraph.storage.tables.lance_table import open_table
from omnigraph.storage.tables.port import PinnedTable
from omnigraph.storage.tables.row_layout import Fragment, Layout, Rows
from omnigraph.storage.tables.store import Store


def layout_of(store: Store, pin: TablePin) -> Layout:
    """The layout of a pinned table."""
    key = (pin.location, pin.lance_version)
    known = store.layouts.get(key)
    if known is None:
        known = _read(open_table(store, pin))
        store.layouts.put(key, known)
    return known


def _read(table: PinnedTable) -> Layout:
    parts: list[Fragment] = []
    dead: list[Rows] = []
    start = 0
    for item in table.fragments():
        parts.append(Fragment(item.number, item.data, item.deletions, start, item.physical_rows))
        if item.deletions:
            dead.append(item.dead() + start)
        start += item.physical_rows
    return Layout(tuple(parts), np.concatenate(dead) if dead else np.zeros(0, np.int64), table.numbers)


def read_parts(store: Store, pin: TablePin, parts: Sequence[Fragment], name: str) -> pa.Array:
    """A column of some fragments, concatenated, deleted rows included. Recently written ones come from the cache."""
    return open_table(store, pin).column(parts, name)
