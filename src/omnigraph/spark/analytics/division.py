"""Division of the nodes of a graph into blocks of consecutive numbers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from omnigraph.exec.adjacency import Integers, Rows
from omnigraph.exec.analytics.vectors import Span


@dataclass(frozen=True, slots=True)
class Division:
    """Blocks of equal size, except the last. A graph without nodes has one empty block."""

    nodes: int
    size: int

    @classmethod
    def of(cls, nodes: int, wanted: int) -> Division:
        """About as many blocks as wanted."""
        return cls(nodes, max(-(-nodes // wanted), 1))

    @property
    def blocks(self) -> int:
        return max(-(-self.nodes // self.size), 1)

    def span(self, block: int) -> Span:
        """The nodes of a block."""
        first = min(block * self.size, self.nodes)
        return Span(first, min(self.size, self.nodes - first), self.nodes)

    def parts(self, numbers: Integers) -> Iterator[tuple[int, slice, Rows]]:
        """The blocks that ascending numbers are in: each with its slice of them, and their positions in the block."""
        owners = numbers // self.size
        present, cuts = np.unique(owners, return_index=True)
        for block, (start, stop) in zip(present.tolist(), pairwise([*cuts.tolist(), len(owners)]), strict=True):
            part = slice(start, stop)
            yield block, part, numbers[part].astype(np.int64) - block * self.size
