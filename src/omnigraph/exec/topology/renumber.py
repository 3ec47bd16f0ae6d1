"""Row numbers of one version of a table in another version of it.

Fragments that both versions hold keep their rows and move as a whole; what changed in between is a list of exceptions.
So translating costs nothing where nothing moved, and little where little did.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import pyarrow.compute as pc

from omnigraph.exec.adjacency import Integers, Rows, contains
from omnigraph.exec.tables import TableView
from omnigraph.storage.tables.row_layout import Layout

NOTHING = np.zeros(0, np.int64)


def nothing() -> Rows:
    """No rows."""
    return NOTHING


@dataclass(frozen=True)
class Renumbering:
    """From one numbering to another: a shift for every stretch of rows, and exceptions."""

    starts: Rows = field(default_factory=nothing)
    shifts: Rows = field(default_factory=nothing)
    """Empty where no stretch moved."""
    keys: Rows = field(default_factory=nothing)
    values: Rows = field(default_factory=nothing)
    """Exceptions, ascending by key; -1 where a row has no counterpart."""

    def __call__(self, numbers: Integers) -> Rows:
        moved: Rows = numbers.astype(np.int64, copy=False)
        if len(self.starts):
            moved = moved + self.shifts[np.searchsorted(self.starts, moved, side="right") - 1]
        if len(self.keys):
            moved = moved.copy()
            place = np.minimum(np.searchsorted(self.keys, numbers), len(self.keys) - 1)
            hit = self.keys[place] == numbers
            moved[hit] = self.values[place[hit]]
        return moved


@dataclass(frozen=True)
class Correspondence:
    """Old numbers and new rows of one table. A row that did not exist then has a number above all old ones.

    Only what is live has a counterpart: numbers of rows that were deleted then, and rows that are deleted now, lead
    anywhere.
    """

    size: int
    """Old numbers and those given to new rows."""
    rows: int
    """Row numbers of the present version."""
    to_row: Renumbering
    to_number: Renumbering
    lost: Rows
    """Old numbers, live then, whose place is no longer live."""
    fresh: Rows
    """Rows, live now, whose place was not live then."""
    gone: Rows
    """Those of the lost that are nowhere now."""

    @property
    def changes(self) -> int:
        return len(self.lost) + len(self.fresh)


def unchanged(layout: Layout) -> Correspondence:
    """Every row where it was."""
    return Correspondence(layout.size, layout.size, Renumbering(), Renumbering(), NOTHING, NOTHING, NOTHING)


def correspondence(old: Layout, old_ids: TableView | None, new: TableView) -> Correspondence:
    """How an old layout of a table relates to its present one.

    With ``old_ids``, the table as it was then, an entity that was rewritten keeps its number; without, only places
    count.
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
    dead_now = np.sort(Renumbering(*back)(kept_now))
    lost = np.sort(np.concatenate((vanished, dead_now[~contains(old.dead, dead_now)])))
    revived = Renumbering(*forth)(kept_then[~contains(dead_now, kept_then)])
    fresh = np.sort(np.concatenate((added, revived)))
    moved = np.full(len(fresh), -1, np.int64) if old_ids is None else _same_ids(old_ids, lost, new, fresh)
    return _joined((old.size, layout.size), forth, back, lost, fresh, moved)


def _split(layout: Layout, shared: Mapping[str, int]) -> tuple[Rows, Rows]:
    """The deleted rows of the fragments that both layouts hold, and the live rows of the others."""
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
    """``moved`` holds, for every fresh row, the position of its old number among the lost, or -1."""
    size, rows_now = sizes
    is_new = moved < 0
    numbers = np.where(is_new, 0, lost[np.maximum(moved, 0)] if len(lost) else 0)
    numbers[is_new] = size + np.arange(int(is_new.sum()))
    rows = np.full(len(lost), -1, np.int64)
    rows[moved[~is_new]] = fresh[~is_new]
    return Correspondence(
        size + int(is_new.sum()),
        rows_now,
        Renumbering(*forth, np.concatenate((lost, numbers[is_new])), np.concatenate((rows, fresh[is_new]))),
        Renumbering(*back, fresh, numbers),
        lost,
        fresh,
        lost[rows < 0],
    )


def _shifts(stretches: list[tuple[int, int | None]]) -> tuple[Rows, Rows]:
    """Starts and shifts, or nothing if no stretch moved. A stretch without a counterpart is all exceptions."""
    if all(there is None or there == here for here, there in stretches):
        return NOTHING, NOTHING
    shifts = [0 if there is None else there - here for here, there in stretches]
    return np.array([here for here, _ in stretches], np.int64), np.array(shifts, np.int64)


def _same_ids(old: TableView, lost: Rows, new: TableView, fresh: Rows) -> Rows:
    """For every fresh row the position of its id among the lost ones, or -1."""
    if not len(lost) or not len(fresh):
        return np.full(len(fresh), -1, np.int64)
    found = pc.index_in(new.values("id", fresh), value_set=old.values("id", lost))
    positions: Rows = pc.fill_null(found, -1).to_numpy(zero_copy_only=False).astype(np.int64)
    return positions
