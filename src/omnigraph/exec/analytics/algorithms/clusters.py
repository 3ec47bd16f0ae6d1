"""Density around a node: triangles, local clustering coefficient, core number."""

from __future__ import annotations

import numpy as np

from omnigraph.exec.analytics.kernels import counts, h_index
from omnigraph.exec.analytics.steps import Round
from omnigraph.exec.analytics.totals import Largest, Summed
from omnigraph.exec.analytics.vectors import Array, Made, Span, changed, made
from omnigraph.exec.analytics.work import NodeValues, Work


def triangles(work: Work) -> NodeValues:
    """Number of triangles every node is part of."""
    found = work.steps.apply(_whole, work.steps.closed())
    return NodeValues({"triangles": work.steps.column(found.vector)}, {"triangles": int(found.total("sum")) // 3})


def _whole(_span: Span, closed: Array) -> Made:
    whole = closed.astype(np.int64)
    return made(whole, sum=Summed(int(whole.sum())))


def local_clustering(work: Work, *, directed: bool) -> NodeValues:
    """Local clustering coefficient: the share of possible edges between the neighbours of a node that exist.

    Neighbours are the nodes at the other end of any edge. With directions, two neighbours can be connected by two
    edges. A node with fewer than two neighbours has the coefficient zero.
    """
    steps = work.steps
    degree = steps.step(Round(counts)).vector
    found = steps.apply(_shares, steps.closed(), degree, edges=1 if directed else 2)
    mean = float(found.total("sum")) / steps.nodes if steps.nodes else 0.0
    return NodeValues({"coefficient": steps.column(found.vector)}, {"mean": mean})


def _shares(_span: Span, closed: Array, degree: Array, *, edges: int) -> Made:
    """An undirected edge stands for two directed ones."""
    possible = (degree * (degree - 1)).astype(np.float64)
    shares = np.divide(closed * edges, possible, out=np.zeros(len(closed)), where=possible > 0)
    return made(shares, sum=Summed(shares.sum()))


def k_core(work: Work) -> NodeValues:
    """Core number: the largest k for which the node is part of a subgraph in which all nodes have k neighbours.

    Every node starts with its degree and repeatedly takes the h-index of its neighbours' values; the fixed point is the
    core number (Lü, Zhou, Zhang and Stanley 2016).
    """
    steps, rounds = work.steps, work.rounds
    cores = rounds.begin(steps, cores=steps.step(Round(counts)).vector)["cores"]
    while True:
        following = steps.step(_PEEL, cores)
        if not following.total("moved"):
            return NodeValues({"core": steps.column(cores)}, {"largest": int(following.total("largest"))})
        cores = following.vector
        rounds.end_round(cores=cores)


def _own(_span: Span, cores: Array) -> Array:
    return cores


def _peeled(_span: Span, following: Array, cores: Array) -> Made:
    return made(following, moved=changed(cores, following), largest=Largest(int(following.max(initial=0))))


_PEEL = Round(h_index, _own, _peeled)
