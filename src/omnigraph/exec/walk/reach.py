"""Reachability: which nodes lie how many hops away.

A node is reached at its shortest distance, and only if that lies within the bounds. A node with an edge to itself is
also reached one hop after its distance, which matters exactly when its distance is one below the lower bound.

There are two ways to search. All starts at once, as one sorted set of pairs, is best while little is reached. Once a
hop touches a good part of the graph, marking nodes start by start is; then what is only counted is never held.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from omnigraph.exec.adjacency import Mask, Rows, contains, sorted_set
from omnigraph.exec.budget import Budget
from omnigraph.exec.multiplicity import sums
from omnigraph.exec.topology.walkable import Steps
from omnigraph.query.ir import HopRange

DENSE_SHARE = 64
"""A hop is dense if from every start it touches more than one node in this many."""


class Sink(Protocol):
    """Takes what is reached, start by start or all at once."""

    def pairs(self, origins: Rows, nodes: Rows) -> None:
        """Positions of starts and the nodes reached from them, sorted, each pair once."""

    def marks(self, start: int, reached: Mask) -> None:
        """All that one start reaches."""


@dataclass
class Pairs:
    """Keeps every pair of a start, by its position, and a node, in order."""

    budget: Budget
    _origins: list[Rows] = field(default_factory=list)
    _nodes: list[Rows] = field(default_factory=list)
    _held: int = 0

    def pairs(self, origins: Rows, nodes: Rows) -> None:
        self._origins.append(origins)
        self._nodes.append(nodes)

    def marks(self, start: int, reached: Mask) -> None:
        nodes = np.flatnonzero(reached)
        self._held += len(nodes)
        self.budget.check(self._held, 2)
        self.pairs(np.full(len(nodes), start), nodes)

    @property
    def origin(self) -> Rows:
        return np.concatenate([np.zeros(0, np.int64), *self._origins])

    @property
    def node(self) -> Rows:
        return np.concatenate([np.zeros(0, np.int64), *self._nodes])


@dataclass
class Counts:
    """Counts how many nodes each start reaches, all of them or those that are wanted."""

    counts: Rows
    wanted: Mask | None = None

    def pairs(self, origins: Rows, nodes: Rows) -> None:
        kept = origins if self.wanted is None else origins[self.wanted[nodes]]
        self.counts += np.bincount(kept, minlength=len(self.counts))

    def marks(self, start: int, reached: Mask) -> None:
        self.counts[start] = np.count_nonzero(reached if self.wanted is None else reached & self.wanted)


@dataclass
class Visits:
    """Adds up, for every node, the weights of the starts that reach it."""

    weights: Rows
    visits: Rows

    def pairs(self, origins: Rows, nodes: Rows) -> None:
        self.visits += sums(nodes, self.weights[origins], len(self.visits))

    def marks(self, start: int, reached: Mask) -> None:
        self.visits[reached] += self.weights[start]


def reach(
    lists: Steps, loops: Rows, starts: Rows, hops: HopRange, sink: Sink, *, from_target: bool, budget: Budget
) -> None:
    """Everything within the bounds from every start; starts and nodes are numbers."""
    if hops.low <= hops.high and len(starts):
        # Otherwise it is two hops over an edge between two types: numbers of the far type mean nothing here.
        _Search(lists, loops, starts, hops, from_target, budget).run(sink)


@dataclass
class _Search:
    lists: Steps
    loops: Rows
    starts: Rows
    hops: HopRange
    from_target: bool
    budget: Budget

    def run(self, sink: Sink) -> None:
        width = self.lists.numbers
        frontier = np.arange(len(self.starts)) * width + self.starts
        visited = frontier
        reached = [self._looped(frontier // width, frontier % width, frontier) if self.hops.low == 1 else frontier[:0]]
        for hop in range(1, self.hops.high + 1):
            if not len(frontier):
                break
            steps = int(self.lists.degrees(frontier % width).sum())
            if steps * DENSE_SHARE > width * len(self.starts):
                self._dense(hop, frontier, visited, reached, sink)
                return
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
        sink.pairs(keys // width, keys % width)

    def _looped(self, origins: Rows, nodes: Rows, kept: Rows) -> Rows:
        """Those whose target has an edge to itself; the target is the start when walking backwards."""
        if not len(self.loops):
            return kept[:0]
        return kept[contains(self.loops, self.starts[origins] if self.from_target else nodes)]

    # --- start by start --------------------------------------------------------------------------------

    def _dense(self, hop: int, frontier: Rows, visited: Rows, reached: list[Rows], sink: Sink) -> None:
        """The hops from ``hop`` on, for each start on its own."""
        width = self.lists.numbers
        bounds = np.arange(len(self.starts) + 1) * width
        so_far = (frontier, visited, sorted_set(np.concatenate(reached)))
        cuts = [np.searchsorted(keys, bounds).tolist() for keys in so_far]
        seen, within, fresh = (np.empty(width, bool) for _ in range(3))
        for start in range(len(self.starts)):
            mine, known, kept = (
                keys[cut[start] : cut[start + 1]] - start * width for keys, cut in zip(so_far, cuts, strict=True)
            )
            seen[:], within[:] = False, False
            seen[known], within[kept] = True, True
            self._mark(start, hop, mine, (seen, within, fresh))
            sink.marks(start, within)

    def _mark(self, start: int, hop: int, frontier: Rows, marks: tuple[Mask, Mask, Mask]) -> None:
        seen, within, fresh = marks
        for distance in range(hop, self.hops.high + 1):
            if not len(frontier):
                return
            self.budget.check()
            fresh[:] = False
            fresh[self.lists.far_ends(frontier)] = True
            fresh &= ~seen
            if distance >= self.hops.low:
                within |= fresh
            if distance == self.hops.high:
                return
            seen |= fresh
            frontier = np.flatnonzero(fresh)
            if distance == self.hops.low - 1:
                within[self._looped(np.full(len(frontier), start), frontier, frontier)] = True
