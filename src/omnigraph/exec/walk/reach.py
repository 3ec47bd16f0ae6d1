"""Bounded reachability: multi-source breadth-first search over the nodes of one edge type. From one node: ``levels``.

A node is reached if its shortest distance lies within the bounds. A node with a self-loop is also reached one hop after
its distance; that matters only if its distance is one below the lower bound.

Invariant of both strategies: ``visited`` holds every (start, node) pair whose shortest distance is at most the current
hop, and ``frontier`` those at exactly that distance. A pair enters the frontier once.

- Sparse: all starts together, as one sorted set of keys ``start position * width + node``. Best while few pairs exist.
- Dense: one bitmap over all nodes per start. Used once a hop touches a large share of the graph; memory is independent
  of the number of pairs, so a sink that only counts never holds them.

Example: edges 7 -> 1, 7 -> 2, 2 -> 3, starts 7 and 2, width 10, bounds 1 to 2::

    hop 0   frontier  07 12            start 0 is at node 7, start 1 at node 2
    hop 1   frontier  01 02 13         start 0 reaches 1 and 2, start 1 reaches 3
    hop 2   frontier  03               start 0 reaches 3 by way of 2
    reached           01 02 03 13      keys // 10 is the start, keys % 10 the node
"""

from __future__ import annotations

from dataclasses import field
from typing import Protocol

import numpy as np

from omnigraph.core.classes.dataclass import dataclass
from omnigraph.exec.adjacency import Mask, Rows, contains, sorted_set
from omnigraph.exec.budget import Budget
from omnigraph.exec.multiplicity import sums
from omnigraph.exec.topology.walkable import Steps
from omnigraph.exec.walk.levels import reached_from
from omnigraph.query.ir import HopRange

DENSE_SHARE = 64
"""A hop is dense if it touches on average more than one node in this many per start."""

LAST_TIMES = 8
"""Factor by which the last hop may be thinner: its nodes are only marked, neither sorted nor compared with others."""


class Sink(Protocol):
    """Consumer of reached nodes, per start or for all starts together."""

    def pairs(self, origins: Rows, nodes: Rows) -> None:
        """Positions of starts and the nodes reached from them, sorted, each pair once."""

    def marks(self, start: int, reached: Mask) -> None:
        """Every node that one start reaches, as a bitmap that is reused for the next start."""


@dataclass
class Pairs:
    """Sink that keeps every pair of a start position and a node, in order."""

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
    """Sink that counts the nodes each start reaches, all or only the wanted ones."""

    counts: Rows
    wanted: Mask | None = None

    def pairs(self, origins: Rows, nodes: Rows) -> None:
        kept = origins if self.wanted is None else origins[self.wanted[nodes]]
        self.counts += np.bincount(kept, minlength=len(self.counts))

    def marks(self, start: int, reached: Mask) -> None:
        self.counts[start] = np.count_nonzero(reached if self.wanted is None else reached & self.wanted)


@dataclass
class Visits:
    """Sink that sums, for every node, the multiplicity of the starts that reach it."""

    multiplicity: Rows
    visits: Rows

    def pairs(self, origins: Rows, nodes: Rows) -> None:
        self.visits += sums(nodes, self.multiplicity[origins], len(self.visits))

    def marks(self, start: int, reached: Mask) -> None:
        np.add(self.visits, self.multiplicity[start], out=self.visits, where=reached)


def reach(
    lists: Steps, loops: Rows, starts: Rows, hops: HopRange, sink: Sink, *, from_target: bool, budget: Budget
) -> None:
    """Pass every node within the bounds of every start to the sink; starts and nodes are numbers."""
    if hops.low > hops.high or not len(starts):
        # The compiler lowers several hops over an edge between two types to empty bounds. Searching would be wrong:
        # a number of the far type would be used as a number of the near type.
        return
    if len(starts) == 1:
        nodes = reached_from(lists, loops, int(starts[0]), hops, from_target=from_target, budget=budget)
        sink.pairs(np.zeros(len(nodes), np.int64), nodes)
        return
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
        # Keys are sorted because start positions ascend; everything below relies on that.
        frontier = np.arange(len(self.starts)) * width + self.starts
        visited = frontier
        reached = [self._looped(frontier // width, frontier % width, frontier) if self.hops.low == 1 else frontier[:0]]
        for hop in range(1, self.hops.high + 1):
            if not len(frontier):
                break
            steps = int(self.lists.degrees(frontier % width).sum())
            share = DENSE_SHARE * LAST_TIMES if hop == self.hops.high else DENSE_SHARE
            if steps * share > width * len(self.starts):
                self._dense(hop, frontier, visited, reached, sink)
                return
            self.budget.check(steps, 4)
            position, neighbour, _ = self.lists.step(frontier % width)
            found = sorted_set((frontier // width)[position] * width + neighbour)
            # A pair already visited has a shorter distance; keeping it would report it twice.
            frontier = found[~contains(visited, found)]
            visited = sorted_set(np.concatenate((visited, frontier)))
            if hop >= self.hops.low:
                reached.append(frontier)
            elif hop == self.hops.low - 1:
                reached.append(self._looped(frontier // width, frontier % width, frontier))
        keys = sorted_set(np.concatenate(reached))
        sink.pairs(keys // width, keys % width)

    def _looped(self, origins: Rows, nodes: Rows, kept: Rows) -> Rows:
        """The pairs whose target has a self-loop; walking backwards, the target is the start."""
        if not len(self.loops):
            return kept[:0]
        return kept[contains(self.loops, self.starts[origins] if self.from_target else nodes)]

    def _dense(self, hop: int, frontier: Rows, visited: Rows, reached: list[Rows], sink: Sink) -> None:
        """Continue from ``hop`` with one bitmap search per start."""
        width = self.lists.numbers
        # Keys of one start are contiguous, so each sorted array is cut at multiples of the width.
        bounds = np.arange(len(self.starts) + 1) * width
        so_far = (frontier, visited, sorted_set(np.concatenate(reached)))
        cuts = [np.searchsorted(keys, bounds).tolist() for keys in so_far]
        # Three bitmaps for all starts: allocating per start would dominate on large graphs.
        seen, within, fresh = (np.empty(width, bool) for _ in range(3))
        for start in range(len(self.starts)):
            current, known, kept = (
                keys[cut[start] : cut[start + 1]] - start * width for keys, cut in zip(so_far, cuts, strict=True)
            )
            within[:] = False
            if hop == self.hops.high:
                self.budget.check()
                within[self.lists.far_ends(current)] = True
                # Known nodes have a shorter distance; those of them that count are kept.
                within[known] = False
                within[kept] = True
            else:
                seen[:] = False
                seen[known], within[kept] = True, True
                self._mark(start, hop, current, (seen, within, fresh))
            sink.marks(start, within)

    def _mark(self, start: int, hop: int, frontier: Rows, marks: tuple[Mask, Mask, Mask]) -> None:
        """Breadth-first search from one frontier; ``within`` collects the nodes inside the bounds."""
        seen, within, fresh = marks
        for distance in range(hop, self.hops.high + 1):
            if not len(frontier):
                return
            self.budget.check()
            fresh[:] = False
            # Setting flags deduplicates: neighbours may repeat and are in no order.
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
