"""Triangle enumeration in the simple graph, with edges oriented by degree."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from omnigraph.exec.adjacency import Rows, adjacency, contains, sorted_set

WEDGES_MAX = 4_000_000
"""Wedges (pairs of neighbours) checked together: a few hundred megabytes."""

Corners = tuple[Rows, Rows, Rows]


def triangles_among(sources: Rows, targets: Rows, wedges_max: int = WEDGES_MAX) -> Iterator[Corners]:
    """The corners of every triangle, each once. Edges are given in both directions, without repetitions.

    Edges are oriented towards the end of higher degree. Then no node has more than sqrt(2 * edges) outgoing neighbours,
    even next to a hub. Every triangle is found exactly once, as two connected neighbours of its lowest node.
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
    # Every slot is paired with the later slots of the same node: all wedges, each once.
    later = lists.offsets[origins + 1] - np.arange(len(keys)) - 1
    paired = np.concatenate(([0], np.cumsum(later)))
    start = 0
    while start < len(keys):
        stop = max(int(np.searchsorted(paired, paired[start] + wedges_max, side="right")) - 1, start + 1)
        first = np.repeat(np.arange(start, stop), later[start:stop])
        second = first + 1 + np.arange(len(first)) - np.repeat(paired[start:stop] - paired[start], later[start:stop])
        closed = contains(keys, ends[first] * width + ends[second])
        first, second = first[closed], second[closed]
        yield nodes[origins[first]], nodes[ends[first]], nodes[ends[second]]
        start = stop


def triangle_counts(triangles: Iterable[Corners], nodes: int) -> Rows:
    """The number of triangles of every node."""
    counts = np.zeros(nodes, np.int64)
    for corners in triangles:
        for corner in corners:
            counts += np.bincount(corner, minlength=nodes)
    return counts
