"""One entity followed through versions of its table, from one that has it to others.

A row that lies at the same offset of a fragment with the same data files is the same row (``storage.tables.difference``
states the invariant), so most versions are compared by their lists of fragments. Rows are read only if the entity is
not at its place, and only those of fragments that the two versions do not share.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa

from omnigraph.compare.tables import read_changes, table_pieces
from omnigraph.core.tables import TablePin
from omnigraph.rows.arrow_types import Entity
from omnigraph.storage.tables.difference import ADDRESS, Piece, is_live, row_piece
from omnigraph.storage.tables.lance_table import open_table
from omnigraph.storage.tables.port import TableFragment
from omnigraph.storage.tables.row_addresses import OFFSET_BITS
from omnigraph.storage.tables.store import Store


@dataclass(frozen=True, slots=True)
class _Place:
    fragment: TableFragment
    offset: int


@dataclass
class FollowedEntity:
    """An entity, and the last version that was found to have it."""

    store: Store
    entity: Entity
    id: str
    pin: TablePin
    _place: _Place | None = None

    def is_unmoved(self, pin: TablePin) -> bool:
        """True if a version has the entity at the place of the last one. Reads no row.

        It has the same values, unless the schema of one version hides columns of the other.
        """
        if (pin.location, pin.lance_version) == (self.pin.location, self.pin.lance_version):
            return True
        place = self._known_place()
        fragment = None if place is None else self._fragments(pin).get(place.fragment.data)
        if place is None or fragment is None:
            return False
        # Equal deletion files need not be read: the offset is live in the last version.
        if fragment.deletions != place.fragment.deletions and not is_live(fragment, place.offset):
            return False
        self.pin, self._place = pin, _Place(fragment, place.offset)
        return True

    def read(self, pin: TablePin) -> pa.Table:
        """The row of the entity in a version, in the schema of changes; no row if the version does not have it."""
        found = read_changes(self.store, self.entity, pin, self._pieces(pin), [self.id])
        if found.num_rows:
            address = found.column(ADDRESS)[0].as_py()
            self.pin, self._place = pin, self._at(pin, address)
        return found

    def is_in(self, pin: TablePin) -> bool:
        """True if a version has the entity, with whatever values."""
        return self.is_unmoved(pin) or self.read(pin).num_rows > 0

    def _pieces(self, pin: TablePin) -> Sequence[Piece]:
        if self.is_unmoved(pin) and (place := self._known_place()) is not None:
            return [row_piece(place.fragment, place.offset)]
        return table_pieces(self.store, self.entity, pin, self.pin).before

    def _known_place(self) -> _Place | None:
        if self._place is None:
            address = open_table(self.store, self.pin).find_ids([self.id], None).get(self.id)
            self._place = None if address is None else self._at(self.pin, address)
        return self._place

    def _at(self, pin: TablePin, address: int) -> _Place:
        number, offset = address >> OFFSET_BITS, address & ((1 << OFFSET_BITS) - 1)
        fragment = next(item for item in open_table(self.store, pin).fragments() if item.number == number)
        return _Place(fragment, offset)

    def _fragments(self, pin: TablePin) -> dict[str, TableFragment]:
        return {item.data: item for item in open_table(self.store, pin).fragments()} if pin.rows else {}
