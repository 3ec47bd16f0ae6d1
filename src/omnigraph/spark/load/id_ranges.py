"""The ids of an input where they ascend: such an input has no duplicates, and its ids lie between two known ones.

Generated ids ascend over the whole input, and so do those of sorted files. Comparing them with each other would shuffle
the longest texts of a load, one group for each row.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import pairwise

import pyarrow as pa
import pyarrow.compute as pc


@dataclass(frozen=True, slots=True)
class IdRange:
    """Ids that ascend strictly from ``first`` to ``last``, in the order of their bytes."""

    first: str
    last: str

    @classmethod
    def of(cls, ids: pa.Array) -> IdRange | None:
        """The range of ids; None if they do not ascend, or if there are none."""
        if not len(ids) or ids.null_count:
            return None
        grows = pc.less(ids.slice(0, len(ids) - 1), ids.slice(1))
        if not pc.all(grows, min_count=0).as_py():
            return None
        return cls(ids[0].as_py(), ids[-1].as_py())

    def precedes(self, other: IdRange) -> bool:
        # Bytes of UTF-8 sort like code points, in which Python compares texts.
        return self.last < other.first

    def count(self, ids: pa.Array) -> int:
        """The number of ids between the first and the last one, both included."""
        return int(pc.sum(pc.and_(pc.greater_equal(ids, self.first), pc.less_equal(ids, self.last))).as_py() or 0)


def joined_ranges(ranges: Iterable[IdRange | None]) -> IdRange | None:
    """The range of all ids, each in one of the ranges; None if two ranges overlap or one is unknown."""
    known: list[IdRange] = []
    for item in ranges:
        if item is None:
            return None
        known.append(item)
    if not known:
        return None
    known.sort(key=lambda item: item.first)
    if any(not earlier.precedes(later) for earlier, later in pairwise(known)):
        return None
    return replace(known[0], last=known[-1].last)
