"""Incremental compaction during writes: a small write rewrites small fragments together with its own rows.

Fragments are kept in size tiers, as in a log-structured merge tree. When a tier is full, the write that would add one
more fragment rewrites the tier with its own rows, in the same detached commit.

Invariant: the new rows and the live rows of the replaced fragments are exactly the rows written; a removed row is
dropped here or by a deletion file, never both and never neither. So the number of fragments grows with the logarithm of
the rows, and the extra work of one write is bounded by the largest tier. The process that wrote a small fragment keeps
its rows in memory, so folding them sends no request.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import pyarrow as pa
from lance import LanceDataset

from omnigraph.storage.objects.failures import translated
from omnigraph.storage.tables.blob_files import has_blobs
from omnigraph.storage.tables.store import Store
from omnigraph.storage.tables.table_schema import ColumnNumbers, column_numbers, fit_table

Tiers = Sequence[tuple[int, int]]
"""Upper bounds of the tiers in rows, and the fragments that a tier may hold before they are folded."""

FRAGMENT_BYTES_MAX = 4 * 1024 * 1024
"""Fragments with more bytes are not folded: wide rows would make a write slow."""


def fold_tail(
    store: Store, base: LanceDataset, location: str, rows: pa.Table, removed: set[int]
) -> tuple[pa.Table, tuple[int, ...]]:
    """The rows to write, and the ids of the fragments they replace.

    ``removed`` is changed: addresses inside replaced fragments are taken out, because those rows are not written again.
    """
    tiers = store.tuning.fold_tiers
    if rows.num_rows >= tiers[-1][0]:
        return rows, ()
    victims = _victims(base, rows.num_rows, tiers, _file_bytes)
    if victims and has_blobs(base.schema):
        # Sizes of blobs cost requests, so they are looked up only once a fold is due.
        victims = _victims(base, rows.num_rows, tiers, partial(_all_bytes, store, location))
    if not victims:
        return rows, ()
    numbers = column_numbers(base)
    parts = [_live_rows(store, location, numbers, fragment, removed) for fragment in victims]
    ids = tuple(fragment.fragment_id for fragment in victims)
    # Lance makes the schema of a version every time.
    schema = base.schema
    whole = [fit_table(schema, part) for part in (*parts, rows)]
    return pa.concat_tables(whole).combine_chunks(), ids


def fold_in_order(store: Store, base: LanceDataset, location: str, rows: pa.Table) -> tuple[pa.Table, tuple[int, ...]]:
    """The same for a table whose rows stay in the order they were written: only its last fragments are folded.

    A fragment is folded once as many rows come after it, as in a binary counter. The number of fragments is about the
    logarithm of the number of writes, and a row is rewritten about as many times. No row of such a table is ever
    removed. Five writes of one row give fragments of [1], [2], [2, 1], [4] and [4, 1] rows.
    """
    victims: list[Any] = []
    size = rows.num_rows
    for fragment in reversed(base.get_fragments()):
        if fragment.metadata.physical_rows > size or _file_bytes(fragment) > FRAGMENT_BYTES_MAX:
            break
        victims.insert(0, fragment)
        size += fragment.metadata.physical_rows
    numbers = column_numbers(base)
    parts = [_live_rows(store, location, numbers, fragment, set()) for fragment in victims]
    schema = base.schema
    whole = [fit_table(schema, part) for part in (*parts, rows)]
    return pa.concat_tables(whole).combine_chunks(), tuple(fragment.fragment_id for fragment in victims)


def _file_bytes(fragment: Any) -> int:
    return sum(file.file_size_bytes or 0 for file in fragment.metadata.files)


def _all_bytes(store: Store, location: str, fragment: Any) -> int:
    paths = (f"{location}/data/{file.path}" for file in fragment.metadata.files)
    return _file_bytes(fragment) + sum(size for path in paths for _, size in store.blob_files.of(path))


def _victims(base: LanceDataset, new_rows: int, tiers: Tiers, bytes_of: Callable[[Any], int]) -> list[Any]:
    small = [fragment for fragment in base.get_fragments() if bytes_of(fragment) <= FRAGMENT_BYTES_MAX]
    return [small[place] for place in fold_choice([item.metadata.physical_rows for item in small], new_rows, tiers)]


def fold_choice(sizes: Sequence[int], new_rows: int, tiers: Tiers) -> list[int]:
    """Positions of the fragments that a write of ``new_rows`` folds, given the rows of each fragment.

    With at most 2 fragments in the tiers below 256 and 4096 rows, and 1 new row:

    ===============================  =====================================================
    sizes                            folded
    ===============================  =====================================================
    15 times 1                       none: the tier below 16 rows takes 16 fragments
    16 times 1                       all 16, which makes one fragment of 17 rows
    16 times 1, 17                   16 times 1: the tier below 256 rows has room for one more
    16 times 1, 17, 17               all 18: that tier would get a third fragment
    300, 5000                        none: their tiers receive no fragment of 1 row
    ===============================  =====================================================
    """
    members: list[list[int]] = [[] for _ in tiers]
    for place, rows in enumerate(sizes):
        for tier, (bound, _) in zip(members, tiers, strict=True):
            if rows < bound:
                tier.append(place)
                break
    folded: list[int] = []
    size = new_rows
    for tier, (bound, fragments_max) in zip(members, tiers, strict=True):
        if size >= bound:
            # Too many rows for a fragment of this tier: they fill the next one.
            continue
        if len(tier) + 1 <= fragments_max:
            break
        folded.extend(tier)
        size += sum(sizes[place] for place in tier)
    return folded


def _live_rows(store: Store, location: str, numbers: ColumnNumbers, fragment: Any, removed: set[int]) -> pa.Table:
    """The rows of a fragment that are neither deleted in its version nor removed by this write."""
    metadata = fragment.metadata
    base = metadata.id << 32
    known = store.recent.of(location, metadata, numbers)
    # Remembered rows are all that were written: they are usable only while no row was deleted since.
    if known is not None and metadata.deletion_file is None:
        gone = {address - base for address in removed if address >> 32 == metadata.id}
        keep = [offset for offset in range(known.num_rows) if offset not in gone]
    else:
        with translated(f"rows of {location} cannot be read", location=location):
            scanned = fragment.scanner(with_row_address=True, blob_handling="all_binary").to_table()
        addresses = scanned.column("_rowaddr").to_pylist()
        known = scanned.drop_columns(["_rowaddr"])
        keep = [position for position, address in enumerate(addresses) if address not in removed]
    # A fragment cannot be both replaced and shortened: its removed rows need no deletion file.
    removed.difference_update({address for address in removed if address >> 32 == metadata.id})
    return known if len(keep) == known.num_rows else known.take(pa.array(keep, pa.int64()))
