"""Neighbour lists with the changes since they were made put in their places, without sorting again."""

from __future__ import annotations

import numpy as np

from omnigraph.exec.adjacency import Adjacency, Rows, contains


def merged(base: Adjacency, lost: Rows, starts: Rows, ends: Rows, nodes: int) -> Adjacency:
    """The lists without the lost edges and with added ones, for so many nodes.

    ``lost`` are edges of the base, ascending. An added edge is known by its position: the first is -1, the next -2.
    """
    degrees = np.zeros(nodes, np.int64)
    degrees[: base.nodes] = np.diff(base.offsets)
    neighbours, edges = base.neighbours, base.edges
    keys = base.origins() * _width(base, ends) + neighbours if len(starts) else None
    if len(lost):
        kept = ~contains(lost, base.edges)
        degrees -= np.bincount(base.origins()[~kept], minlength=nodes)
        neighbours, edges = neighbours[kept], edges[kept]
        keys = None if keys is None else keys[kept]
    if keys is not None:
        degrees += np.bincount(starts, minlength=nodes)
        added = starts * _width(base, ends) + ends
        order = np.argsort(added, kind="stable")
        places = np.searchsorted(keys, added[order])
        neighbours = np.insert(neighbours.astype(np.int64), places, ends[order])
        edges = np.insert(edges.astype(np.int64), places, -1 - order)
    return Adjacency(np.concatenate(([0], np.cumsum(degrees))), neighbours, edges)


def _width(base: Adjacency, ends: Rows) -> int:
    return max(int(base.neighbours.max(initial=0)), int(ends.max(initial=0))) + 1
