"""Totals: small values that spans of nodes compute and the caller joins to one value for the whole graph.

Their size does not grow with the number of nodes, so they are what an algorithm may look at between two rounds.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import reduce
from typing import Any, Protocol, TypeVar

import numpy as np

from omnigraph.exec.adjacency import Rows

Own = TypeVar("Own", bound="Total")


class Total(Protocol):
    """A value that two spans join to one."""

    def joined(self: Own, other: Own) -> Own: ...


@dataclass(frozen=True, slots=True)
class Summed:
    """A sum."""

    value: Any

    def joined(self, other: Summed) -> Summed:
        return Summed(self.value + other.value)


@dataclass(frozen=True, slots=True)
class Largest:
    """A maximum."""

    value: Any

    def joined(self, other: Largest) -> Largest:
        return Largest(max(self.value, other.value))


@dataclass(frozen=True, slots=True)
class Listed:
    """Items of all spans in the order of the nodes: a few per span."""

    value: list[Any]

    def joined(self, other: Listed) -> Listed:
        return Listed(self.value + other.value)


@dataclass(frozen=True, slots=True)
class Tally:
    """Integers and the number of times that each occurs.

    Degrees have few distinct values: at most about sqrt(2 * edges).
    """

    values: Rows
    counts: Rows

    @classmethod
    def of(cls, integers: Rows) -> Tally:
        return cls(*np.unique(integers, return_counts=True))

    def joined(self, other: Tally) -> Tally:
        values, places = np.unique(np.concatenate((self.values, other.values)), return_inverse=True)
        counts = np.zeros(len(values), np.int64)
        np.add.at(counts, places, np.concatenate((self.counts, other.counts)))
        return Tally(values, counts)

    def percentile(self, share: float) -> float:
        """The value below which a share of all lies, interpolated linearly as by ``numpy.percentile``."""
        ends = np.cumsum(self.counts)
        last = int(ends[-1]) - 1
        place = share / 100 * last
        low, high = (
            self.values[np.searchsorted(ends, item, side="right")] for item in (int(place), min(int(place) + 1, last))
        )
        return float(low + (high - low) * (place % 1))

    def mean(self) -> float:
        return float((self.values * self.counts).sum() / self.counts.sum())


def joined_totals(parts: Iterable[Mapping[str, Total]]) -> dict[str, Total]:
    """Totals of spans, in the order of the nodes, as totals of the whole."""
    return reduce(
        lambda known, part: {name: known[name].joined(part[name]) for name in part} if known else dict(part), parts, {}
    )
