"""Tables of a snapshot as the executor sees them: numbered rows, columns on demand.

A row's number is its position among the live rows of the pinned version. Columns are remembered per pin within a
bound; a pin never changes, so what is remembered is never wrong.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.core.tables import TablePin
from omnigraph.rows.arrow_types import Entity, table_schema
from omnigraph.storage.filters import Comparison
from omnigraph.storage.store import Store
from omnigraph.storage.tables import find_ids, matching_rows, read_column, take_rows

Rows = npt.NDArray[np.int64]

CACHED_BYTES_MAX = 512 * 1024 * 1024
"""Columns remembered in one process. The least recently used go first."""

WHOLE_COLUMN_SHARE = 8
"""A column is read whole when more than one row in this many is wanted: reading on is cheaper than seeking."""


class ColumnCache:
    """Whole columns by (location, version, column)."""

    def __init__(self) -> None:
        self._columns: OrderedDict[tuple[str, int, str], pa.Array] = OrderedDict()
        self._bytes = 0
        self._lock = threading.Lock()

    def get(self, key: tuple[str, int, str]) -> pa.Array | None:
        with self._lock:
            found = self._columns.get(key)
            if found is not None:
                self._columns.move_to_end(key)
            return found

    def put(self, key: tuple[str, int, str], column: pa.Array) -> None:
        with self._lock:
            if key in self._columns or column.nbytes > CACHED_BYTES_MAX // 2:
                return
            self._columns[key] = column
            self._bytes += column.nbytes
            while self._bytes > CACHED_BYTES_MAX:
                self._bytes -= self._columns.popitem(last=False)[1].nbytes


@dataclass(frozen=True)
class TableView:
    """One table of the snapshot."""

    store: Store = field(repr=False)
    pin: TablePin
    entity: Entity = field(repr=False)
    cache: ColumnCache = field(repr=False)

    @property
    def rows(self) -> int:
        return self.pin.rows

    def column(self, name: str) -> pa.Array:
        """A whole column, in row order."""
        key = (self.pin.location, self.pin.lance_version, name)
        known = self.cache.get(key)
        if known is None:
            known = read_column(self.store, self.pin, name, table_schema(self.entity).field(name).type)
            self.cache.put(key, known)
        return known

    def values(self, name: str, rows: Rows) -> pa.Array:
        """A column's values at row numbers; -1 gives null."""
        type_ = table_schema(self.entity).field(name).type
        is_cached = self.cache.get((self.pin.location, self.pin.lance_version, name)) is not None
        if is_cached or len(rows) * WHOLE_COLUMN_SHARE > self.rows:
            whole = self.column(name) if self.rows else pa.nulls(0, type_)
            return _gather(whole, rows)
        wanted, positions = distinct(rows[rows >= 0])
        taken = take_rows(self.store, self.pin, wanted, name)
        if len(positions) == len(rows):
            return taken.take(pa.array(positions))
        inverse = np.full(len(rows), -1, np.int64)
        inverse[rows >= 0] = positions
        return _gather(taken, inverse)

    def find_ids(self, ids: Sequence[str]) -> Rows:
        """Row numbers of the ids that exist, ascending."""
        addresses = find_ids(self.store, self.pin, ids)
        return row_numbers(self.store, self.pin, np.array(sorted(addresses.values()), np.uint64))

    def matching(self, comparison: Comparison) -> Rows:
        """Row numbers that satisfy a comparison, ascending."""
        return matching_rows(self.store, self.pin, comparison)


def _gather(values: pa.Array, rows: Rows) -> pa.Array:
    indices = pa.array(rows, mask=rows < 0) if (rows < 0).any() else pa.array(rows)
    return pc.take(values, indices)


def distinct(rows: Rows) -> tuple[Rows, Rows]:
    """Sorted distinct row numbers, and for each row its position among them."""
    order = np.argsort(rows, kind="stable")
    ordered = rows[order]
    starts = np.ones(len(rows), bool)
    starts[1:] = ordered[1:] != ordered[:-1]
    positions = np.empty(len(rows), np.int64)
    positions[order] = np.cumsum(starts) - 1
    return ordered[starts], positions


def row_numbers(store: Store, pin: TablePin, addresses: npt.NDArray[np.uint64]) -> Rows:
    """Row addresses (fragment and offset) as positions among the live rows."""
    dataset = store.open(pin.location, pin.lance_version)
    numbers = np.empty(len(addresses), np.int64)
    fragments = (addresses >> np.uint64(32)).astype(np.int64)
    offsets = (addresses & np.uint64(0xFFFFFFFF)).astype(np.int64)
    start = 0
    for fragment in dataset.get_fragments():
        mine = fragments == fragment.fragment_id
        if mine.any():
            numbers[mine] = start + _live_positions(store, fragment, offsets[mine])
        start += fragment.count_rows()
    return np.sort(numbers)


def _live_positions(store: Store, fragment: object, offsets: Rows) -> Rows:
    if fragment.metadata.deletion_file is None:  # type: ignore[attr-defined] # Lance's fragments are untyped
        return offsets
    scanned = fragment.scanner(columns=[], with_row_address=True).to_table()  # type: ignore[attr-defined] # as above
    live = (scanned.column("_rowaddr").to_numpy() & np.uint64(0xFFFFFFFF)).astype(np.int64)
    return np.searchsorted(live, offsets)
