"""The algorithms, written once for every way to make steps. Where scipy knows a faster way in one process, it is asked.

Each gives columns with a value for every node, in the order of the nodes' numbers, and facts about the whole.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np
import pyarrow as pa

from omnigraph.exec.adjacency import Rows, sorted_set
from omnigraph.exec.analytics import sparse
from omnigraph.exec.analytics.local import LocalSteps
from omnigraph.exec.analytics.nodes import Labels, NodeSpace
from omnigraph.exec.analytics.rounds import NOTHING_KEPT, Rounds
from omnigraph.exec.analytics.steps import (
    Block,
    Steps,
    Vector,
    Weights,
    commonest,
    counts,
    nearest,
    smallest,
    smallest_alike,
    sums,
)

Fact = bool | int | float


@dataclass(frozen=True)
class Outcome:
    """Columns by name, and facts."""

    columns: Mapping[str, pa.Array]
    facts: Mapping[str, Fact]


# --- rank ------------------------------------------------------------------------------------------------


def pagerank(
    steps: Steps,
    rounds: Rounds,
    *,
    damping: float,
    tolerance: float,
    iterations_max: int,
    preference: Weights | None,
) -> Outcome:
    """How often a walker is at each node who follows edges, by weight, and now and then begins anew.

    He begins anew where ``preference`` says, by default anywhere, and also where a node has no way out. It ends when
    all ranks together, which add up to one, moved by less than the tolerance.
    """
    nodes = steps.nodes
    begins = np.full(nodes, 1 / max(nodes, 1)) if preference is None else preference / preference.sum()
    leaving = steps.leaving()
    stuck = leaving == 0
    share = np.divide(1.0, leaving, out=np.zeros(nodes), where=~stuck)
    state = rounds.begin(ranks=np.full(nodes, 1 / max(nodes, 1)), iterations=0, moved=np.inf if nodes else 0.0)
    ranks, iterations, moved = state["ranks"], int(state["iterations"]), float(state["moved"])
    while nodes and iterations < iterations_max and not moved < tolerance:
        arriving = steps.step(sums, ranks * share) + ranks[stuck].sum() * begins
        following = damping * arriving + (1 - damping) * begins
        moved = float(np.abs(following - ranks).sum())
        ranks = following
        iterations += 1
        rounds.end_round(ranks=ranks, iterations=iterations, moved=moved)
    has_converged = not nodes or moved < tolerance
    return Outcome({"rank": pa.array(ranks)}, {"iterations": iterations, "converged": has_converged, "moved": moved})


# --- groups ----------------------------------------------------------------------------------------------


def components(steps: Steps, space: NodeSpace, rounds: Rounds, *, strong: bool = False) -> Outcome:
    """Which nodes are connected, whatever the direction of edges; ``strong``: can reach each other along them."""
    if isinstance(steps, LocalSteps):
        square = steps.block.without_parallels.matrix
        labels = sparse.components(square, strong=strong) if steps.nodes else np.zeros(0, np.int64)
    else:
        labels = mutual(steps, rounds) if strong else hooked(steps, rounds)
    return _groups("component", "components", space.numbered_groups(labels))


def hooked(steps: Steps, rounds: Rounds = NOTHING_KEPT) -> Labels:
    """The components by steps: every group hooks itself to the smallest label in sight, and chains are cut short.

    Groups at least double in most rounds, so there are few.
    """
    labels = rounds.begin(labels=np.arange(steps.nodes))["labels"]
    while True:
        seen = steps.step(smallest, labels)
        if np.array_equal(seen, labels):
            return labels
        np.minimum.at(labels, labels.copy(), seen)
        labels = _shortened(np.minimum(labels, seen))
        rounds.end_round(labels=labels)


def mutual(steps: Steps, rounds: Rounds = NOTHING_KEPT) -> Labels:
    """The strong components by steps: who has the same first node before it and behind it.

    Nodes are divided into kinds, and no component into two. In a round every node learns the smallest node of its kind
    that reaches it, and the smallest that it reaches. If they are one, that is its component. Otherwise nodes that
    differ in them are of different kinds from then on. The smallest node of every kind is done in each round.
    """
    numbers = np.arange(steps.nodes)
    state = rounds.begin(before=numbers, behind=numbers, kinds=np.zeros(steps.nodes, np.int64))
    before, behind, kinds = state["before"], state["behind"], state["kinds"]
    while True:
        before = _first(
            partial(steps.step, smallest_alike), before, kinds, lambda labels: rounds.end_round(before=labels)
        )
        behind = _first(steps.back, behind, kinds, lambda labels: rounds.end_round(behind=labels))
        is_done = before == behind
        if is_done.all():
            return before
        kinds = before * steps.nodes + behind
        before, behind = np.where(is_done, before, numbers), np.where(is_done, behind, numbers)
        rounds.end_round(before=before, behind=behind, kinds=kinds)


def _first(
    step: Callable[[Vector], Vector], labels: Labels, kinds: Labels, end_round: Callable[[Labels], None]
) -> Labels:
    """The smallest labels that come along the edges. Who is reached by a node is also reached by who reaches that."""
    while True:
        seen = _shortened(step(np.stack((labels, kinds))))
        if np.array_equal(seen, labels):
            return labels
        labels = seen
        end_round(labels)


def _shortened(labels: Labels) -> Labels:
    """Labels of labels, as long as that leads to smaller ones."""
    while True:
        shorter = labels[labels]
        if np.array_equal(shorter, labels):
            return labels
        labels = shorter


def label_propagation(steps: Steps, space: NodeSpace, rounds: Rounds, *, iterations_max: int) -> Outcome:
    """Communities: every node takes the label that most of its neighbours have, all at once, again and again.

    Labels begin in the order of types and ids, and of several equally common ones the smallest is taken, so the same
    graph gives the same communities wherever and however it is stored.
    """
    state = rounds.begin(labels=space.ranks.copy(), iterations=0, has_settled=not steps.nodes)
    labels, iterations, has_settled = state["labels"], int(state["iterations"]), bool(state["has_settled"])
    while not has_settled and iterations < iterations_max:
        following = steps.step(commonest, labels)
        has_settled = bool(np.array_equal(following, labels))
        labels = following
        iterations += 1
        rounds.end_round(labels=labels, iterations=iterations, has_settled=has_settled)
    outcome = _groups("community", "communities", space.numbered_groups(labels))
    return Outcome(outcome.columns, {**outcome.facts, "iterations": iterations, "converged": has_settled})


def _groups(column: str, plural: str, numbers: Labels) -> Outcome:
    sizes = np.bincount(numbers)
    facts = {plural: len(sizes), "largest": int(sizes.max(initial=0))}
    return Outcome({column: pa.array(numbers)}, facts)


# --- distances -------------------------------------------------------------------------------------------


def shortest_paths(
    steps: Steps, starts: Rows, rounds: Rounds, *, is_weighted: bool, distance_max: float | None
) -> Outcome:
    """The distance of every node from the nearest start, in hops or in weights added up; null where there is no way."""
    limit = np.inf if distance_max is None else float(distance_max)
    if not isinstance(steps, LocalSteps):
        found = _relaxed(steps, starts, limit, rounds)
    elif is_weighted and len(starts):
        found = sparse.distances(steps.forward.without_parallels.matrix, starts, limit)
    else:
        found = _hops(steps.forward, starts, limit)
    reached = np.isfinite(found)
    farthest = float(found[reached].max(initial=0.0))
    values = found if is_weighted else np.where(reached, found, 0).astype(np.int64)
    facts: dict[str, Fact] = {"reached": int(reached.sum()), "farthest": farthest if is_weighted else int(farthest)}
    return Outcome({"distance": pa.array(values, mask=~reached)}, facts)


def _relaxed(steps: Steps, starts: Rows, limit: float, rounds: Rounds) -> Weights:
    """Distances by steps: as many as the longest of the shortest paths has edges."""
    distances = np.full(steps.nodes, np.inf)
    distances[starts] = 0.0
    distances = rounds.begin(distances=distances)["distances"]
    while len(starts):
        following = steps.step(nearest, distances)
        following[following > limit] = np.inf
        if np.array_equal(following, distances):
            break
        distances = following
        rounds.end_round(distances=distances)
    return distances


def _hops(forward: Block, starts: Rows, limit: float) -> Weights:
    """Hops, by looking at every node once."""
    distances = np.full(forward.nodes, np.inf)
    distances[starts] = 0.0
    edge, hops = sorted_set(starts), 0
    while len(edge) and hops + 1 <= limit:
        hops += 1
        near = forward.neighbours[forward.lists.of(edge)[1]]
        edge = sorted_set(near[np.isinf(distances[near])])
        distances[edge] = hops
    return distances


# --- counts ----------------------------------------------------------------------------------------------


def triangles(steps: Steps) -> Outcome:
    """How many triangles every node is part of."""
    found = steps.triangles()
    return Outcome({"triangles": pa.array(found)}, {"triangles": int(found.sum()) // 3})


def degrees(steps: Steps) -> Outcome:
    """How many edges every node has: all, arriving and leaving ones. An edge to the node itself is one of each."""
    arriving: Vector = steps.step(counts, np.zeros(steps.nodes))
    leaving = steps.leaving().astype(np.int64)
    both = arriving + leaving
    facts: dict[str, Fact] = {"nodes": steps.nodes, "edges": int(arriving.sum()), "isolated": int((both == 0).sum())}
    for name, values in (("degree", both), ("in_degree", arriving), ("out_degree", leaving)):
        facts |= _spread(name, values)
    columns = {"degree": both, "in_degree": arriving, "out_degree": leaving}
    return Outcome({name: pa.array(values) for name, values in columns.items()}, facts)


def _spread(name: str, values: Vector) -> dict[str, Fact]:
    if not len(values):
        return {}
    low, middle, high, top = np.percentile(values, (0, 50, 99, 100))
    return {
        f"{name}_min": int(low),
        f"{name}_median": float(middle),
        f"{name}_mean": float(values.mean()),
        f"{name}_p99": float(high),
        f"{name}_max": int(top),
    }
