"""Row numbers of a pinned table: fragment after fragment, deleted rows included.

A row's *number* is its position in that order. Deleting rows does not renumber the others, and a fragment that two
versions share holds the same rows in both. So values derived from a fragment can be cached for all versions.

Fragment 0 with 3 rows, offset 1 deleted, then fragment 7 with 2 rows:

=======  ======  =============
address  number  live position
=======  ======  =============
(0, 0)   0       0
(0, 1)   1       deleted
(0, 2)   2       1
(7, 0)   3       2
(7, 1)   4       3
=======  ======  =============
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import field
from functools import cached_property

import numpy as np
import numpy.typing as npt

from omnigraph.core.classes.dataclass import dataclass
from omnigraph.storage.tables.row_addresses import OFFSET_BITS

Rows = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Fragment:
    """One fragment: its rows have the numbers ``start`` to ``start + rows``."""

    fragment: int
    data: str
    """The names of its data files, which determine its values."""
    deletions: str
    """The name of its deletion file; empty if it has none."""
    start: int
    rows: int


@dataclass(frozen=True)
class Layout:
    """The fragments of one version in order, and its deleted rows."""

    parts: tuple[Fragment, ...]
    dead: Rows = field(repr=False)
    """Numbers of deleted rows, ascending."""
    fields: Mapping[str, int] = field(repr=False)
    """Lance's number of every column: a column that was dropped and added again is another one."""

    @property
    def size(self) -> int:
        """Number of rows including deleted ones; every row number is below it."""
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

    def followed_by(self, added: Sequence[Fragment]) -> Layout:
        """The layout with fragments at the end. Its digest continues that of this one."""
        made = Layout((*self.parts, *added), self.dead, self.fields)
        hashed = self._hashed.copy()
        if self.parts:
            hashed.update(b"\n")
        hashed.update(_files(added))
        # Cached properties live in the dictionary of the instance, which a frozen dataclass leaves open.
        made.__dict__.update(_hashed=hashed, numbers=self.numbers)
        return made

    def precedes(self, other: Layout) -> bool:
        """True if another layout begins with the fragments of this one, each with the same deletions.

        A layout that was made from this one by ``followed_by`` has the same objects, so that comparing them is fast.
        """
        return other.parts[: len(self.parts)] == self.parts

    @cached_property
    def digest(self) -> str:
        """A digest that identifies exactly these rows: of their data files and deletion files."""
        return self._hashed.hexdigest()

    @cached_property
    def _hashed(self) -> hashlib._Hash:
        return hashlib.sha256(_files(self.parts))

    @cached_property
    def numbers(self) -> frozenset[tuple[str, int]]:
        """The columns of the version, as ``column_numbers`` reads them from a dataset."""
        return frozenset(self.fields.items())

    @cached_property
    def starts(self) -> Rows:
        """The first number of every fragment."""
        return np.array([part.start for part in self.parts], np.int64)

    @cached_property
    def _by_fragment(self) -> tuple[Rows, Rows]:
        # Fragment numbers are not ascending: a compacted fragment has a high number at the place of its originals.
        known = np.array([part.fragment for part in self.parts], np.int64)
        order = np.argsort(known)
        return known[order], self.starts[order]


def _files(parts: Sequence[Fragment]) -> bytes:
    return "\n".join([f"{part.data} {part.deletions}" for part in parts]).encode()
