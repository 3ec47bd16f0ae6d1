"""Reading the layout of a pinned table, and columns fragment by fragment."""

from __future__ import annotations

from collections.abc import Sequence

import lance
import numpy as np
import pyarrow as pa

from omnigraph.core.tables import TablePin
from omnigraph.storage.objects.failures import translated
from omnigraph.storage.tables.key_cache import fragment_key
from omnigraph.storage.tables.row_addresses import OFFSET_BITS
from omnigraph.storage.tables.row_layout import Fragment, Layout, Rows
from omnigraph.storage.tables.store import Store
from omnigraph.storage.tables.table_schema import ColumnNumbers, column_numbers


def layout_of(store: Store, pin: TablePin) -> Layout:
    """The layout of a pinned table."""
    key = (pin.location, pin.lance_version)
    known = store.layouts.get(key)
    if known is None:
        known = _read(store, pin.location, store.open(*key))
        store.layouts.put(key, known)
    return known


def _read(store: Store, location: str, dataset: lance.LanceDataset) -> Layout:
    parts: list[Fragment] = []
    dead: list[Rows] = []
    start = 0
    for fragment in dataset.get_fragments():
        metadata = fragment.metadata
        data, deletions = fragment_key(location, metadata)
        parts.append(Fragment(metadata.id, data, deletions, start, metadata.physical_rows))
        if deletions:
            dead.append(deleted_offsets(store, location, fragment) + start)
        start += metadata.physical_rows
    fields = {column.name(): column.id() for column in dataset.lance_schema.fields()}
    return Layout(tuple(parts), np.concatenate(dead) if dead else np.zeros(0, np.int64), fields)


def deleted_offsets(store: Store, location: str, fragment: lance.LanceFragment) -> Rows:
    """Offsets of the deleted rows of a fragment, ascending."""
    metadata = fragment.metadata
    if metadata.deletion_file is None:
        return np.zeros(0, np.int64)
    key = fragment_key(location, metadata)
    known = store.deletions.get(key)
    if known is None:
        with translated(f"the deleted rows of {key[0]} cannot be read", file=key[1]):
            known = _listed(store, f"{location}/{key[1]}")
            if known is None:
                known = _missing(fragment, metadata.physical_rows)
        store.deletions.put(key, known)
    return known


def _listed(store: Store, path: str) -> Rows | None:
    """The offsets that a deletion file lists, without scanning the live rows; None if it is a bitmap."""
    content = store.objects.read(path) if path.endswith(".arrow") else None
    if content is None:
        return None
    listed = pa.ipc.open_file(pa.BufferReader(content)).read_all().column(0)
    return np.sort(listed.to_numpy().astype(np.int64))


def _missing(fragment: lance.LanceFragment, rows: int) -> Rows:
    """The offsets that a scan does not return: if it returns 0, 1 and 4 of 5 rows, 2 and 3 are deleted."""
    scanned = fragment.scanner(columns=[], with_row_address=True).to_table().column("_rowaddr").to_numpy()
    return np.delete(np.arange(rows), (scanned & np.uint64((1 << OFFSET_BITS) - 1)).astype(np.int64))


def read_parts(store: Store, pin: TablePin, parts: Sequence[Fragment], name: str) -> pa.Array:
    """A column of some fragments, concatenated, deleted rows included. Recently written ones come from the cache."""
    dataset = store.open(pin.location, pin.lance_version)
    numbers = column_numbers(dataset)
    remembered = [_remembered(store, part, numbers, name) for part in parts]
    if all(piece is not None for piece in remembered):
        return pa.concat_arrays(remembered)
    wanted = {part.fragment for part in parts}
    fragments = [fragment for fragment in dataset.get_fragments() if fragment.fragment_id in wanted]
    with translated(f"column {name} of {pin.key} cannot be read", table=pin.key):
        # Lance returns deleted rows only together with row ids.
        table = dataset.scanner(
            columns=[name], fragments=fragments, include_deleted_rows=True, with_row_id=True
        ).to_table()
    return table.column(name).combine_chunks()


def _remembered(store: Store, part: Fragment, numbers: ColumnNumbers, name: str) -> pa.Array | None:
    directory, _, file = part.data.rpartition("/")
    rows = store.recent.get(f"{directory}/data/{file}", numbers)
    return None if rows is None or name not in rows.schema.names else rows.column(name).combine_chunks()
