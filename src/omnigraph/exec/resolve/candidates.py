"""Candidate pairs: records that share a block key, each pair once.

A pair that shares several keys belongs to the smallest of them. So parts of the keys can be worked on separately, and
no pair is found twice.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
import numpy.typing as npt

from omnigraph.exec.resolve.items import Positions, ramps
from omnigraph.exec.resolve.keys import Hashes, RecordKeys

PAIRS: Final = 65_536
"""Pairs that are compared together."""

_CELLS: Final = 8_000_000
"""Comparisons of keys at a time, to find the smallest common one."""

Mask = npt.NDArray[np.bool_]
Pairs = tuple[Positions, Positions]
"""Positions of the two records of each pair."""


@dataclass(frozen=True)
class Blocks:
    """Keys of some records. ``chosen`` masks the keys whose pairs are wanted here; all keys decide to whom a pair goes.

    In later rounds only pairs with a ``fresh`` record, or of a key in ``reopened``, are wanted.
    """

    keys: RecordKeys
    chosen: Mask | None = None
    fresh: Mask | None = None
    reopened: Hashes | None = None

    def pairs(self, together: int = PAIRS) -> Iterator[Pairs]:
        """Candidate pairs in chunks of about ``together``.

        ======  =========  ==============================================
        record  keys       pairs
        ======  =========  ==============================================
        0       a, b       (0, 1) of a; also of b, where it is left out
        1       a, b       (1, 2) of b
        2       b          (0, 2) of b
        ======  =========  ==============================================
        """
        owners, hashed = self.keys.owners, self.keys.hashes
        if self.chosen is not None:
            owners, hashed = owners[self.chosen], hashed[self.chosen]
        order = np.lexsort((owners, hashed))
        owners, hashed = owners[order], hashed[order]
        ends = np.searchsorted(hashed, hashed, side="right")
        # Each member of a block is paired with the members behind it.
        counts = ends - np.arange(len(owners)) - 1
        before = np.concatenate(([0], np.cumsum(counts)))
        start = 0
        while start < len(owners):
            end = max(start + 1, int(np.searchsorted(before, before[start] + together, side="right")) - 1)
            first, step = ramps(counts[start:end])
            first += start
            yield from self._wanted(owners[first], owners[first + 1 + step], hashed[first])
            start = end

    def _wanted(self, left: Positions, right: Positions, key: Hashes) -> Iterator[Pairs]:
        if self.fresh is not None:
            is_wanted = self.fresh[left] | self.fresh[right]
            if self.reopened is not None and len(self.reopened):
                is_wanted |= np.isin(key, self.reopened)
            left, right, key = left[is_wanted], right[is_wanted], key[is_wanted]
        table = self._table
        width = table.shape[1]
        if width <= 1:
            if len(left):
                yield left, right
            return
        rows = max(1, _CELLS // (width * width))
        for start in range(0, len(left), rows):
            part = slice(start, start + rows)
            ones, others = table[left[part]], table[right[part]]
            is_smaller = ones < key[part, None]
            is_shared = (ones[:, :, None] == others[:, None, :]).any(axis=2)
            is_own = ~(is_smaller & is_shared).any(axis=1)
            if is_own.any():
                yield left[part][is_own], right[part][is_own]

    @cached_property
    def _table(self) -> Hashes:
        """Keys as rows of equal width. The filling is the largest number, which is below no key."""
        counts = np.diff(self.keys.offsets)
        table = np.full((len(counts), int(counts.max(initial=0))), np.iinfo(np.uint64).max, np.uint64)
        owner, within = ramps(counts)
        table[owner, within] = self.keys.hashes
        return table
