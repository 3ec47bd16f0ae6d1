"""Translation of row numbers between two versions of a table.

Invariant: ``to_row(to_number(row)) == row`` for every row that is live in the present version, and ``to_number`` maps
different live rows to different numbers. Deleted rows translate to arbitrary values and must be masked by the caller.

A fragment that both versions share keeps its rows in order, so it moves as a whole by one shift. Everything else is a
sorted list of exceptions. Translation is free where nothing moved, and one binary search per value otherwise.

Example: fragment A has rows 0 to 2, B has 3 and 4. Then row 1 was updated (deleted in A, rewritten in C), and a
compaction moved B behind C::

    old numbers   0  1  2 | 3  4         A A A B B
    new rows      0  -  2 | 3 | 4  5     A A A C B B
    shifts        A: 0, B: +1            old -> new, by the start of the stretch
    lost          1                      live then, not live at its place now
    fresh         3                      live now, not live at that place then
    to_row        0  3  2 | 4  5         exception 1 -> 3, because row 3 has the id of old row 1
    to_number     0  ?  2   1   3  4     the inverse; row 1 is deleted, so its number is arbitrary

Had row 3 a new id, old number 1 would be *gone* (-1), and row 3 would get the first number above all old ones, 5.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

import numpy as np
import pyarrow.compute as pc

from omnigraph.core.classes.dataclass import dataclass
from omnigraph.exec.adjacency import Integers, Rows, contains
from omnigraph.exec.tables import TableView
from omnigraph.storage.tables.row_layout import Layout

NOTHING = np.zeros(0, np.int64)


def nothing() -> Rows:
    """No rows."""
    return NOTHING


@dataclass(frozen=True)
class Renumbering:
    """A map between two numberings: one shift per stretch of rows, then exceptions."""

    starts: Rows = field(default_factory=nothing)
    shifts: Rows = field(default_factory=nothing)
    """Empty where no stretch moved."""
    keys: Rows = field(default_factory=nothing)
    values: Rows = field(default_factory=nothing)
    """Exceptions, ascending by key; -1 where a row has no counterpart."""

    def __call__(self, numbers: Integers) -> Rows:
        moved: Rows = numbers if numbers.dtype == np.int64 else numbers.astype(np.int64)
        if len(self.starts):
            # side="right" - 1: the last stretch that starts at or before the number.
            moved = moved + self.shifts[np.searchsorted(self.starts, moved, side="right") - 1]
        if len(self.keys):
            # Copy before writing: without a shift this is still the caller's array, perhaps mapped from disk.
            moved = moved.copy()
            place = np.minimum(np.searchsorted(self.keys, numbers), len(self.keys) - 1)
            hit = self.keys[place] == numbers
            moved[hit] = self.values[place[hit]]
        return moved

    def followed_by(self, keys: Rows, values: Rows) -> Renumbering:
        """The same with exceptions above all others."""
        values = np.concatenate((self.values, values))
        return Renumbering(self.starts, self.shifts, np.concatenate((self.keys, keys)), values)


@dataclass(frozen=True)
class Correspondence:
    """Old numbers and new rows of one table. A row that did not exist then has a number above all old ones.

    Only live rows have a counterpart. Numbers of rows that were deleted then, and rows that are deleted now, translate
    to arbitrary values.
    """

    size: int
    """The count of old numbers and of those given to new rows."""
    rows: int
    """Row numbers of the present version."""
    to_row: Renumbering
    to_number: Renumbering
    lost: Rows
    """Old numbers, live then, whose place is no longer live; ascending."""
    fresh: Rows
    """Rows, live now, whose place was not live then; ascending."""
    gone: Rows
    """The lost numbers whose entity no longer exists."""

    @property
    def changes(self) -> int:
        return len(self.lost) + len(self.fresh)


def unchanged(layout: Layout) -> Correspondence:
    """The identity: every row at its old place."""
    return Correspondence(layout.size, layout.size, Renumbering(), Renumbering(), NOTHING, NOTHING, NOTHING)


def correspondence(old: Layout, old_ids: TableView | None, new: TableView) -> Correspondence:
    """The correspondence of an old layout and the present one; see the example above.

    With ``old_ids``, the table as it was then, an entity that was rewritten keeps its number. Without, only places
    count: that is enough for edges, because the ends of a rewritten edge are encoded again anyway.
    """
    layout = new.layout
    if layout.parts == old.parts:
        return unchanged(old)
    places = {part.data: part.start for part in layout.parts}
    before = {part.data: part.start for part in old.parts}
    forth = _shifts([(part.start, places.get(part.data)) for part in old.parts])
    back = _shifts([(part.start, before.get(part.data)) for part in layout.parts])
    kept_then, vanished = _split(old, places)
    kept_now, added = _split(layout, before)
    # Deletions of shared fragments, in old numbers, so that both sets of deletions can be compared.
    dead_now = np.sort(Renumbering(*back)(kept_now))
    lost = np.sort(np.concatenate((vanished, dead_now[~contains(old.dead, dead_now)])))
    # An older commit or another branch can have fewer deletions than the base: such rows are live again.
    revived = Renumbering(*forth)(kept_then[~contains(dead_now, kept_then)])
    fresh = np.sort(np.concatenate((added, revived)))
    moved = np.full(len(fresh), -1, np.int64) if old_ids is None else _same_ids(old_ids, lost, new, fresh)
    return _joined((old.size, layout.size), forth, back, lost, fresh, moved)


def extended(before: Correspondence, former: Layout, layout: Layout, *, has_ids: bool) -> Correspondence | None:
    """A correspondence with the rows that were added at the end of a former layout.

    None if anything else changed, or if an added row may be an entity that was gone: it has a number already. Without
    ``has_ids`` only places count, as above.
    """
    if layout is former or layout.parts == former.parts:
        return before
    if layout.parts[: len(former.parts)] != former.parts or (has_ids and len(before.gone)):
        return None
    fresh = np.arange(former.size, layout.size)
    if len(layout.dead):
        fresh = fresh[~contains(layout.dead, fresh)]
    numbers = np.arange(before.size, before.size + len(fresh))
    return Correspondence(
        before.size + len(fresh),
        layout.size,
        before.to_row.followed_by(numbers, fresh),
        before.to_number.followed_by(fresh, numbers),
        before.lost,
        np.concatenate((before.fresh, fresh)),
        before.gone,
    )


def _split(layout: Layout, shared: Mapping[str, int]) -> tuple[Rows, Rows]:
    """The deleted rows of fragments in both layouts, and the live rows of the other fragments."""
    if all(part.data in shared for part in layout.parts):
        return layout.dead, NOTHING
    is_shared = np.array([part.data in shared for part in layout.parts])
    starts = np.array([part.start for part in layout.parts], np.int64)
    own = [np.arange(part.start, part.start + part.rows) for part in layout.parts if part.data not in shared]
    rows = np.concatenate(own)
    dead_shared = is_shared[np.searchsorted(starts, layout.dead, side="right") - 1]
    return layout.dead[dead_shared], rows[~contains(layout.dead, rows)]


def _joined(
    sizes: tuple[int, int], forth: tuple[Rows, Rows], back: tuple[Rows, Rows], lost: Rows, fresh: Rows, moved: Rows
) -> Correspondence:
    """Both renumberings, with exceptions for lost numbers and fresh rows.

    ``moved`` holds, for every fresh row, the position of its old number among the lost, or -1::

        lost     1  4         fresh   6  7  8       moved  -1  0 -1     (size 5)
        numbers  5  1  6      row 7 keeps number 1; rows 6 and 8 get the next free numbers
        rows     7 -1         number 1 is now row 7; number 4 is gone
    """
    size, rows_now = sizes
    is_new = moved < 0
    # The clamp only keeps the index valid; values at new rows are replaced in the next line.
    numbers = np.where(is_new, 0, lost[np.maximum(moved, 0)] if len(lost) else 0)
    numbers[is_new] = size + np.arange(int(is_new.sum()))
    rows = np.full(len(lost), -1, np.int64)
    rows[moved[~is_new]] = fresh[~is_new]
    return Correspondence(
        size + int(is_new.sum()),
        rows_now,
        # Keys stay ascending: all lost numbers are below `size`, all new numbers at or above it.
        Renumbering(*forth, np.concatenate((lost, numbers[is_new])), np.concatenate((rows, fresh[is_new]))),
        Renumbering(*back, fresh, numbers),
        lost,
        fresh,
        lost[rows < 0],
    )


def _shifts(stretches: list[tuple[int, int | None]]) -> tuple[Rows, Rows]:
    """Starts and shifts, or empty arrays if no stretch moved.

    A stretch without a counterpart gets shift 0: all of its live rows are exceptions.
    """
    if all(there is None or there == here for here, there in stretches):
        return NOTHING, NOTHING
    shifts = [0 if there is None else there - here for here, there in stretches]
    return np.array([here for here, _ in stretches], np.int64), np.array(shifts, np.int64)


def _same_ids(old: TableView, lost: Rows, new: TableView, fresh: Rows) -> Rows:
    """For every fresh row the position of its id among the lost rows, or -1."""
    if not len(lost) or not len(fresh):
        return np.full(len(fresh), -1, np.int64)
    found = pc.index_in(new.values("id", fresh), value_set=old.values("id", lost))
    positions: Rows = pc.fill_null(found, -1).to_numpy(zero_copy_only=False).astype(np.int64)
    return positions
