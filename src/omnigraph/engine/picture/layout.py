"""Force-directed layout (ForceAtlas2): the same graph gets the same picture, without randomness.

Every node pushes every other one away, in proportion to the degrees of both; every edge pulls its ends together. Hubs
get room, and groups with many edges among them stand apart.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from omnigraph.engine.picture.grid_forces import grid_repulsion
from omnigraph.engine.picture.packing import pack

Points = npt.NDArray[np.float64]
Masses = npt.NDArray[np.float64]
Numbers = npt.NDArray[np.int64]

PAIRS_MAX = 24_000_000
"""Pairs of nodes that all rounds of an exact layout together may compare: about half a second."""

EXACT_MAX = 400
"""Nodes up to which every pair is compared; above, a grid carries the forces."""

FEW = 200
"""Nodes up to which hubs push less: a small picture has room for short edges everywhere."""

ROUNDS_MIN, ROUNDS_MAX = 60, 300
GRID_ROUNDS = 150
GOLDEN_ANGLE = np.pi * (3 - np.sqrt(5))
REPULSION = 0.35
GRAVITY = 0.08
"""Pull towards the middle, so that unconnected parts stay in the picture."""


def layout(nodes: int, sources: Numbers, targets: Numbers) -> Points:
    """A point for each node. Edges are about one unit long; the middle is the origin."""
    if not nodes:
        return np.zeros((0, 2))
    is_pair = sources != targets
    tails, heads = sources[is_pair], targets[is_pair]
    degrees = np.bincount(tails, minlength=nodes) + np.bincount(heads, minlength=nodes)
    masses: Masses = 1.0 + degrees.astype(np.float64) ** (0.5 if nodes <= FEW else 1.0)
    points = _spiral(degrees)
    is_exact = nodes <= EXACT_MAX
    rounds = int(np.clip(PAIRS_MAX // (nodes * nodes), ROUNDS_MIN, ROUNDS_MAX)) if is_exact else GRID_ROUNDS
    repel = _repulsion if is_exact else grid_repulsion
    for number in range(rounds):
        # The largest step cools down, so that the layout comes to rest.
        heat = 0.02 + 0.12 * np.sqrt(nodes) * (1 - number / rounds) ** 2
        push = REPULSION * masses[:, None] * repel(points, masses) + _attraction(points, tails, heads)
        push -= GRAVITY * masses[:, None] * points
        # A heavy node moves less: the pull of its many edges would throw it across the picture.
        step = push / masses[:, None]
        length = np.maximum(np.linalg.norm(step, axis=1, keepdims=True), 1e-9)
        points = points + step / length * np.minimum(length, heat)
    packed = pack(points, tails, heads)
    centred: Points = packed - packed.mean(axis=0)
    return centred


def _spiral(degrees: Numbers) -> Points:
    """Nodes along a spiral, those with most edges in the middle. No two points are equal."""
    places = np.empty(len(degrees))
    places[np.argsort(-degrees, kind="stable")] = np.arange(len(degrees))
    radius, angle = np.sqrt(places + 0.5) * 2.5, places * GOLDEN_ANGLE
    return np.stack((radius * np.cos(angle), radius * np.sin(angle)), axis=1)


def _repulsion(points: Points, masses: Masses) -> Points:
    """The push on each node for one unit of its mass: masses of the others, by the inverse of the distance.

    The sum of m (p - q) / |p - q|^2 over all q is p times the sum of the shares, less the sum of the shares of q: two
    matrix products instead of an array of all differences.
    """
    norms = (points * points).sum(axis=1)
    shares = masses[None, :] / np.maximum(norms[:, None] + norms[None, :] - 2 * (points @ points.T), 0.01)
    np.fill_diagonal(shares, 0.0)
    found: Points = points * shares.sum(axis=1, keepdims=True) - shares @ points
    return found


def _attraction(points: Points, tails: Numbers, heads: Numbers) -> Points:
    """Every edge pulls its ends together, by the distance."""
    along = points[heads] - points[tails]
    pull = [
        np.bincount(tails, along[:, axis], len(points)) - np.bincount(heads, along[:, axis], len(points))
        for axis in (0, 1)
    ]
    found: Points = np.stack(pull, axis=1)
    return found
