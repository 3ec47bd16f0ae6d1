"""Breadth-first levels from one node, over one mark per node.

A search from one node needs no keys of pairs as that of many does (``walk.reach``): marks take the place of sorted
sets. The marks are an array over all nodes that a thread keeps, and a search clears the ones it has set, so that a
search costs what it visits. As long as few edges lead on, numbers of Python take less time than arrays of a few.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager

import numpy as np

from omnigraph.exec.adjacency import Integers, Mask, Rows, contains, sorted_set
from omnigraph.exec.budget import Budget
from omnigraph.exec.topology.neighbours import Lists
from omnigraph.exec.topology.walkable import Steps
from omnigraph.query.ir import HopRange

SORTED_MAX = 4096
"""Ends up to which sorting finds the different ones faster than a look at all marks."""

FEW_STEPS_MAX = 256
"""Edges up to which a level is found by sets of Python: two of ten edges take 4 microseconds, and as arrays 40."""

_KEPT = threading.local()
"""Arrays of marks of this thread that no search is using."""


_Level = Collection[int] | Rows
"""The nodes at one distance."""


class Levels:
    """The nodes at distance 0, 1, 2 and so on from a node, each level ascending."""

    def __init__(self, lists: Steps, start: int, marks: Mask, sorted_max: int = SORTED_MAX) -> None:
        self.levels: list[Rows] = [np.array([start], np.int64)]
        self._lists = lists
        self._marks = marks
        self._sorted_max = sorted_max
        self._marked: list[Integers] = list(self.levels)
        marks[start] = True

    @property
    def last(self) -> Rows:
        return self.levels[-1]

    def grow(self) -> Rows:
        """The next level; empty at the end."""
        ends = self._lists.far_ends(self.last)
        fresh = ends[~self._marks[ends]]
        self._marks[fresh] = True
        self.levels.append(self._different(fresh))
        self._marked.append(fresh)
        return self.last

    def resume(self, levels: Sequence[Collection[int]]) -> None:
        """Continue behind the first levels, which were found otherwise."""
        for level in levels[1:]:
            found = _array(level)
            self._marks[found] = True
            self.levels.append(found)
            self._marked.append(found)

    def _different(self, fresh: Integers) -> Rows:
        """The different numbers among those just marked."""
        if len(fresh) <= self._sorted_max:
            return sorted_set(fresh.astype(np.int64))
        for numbers in self._marked:
            self._marks[numbers] = False
        found = np.flatnonzero(self._marks)
        for numbers in self._marked:
            self._marks[numbers] = True
        return found

    def clear(self) -> None:
        """Unset the marks."""
        for numbers in self._marked:
            self._marks[numbers] = False


@contextmanager
def levels_from(lists: Steps, start: int) -> Iterator[Levels]:
    """A search over marks of this thread."""
    kept: list[Mask] = _KEPT.__dict__.setdefault("marks", [])
    marks = kept.pop() if kept else np.zeros(0, bool)
    if len(marks) < lists.numbers:
        marks = np.zeros(lists.numbers, bool)
    levels = Levels(lists, start, marks)
    try:
        yield levels
    finally:
        levels.clear()
        kept.append(marks)


def reached_from(
    lists: Steps,
    loops: Rows,
    start: int,
    hops: HopRange,
    *,
    from_target: bool,
    budget: Budget,
    nodes_max: int | None = None,
) -> Rows:
    """The numbers of all nodes whose distance from the start lies within the bounds, ascending.

    A node with a self-loop that is one hop short of the lower bound counts too; walking backwards, the start is the end
    that has the loop. With ``nodes_max``, a search that has found more ends with some of them.
    """
    search = _levels_within(lists, loops, start, hops, from_target=from_target, budget=budget, nodes_max=nodes_max)
    found = [_array(level) for level in search]
    return np.sort(np.concatenate(found)) if found else np.zeros(0, np.int64)


def count_reached_from(
    lists: Steps, loops: Rows, start: int, hops: HopRange, *, from_target: bool, budget: Budget
) -> int:
    """The number of the same nodes."""
    return sum(map(len, _levels_within(lists, loops, start, hops, from_target=from_target, budget=budget)))


def _levels_within(
    lists: Steps,
    loops: Rows,
    start: int,
    hops: HopRange,
    *,
    from_target: bool,
    budget: Budget,
    nodes_max: int | None = None,
) -> Sequence[_Level]:
    """The same nodes by their distance; no node is at two distances."""
    if hops.high < hops.low:
        return []
    few = _few_levels(lists, start, hops.high, budget) if isinstance(lists, Lists) else None
    begun, is_done = ([[start]], False) if few is None else few
    if is_done:
        return _within(begun, loops, start, hops, from_target=from_target)
    with levels_from(lists, start) as search:
        search.resume(begun)
        while len(search.levels) <= hops.high and len(search.last):
            edges = int(lists.degrees(search.last).sum()) if budget.is_counted else 0
            budget.follow(edges)
            budget.check(min(edges, lists.numbers), 4)
            search.grow()
            if nodes_max is not None and sum(map(len, search.levels[hops.low :])) > nodes_max:
                break
        return _within(search.levels, loops, start, hops, from_target=from_target)


def _within(
    levels: Sequence[_Level], loops: Rows, start: int, hops: HopRange, *, from_target: bool
) -> Sequence[_Level]:
    found = levels[hops.low :]
    if len(loops) and len(levels) >= hops.low:
        short = _array(levels[hops.low - 1])
        ends = np.full(len(short), start) if from_target else short
        return [short[contains(loops, ends)], *found]
    return found


def _array(level: _Level) -> Rows:
    return level if isinstance(level, np.ndarray) else np.array(sorted(level), np.int64)


def _few_levels(lists: Lists, start: int, hops_max: int, budget: Budget) -> tuple[Sequence[Collection[int]], bool]:
    """The first levels, as far as few edges lead on, and whether they are all that is wanted."""
    levels: list[Collection[int]] = [[start]]
    added = lists.few_added
    if added is None:
        return levels, False
    base, seen = lists.base, {start}
    bounds, neighbours, nodes = base.bounds, base.neighbours, base.nodes
    while len(levels) <= hops_max and levels[-1]:
        spans = [(bounds[number], bounds[number + 1]) for number in levels[-1] if number < nodes]
        steps = sum([stop - first for first, stop in spans])
        if steps > FEW_STEPS_MAX:
            return levels, False
        budget.follow(steps)
        budget.check(steps if budget.is_counted else 0, 4)
        ends: set[int] = set()
        for first, stop in spans:
            ends.update(neighbours[first:stop].tolist())
        if added:
            for number in levels[-1]:
                ends.update(added.get(number, ()))
        ends -= seen
        seen |= ends
        levels.append(ends)
    return levels, True
