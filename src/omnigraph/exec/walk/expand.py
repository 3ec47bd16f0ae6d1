"""Expansion kernels over row numbers: one hop, bound edges, several hops, and closing a cycle."""

from __future__ import annotations

from typing import TypeVar

import numpy as np

from omnigraph.core.classes.dataclass import dataclass
from omnigraph.exec.adjacency import Mask, Rows, contains, sorted_set
from omnigraph.exec.budget import Budget
from omnigraph.exec.topology.walkable import Steps, Walkable
from omnigraph.exec.walk.reach import Pairs, reach
from omnigraph.query.ir import Direction, HopRange

StepsT = TypeVar("StepsT", bound=Steps)


@dataclass(frozen=True, slots=True)
class Reached:
    """For every result row: the position of its input row, the reached node, and the edge if edges are bound."""

    position: Rows
    node: Rows
    edge: Rows | None = None

    def where(self, keep: Mask) -> Reached:
        """The rows where the mask is true."""
        if keep.all():
            return self
        return Reached(self.position[keep], self.node[keep], None if self.edge is None else self.edge[keep])


def neighbours(topology: Walkable[StepsT], direction: Direction, *, reverse: bool) -> StepsT:
    """The neighbour lists to walk from the bound end."""
    if direction is Direction.BOTH:
        return topology.both
    outwards = (direction is Direction.OUT) != reverse
    return topology.out if outwards else topology.into


def one_hop(lists: Steps, starts: Rows, *, keep_edges: bool, budget: Budget) -> Reached:
    """Direct neighbours of every start; -1 has none. With edges one row each, else one row per pair."""
    bound = np.flatnonzero(starts >= 0)
    numbers = lists.near.to_number(starts[bound])
    budget.check(int(lists.degrees(numbers).sum()), 2)
    position, neighbour, edge = lists.step(numbers, keep_edges=keep_edges)
    return Reached(bound[position], lists.far.to_row(neighbour), edge if keep_edges else None)


def many_hops(lists: Steps, loops: Rows, starts: Rows, hops: HopRange, *, from_target: bool, budget: Budget) -> Reached:
    """Every node whose shortest distance from the start lies within the bounds, once per input row.

    The search runs once per distinct start; its pairs are then repeated for every row with that start::

        starts    5 3 5        distinct 3 5, inverse 1 0 1
        pairs     3: a b, 5: c
        result    c | a b | c  positions 0 1 1 2
    """
    distinct, inverse = _distinct(starts)
    found = Pairs(budget)
    reach(lists, loops, lists.near.to_number(distinct), hops, found, from_target=from_target, budget=budget)
    origin, node = found.origin, found.node
    counts = np.bincount(origin, minlength=len(distinct))
    offsets = np.concatenate(([0], np.cumsum(counts)))
    bound = np.flatnonzero(starts >= 0)
    groups = inverse[bound]
    repeat = counts[groups]
    budget.check(int(repeat.sum()), 2)
    position = np.repeat(np.arange(len(bound)), repeat)
    before = np.cumsum(repeat) - repeat
    slot = np.arange(len(position)) + np.repeat(offsets[groups] - before, repeat)
    return Reached(bound[position], lists.far.to_row(node[slot]))


def _distinct(starts: Rows) -> tuple[Rows, Rows]:
    known = sorted_set(starts[starts >= 0])
    inverse = np.searchsorted(known, np.where(starts >= 0, starts, 0))
    return known, np.minimum(inverse, max(len(known) - 1, 0))


def closing(
    lists: Steps, loops: Rows, sources: Rows, targets: Rows, hops: HopRange, *, keep_edges: bool, budget: Budget
) -> Reached:
    """Rows whose two bound ends are connected: kept once, or once per edge if edges are bound."""
    bound = np.flatnonzero((sources >= 0) & (targets >= 0))
    wanted = lists.far.to_number(targets[bound])
    if hops.high == 1 and hops.low == 1:
        numbers = lists.near.to_number(sources[bound])
        held = None if keep_edges else lists.connected(numbers, wanted)
        if held is not None:
            return Reached(bound[held], targets[bound[held]])
        budget.check(int(lists.degrees(numbers).sum()), 2)
        position, neighbour, edge = lists.step(numbers, keep_edges=keep_edges)
        hit = neighbour == wanted[position]
        kept = bound[position[hit]]
        return Reached(kept, targets[kept], edge[hit] if keep_edges else None)
    distinct, inverse = _distinct(sources)
    found = Pairs(budget)
    reach(lists, loops, lists.near.to_number(distinct), hops, found, from_target=False, budget=budget)
    keys = found.origin * lists.numbers + found.node
    kept = bound[contains(keys, inverse[bound] * lists.numbers + wanted)]
    return Reached(kept, targets[kept])
