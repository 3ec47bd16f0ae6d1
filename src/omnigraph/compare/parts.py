"""Parts of the difference of two versions of a table, for tasks that compare them at the same time.

A part has some fragments of one version. A row of the later version is an update if the earlier one has its id, and
otherwise an insert; a row of the earlier version is a delete unless the later one has its id. So every change is in
exactly one part:

=======  =======  =======  =============================================
id       before   after    part
=======  =======  =======  =============================================
a        1        2        the one with the later row: an update
b        absent   1        the one with the later row: an insert
c        1        absent   the one with the earlier row: a delete
=======  =======  =======  =============================================
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.compare.tables import Pins, TableChanges, compared, flat, read_changes, table_pieces
from omnigraph.core.tables import TablePin
from omnigraph.rows.arrow_types import ID, Entity
from omnigraph.storage.tables.difference import Piece, piece_rows, read_pieces
from omnigraph.storage.tables.store import Store


@dataclass(frozen=True, slots=True)
class TablePart:
    """Fragments of the later version, or of the earlier one."""

    fragments: frozenset[int]
    is_later: bool


def table_parts(store: Store, entity: Entity, pins: Pins, rows_max: int) -> list[TablePart]:
    """Parts of about ``rows_max`` rows each; no fragment is divided. Reads no row."""
    pieces = table_pieces(store, entity, *pins)
    sides = ((pins[1], pieces.after, True), (pins[0], pieces.before, False))
    return [
        TablePart(group, is_later)
        for pin, some, is_later in sides
        if pin is not None
        for group in _groups(store, pin, some, rows_max)
    ]


def _groups(store: Store, pin: TablePin, pieces: Sequence[Piece], rows_max: int) -> Iterator[frozenset[int]]:
    group: list[int] = []
    held = 0
    for piece, rows in zip(pieces, piece_rows(store, pin, pieces), strict=True):
        group.append(piece.fragment)
        held += rows
        if held >= rows_max:
            yield frozenset(group)
            group, held = [], 0
    if group:
        yield frozenset(group)


def part_changes(store: Store, entity: Entity, pins: Pins, part: TablePart) -> TableChanges:
    """The changes of one part. Holds its rows in memory, and of the other version those with the same ids."""
    before, after = pins
    pieces = table_pieces(store, entity, before, after)
    own = [piece for piece in (pieces.after if part.is_later else pieces.before) if piece.fragment in part.fragments]
    if part.is_later:
        new = read_changes(store, entity, after, own)
        old = read_changes(store, entity, before, pieces.before, new.column(ID).to_pylist())
    else:
        rows = read_changes(store, entity, before, own)
        old = rows.filter(pc.invert(pc.is_in(flat(rows, ID), value_set=_ids(store, after, pieces.after))))
        new = rows.slice(0, 0)
    return compared(store, entity, pins, (old, new))


def _ids(store: Store, pin: TablePin | None, pieces: Sequence[Piece]) -> pa.Array:
    if pin is None or not pieces:
        return pa.array([], pa.string())
    return flat(read_pieces(store, pin, pieces, {ID: pa.field(ID, pa.string())}), ID).cast(pa.string())
