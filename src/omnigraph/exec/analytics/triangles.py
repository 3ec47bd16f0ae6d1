"""Triangles of the simple graph, found from the side of each triangle's least connected node."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from omnigraph.exec.adjacency import Rows, adjacency, contains, sorted_set

WEDGES_MAX = 4_000_000
"""Pairs of neighbours looked at together: some hundred megabytes."""

Corners = tuple[Rows, Rows, Rows]


def triangles_among(sources: Rows, targets: Rows) -> Iterator[Corners]:
    """The corners of every triangle, each triangle once. Every edge is given in both directions, and once in each.

    An edge is turned towards its better connected end. Then no node has more neighbours than the square root of twice
    the number of edges, however many edges lead to a hub, and a triangle is two neighbours of one node that are
    connected.
    """
    known = sorted_set(sources)
    near, far = np.searchsorted(known, sources), np.searchsorted(known, targets)
    order = np.argsort(np.bincount(near, minlength=len(known)), kind="stable")
    ranks = np.empty(len(known), np.int64)
    ranks[order] = np.arange(len(known))
    low, high = ranks[near], ranks[far]
    turned = low < high
    lists = adjacency(low[turned], high[turned], low[turned], len(known))
    origins, ends = lists.edges, lists.neighbours
    width = max(len(known), 1)
    keys = origins * width + ends
    nodes = known[order]
    # Every slot is paired with the later ones of the same node.
    later = lists.offsets[origins + 1] - np.arange(len(keys)) - 1
    paired = np.concatenate(([0], np.cumsum(later)))
    start = 0
    while start < len(keys):
        stop = max(int(np.searchsorted(paired, paired[start] + WEDGES_MAX, side="right")) - 1, start + 1)
        first = np.repeat(np.arange(start, stop), later[start:stop])
        second = first + 1 + np.arange(len(first)) - np.repeat(paired[start:stop] - paired[start], later[start:stop])
        closed = contains(keys, ends[first] * width + ends[second])
        first, second = first[closed], second[closed]
        yield nodes[origins[first]], nodes[ends[first]], nodes[ends[second]]
        start = stop


def triangle_counts(triangles: Iterable[Corners], nodes: int) -> Rows:
    """For every node the number of triangles it is part of."""
    counts = np.zeros(nodes, np.int64)
    for corners in triangles:
        for corner in corners:
            counts += np.bincount(corner, minlength=nodes)
    return counts
