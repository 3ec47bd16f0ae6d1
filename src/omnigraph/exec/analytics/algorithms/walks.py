"""Random walks, biased as in node2vec.

A step of a walk is drawn by the block that holds the neighbours of its present node, from a hash of the seed, the walk
and the step. So every engine makes the same walks.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np

from omnigraph.exec.adjacency import Rows
from omnigraph.exec.analytics.blocks import EdgeBlock
from omnigraph.exec.analytics.hashing import below, shares
from omnigraph.exec.analytics.steps import Steps
from omnigraph.exec.analytics.totals import Summed
from omnigraph.exec.analytics.vectors import Array, Made, Span, Vector, made, numbered
from omnigraph.exec.analytics.work import Walks, Work

ATTEMPTS_MAX = 50
"""Candidates that a walk draws for one step; the last one is taken. With parameters between 0.1 and 10, one step in ten
thousand needs more."""

WHOLE_WEIGHT = 2**31
"""The integer that the largest weight of a node is drawn as: sums of integers do not depend on their order."""

_DRAW, _ACCEPT = 0, 1
"""Uses of the random numbers of an attempt."""

Keys = tuple[int, int, int, int]
"""Seed, number of the walk, place in the walk, attempt."""


class Bias(NamedTuple):
    """Factors of the kinds of next nodes: the previous one, its neighbours, others. The largest is 1."""

    back: float
    near: float
    out: float

    @classmethod
    def of(cls, p: float, q: float) -> Bias:
        largest = max(1 / p, 1.0, 1 / q)
        return cls(1 / p / largest, 1.0 / largest, 1 / q / largest)

    @property
    def is_even(self) -> bool:
        return self.back == self.near == self.out


def random_walks(work: Work, *, walks: int, length: int, p: float, q: float, seed: int) -> Walks:
    """Second-order random walks of node2vec (Grover and Leskovec 2016), by rejection sampling.

    A walk that came from t to v continues to x with a probability in proportion to the weight of the edge, times 1 / p
    if x is t, 1 if there is an edge from t to x, and 1 / q otherwise. It ends at a node without outgoing edges.
    """
    steps = work.steps
    forward, ranks, bias = steps.turned(), steps.ranks(), Bias.of(p, q)
    paths, made_steps = [], 0
    for walk in range(walks):
        path = [steps.apply(numbered).vector]
        for place in range(1, length):
            following = _followed(forward, path, ranks, bias, (seed, walk, place))
            made_steps += int(steps.apply(_counted, following).total("count"))
            path.append(following)
        paths.append(tuple(map(steps.column, path)))
    return Walks(tuple(paths), {"walks": walks * steps.nodes, "steps": made_steps})


def _counted(_span: Span, following: Array) -> Made:
    return made(count=Summed(int((following >= 0).sum())))


def _followed(forward: Steps, path: list[Vector], ranks: Vector, bias: Bias, keys: tuple[int, int, int]) -> Vector:
    """The next node of every walk, -1 after its end."""
    waiting = path[-1]
    if bias.is_even or len(path) == 1:
        return forward.ask(partial(_drawn, keys=(*keys, 0)), waiting, ranks)
    following = forward.apply(_none, waiting).vector
    for attempt in range(ATTEMPTS_MAX):
        now = (*keys, attempt)
        drawn = forward.ask(partial(_drawn, keys=now), waiting, ranks)
        unclear = forward.apply(_unclear, drawn, path[-2], ranks, bias=bias, keys=now).vector
        near = forward.ask(_is_neighbour, unclear, drawn)
        settled = forward.apply(_settled, following, waiting, drawn, path[-2], near, ranks, bias=bias, keys=now)
        following, waiting = settled.vectors
        if not settled.total("waiting"):
            break
    return following


def _none(_span: Span, waiting: Array) -> Made:
    return made(np.full_like(waiting, -1))


def _drawn(block: EdgeBlock, places: Rows, ranks: Array, *, keys: Keys) -> Array:
    """A neighbour of every node, by weight; -1 if it has none."""
    starts = block.offsets[places].astype(np.int64)
    counts = block.offsets[places + 1] - starts
    if block.weights is None:
        found = counts > 0
        slots = starts + below(counts, *keys, _DRAW, ranks)
    else:
        ends = np.concatenate(([0], np.cumsum(_whole_weights(block))))
        totals = ends[starts + counts] - ends[starts]
        found = totals > 0
        drawn = np.minimum((shares(*keys, _DRAW, ranks) * totals).astype(np.int64), totals - 1)
        slots = np.searchsorted(ends, ends[starts] + drawn, side="right") - 1
    following = np.full(len(places), -1, np.int64)
    following[found] = block.senders_at(slots[found])
    return following


def _whole_weights(block: EdgeBlock) -> Rows:
    assert block.weights is not None
    largest = np.zeros(block.size)
    filled = block.filled
    if len(filled):
        largest[filled] = np.maximum.reduceat(block.weights, block.offsets[filled])
    shares_ = np.divide(block.weights, largest[block.owners], out=np.zeros(len(block.weights)), where=block.weights > 0)
    whole: Rows = np.ceil(shares_ * WHOLE_WEIGHT).astype(np.int64)
    return whole


def _unclear(_span: Span, drawn: Array, previous: Array, ranks: Array, *, bias: Bias, keys: Keys) -> Made:
    """The previous nodes of the walks whose candidate is taken or not, depending on an edge between the two."""
    luck = shares(*keys, _ACCEPT, ranks)
    low, high = min(bias.near, bias.out), max(bias.near, bias.out)
    is_unclear = (drawn >= 0) & (drawn != previous) & (luck >= low) & (luck < high)
    return made(np.where(is_unclear, previous, -1))


def _is_neighbour(block: EdgeBlock, places: Rows, candidates: Array) -> Array:
    return block.holds(places, candidates).astype(np.int64)


def _settled(
    _span: Span,
    following: Array,
    waiting: Array,
    drawn: Array,
    previous: Array,
    near: Array,
    ranks: Array,
    *,
    bias: Bias,
    keys: Keys,
) -> Made:
    """Take candidates or reject them; a walk that has a next node, or has ended, waits no longer."""
    luck = shares(*keys, _ACCEPT, ranks)
    factor = np.select([drawn == previous, near == 1, near == 0], [bias.back, bias.near, bias.out], min(bias[1:]))
    is_taken = (luck < factor) | (keys[-1] == ATTEMPTS_MAX - 1)
    is_waiting = waiting >= 0
    following = np.where(is_waiting & is_taken, drawn, following)
    waiting = np.where(is_waiting & ~is_taken & (drawn >= 0), waiting, -1)
    return made(following, waiting, waiting=Summed(int((waiting >= 0).sum())))
