"""Triangle enumeration in the simple graph, with edges oriented by degree."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np

from omnigraph.exec.adjacency import Rows, adjacency, sorted_set
from omnigraph.exec.analytics.blocks import Weights

WEDGES_MAX = 4_000_000
"""Wedges (pairs of neighbours) checked together: a few hundred megabytes."""


class Triangles(NamedTuple):
    """Some triangles: three arrays of corners, and the weight of the edge opposite to each corner."""

    corners: tuple[Rows, Rows, Rows]
    opposite: tuple[Weights, Weights, Weights] | None


def triangles_among(
    sources: Rows, targets: Rows, weights: Weights | None = None, wedges_max: int = WEDGES_MAX
) -> Iterator[Triangles]:
    """Every triangle once. Edges are given in both directions, with equal weights, and without repetitions.

    Edges are oriented towards the end of higher degree. Then no node has more than sqrt(2 * edges) outgoing neighbours,
    even next to a hub. Every triangle is found exactly once, as two connected neighbours of its lowest node.
    """
    known = sorted_set(sources)
    near, far = np.searchsorted(known, sources), np.searchsorted(known, targets)
    order = np.argsort(np.bincount(near, minlength=len(known)), kind="stable")
    ranks = np.empty(len(known), np.int64)
    ranks[order] = np.arange(len(known))
    low, high = ranks[near], ranks[far]
    turned = np.flatnonzero(low < high)
    lists = adjacency(low[turned], high[turned], turned, len(known))
    origins, ends = lists.origins(), lists.neighbours
    weighed = None if weights is None else weights[lists.edges]
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
        wanted = ends[first] * width + ends[second]
        third = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
        closed = keys[third] == wanted
        first, second, third = first[closed], second[closed], third[closed]
        corners = nodes[origins[first]], nodes[ends[first]], nodes[ends[second]]
        yield Triangles(corners, None if weighed is None else (weighed[third], weighed[second], weighed[first]))
        start = stop


def opposite_weights(triangles: Iterable[Triangles], nodes: int) -> Weights:
    """The total weight of opposite edges of every node, or its number of triangles."""
    totals = np.zeros(nodes)
    for found in triangles:
        for place, corner in enumerate(found.corners):
            weights = None if found.opposite is None else found.opposite[place]
            totals += np.bincount(corner, weights, minlength=nodes)
    return totals
