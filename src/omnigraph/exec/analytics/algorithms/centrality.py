"""Betweenness centrality, exact or from a sample of sources."""

from __future__ import annotations

import numpy as np

from omnigraph.exec.adjacency import Rows
from omnigraph.exec.analytics.kernels import distinct_sums
from omnigraph.exec.analytics.steps import Round, Steps
from omnigraph.exec.analytics.totals import Largest, Listed, Summed
from omnigraph.exec.analytics.vectors import Array, Made, Span, Vector, filled, made
from omnigraph.exec.analytics.work import NodeValues, Work

CELLS_MAX = 4_000_000
"""Values of all nodes that travel together: sources of a small graph are searched side by side, of a large one in
turn."""


def betweenness(work: Work, *, samples: int | None, seed: int, normalized: bool, directed: bool) -> NodeValues:
    """Betweenness: the share of shortest paths, in hops, that lead through a node, by Brandes' algorithm.

    Only paths from ``samples`` random sources are followed, all by default, and the sum is scaled to all sources
    (Brandes and Pich 2007). Which nodes are sources depends on the seed and on the order of types and ids alone.
    """
    steps, rounds, nodes = work.steps, work.rounds, work.steps.nodes
    count = nodes if samples is None else min(samples, nodes)
    sources = _sources(steps, count, seed)
    together = _together(nodes, len(sources))
    turned = steps.turned()
    zeros = steps.apply(filled, value=0.0, kind=np.float64).vector
    state = rounds.begin(steps, totals=zeros, followed=0)
    totals, followed = state["totals"], int(state["followed"])
    while followed < len(sources):
        part = sources[followed : followed + together]
        totals = _dependencies(steps, turned, part, totals)
        followed += len(part)
        rounds.end_round(totals=totals, followed=followed)
    scaled = steps.apply(_scaled, totals, factor=_factor(nodes, count, normalized, directed))
    facts = {"sources": count, "largest": float(scaled.total("largest"))}
    return NodeValues({"betweenness": steps.column(scaled.vector)}, facts)


def _together(nodes: int, sources: int) -> int:
    """The number of sources that are searched side by side."""
    return max(min(CELLS_MAX // max(nodes, 1), sources), 1)


def _factor(nodes: int, count: int, normalized: bool, directed: bool) -> float:
    """Without directions every pair of ends is counted twice, once from each of them."""
    factor = nodes / max(count, 1)
    if normalized:
        return factor / ((nodes - 1) * (nodes - 2)) if nodes > 2 else factor
    return factor if directed else factor / 2


def _sources(steps: Steps, count: int, seed: int) -> Rows:
    """Random nodes, by rank."""
    if count == 0:
        return np.zeros(0, np.int64)
    drawn = np.random.default_rng(seed).choice(steps.nodes, count, replace=False)
    pairs = steps.apply(_chosen, steps.ranks(), wanted=np.sort(drawn)).total("chosen")
    numbers = dict(pairs)
    return np.array([numbers[rank] for rank in drawn.tolist()], np.int64)


def _chosen(span: Span, ranks: Array, *, wanted: Rows) -> Made:
    found = np.flatnonzero(np.isin(ranks, wanted))
    return made(chosen=Listed(list(zip(ranks[found].tolist(), (found + span.first).tolist(), strict=True))))


def _dependencies(steps: Steps, turned: Steps, sources: Rows, totals: Vector) -> Vector:
    """Add the dependencies of all nodes on some sources, whose searches run side by side."""
    depths, paths = steps.apply(_started, sources=sources).vectors
    depth, reached = 0, 1
    while reached:
        found = steps.step(_SPREAD, depths, paths, depth=depth)
        (depths, paths), reached = found.vectors, int(found.total("reached"))
        depth += 1
    flows = steps.apply(filled, value=0.0, kind=np.float64, rows=len(sources)).vector
    for level in range(depth - 2, 0, -1):
        flows = turned.step(_RETURN, depths, paths, flows, depth=level).vector
    return steps.apply(_added, totals, flows).vector


def _started(span: Span, *, sources: Rows) -> Made:
    is_source = span.numbers == sources[:, None]
    return made(np.where(is_source, 0, -1).astype(np.int32), is_source.astype(np.float64))


def _at_depth(_span: Span, depths: Array, paths: Array, *, depth: int) -> Array:
    return np.where(depths == depth, paths, 0.0)


def _spread(_span: Span, arriving: Array, depths: Array, paths: Array, *, depth: int) -> Made:
    """Nodes that are reached for the first time are one hop farther, by as many paths as arrive."""
    is_new = (depths < 0) & (arriving > 0)
    depths, paths = np.where(is_new, depth + 1, depths).astype(np.int32), np.where(is_new, arriving, paths)
    return made(depths, paths, reached=Summed(int(is_new.sum())))


_SPREAD = Round(distinct_sums, _at_depth, _spread)


def _returned(_span: Span, depths: Array, paths: Array, flows: Array, *, depth: int) -> Array:
    offered: Array = np.divide(1 + flows, paths, out=np.zeros_like(flows), where=depths == depth + 1)
    return offered


def _collected(_span: Span, arriving: Array, depths: Array, paths: Array, flows: Array, *, depth: int) -> Made:
    return made(np.where(depths == depth, paths * arriving, flows))


_RETURN = Round(distinct_sums, _returned, _collected)


def _added(_span: Span, totals: Array, flows: Array) -> Made:
    return made(totals + flows.sum(axis=0))


def _scaled(_span: Span, totals: Array, *, factor: float) -> Made:
    scaled = totals * factor
    return made(scaled, largest=Largest(float(scaled.max(initial=0.0))))
