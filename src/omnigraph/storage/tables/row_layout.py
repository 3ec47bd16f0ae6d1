"""Where the rows of a pinned table stand: fragment after fragment, deleted rows included.

A row's *number* is its position in that order. Deleting rows does not renumber the others, and a fragment that two
versions share holds the same rows in both, so whatever is derived from a fragment can be kept for all of them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt

from omnigraph.storage.tables.row_addresses import OFFSET_BITS

Rows = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Part:
    """One fragment: its rows have the numbers ``start`` to ``start + rows``."""

    fragment: int
    data: str
    """The names of its data files, which fix its values."""
    deletions: str
    """The name of its deletion file, or nothing."""
    start: int
    rows: int


@dataclass(frozen=True)
class Layout:
    """The fragments of one version in order, and which rows are deleted."""

    parts: tuple[Part, ...]
    dead: Rows = field(repr=False)
    """Numbers of deleted rows, ascending."""
    fields: Mapping[str, int] = field(repr=False)
    """Lance's number of every column: a column that was dropped and added again is another one."""

    @property
    def size(self) -> int:
        """Rows with the deleted ones; every number is below it."""
        return self.parts[-1].start + self.parts[-1].rows if self.parts else 0

    def live(self) -> Rows:
        """The numbers of all rows that are not deleted, ascending."""
        return np.delete(np.arange(self.size), self.dead) if len(self.dead) else np.arange(self.size)

    def live_positions(self, numbers: Rows) -> Rows:
        """Positions among the live rows, which is how Lance counts when it takes rows."""
        return numbers - np.searchsorted(self.dead, numbers) if len(self.dead) else numbers

    def numbers_at(self, addresses: npt.NDArray[np.uint64]) -> Rows:
        """The numbers of rows given by their addresses, in the same order."""
        fragments = (addresses >> np.uint64(OFFSET_BITS)).astype(np.int64)
        offsets = (addresses & np.uint64((1 << OFFSET_BITS) - 1)).astype(np.int64)
        known, starts = self._by_fragment
        return starts[np.searchsorted(known, fragments)] + offsets

    @cached_property
    def digest(self) -> str:
        """A name for exactly these rows: of the files that hold them, and of those that delete some."""
        files = "\n".join(f"{part.data} {part.deletions}" for part in self.parts)
        return hashlib.sha256(files.encode()).hexdigest()

    @cached_property
    def starts(self) -> Rows:
        """The first number of every fragment."""
        return np.array([part.start for part in self.parts], np.int64)

    @cached_property
    def _by_fragment(self) -> tuple[Rows, Rows]:
        # A compacted fragment has a high number and stands where its predecessors stood.
        known = np.array([part.fragment for part in self.parts], np.int64)
        order = np.argsort(known)
        return known[order], self.starts[order]
