"""Louvain: communities of high modularity, by local moves and contraction.

The moves of a round are simultaneous, so that every engine makes the same ones. Two neighbours that swap their
communities for ever are avoided by letting only half of the nodes move in a round, drawn by a hash of their rank.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np

from omnigraph.exec.analytics.blocks import EdgeBlock
from omnigraph.exec.analytics.groups import numbered_groups
from omnigraph.exec.analytics.hashing import mixed
from omnigraph.exec.analytics.kernels import first_of_each, grouped
from omnigraph.exec.analytics.steps import Round, Steps
from omnigraph.exec.analytics.totals import Summed
from omnigraph.exec.analytics.vectors import Array, Made, Span, Vector, changed, filled, made, numbered
from omnigraph.exec.analytics.work import Fact, NodeValues, Work

IDLE_ROUNDS_MAX = 4
"""Rounds without a better modularity before a level ends: half of the nodes rest in each of them."""

LEVEL_ROUNDS_MAX = 100
"""Rounds of one level: most need ten to twenty."""

SMALLEST_GAIN = 1e-9
"""Gains below this are rounding errors, relative to the weight of the node."""


def louvain(work: Work, *, resolution: float, tolerance: float, max_levels: int) -> NodeValues:
    """Communities that maximise modularity: move nodes while it grows, then repeat with communities as nodes.

    Directions are ignored. A level ends when no round raises the modularity by more than the tolerance, and the
    algorithm when a level does not.
    """
    first, rounds = work.steps, work.rounds
    members = first.apply(numbered).vector
    state = rounds.begin(first, members=members, count=first.nodes, levels=0, modularity=-1.0)
    members, count, levels = state["members"], int(state["count"]), int(state["levels"])
    modularity = float(state["modularity"])
    steps, loops = first, 2.0
    if levels:
        steps, loops = first.contracted(members, count, loops), 1.0
    while levels < max_levels:
        level = _Level.of(steps, resolution, loops)
        if not level.total:
            break
        labels, found = _moved(level, tolerance)
        if levels and found <= modularity + tolerance:
            break
        groups = numbered_groups(steps, labels)
        members, modularity, levels = first.look_up(groups.numbers, members), found, levels + 1
        is_last = groups.groups == count
        count = groups.groups
        rounds.end_round(members=members, count=count, levels=levels, modularity=modularity)
        if is_last:
            break
        steps, loops = steps.contracted(groups.numbers, count, loops), 1.0
    shown = numbered_groups(first, members)
    facts: dict[str, Fact] = {"communities": shown.groups, "largest": shown.largest, "levels": levels}
    facts["modularity"] = modularity if levels else 0.0
    return NodeValues({"community": first.column(shown.numbers)}, facts)


class _Level(NamedTuple):
    """The graph of one level: its nodes' weights, which count self-loops ``loops`` times, and their sum."""

    steps: Steps
    weights: Vector
    total: float
    resolution: float
    loops: float

    @classmethod
    def of(cls, steps: Steps, resolution: float, loops: float) -> _Level:
        weighed = steps.step(Round(partial(_node_weights, loops=loops), then=_summed))
        return cls(steps, weighed.vector, float(weighed.total("sum")), resolution, loops)


def _node_weights(block: EdgeBlock, _seen: Array, _own: Array, *, loops: float) -> Array:
    return np.bincount(block.owners, _slot_weights(block, loops), minlength=block.size)


def _slot_weights(block: EdgeBlock, loops: float) -> Array:
    weights = np.ones(len(block.neighbours)) if block.weights is None else block.weights
    return np.where(block.loops, weights * loops, weights)


def _summed(_span: Span, weights: Array) -> Made:
    return made(weights, sum=Summed(weights.sum()))


def _moved(level: _Level, tolerance: float) -> tuple[Vector, float]:
    """The communities with the best modularity that rounds of moves reach, and that modularity."""
    steps, ranks = level.steps, level.steps.ranks()
    labels = best = ranks
    highest, idle, number = -np.inf, 0, 0
    zeros = steps.apply(filled, value=0.0, kind=np.float64).vector
    kernel = partial(_best, total=level.total, resolution=level.resolution, loops=level.loops)
    inside = partial(_inside, loops=level.loops)
    while idle < IDLE_ROUNDS_MAX and number < LEVEL_ROUNDS_MAX:
        sums = steps.scatter(np.add, zeros, labels, level.weights)
        squares = float(steps.apply(_squared, sums).total("sum")) / level.total**2
        held = steps.look_up(sums, labels)
        within = float(steps.step(Round(inside, _labels, _summed_with), labels).total("sum"))
        modularity = within / level.total - level.resolution * squares
        idle = 0 if modularity > highest + tolerance else idle + 1
        if modularity > highest:
            best, highest = labels, modularity
        following = steps.step(Round(kernel, _offers, _taken), labels, held, level.weights, ranks, number=number)
        if not following.total("willing"):
            break
        labels, number = following.vector, number + 1
    return best, highest


def _labels(_span: Span, labels: Array) -> Array:
    return labels


def _squared(_span: Span, sums: Array) -> Made:
    return made(sum=Summed(float((sums**2).sum())))


def _summed_with(_span: Span, weights: Array, _labels: Array) -> Made:
    return made(sum=Summed(weights.sum()))


def _inside(block: EdgeBlock, seen: Array, own: Array, *, loops: float) -> Array:
    """The weight of every node's edges within its community."""
    is_inside = seen[block.neighbours] == own[block.owners]
    found: Array = np.bincount(block.owners[is_inside], _slot_weights(block, loops)[is_inside], minlength=block.size)
    return found


def _offers(_span: Span, labels: Array, held: Array, weights: Array, _ranks: Array, *, number: int) -> Array:
    """Community, weight of the community, weight of the node. Labels are below 2^53, so floats hold them exactly."""
    return np.stack((labels.astype(np.float64), held, weights))


def _best(block: EdgeBlock, seen: Array, own: Array, *, total: float, resolution: float, loops: float) -> Array:
    """The community whose modularity grows most if the node moves there; its own one if no other is better.

    A node with weight k and edges of weight w into a community of weight s gains w - resolution * k * s / total, up to
    a factor. Its own community counts without the node.
    """
    labels, sums, weights = own[0].astype(np.int64), own[1], own[2]
    found: Array = labels.copy()
    slots = np.flatnonzero(~block.loops)
    if not len(slots):
        return found
    near, owners = block.neighbours[slots], block.owners[slots]
    given = np.ones(len(slots)) if block.weights is None else block.weights[slots]
    groups = grouped(owners, seen[0][near].astype(np.int64), given)
    assert groups.slots is not None, "slots have weights"
    is_own = groups.values == labels[groups.owners]
    held = seen[1][near[groups.slots]] - np.where(is_own, weights[groups.owners], 0.0)
    gains = groups.sums - resolution * weights[groups.owners] * held / total
    # A node without an edge into its own community would lose nothing but the weight of that community.
    staying = -resolution * weights * (sums - weights) / total
    staying[groups.owners[is_own]] = gains[is_own]
    firsts = first_of_each(groups.owners)
    nodes = groups.owners[firsts]
    highest = np.maximum.reduceat(gains, firsts)
    least = SMALLEST_GAIN * weights
    is_better = highest > staying[nodes] + least[nodes]
    tops = np.repeat(highest, np.diff(np.append(firsts, len(gains))))
    winners = np.flatnonzero(gains >= tops - least[groups.owners])
    winners = winners[first_of_each(groups.owners[winners])]
    found[nodes[is_better]] = groups.values[winners][is_better]
    return found


def _taken(
    _span: Span, wanted: Array, labels: Array, _held: Array, _weights: Array, ranks: Array, *, number: int
) -> Made:
    """Let half of the nodes move."""
    may_move = (mixed(ranks, number) & np.uint64(1)) == 0
    return made(np.where(may_move, wanted, labels), willing=changed(labels, wanted))
