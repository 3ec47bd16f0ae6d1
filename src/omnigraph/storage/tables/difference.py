"""The difference between two versions of a table, computed from their fragment lists; only differing rows are read.

Invariant: a row outside the pieces of a ``Difference`` exists in both versions with the same values. It holds because
data files are immutable and never share a name: two fragments with the same data files hold the same values at the same
offsets, and only their deletion files decide which rows are live. The cost follows the size of the change, not of the
table. Rows inside the pieces *may* be equal, for example after compaction moved them; the caller compares them.

=======================  ==================  ==================  ============================
fragment (data files)    deleted before      deleted after       pieces
=======================  ==================  ==================  ============================
a.lance                  3, 5                3, 5                none
b.lance                  3                   3, 7                before: b at offset 7
c.lance                  1, 4                1                   after: c at offset 4
d.lance                  (any)               not in the version  before: all live rows of d
e.lance                  not in the version  (any)               after: all live rows of e
=======================  ==================  ==================  ============================
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.core.tables import TablePin
from omnigraph.errors import CorruptionError
from omnigraph.storage.objects.failures import translated
from omnigraph.storage.tables.filters import Membership
from omnigraph.storage.tables.lance_table import IDS_PER_FILTER_MAX, open_table
from omnigraph.storage.tables.port import PinnedTable, ScanOptions, TableFragment
from omnigraph.storage.tables.row_addresses import OFFSET_BITS
from omnigraph.storage.tables.row_layout import Rows
from omnigraph.storage.tables.rows_by_position import bare
from omnigraph.storage.tables.store import Store

ADDRESS = "_rowaddr"
"""The column with the address of a row in its version: fragment number and offset."""

TAKEN_SHARE = 150
"""A fragment is read whole if more than one row in ``TAKEN_SHARE`` is wanted: reading rows singly costs more."""


@dataclass(frozen=True, slots=True)
class Piece:
    """Rows of one fragment: all that are not deleted, or those at some offsets."""

    fragment: int
    offsets: Rows | None = None


@dataclass(frozen=True, slots=True)
class Difference:
    """Rows of each version that the other one may not have. Every other row is in both, as it is."""

    before: tuple[Piece, ...]
    after: tuple[Piece, ...]


def difference(
    store: Store, before: TablePin | None, after: TablePin | None, apart: frozenset[int] = frozenset()
) -> Difference:
    """Compare the fragment lists of two versions; None is a table that does not exist. Reads no row.

    ``apart`` are the numbers of columns that only one of the two shows: a fragment that has one of them shows other
    values in each.
    """
    if before is not None and after is not None and _same(before, after):
        return Difference((), ())
    old, new = _fragments(store, before), _fragments(store, after)
    gone: list[Piece] = []
    come: list[Piece] = []
    for data, fragment in old.items():
        other = new.get(data)
        if other is None:
            gone.append(Piece(fragment.number))
            continue
        # Same bytes, but one of the versions does not show all of their columns: every row may look different.
        if apart.intersection(fragment.columns):
            gone.append(Piece(fragment.number))
            come.append(Piece(other.number))
            continue
        if fragment.deletions == other.deletions:
            continue
        # Same data files, other deletion files: only rows that are deleted in one of them differ.
        dead, dead_after = fragment.dead(), other.dead()
        _add(gone, fragment, np.setdiff1d(dead_after, dead, assume_unique=True))
        _add(come, other, np.setdiff1d(dead, dead_after, assume_unique=True))
    come.extend(Piece(fragment.number) for data, fragment in new.items() if data not in old)
    return Difference(tuple(gone), tuple(come))


def _same(before: TablePin, after: TablePin) -> bool:
    return (before.location, before.lance_version) == (after.location, after.lance_version)


def _fragments(store: Store, pin: TablePin | None) -> dict[str, TableFragment]:
    """Fragments by the names of their data files. Not by number: two branches give the same number to other rows."""
    if pin is None or not pin.rows:
        return {}
    return {fragment.data: fragment for fragment in open_table(store, pin).fragments()}


def _add(pieces: list[Piece], fragment: TableFragment, offsets: Rows) -> None:
    if len(offsets):
        pieces.append(Piece(fragment.number, offsets))


def is_live(fragment: TableFragment, offset: int) -> bool:
    """True if the row at an offset of a fragment is not deleted."""
    return not np.isin(offset, fragment.dead())


def row_piece(fragment: TableFragment, offset: int) -> Piece:
    """One row of a fragment."""
    return Piece(fragment.number, np.array([offset], np.int64))


def pieces_with(store: Store, pin: TablePin, column: str, values: Sequence[str]) -> list[Piece]:
    """The rows whose text column holds one of the values. Reads that column only."""
    if not values or not pin.rows:
        return []
    wanted = pa.array(values, pa.string())
    is_filtered = len(values) <= IDS_PER_FILTER_MAX
    where = Membership(column, wanted) if is_filtered else None
    found: list[Rows] = [np.zeros(0, np.int64)]
    for batch in open_table(store, pin).scan([column], where, ScanOptions(with_address=True)):
        kept = batch if is_filtered else batch.filter(pc.is_in(batch.column(column), value_set=wanted))
        found.append(kept.column(ADDRESS).to_numpy().astype(np.int64))
    addresses = np.sort(np.concatenate(found))
    numbers, starts = np.unique(addresses >> OFFSET_BITS, return_index=True)
    parts = np.split(addresses & ((1 << OFFSET_BITS) - 1), starts[1:])
    return [Piece(int(number), offsets) for number, offsets in zip(numbers, parts, strict=True)] if len(numbers) else []


def count_rows(store: Store, pin: TablePin, pieces: Sequence[Piece]) -> int:
    """Count the rows of some pieces. Reads no row."""
    return sum(piece_rows(store, pin, pieces))


def piece_rows(store: Store, pin: TablePin, pieces: Sequence[Piece]) -> list[int]:
    """The number of rows of each piece. Reads no row."""
    live = {item.number: item.rows for item in open_table(store, pin).fragments()}
    return [live[piece.fragment] if piece.offsets is None else len(piece.offsets) for piece in pieces]


def read_pieces(
    store: Store,
    pin: TablePin,
    pieces: Sequence[Piece],
    columns: Mapping[str, pa.Field],
    ids: Sequence[str] | None = None,
) -> pa.Table:
    """The rows of some pieces, or those of them with one of the ids, and their addresses.

    ``columns`` are the wanted names with the fields they are stored as; blobs come as Lance describes them.
    """
    table = open_table(store, pin)
    reader = _Reader(table, list(dict.fromkeys(["id", *(field.name for field in columns.values())])))
    wanted = None if ids is None else pa.array(ids, pa.string())
    with translated(f"rows of {pin.key} cannot be read", table=pin.key):
        tables = [*reader.whole(pieces, ids), *reader.partial(pieces)]
    parts = []
    for read in tables:
        kept = read if wanted is None else read.filter(pc.is_in(read.column("id"), value_set=wanted))
        parts.append(kept.select([*(field.name for field in columns.values()), ADDRESS]))
    names = [*columns, ADDRESS]
    if not parts:
        types = [table.schema.field(field.name).type for field in columns.values()]
        # Lance describes blobs by structs, and of no blob there is no description.
        fields = [
            pa.field(field.name, pa.null() if isinstance(type_, pa.ExtensionType) else type_)
            for field, type_ in zip(columns.values(), types, strict=True)
        ]
        return pa.Table.from_batches([], pa.schema([*fields, pa.field(ADDRESS, pa.uint64())])).rename_columns(names)
    return pa.concat_tables([bare(part) for part in parts]).rename_columns(names)


@dataclass(frozen=True, slots=True)
class _Reader:
    table: PinnedTable
    names: list[str]

    def whole(self, pieces: Sequence[Piece], ids: Sequence[str] | None) -> list[pa.Table]:
        chosen = {piece.fragment for piece in pieces if piece.offsets is None}
        fragments = [item.number for item in self.table.fragments() if item.number in chosen]
        if not fragments:
            return []
        is_filtered = ids is not None and 0 < len(ids) <= IDS_PER_FILTER_MAX
        where = Membership("id", pa.array(ids, pa.string())) if is_filtered else None
        batches = self.table.scan(self.names, where, ScanOptions(with_address=True, fragments=fragments))
        return [pa.Table.from_batches([batch]) for batch in batches]

    def _scanned(self, fragment: TableFragment, places: Rows) -> pa.Table:
        """Rows of a fragment at ascending places among its live rows, which is the order of a scan.

        Places 0, 4 and 5 with batches of 3 rows: batch 0 holds places 0 to 2 and gives its row 0, batch 1 holds 3 to 5
        and gives its rows 1 and 2. ``searchsorted`` finds the slice of places that falls into a batch.
        """
        found: list[pa.RecordBatch] = []
        start = 0
        options = ScanOptions(with_address=True, fragments=[fragment.number])
        for batch in self.table.scan(self.names, None, options):
            low, high = np.searchsorted(places, (start, start + batch.num_rows))
            if high > low:
                found.append(batch.take(pa.array(places[low:high] - start)))
            start += batch.num_rows
        return pa.Table.from_batches(found)

    def partial(self, pieces: Sequence[Piece]) -> list[pa.Table]:
        """Rows at offsets: taken one by one if they are few, else selected from a scan of their fragment.

        Offsets count physical rows; scans and ``take`` count live rows. The place of a live row is its offset minus the
        number of deleted offsets below it. 5 rows with offset 1 deleted, after fragments with 10 live rows:

        ======  =====  ==============  =================
        offset  live   place (- dead)  position in table
        ======  =====  ==============  =================
        0       yes    0 - 0 = 0       10
        1       no
        2       yes    2 - 1 = 1       11
        3       yes    3 - 1 = 2       12
        4       yes    4 - 1 = 3       13
        ======  =====  ==============  =================
        """
        start = 0
        wanted = {piece.fragment: piece.offsets for piece in pieces if piece.offsets is not None}
        positions: list[Rows] = []
        addresses: list[Rows] = []
        tables: list[pa.Table] = []
        for fragment in self.table.fragments() if wanted else []:
            offsets = wanted.get(fragment.number)
            if offsets is not None:
                # The wanted offsets are live in this version, so none of them is deleted.
                places = offsets - np.searchsorted(fragment.dead(), offsets)
                if len(offsets) * TAKEN_SHARE > fragment.rows:
                    tables.append(self._scanned(fragment, places))
                else:
                    positions.append(start + places)
                    addresses.append(offsets + (fragment.number << OFFSET_BITS))
            start += fragment.rows
        if positions:
            taken = self.table.take(np.concatenate(positions), self.names)
            tables.append(taken.append_column(ADDRESS, pa.array(np.concatenate(addresses), pa.uint64())))
        return tables


def addresses_in(store: Store, before: TablePin, after: TablePin, ids: pa.Array, addresses: pa.Array) -> pa.Array:
    """Translate row addresses into another version that holds the same rows unchanged, in the same order.

    A fragment with the same data files keeps its offsets, although its number may differ. Rows that were moved, or
    deleted and written again with the same values, are looked up by id in fragments that only the other version has.

    ========  =============  =============================  ======================================
    address   data file      in the other version           result
    ========  =============  =============================  ======================================
    (0, 3)    a.lance        fragment 0                     (0, 3)
    (1, 3)    b.lance        fragment 4: another number     (4, 3)
    (1, 5)    b.lance        fragment 4, offset 5 deleted   looked up by id
    (2, 0)    c.lance        not in the version             looked up by id
    (2, 1)    c.lance        not in the version, no such id ``CorruptionError``
    ========  =============  =============================  ======================================
    """
    if _same(before, after) or not len(ids):
        return addresses
    old, new = _fragments(store, before), _fragments(store, after)
    moved_to = {fragment.number: new[data].number for data, fragment in old.items() if data in new}
    given = addresses.to_numpy()
    numbers, places = np.unique(given >> np.uint64(OFFSET_BITS), return_inverse=True)
    # One lookup per fragment, spread over its rows. -1 marks rows that have to be looked up by id.
    targets = np.array([moved_to.get(int(number), -1) for number in numbers], np.int64)[places]
    # The wrapped value of -1 is never returned: those rows are overwritten below.
    found = (targets.astype(np.uint64) << np.uint64(OFFSET_BITS)) | (given & np.uint64((1 << OFFSET_BITS) - 1))
    for data in old.keys() & new.keys():
        targets[_deleted_since(old[data], new[data], given)] = -1
    lost = np.flatnonzero(targets < 0)
    if len(lost):
        pieces = [Piece(fragment.number) for data, fragment in new.items() if data not in old]
        wanted = ids.take(pa.array(lost))
        rows = read_pieces(store, after, pieces, {"id": pa.field("id", pa.string())}, wanted.to_pylist())
        positions = pc.index_in(wanted, value_set=rows.column("id").combine_chunks())
        if positions.null_count:
            missing = wanted.filter(pc.is_null(positions))[0].as_py()
            raise CorruptionError(f"{after.key} at version {after.table_version} has no {missing!r}", table=after.key)
        found[lost] = rows.column(ADDRESS).combine_chunks().take(positions).to_numpy()
    return pa.array(found, pa.uint64())


def _deleted_since(before: TableFragment, after: TableFragment, addresses: Rows) -> Rows:
    """Indices of those addresses that lie in a fragment and are deleted in its later version."""
    if before.deletions == after.deletions:
        return np.empty(0, np.int64)
    inside = np.flatnonzero(addresses >> np.uint64(OFFSET_BITS) == before.number)
    offsets = (addresses[inside] & np.uint64((1 << OFFSET_BITS) - 1)).astype(np.int64)
    found: Rows = inside[np.isin(offsets, after.dead())]
    return found
