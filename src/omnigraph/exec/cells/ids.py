"""Rows by id without a read: the ids of small fragments as dicts, of large ones as maps of hashes."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Mapping

from omnigraph.exec.cells.values import Cell, array_cells
from omnigraph.exec.id_map import IdMap
from omnigraph.exec.tables import TableView
from omnigraph.rows.keys import hash_text
from omnigraph.storage.tables.row_layout import Fragment

Find = Callable[[str], int]
"""The row number of an id, -1 if there is none."""


def id_finder(table: TableView) -> Find | None:
    """A function from ids to rows; None if the ids of a fragment are not in memory."""
    return table.columns.reader(table.pin, "rows by id", lambda: _made(table))


def _made(table: TableView) -> Find | None:
    small: list[tuple[int, Mapping[str, int]]] = []
    large: list[Find] = []
    for part in table.layout.parts:
        if part.rows < table.store.tuning.mapped_rows_min:
            offsets = table.store.keys.known((part.data, part.deletions))
            if offsets is None:
                return None
            small.append((part.start, offsets))
        else:
            find = _mapped(table, part)
            if find is None:
                return None
            large.append(find)
    if not small and len(large) == 1:
        return large[0]

    def find_row(id_: str) -> int:
        for start, offsets in small:
            offset = offsets.get(id_)
            if offset is not None:
                return start + offset
        for find in large:
            row = find(id_)
            if row >= 0:
                return row
        return -1

    return find_row


def _mapped(table: TableView, part: Fragment) -> Find | None:
    known = None if table.id_maps is None else table.id_maps.known(part)
    ids = table.columns.piece(table.store, table.pin, part, "id")
    return None if known is None or ids is None else _by_hash(known, array_cells(ids), part.start, _is_dead(table))


def _by_hash(map_: IdMap, ids: Cell, start: int, is_dead: Callable[[int], bool]) -> Find:
    hashes, offsets = map_.hashes.data, map_.offsets.data
    length = len(hashes)

    def find(id_: str) -> int:
        hashed = hash_text(id_)
        place = bisect_left(hashes, hashed)
        # Ids with equal hashes are neighbours; the id itself decides.
        while place < length and hashes[place] == hashed:
            offset = offsets[place]
            if ids(offset) == id_ and not is_dead(start + offset):
                return start + offset
            place += 1
        return -1

    return find


def _is_dead(table: TableView) -> Callable[[int], bool]:
    dead = table.layout.dead.data
    length = len(dead)
    if not length:
        return lambda row: False

    def is_dead(row: int) -> bool:
        place = bisect_left(dead, row)
        return place < length and dead[place] == row

    return is_dead
