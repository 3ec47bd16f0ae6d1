"""Shortest paths."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from omnigraph.exec.adjacency import Rows, sorted_set
from omnigraph.exec.analytics import sparse
from omnigraph.exec.analytics.blocks import EdgeBlock, Weights
from omnigraph.exec.analytics.kernels import nearest
from omnigraph.exec.analytics.local import InMemorySteps
from omnigraph.exec.analytics.nodes import NodeRef
from omnigraph.exec.analytics.rounds import Rounds
from omnigraph.exec.analytics.steps import Round, Steps
from omnigraph.exec.analytics.totals import Largest, Summed
from omnigraph.exec.analytics.vectors import Array, Made, Span, Vector, changed, made, placed
from omnigraph.exec.analytics.work import Fact, NodeValues, Work


def shortest_paths(work: Work, *, sources: Iterable[NodeRef], max_distance: float | None) -> NodeValues:
    """Distance of every node from the nearest source, in hops or summed weights; null if unreachable."""
    steps, is_weighted = work.steps, work.is_weighted
    starts = work.space.resolve(sources)
    limit = np.inf if max_distance is None else float(max_distance)
    distances: Vector
    if not isinstance(steps, InMemorySteps):
        distances = _relaxed(steps, starts, limit, work.rounds)
    elif is_weighted and len(starts):
        distances = sparse.distances(steps.forward.without_parallels.matrix, starts, limit)
    else:
        distances = _hops(steps.forward, starts, limit)
    found = steps.apply(_shown, distances, is_weighted=is_weighted)
    values, known = found.vectors
    facts: dict[str, Fact] = {"reached": int(found.total("reached")), "farthest": found.total("farthest")}
    return NodeValues({"distance": steps.column(values, known)}, facts)


def _shown(_span: Span, distances: Array, *, is_weighted: bool) -> Made:
    """Distances as they are shown, which of them are known, and facts."""
    known = np.isfinite(distances)
    farthest = float(distances[known].max(initial=0.0))
    values = distances if is_weighted else np.where(known, distances, 0).astype(np.int64)
    return made(
        values, known, reached=Summed(int(known.sum())), farthest=Largest(farthest if is_weighted else int(farthest))
    )


def _relaxed(steps: Steps, starts: Rows, limit: float, rounds: Rounds) -> Vector:
    """Distances by Bellman-Ford relaxation: one round per edge of the longest shortest path."""
    distances = steps.apply(placed, numbers=starts, values=np.zeros(len(starts)), rest=np.inf).vector
    distances = rounds.begin(steps, distances=distances)["distances"]
    while len(starts):
        relaxed = steps.step(_RELAX, distances, limit=limit)
        if not relaxed.total("moved"):
            break
        distances = relaxed.vector
        rounds.end_round(distances=distances)
    return distances


def _known(_span: Span, distances: Array, *, limit: float) -> Array:
    return distances


def _bounded(_span: Span, offered: Array, distances: Array, *, limit: float) -> Made:
    following = np.where(offered > limit, np.inf, offered)
    return made(following, moved=changed(distances, following))


_RELAX = Round(nearest, _known, _bounded)


def _hops(forward: EdgeBlock, starts: Rows, limit: float) -> Weights:
    """Hop distances by breadth-first search."""
    distances = np.full(forward.size, np.inf)
    distances[starts] = 0.0
    frontier, hops = sorted_set(starts), 0
    while len(frontier) and hops + 1 <= limit:
        hops += 1
        near = forward.neighbours[forward.lists.of(frontier)[1]]
        frontier = sorted_set(near[np.isinf(distances[near])])
        distances[frontier] = hops
    return distances
