"""Parts of a graph that no edge connects, scaled and moved next to each other.

Forces alone leave wide gaps between parts, and make small ones smaller than they need to be.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Points = npt.NDArray[np.float64]
Numbers = npt.NDArray[np.int64]

GAP = 1.1
"""Room between two parts, in lengths of an edge."""

ASPECT = 1.6
"""Width of the picture for its height."""


def pack(points: Points, tails: Numbers, heads: Numbers) -> Points:
    """The points, with each connected part moved as a whole: on shelves, the largest part first.

    The usual edge of each part is one unit long.
    """
    part = _parts(len(points), tails, heads)
    number = int(part.max(initial=-1)) + 1
    points = points / _units(points, part, number, tails, heads)[part, None]
    if number < 2:
        return points
    low, high = np.full((number, 2), np.inf), np.full((number, 2), -np.inf)
    np.minimum.at(low, part, points)
    np.maximum.at(high, part, points)
    size = high - low + GAP
    width = max(float(size[:, 0].max()), ASPECT * float(np.sqrt(size.prod(axis=1).sum() / ASPECT)))
    corner = np.zeros((number, 2))
    x = y = shelf = 0.0
    for index in np.argsort(-size.prod(axis=1), kind="stable").tolist():
        wide, tall = size[index].tolist()
        if x > 0 and x + wide > width:
            x, y, shelf = 0.0, y + shelf, 0.0
        corner[index] = (x, y)
        x, shelf = x + wide, max(shelf, tall)
    found: Points = points + (corner - low)[part]
    return found


def _units(points: Points, part: Numbers, number: int, tails: Numbers, heads: Numbers) -> npt.NDArray[np.float64]:
    """The median length of the edges of each part; 1 for a part without edges."""
    lengths = np.linalg.norm(points[heads] - points[tails], axis=1)
    of = part[tails]
    order = np.lexsort((lengths, of))
    counts = np.bincount(of, minlength=number)
    middle = np.cumsum(counts) - counts + counts // 2
    found = np.ones(number)
    has = counts > 0
    found[has] = np.maximum(lengths[order][middle[has]], 1e-6)
    return found


def _parts(nodes: int, tails: Numbers, heads: Numbers) -> Numbers:
    """The number of the connected part of each node: the smallest label spreads over the edges, by halving paths."""
    label = np.arange(nodes)
    while True:
        before = label.copy()
        np.minimum.at(label, tails, before[heads])
        np.minimum.at(label, heads, before[tails])
        # A label is a node, which may have found a smaller label itself.
        label = label[label]
        if np.array_equal(before, label):
            break
    return np.unique(label, return_inverse=True)[1].astype(np.int64)
