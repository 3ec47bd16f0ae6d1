"""Vectors over the nodes of a graph, and the functions that they go through span by span.

An algorithm never sees a whole vector. It hands functions over arrays to ``Steps`` (``steps.py``), which calls them
once for all nodes in one process, or for every span of nodes on a cluster. What such a function returns for a node
depends on that node's values only, so the division into spans does not show in a result.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from omnigraph.exec.adjacency import Rows
from omnigraph.exec.analytics.totals import Summed, Total

Array = npt.NDArray[Any]
"""Values of the nodes of a span along the last axis; a leading axis holds several values of each."""

Vector = Any
"""Values of all nodes: an array in this process, or the description of blocks that a cluster has stored."""


@dataclass(frozen=True, slots=True)
class Span:
    """Consecutive nodes: all of them in one process."""

    first: int
    size: int
    nodes: int
    """The number of nodes of the whole graph."""

    @property
    def numbers(self) -> Rows:
        return np.arange(self.first, self.first + self.size)


@dataclass(frozen=True)
class Made:
    """New vectors, or the arrays of one span; and totals."""

    vectors: tuple[Any, ...]
    totals: Mapping[str, Total] = field(default_factory=dict)

    @property
    def vector(self) -> Any:
        """The only vector."""
        (vector,) = self.vectors
        return vector

    def total(self, name: str) -> Any:
        """The value of a total."""
        found: Any = self.totals[name]
        return found.value


def made(*vectors: Any, **totals: Total) -> Made:
    """The result of a function over a span."""
    return Made(vectors, totals)


SpanWork = Callable[..., Made]
"""A function of a span, the arrays of some vectors, and numbers by name."""


def filled(span: Span, *, value: float, kind: type, rows: int | None = None) -> Made:
    """The same value for every node."""
    return made(np.full(span.size if rows is None else (rows, span.size), value, kind))


def numbered(span: Span) -> Made:
    """The number of every node."""
    return made(span.numbers)


def placed(span: Span, *, numbers: Rows, values: Array, rest: float) -> Made:
    """Values of a few nodes, and one for the rest."""
    array = np.full(span.size, rest, values.dtype)
    own = (numbers >= span.first) & (numbers < span.first + span.size)
    array[numbers[own] - span.first] = values[own]
    return made(array)


def changed(before: Array, after: Array) -> Summed:
    """The number of nodes whose value changed."""
    return Summed(int((before != after).sum()))
