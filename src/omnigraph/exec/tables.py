"""Table views of a snapshot: numbered rows, columns on demand.

A row's number is its position in the pinned version, deleted rows included (``storage.tables.row_layout``), so most
numbers outlive a commit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.core.classes.dataclass import dataclass
from omnigraph.core.tables import TablePin
from omnigraph.exec.adjacency import contains
from omnigraph.exec.coded.codes import Coded, is_codable
from omnigraph.exec.columns import CACHED_BYTES_MAX, Columns, Spread
from omnigraph.exec.id_map import IdMaps
from omnigraph.rows.arrow_types import Entity, table_schema
from omnigraph.rows.ends.references import shown_types
from omnigraph.rows.keys import hash_text
from omnigraph.schema.catalog import EdgeType
from omnigraph.storage.index.indexes import Coverage, IndexKind
from omnigraph.storage.index.known import known_indexes
from omnigraph.storage.tables.columns_by_fragment import layout_of
from omnigraph.storage.tables.filters import Comparison, RowFilter
from omnigraph.storage.tables.row_layout import Layout
from omnigraph.storage.tables.scan import find_ids, find_ids_in, matching_rows, rows_with_ids, take_rows
from omnigraph.storage.tables.store import Store

Rows = npt.NDArray[np.int64]

LOOKED_UP_MAX = 2_000
"""Above this number, ids are joined with the whole id column."""

MAPPED_IDS_MAX = 2_000
"""Above this number, ids are not looked up in id maps."""

GATHERED_MAX = 100_000
"""Rows gathered fragment by fragment; for more the column is concatenated first."""

HELD_BYTES_MAX = CACHED_BYTES_MAX // 4
"""Largest column, in bytes, that a filter or an aggregate keeps in memory; others would push each other out."""

TAIL_ROWS_MAX = 50_000
"""Uncovered rows up to which an index is used: scanning them takes a millisecond or two."""


@dataclass(frozen=True)
class TableView:
    """One table of the snapshot."""

    store: Store = field(repr=False)
    pin: TablePin
    entity: Entity = field(repr=False)
    columns: Columns = field(repr=False)
    id_maps: IdMaps | None = field(default=None, repr=False)

    @property
    def rows(self) -> int:
        """The number of live rows."""
        return self.pin.rows

    @cached_property
    def layout(self) -> Layout:
        return layout_of(self.store, self.pin)

    @cached_property
    def schema(self) -> pa.Schema:
        return table_schema(self.entity)

    @property
    def size(self) -> int:
        """The number of rows including deleted ones: an exclusive upper bound of row numbers."""
        return self.layout.size

    def live(self) -> Rows:
        """The numbers of all live rows, ascending."""
        return self.layout.live()

    def rows_in(self, fragments: Sequence[int]) -> Rows:
        """The numbers of live rows in some fragments, ascending."""
        wanted = set(fragments)
        ranges = [
            np.arange(part.start, part.start + part.rows) for part in self.layout.parts if part.fragment in wanted
        ]
        numbers = np.concatenate(ranges) if ranges else np.zeros(0, np.int64)
        return np.setdiff1d(numbers, self.layout.dead, assume_unique=True) if len(self.layout.dead) else numbers

    def column(self, name: str) -> pa.Array:
        """A whole column by row number; values at deleted rows are undefined."""
        if not self.size:
            return pa.nulls(0, self.schema.field(name).type)
        return self.columns.read(self.store, self.pin, name)

    def codes(self, name: str) -> Coded | None:
        """The codes of a column by row number, arbitrary at deleted rows; None if it has too many values."""
        if not self.size or not is_codable(self.schema.field(name).type):
            return None
        return self.columns.codes(self.store, self.pin, name)

    def is_held(self, name: str) -> bool:
        """True if a whole column is in memory, or small enough to be kept there once it is read."""
        if self.columns.known(self.pin, name) is not None:
            return True
        return is_short(self.schema.field(name).type) and self.width(name) * self.size <= HELD_BYTES_MAX

    def width(self, name: str) -> float:
        """The average bytes of a value."""
        try:
            return float(self.schema.field(name).type.bit_width / 8)
        except ValueError:
            # Texts and lists have no fixed width.
            return self.columns.width(self.store, self.pin, name)

    def live_column(self, name: str) -> pa.Array:
        """A whole column by row number, null at deleted rows."""
        column, dead = self.column(name), self.layout.dead
        if not len(dead):
            return column
        alive = np.ones(self.size, bool)
        alive[dead] = False
        return pc.if_else(pa.array(alive), column, pa.scalar(None, column.type))

    def values(self, name: str, rows: Rows) -> pa.Array:
        """A column's values at row numbers; -1 gives null."""
        return self.many_values([name], rows)[name]

    def many_values(self, names: Sequence[str], rows: Rows) -> dict[str, pa.Array]:
        """The same for several columns, which are read together."""
        values = self.stored_values(names, rows)
        for end in self.entity.ends if isinstance(self.entity, EdgeType) else ():
            if end.type_column in values:
                shown = shown_types(end, values[end.type_column])
                values[end.type_column] = pc.if_else(pa.array(rows >= 0), shown, None)
        return values

    def stored_values(self, names: Sequence[str], rows: Rows) -> dict[str, pa.Array]:
        """The values of columns as they are stored: with tags in place of the names of node types."""
        values: dict[str, pa.Array] = {}
        spread: Spread | None = None
        bound = rows if (rows >= 0).all() else rows[rows >= 0]
        are_many = len(rows) * self.store.tuning.whole_column_share > self.rows
        for name in names:
            if are_many or self.columns.known(self.pin, name) is not None:
                values[name] = _gather(self.column(name), rows)
            elif len(rows) <= GATHERED_MAX and is_short(self.schema.field(name).type):
                spread = spread or Spread.of(self.layout, bound)
                gathered = self.columns.gather(self.store, self.pin, name, spread)
                if gathered is not None:
                    values[name] = _spread(gathered, rows)
        missing = [name for name in names if name not in values]
        return {**values, **self._taken(missing, rows, bound)} if missing else values

    def _taken(self, names: list[str], rows: Rows, bound: Rows) -> dict[str, pa.Array]:
        wanted, positions = distinct(bound)
        taken = take_rows(self.store, self.pin, self.layout.live_positions(wanted), names)
        return {name: _spread(taken[name].take(pa.array(positions)), rows) for name in names}

    def at_addresses(self, addresses: npt.NDArray[np.uint64]) -> Rows:
        """Row numbers of Lance row addresses, ascending."""
        return np.sort(self.layout.numbers_at(addresses))

    def find_ids(self, ids: Sequence[str]) -> Rows:
        """Row numbers of the ids that exist, ascending."""
        return np.sort(np.fromiter(self._rows_by_id(ids).values(), np.int64))

    def _rows_by_id(self, ids: Sequence[str]) -> dict[str, int]:
        rows_min = self.store.tuning.mapped_rows_min
        mapped = [part for part in self.layout.parts if part.rows >= rows_min] if self.id_maps else []
        if not mapped or self.id_maps is None or len(ids) > MAPPED_IDS_MAX:
            return self._numbered(find_ids(self.store, self.pin, ids))
        if not self.id_maps.is_worthwhile(self.pin, mapped, is_indexed=self.is_indexed("id")):
            return self._numbered(find_ids(self.store, self.pin, ids))
        others = [part.fragment for part in self.layout.parts if part.rows < rows_min]
        found = self._numbered(find_ids_in(self.store, self.pin, others, ids)) if others else {}
        maps = [(part, self.id_maps.get(self.store, self.pin, part)) for part in mapped]
        wanted = [text for text in dict.fromkeys(ids) if text not in found]
        candidates = [
            (text, part.start + offset)
            for text, hashed in zip(wanted, map(hash_text, wanted), strict=True)
            for part, map_ in maps
            for offset in map_.offsets_of(hashed)
        ]
        rows = np.array([row for _, row in candidates], np.int64)
        held = self.values("id", rows).to_pylist() if len(rows) else []
        dead = contains(self.layout.dead, rows).tolist()
        for (text, row), id_, is_dead in zip(candidates, held, dead, strict=True):
            if id_ == text and not is_dead:
                found[text] = row
        return found

    def _numbered(self, addresses: Mapping[str, int]) -> dict[str, int]:
        rows = self.layout.numbers_at(np.fromiter(addresses.values(), np.uint64, len(addresses)))
        return dict(zip(addresses, rows.tolist(), strict=True))

    def rows_of(self, ids: pa.Array) -> Rows:
        """The row number of every id, -1 where there is none."""
        if len(ids) <= LOOKED_UP_MAX:
            texts = ids.to_pylist()
            numbers = self._rows_by_id(texts)
            return np.fromiter((numbers.get(text, -1) for text in texts), np.int64, len(texts))
        places = pc.index_in(ids, value_set=self.live_column("id"), skip_nulls=True)
        encoded: Rows = pc.fill_null(places, -1).to_numpy(zero_copy_only=False).astype(np.int64)
        return encoded

    def with_ids(self, column: str, ids: Sequence[str], names: list[str]) -> tuple[Rows, dict[str, pa.Array]]:
        """The rows whose column holds one of the ids, and some text columns of them."""
        found = rows_with_ids(self.store, self.pin, column, ids, names)
        return self.layout.numbers_at(found["_rowaddr"].to_numpy()), found

    def index(self, column: str, kind: IndexKind) -> Coverage | None:
        """The index of a column, with its coverage."""
        return known_indexes(self.store, self.pin).get((column, kind))

    def is_indexed(self, column: str) -> bool:
        """True if a B-tree index covers the column, except for a few rows that are scanned."""
        found = self.index(column, IndexKind.BTREE)
        return found is not None and found.rows - found.covered_rows <= TAIL_ROWS_MAX

    def looked_up(self, condition: RowFilter) -> Rows:
        """Row numbers that satisfy a filter on an indexed column, ascending."""
        from omnigraph.storage.index.reads import look_up

        return self.at_addresses(look_up(self.store, self.pin, condition))

    def read_once(self, name: str) -> pa.Array:
        """A whole column by row number, not cached because it is read once."""
        return self.columns.read(self.store, self.pin, name, remember=False) if self.size else self.column(name)

    def matching(self, comparison: Comparison) -> Rows:
        """Row numbers that satisfy a comparison, ascending."""
        return self.at_addresses(matching_rows(self.store, self.pin, comparison))


def is_short(type_: pa.DataType) -> bool:
    """True for values small enough to cache for a few rows: numbers and texts, not lists and vectors."""
    return not pa.types.is_nested(type_) and not isinstance(type_, pa.ExtensionType)


def _spread(values: pa.Array, rows: Rows) -> pa.Array:
    """Values of the bound rows, spread over all rows with null at -1."""
    if len(values) == len(rows):
        return values
    places = np.full(len(rows), -1, np.int64)
    places[rows >= 0] = np.arange(len(values))
    return _gather(values, places)


def _gather(values: pa.Array, rows: Rows) -> pa.Array:
    if len(rows) == len(values) and np.array_equal(rows, np.arange(len(rows))):
        return values
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
