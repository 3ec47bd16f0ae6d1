"""Following edges: one hop, bound edges, several hops, and cycles that close.

Several hops mean reachability: a node is reached at its shortest distance, and only if that lies within the bounds. A
node with an edge to itself is also reached one hop after its distance, which matters exactly when its distance is one
below the lower bound.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from omnigraph.exec.budget import Budget
from omnigraph.exec.tables import Rows
from omnigraph.exec.topology import Adjacency, Topology
from omnigraph.query.ir import Direction, HopRange


@dataclass(frozen=True, slots=True)
class Reached:
    """For every result row the position of its input row, the node it reached, and the edge if edges are bound."""

    position: Rows
    node: Rows
    edge: Rows | None = None

    def where(self, keep: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> Reached:
        """The rows where the mask is true."""
        if keep.all():
            return self
        return Reached(self.position[keep], self.node[keep], None if self.edge is None else self.edge[keep])


def neighbours(topology: Topology, direction: Direction, *, reverse: bool) -> Adjacency:
    """The neighbour lists to walk from the bound end."""
    if direction is Direction.BOTH:
        return topology.both
    outwards = (direction is Direction.OUT) != reverse
    return topology.out if outwards else topology.into


def one_hop(lists: Adjacency, starts: Rows, *, keep_edges: bool, budget: Budget) -> Reached:
    """Direct neighbours of every start; -1 has none. With edges one row each, else one row per pair."""
    bound = np.flatnonzero(starts >= 0)
    used = lists if keep_edges else lists.pairs
    nodes = starts[bound]
    budget.check(int((used.offsets[nodes + 1] - used.offsets[nodes]).sum()), 2)
    position, slot = used.of(nodes)
    return Reached(bound[position], used.neighbours[slot], used.edges[slot] if keep_edges else None)


def many_hops(
    lists: Adjacency,
    loops: np.ndarray[tuple[int], np.dtype[np.bool_]],
    starts: Rows,
    hops: HopRange,
    *,
    from_target: bool,
    budget: Budget,
) -> Reached:
    """Every node whose shortest distance from the start lies within the bounds, once per start."""
    distinct, inverse = _distinct(starts)
    keys, width = _reach(lists.pairs, loops, distinct, hops, from_target, budget)
    origin, node = keys // width, keys % width
    counts = np.bincount(origin, minlength=len(distinct))
    offsets = np.concatenate(([0], np.cumsum(counts)))
    budget.check(int(counts[inverse[starts >= 0]].sum()) if len(starts) else 0, 2)
    bound = np.flatnonzero(starts >= 0)
    groups = inverse[bound]
    repeat = counts[groups]
    position = np.repeat(np.arange(len(bound)), repeat)
    before = np.concatenate(([0], np.cumsum(repeat)[:-1])) if len(repeat) else np.zeros(0, np.int64)
    slot = np.arange(len(position)) - before[position] + offsets[groups][position]
    return Reached(bound[position], node[slot])


def _distinct(starts: Rows) -> tuple[Rows, Rows]:
    known = sorted_set(starts[starts >= 0])
    inverse = np.searchsorted(known, np.where(starts >= 0, starts, 0))
    return known, np.minimum(inverse, max(len(known) - 1, 0))


def _reach(
    lists: Adjacency,
    loops: np.ndarray[tuple[int], np.dtype[np.bool_]],
    starts: Rows,
    hops: HopRange,
    from_target: bool,
    budget: Budget,
) -> tuple[Rows, int]:
    """Sorted keys ``start position * width + node`` of everything reached."""
    width = max(lists.nodes, 1)
    if hops.low > hops.high:
        # Two hops over an edge between two types: the numbers of the far type mean nothing here.
        return np.zeros(0, np.int64), width
    frontier = np.arange(len(starts)) * width + starts
    visited = frontier
    reached = [_looped(frontier, starts, loops, width, from_target) if hops.low == 1 else frontier[:0]]
    for hop in range(1, hops.high + 1):
        if not len(frontier):
            break
        budget.check(len(frontier), 2)
        position, slot = lists.of(frontier % width)
        budget.check(len(position), 4)
        found = sorted_set((frontier // width)[position] * width + lists.neighbours[slot])
        frontier = found[~_contains(visited, found)]
        visited = sorted_set(np.concatenate((visited, frontier)))
        if hop >= hops.low:
            reached.append(frontier)
        elif hop == hops.low - 1:
            reached.append(_looped(frontier, starts, loops, width, from_target))
    return sorted_set(np.concatenate(reached)), width


def _looped(
    keys: Rows, starts: Rows, loops: np.ndarray[tuple[int], np.dtype[np.bool_]], width: int, from_target: bool
) -> Rows:
    """Those of the pairs whose target has an edge to itself; the target is the start when walking backwards."""
    if not loops.any():
        return keys[:0]
    targets = starts[keys // width] if from_target else keys % width
    return keys[loops[targets]]


def sorted_set(keys: Rows) -> Rows:
    """Sorted and each once. Sorting and comparing neighbours beats ``np.unique`` by far on large arrays."""
    if len(keys) < 2:
        return keys
    ordered = np.sort(keys)
    keep = np.ones(len(ordered), bool)
    keep[1:] = ordered[1:] != ordered[:-1]
    return ordered[keep]


def _contains(known: Rows, keys: Rows) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Which keys are in the sorted array."""
    if not len(known):
        return np.zeros(len(keys), bool)
    place = np.minimum(np.searchsorted(known, keys), len(known) - 1)
    found: np.ndarray[tuple[int], np.dtype[np.bool_]] = known[place] == keys
    return found


def closing(
    lists: Adjacency,
    loops: np.ndarray[tuple[int], np.dtype[np.bool_]],
    sources: Rows,
    targets: Rows,
    hops: HopRange,
    *,
    keep_edges: bool,
    budget: Budget,
) -> Reached:
    """Rows whose two bound ends are connected: kept once, or once per edge if edges are bound."""
    bound = np.flatnonzero((sources >= 0) & (targets >= 0))
    if hops.high == 1 and hops.low == 1:
        return _closing_edge(lists, bound, sources, targets, keep_edges, budget)
    distinct, inverse = _distinct(sources)
    keys, width = _reach(lists.pairs, loops, distinct, hops, False, budget)
    kept = bound[_contains(keys, inverse[bound] * width + targets[bound])]
    return Reached(kept, targets[kept])


def _closing_edge(
    lists: Adjacency, bound: Rows, sources: Rows, targets: Rows, keep_edges: bool, budget: Budget
) -> Reached:
    used = lists if keep_edges else lists.pairs
    budget.check(int((used.offsets[sources[bound] + 1] - used.offsets[sources[bound]]).sum()), 2)
    position, slot = used.of(sources[bound])
    hit = used.neighbours[slot] == targets[bound][position]
    kept = bound[position[hit]]
    return Reached(kept, targets[kept], used.edges[slot[hit]] if keep_edges else None)
