"""Reading the layout of a pinned table, and columns fragment by fragment."""

from __future__ import annotations

from collections.abc import Sequence

import lance
import numpy as np
import pyarrow as pa

from omnigraph.core.tables import TablePin
from omnigraph.storage.tables.key_cache import fragment_key
from omnigraph.storage.tables.lance_table import open_table
from omnigraph.storage.tables.port import PinnedTable
from omnigraph.storage.tables.row_layout import Fragment, Layout, Rows
from omnigraph.storage.tables.store import Store

FOLLOWED_MAX = 16
"""Fragments of a write whose layout is made from the one before. A load of more is read as a whole."""


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


def extend_layout(
    store: Store, location: str, base: lance.LanceDataset, dataset: lance.LanceDataset, added: int
) -> None:
    """Cache the layout of a version that appends some fragments to a base, if the layout of the base is cached.

    Reading a layout takes some microseconds per fragment, which the first query after a commit would pay.
    """
    known = store.layouts.get((location, base.version))
    if known is None or not 0 < added <= FOLLOWED_MAX:
        return
    fragments = dataset.get_fragments()
    if len(fragments) != len(known.parts) + added:
        return
    parts, start = list[Fragment](), known.size
    for fragment in fragments[-added:]:
        metadata = fragment.metadata
        data, deletions = fragment_key(location, metadata)
        parts.append(Fragment(metadata.id, data, deletions, start, metadata.physical_rows))
        start += metadata.physical_rows
    store.layouts.put((location, dataset.version), known.followed_by(parts))


def recent_rows(store: Store, pin: TablePin, part: Fragment) -> pa.Table | None:
    """The rows of a small fragment that this process wrote, as the pinned version shows them; None if not cached."""
    layout = store.layouts.get((pin.location, pin.lance_version))
    directory, _, file = part.data.rpartition("/")
    return None if layout is None else store.recent.get(f"{directory}/data/{file}", layout.numbers)


def read_parts(store: Store, pin: TablePin, parts: Sequence[Fragment], name: str) -> pa.Array:
    """A column of some fragments, concatenated, deleted rows included. Recently written ones come from the cache."""
    return open_table(store, pin).column(parts, name)
