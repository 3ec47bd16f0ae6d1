"""Reading single rows by their position among the live rows of a version.

Positions follow the order of a scan: fragment after fragment, without deleted rows.

``LanceDataset.take`` turns a position in a fragment with deletions into an offset by walking the fragment from its
first row, once per position: 100 positions among a million rows, 100 of them deleted, take two seconds.
``LanceFragment.take`` does the same in milliseconds, but requires ascending positions, reads no blobs, and is one call
per fragment. So it reads the fragments whose walk would be long; one call reads all others together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import lance
import numpy as np
import pyarrow as pa

from omnigraph.core.tables import TablePin
from omnigraph.storage.objects.failures import translated
from omnigraph.storage.tables.key_cache import fragment_key
from omnigraph.storage.tables.row_addresses import OFFSET_BITS
from omnigraph.storage.tables.row_layout import Rows
from omnigraph.storage.tables.store import Store

THREADS_MAX = 16
"""Fragments read concurrently: each takes a few round trips to an object store, and tens of milliseconds there."""

Span = tuple[int, int]
"""A range of indices in a list of positions."""


def take(store: Store, pin: TablePin, positions: Rows, names: Sequence[str]) -> pa.Table:
    """Columns of the rows at positions, in that order. Positions may repeat; blobs come as Lance describes them."""
    dataset = store.open_to_take(pin)
    wanted, places = np.unique(positions, return_inverse=True)
    fragments = dataset.get_fragments()
    starts = np.cumsum([0, *(fragment.metadata.num_rows for fragment in fragments)])
    has_deletions = [fragment.metadata.deletion_file is not None for fragment in fragments]
    apart = long_walks(wanted, starts, has_deletions, store.tuning.walked_rows_max)
    spans = [np.arange(*span) for span in apart.values()]
    together = np.setdiff1d(np.arange(len(wanted)), np.concatenate(spans)) if spans else np.arange(len(wanted))
    has_blobs = any(isinstance(dataset.schema.field(name).type, pa.ExtensionType) for name in names)

    def fragment_rows(number: int) -> pa.Table:
        low, high = apart[number]
        fragment, live = fragments[number], wanted[low:high] - starts[number]
        if not has_blobs:
            return fragment.take(live, columns=list(names))
        return _filtered(fragment, live_offsets(deleted_offsets(store, pin.location, fragment), live), names)

    tables = _on_threads(fragment_rows, list(apart))
    if len(together) or not apart:
        tables.append(dataset.take(wanted[together], columns=list(names)))
    order = np.argsort(np.concatenate([*spans, together]))
    return _ordered(pa.concat_tables(map(bare, tables)), order[places])


def long_walks(positions: Rows, starts: Rows, has_deletions: Iterable[bool], rows_max: int) -> dict[int, Span]:
    """Fragments in which Lance would walk too far for ascending positions, each with the span of its positions.

    ``starts`` are the positions where the fragments begin, and where the last one ends; ``rows_max`` is the longest
    walk.
    """
    limits = np.searchsorted(positions, starts).tolist()
    found: dict[int, Span] = {}
    for number, is_walked in enumerate(has_deletions):
        low, high = limits[number], limits[number + 1]
        if is_walked and int((positions[low:high] - starts[number]).sum()) > rows_max:
            found[number] = low, high
    return found


def live_offsets(dead: Rows, positions: Rows) -> Rows:
    """The offsets of the live rows at some positions, given the ascending offsets of the deleted rows.

    With offsets 1 and 2 deleted, one live row is before each of them, so positions 0, 1, 2 are at offsets 0, 3, 4.
    """
    live_before = dead - np.arange(len(dead))
    offsets: Rows = positions + np.searchsorted(live_before, positions, side="right")
    return offsets


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
    content = store.read_file(path) if path.endswith(".arrow") else None
    if content is None:
        return None
    listed = pa.ipc.open_file(pa.BufferReader(content)).read_all().column(0)
    return np.sort(listed.to_numpy().astype(np.int64))


def _missing(fragment: lance.LanceFragment, rows: int) -> Rows:
    """The offsets that a scan does not return: if it returns 0, 1 and 4 of 5 rows, 2 and 3 are deleted."""
    scanned = fragment.scanner(columns=[], with_row_address=True).to_table().column("_rowaddr").to_numpy()
    return np.delete(np.arange(rows), (scanned & np.uint64((1 << OFFSET_BITS) - 1)).astype(np.int64))


def _filtered(fragment: lance.LanceFragment, offsets: Rows, names: Sequence[str]) -> pa.Table:
    """Rows at ascending offsets by a filter on addresses. Lance reads only these; the filter grows with them."""
    addresses = offsets + (fragment.fragment_id << OFFSET_BITS)
    where = f"_rowaddr in ({', '.join(map(str, addresses.tolist()))})"
    return fragment.scanner(columns=list(names), filter=where).to_table()


def _on_threads(read: Callable[[int], pa.Table], numbers: Sequence[int]) -> list[pa.Table]:
    if len(numbers) < 2:
        return [read(number) for number in numbers]
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(min(len(numbers), THREADS_MAX)) as pool:
        return list(pool.map(read, numbers))


def bare(table: pa.Table) -> pa.Table:
    """A table without schema metadata, which differs between the ways of reading rows."""
    return pa.Table.from_arrays(table.columns, [field.name for field in table.schema])


def _ordered(table: pa.Table, places: Rows) -> pa.Table:
    is_ordered = len(places) == table.num_rows and np.array_equal(places, np.arange(len(places)))
    return table if is_ordered else table.take(pa.array(places))
