"""Reachability: which nodes lie how many hops away.

A node is reached at its shortest distance, and only if that lies within the bounds. A node with an edge to itself is
also reached one hop after its distance, which matters exactly when its distance is one below the lower bound.

There are two ways to search. All starts at once, as one sorted set of pairs, is best while little is reached. Once a
hop touches a good part of the graph, marking nodes start by start is.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from omnigraph.exec.adjacency import Rows, contains, sorted_set
from omnigraph.exec.budget import Budget
from omnigraph.exec.topology import Lists
from omnigraph.query.ir import HopRange

DENSE_SHARE = 64
"""A hop is dense if from every start it touches more than one node in this many."""


@dataclass(frozen=True, slots=True)
class Found:
    """Pairs of a start, by its position, and a node, each once and in order."""

    origin: Rows
    node: Rows


def reach(lists: Lists, loops: Rows, starts: Rows, hops: HopRange, *, from_target: bool, budget: Budget) -> Found:
    """Everything within the bounds from every start; starts and nodes are numbers."""
    if hops.low > hops.high or not len(starts):
        # Two hops over an edge between two types: the numbers of the far type mean nothing here.
        return Found(np.zeros(0, np.int64), np.zeros(0, np.int64))
    search = _Search(lists, loops, starts, hops, from_target, budget)
    return search.run()


@dataclass
class _Search:
    lists: Lists
    loops: Rows
    starts: Rows
    hops: HopRange
    from_target: bool
    budget: Budget

    def run(self) -> Found:
        width = self.lists.numbers
        frontier = np.arange(len(self.starts)) * width + self.starts
        visited = frontier
        reached = [self._looped(frontier // width, frontier % width, frontier) if self.hops.low == 1 else frontier[:0]]
        for hop in range(1, self.hops.high + 1):
            if not len(frontier):
                break
            steps = int(self.lists.degrees(frontier % width).sum())
            if steps * DENSE_SHARE > width * len(self.starts):
                return self._dense(hop, frontier, visited, reached)
            self.budget.check(steps, 4)
            position, neighbour, _ = self.lists.step(frontier % width)
            found = sorted_set((frontier // width)[position] * width + neighbour)
            frontier = found[~contains(visited, found)]
            visited = sorted_set(np.concatenate((visited, frontier)))
            if hop >= self.hops.low:
                reached.append(frontier)
            elif hop == self.hops.low - 1:
                reached.append(self._looped(frontier // width, frontier % width, frontier))
        keys = sorted_set(np.concatenate(reached))
        return Found(keys // width, keys % width)

    def _looped(self, origins: Rows, nodes: Rows, kept: Rows) -> Rows:
        """Those whose target has an edge to itself; the target is the start when walking backwards."""
        if not len(self.loops):
            return kept[:0]
        return kept[contains(self.loops, self.starts[origins] if self.from_target else nodes)]

    # --- start by start --------------------------------------------------------------------------------

    def _dense(self, hop: int, frontier: Rows, visited: Rows, reached: list[Rows]) -> Found:
        """The hops from ``hop`` on, for each start on its own."""
        width = self.lists.numbers
        bounds = np.arange(len(self.starts) + 1) * width
        so_far = sorted_set(np.concatenate(reached))
        cuts = [np.searchsorted(keys, bounds) for keys in (frontier, visited, so_far)]
        origins: list[Rows] = []
        nodes: list[Rows] = []
        seen, within = np.zeros(width, bool), np.zeros(width, bool)
        held = 0
        for start in range(len(self.starts)):
            mine = [
                keys[cut[start] : cut[start + 1]] - start * width
                for keys, cut in zip((frontier, visited, so_far), cuts, strict=True)
            ]
            seen[:], within[:] = False, False
            seen[mine[1]], within[mine[2]] = True, True
            self._mark(start, hop, mine[0], seen, within)
            found = np.flatnonzero(within)
            held += len(found)
            self.budget.check(held, 2)
            nodes.append(found)
            origins.append(np.full(len(found), start))
        return Found(np.concatenate(origins), np.concatenate(nodes))

    def _mark(self, start: int, hop: int, frontier: Rows, seen: Marks, within: Marks) -> None:
        fresh = np.zeros(len(seen), bool)
        for distance in range(hop, self.hops.high + 1):
            if not len(frontier):
                return
            self.budget.check()
            _, neighbour, _ = self.lists.step(frontier)
            fresh[:] = False
            fresh[neighbour] = True
            fresh &= ~seen
            frontier = np.flatnonzero(fresh)
            seen |= fresh
            if distance >= self.hops.low:
                within |= fresh
            elif distance == self.hops.low - 1:
                within[self._looped(np.full(len(frontier), start), frontier, frontier)] = True


Marks = np.ndarray[tuple[int], np.dtype[np.bool_]]
