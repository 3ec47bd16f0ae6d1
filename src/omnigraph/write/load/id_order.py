"""The order of ids as they arrive. Ids that ascend strictly have no duplicates, so that no search is needed.

Two orders are tracked: that of texts, in which minted ids and sorted files ascend, and by length first, in which whole
numbers do: 9, 10, 11.
"""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc


@dataclass(frozen=True, slots=True)
class IdOrder:
    """The ids so far: the orders in which they ascend, and the last one."""

    by_text: bool = True
    by_length: bool = True
    last: str | None = None

    @property
    def is_ascending(self) -> bool:
        return self.by_text or self.by_length

    def followed_by(self, ids: pa.Array) -> IdOrder:
        """The order with more ids, none of them null."""
        if not len(ids) or not self.is_ascending:
            return self
        earlier, later = ids.slice(0, len(ids) - 1), ids.slice(1)
        first = ids[0].as_py()
        grows = pc.less(earlier, later)
        by_text = self.by_text and (self.last is None or self.last < first) and _all(grows)
        by_length = self.by_length and (self.last is None or (len(self.last), self.last) < (len(first), first))
        if by_length:
            before, behind = pc.binary_length(earlier), pc.binary_length(later)
            by_length = _all(pc.or_(pc.less(before, behind), pc.and_(pc.equal(before, behind), grows)))
        return IdOrder(by_text, by_length, ids[-1].as_py())


def _all(values: pa.Array) -> bool:
    return bool(pc.all(values, min_count=0).as_py())
