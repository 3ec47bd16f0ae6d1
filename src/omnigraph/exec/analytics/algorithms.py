"""Graph algorithms, written once for every implementation of ``Steps``; in one process some are delegated to scipy.

Each returns columns with one value per node, in the order of node numbers, and facts about the whole graph. The table
of parameters is in ``registry.py``; keyword arguments here have the names of the parameters there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np
import pyarrow as pa

from omnigraph.exec.adjacency import Rows, sorted_set
from omnigraph.exec.analytics import sparse
from omnigraph.exec.analytics.local import LocalSteps
from omnigraph.exec.analytics.nodes import Labels, NodeRef, NodeSpace
from omnigraph.exec.analytics.rounds import NOTHING_KEPT, Rounds
from omnigraph.exec.analytics.steps import (
    EdgeBlock,
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
class Work:
    """The input of every algorithm: edges as steps, the numbering of nodes, and checkpoints."""

    steps: Steps
    space: NodeSpace
    rounds: Rounds
    is_weighted: bool = False


@dataclass(frozen=True)
class NodeValues:
    """The result of an algorithm: columns by name, and facts."""

    columns: Mapping[str, pa.Array]
    facts: Mapping[str, Fact]


def pagerank(
    work: Work,
    *,
    damping: float,
    tolerance: float,
    max_iterations: int,
    personalization: Mapping[NodeRef, float] | None,
) -> NodeValues:
    """PageRank: stationary probability of a random walk that follows edges by weight and sometimes restarts.

    The walk restarts with probability 1 - damping, and always at a node without outgoing edges. Restart nodes follow
    ``personalization``, uniform by default. Iteration stops when the L1 change of the ranks is below the tolerance.
    """
    steps, rounds, nodes = work.steps, work.rounds, work.steps.nodes
    if personalization is None:
        restart = np.full(nodes, 1 / max(nodes, 1))
    else:
        preference = work.space.weights(personalization)
        restart = preference / preference.sum()
    leaving = steps.leaving()
    stuck = leaving == 0
    share = np.divide(1.0, leaving, out=np.zeros(nodes), where=~stuck)
    state = rounds.begin(ranks=np.full(nodes, 1 / max(nodes, 1)), iterations=0, moved=np.inf if nodes else 0.0)
    ranks, iterations, moved = state["ranks"], int(state["iterations"]), float(state["moved"])
    while nodes and iterations < max_iterations and not moved < tolerance:
        arriving = steps.step(sums, ranks * share) + ranks[stuck].sum() * restart
        following = damping * arriving + (1 - damping) * restart
        moved = float(np.abs(following - ranks).sum())
        ranks = following
        iterations += 1
        rounds.end_round(ranks=ranks, iterations=iterations, moved=moved)
    has_converged = not nodes or moved < tolerance
    return NodeValues({"rank": pa.array(ranks)}, {"iterations": iterations, "converged": has_converged, "moved": moved})


def components(work: Work, *, strong: bool) -> NodeValues:
    """Weakly connected components, or strongly connected ones."""
    steps, rounds = work.steps, work.rounds
    if isinstance(steps, LocalSteps):
        square = steps.block.without_parallels.matrix
        labels = sparse.components(square, strong=strong) if steps.nodes else np.zeros(0, np.int64)
    else:
        labels = mutual(steps, rounds) if strong else hooked(steps, rounds)
    return _groups("component", "components", work.space.numbered_groups(labels))


def hooked(steps: Steps, rounds: Rounds = NOTHING_KEPT) -> Labels:
    """Weak components by steps: hooking to the smallest neighbouring label, then pointer jumping.

    Components at least double in most rounds, so the number of rounds is about logarithmic.

    Example: the path 3 - 1 - 0 - 2 - 4 (labels by node)::

        start      0 1 2 3 4
        seen       0 0 0 1 2    smallest label of the node and its neighbours
        shortened  0 0 0 0 0    label of the label, until nothing changes
    """
    labels = rounds.begin(labels=np.arange(steps.nodes))["labels"]
    while True:
        seen = steps.step(smallest, labels)
        if np.array_equal(seen, labels):
            return labels
        # Hook roots, not only the nodes themselves; the copy keeps the indices stable while labels change.
        np.minimum.at(labels, labels.copy(), seen)
        labels = _shortened(np.minimum(labels, seen))
        rounds.end_round(labels=labels)


def mutual(steps: Steps, rounds: Rounds = NOTHING_KEPT) -> Labels:
    """Strong components by steps: forward and backward colouring with partition refinement.

    Invariant: a partition class (``kinds``) is a union of strong components. In a round every node learns the smallest
    node of its class that reaches it (``before``) and the smallest that it reaches (``behind``). If both are equal,
    that node names its component. Otherwise the class is split by the pair. Each round finishes at least the component
    of the smallest node of every class, so the loop ends.

    Example: edges 0 -> 1, 1 -> 0, 1 -> 2, 2 -> 3, 3 -> 2, 3 -> 4::

        node     0 1 2 3 4
        before   0 0 0 0 0
        behind   0 0 2 2 4    nodes 0 and 1 are done; {2, 3} and {4} become classes
        before   0 0 2 2 4    second round: equal everywhere
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
        # One integer per pair; both are below the number of nodes, so pairs do not collide.
        kinds = before * steps.nodes + behind
        before, behind = np.where(is_done, before, numbers), np.where(is_done, behind, numbers)
        rounds.end_round(before=before, behind=behind, kinds=kinds)


def _first(
    step: Callable[[Vector], Vector], labels: Labels, kinds: Labels, end_round: Callable[[Labels], None]
) -> Labels:
    """Propagate the smallest label to a fixed point; reachability is transitive, so labels of labels may be taken."""
    while True:
        seen = _shortened(step(np.stack((labels, kinds))))
        if np.array_equal(seen, labels):
            return labels
        labels = seen
        end_round(labels)


def _shortened(labels: Labels) -> Labels:
    """Pointer jumping: replace labels by the labels of labels until nothing changes."""
    while True:
        shorter = labels[labels]
        if np.array_equal(shorter, labels):
            return labels
        labels = shorter


def label_propagation(work: Work, *, max_iterations: int) -> NodeValues:
    """Communities by synchronous label propagation: every node takes the most common label of its neighbours.

    Initial labels follow the order of types and ids, and ties go to the smallest label. Both make the result
    independent of the storage layout.
    """
    steps, space, rounds = work.steps, work.space, work.rounds
    state = rounds.begin(labels=space.ranks.copy(), iterations=0, has_settled=not steps.nodes)
    labels, iterations, has_settled = state["labels"], int(state["iterations"]), bool(state["has_settled"])
    while not has_settled and iterations < max_iterations:
        following = steps.step(commonest, labels)
        has_settled = bool(np.array_equal(following, labels))
        labels = following
        iterations += 1
        rounds.end_round(labels=labels, iterations=iterations, has_settled=has_settled)
    found = _groups("community", "communities", space.numbered_groups(labels))
    return NodeValues(found.columns, {**found.facts, "iterations": iterations, "converged": has_settled})


def _groups(column: str, plural: str, numbers: Labels) -> NodeValues:
    sizes = np.bincount(numbers)
    facts = {plural: len(sizes), "largest": int(sizes.max(initial=0))}
    return NodeValues({column: pa.array(numbers)}, facts)


def shortest_paths(work: Work, *, sources: Iterable[NodeRef], max_distance: float | None) -> NodeValues:
    """Distance of every node from the nearest source, in hops or summed weights; null if unreachable."""
    steps, is_weighted = work.steps, work.is_weighted
    starts = work.space.resolve(sources)
    limit = np.inf if max_distance is None else float(max_distance)
    if not isinstance(steps, LocalSteps):
        found = _relaxed(steps, starts, limit, work.rounds)
    elif is_weighted and len(starts):
        found = sparse.distances(steps.forward.without_parallels.matrix, starts, limit)
    else:
        found = _hops(steps.forward, starts, limit)
    reached = np.isfinite(found)
    farthest = float(found[reached].max(initial=0.0))
    values = found if is_weighted else np.where(reached, found, 0).astype(np.int64)
    facts: dict[str, Fact] = {"reached": int(reached.sum()), "farthest": farthest if is_weighted else int(farthest)}
    return NodeValues({"distance": pa.array(values, mask=~reached)}, facts)


def _relaxed(steps: Steps, starts: Rows, limit: float, rounds: Rounds) -> Weights:
    """Distances by Bellman-Ford relaxation: one round per edge of the longest shortest path."""
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


def _hops(forward: EdgeBlock, starts: Rows, limit: float) -> Weights:
    """Hop distances by breadth-first search."""
    distances = np.full(forward.nodes, np.inf)
    distances[starts] = 0.0
    frontier, hops = sorted_set(starts), 0
    while len(frontier) and hops + 1 <= limit:
        hops += 1
        near = forward.neighbours[forward.lists.of(frontier)[1]]
        frontier = sorted_set(near[np.isinf(distances[near])])
        distances[frontier] = hops
    return distances


def triangles(work: Work) -> NodeValues:
    """Number of triangles every node is part of."""
    found = work.steps.triangles()
    return NodeValues({"triangles": pa.array(found)}, {"triangles": int(found.sum()) // 3})


def degrees(work: Work) -> NodeValues:
    """Degree, in-degree and out-degree of every node. A self-loop counts once in each direction."""
    steps = work.steps
    arriving: Vector = steps.step(counts, np.zeros(steps.nodes))
    leaving = steps.leaving().astype(np.int64)
    both = arriving + leaving
    facts: dict[str, Fact] = {"nodes": steps.nodes, "edges": int(arriving.sum()), "isolated": int((both == 0).sum())}
    for name, values in (("degree", both), ("in_degree", arriving), ("out_degree", leaving)):
        facts |= _spread(name, values)
    columns = {"degree": both, "in_degree": arriving, "out_degree": leaving}
    return NodeValues({name: pa.array(values) for name, values in columns.items()}, facts)


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
