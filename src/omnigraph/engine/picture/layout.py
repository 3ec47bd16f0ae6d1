"""Force-directed layout (Fruchterman and Reingold): the same graph gets the same picture, without randomness."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Points = npt.NDArray[np.float64]
Numbers = npt.NDArray[np.int64]

PAIRS_MAX = 30_000_000
"""Pairs of nodes that all rounds together may compare: about a second."""

ROUNDS_MIN, ROUNDS_MAX = 30, 200
GOLDEN_ANGLE = np.pi * (3 - np.sqrt(5))
GRAVITY = 0.3
"""Pull towards the middle, so that unconnected parts stay in the picture."""


def layout(nodes: int, sources: Numbers, targets: Numbers) -> Points:
    """A point for each node. Edges are about one unit long; the middle is the origin."""
    if not nodes:
        return np.zeros((0, 2))
    points = _spiral(nodes, sources, targets)
    rounds = int(np.clip(PAIRS_MAX // (nodes * nodes), ROUNDS_MIN, ROUNDS_MAX))
    is_pair = sources != targets
    tails, heads = sources[is_pair], targets[is_pair]
    for number in range(rounds):
        # The largest step cools down, so that the layout comes to rest.
        heat = 0.1 + 0.1 * np.sqrt(nodes) * (1 - number / rounds) ** 2
        push = _repulsion(points) + _attraction(points, tails, heads) - GRAVITY * nodes**0.25 * points
        length = np.maximum(np.linalg.norm(push, axis=1, keepdims=True), 1e-9)
        points = points + push / length * np.minimum(length, heat)
    centred: Points = points - points.mean(axis=0)
    return centred


def _spiral(nodes: int, sources: Numbers, targets: Numbers) -> Points:
    """Nodes along a spiral, those with most edges in the middle. No two points are equal."""
    degrees = np.bincount(sources, minlength=nodes) + np.bincount(targets, minlength=nodes)
    places = np.empty(nodes)
    places[np.argsort(-degrees, kind="stable")] = np.arange(nodes)
    radius, angle = np.sqrt(places + 0.5) * 0.8, places * GOLDEN_ANGLE
    return np.stack((radius * np.cos(angle), radius * np.sin(angle)), axis=1)


def _repulsion(points: Points) -> Points:
    """Every node pushes every other one away, by the inverse of the distance.

    The sum of (p - q) / |p - q|^2 over all q is p times the sum of the shares, less the sum of the shares of q: two
    matrix products instead of an array of all differences.
    """
    norms = (points * points).sum(axis=1)
    shares = 1 / np.maximum(norms[:, None] + norms[None, :] - 2 * (points @ points.T), 0.01)
    found: Points = points * shares.sum(axis=1, keepdims=True) - shares @ points
    return found


def _attraction(points: Points, tails: Numbers, heads: Numbers) -> Points:
    """Every edge pulls its ends together, by the square of the distance."""
    found = np.zeros_like(points)
    along = points[heads] - points[tails]
    pull = along * np.linalg.norm(along, axis=1, keepdims=True)
    np.add.at(found, tails, pull)
    np.add.at(found, heads, -pull)
    return found
