"""Repulsion of many nodes: masses are spread over a grid, and a convolution gives the push at each of its points.

The time of a round grows with the nodes and the points of the grid, not with pairs of nodes.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import numpy.typing as npt

Points = npt.NDArray[np.float64]
Masses = npt.NDArray[np.float64]

SIDE = 192
"""Points of the grid along each axis: nodes closer than a cell push each other as if they were a cell apart."""


def grid_repulsion(points: Points, masses: Masses) -> Points:
    """The push on each node for one unit of its mass: masses of the others, by the inverse of the distance."""
    low = points.min(axis=0)
    cell = max(float(np.ptp(points, axis=0).max()) / (SIDE - 1), 1e-9)
    places = (points - low) / cell
    corner = np.minimum(places.astype(np.int64), SIDE - 2)
    part = places - corner
    field = _fields(_spread(corner, part, masses))
    found: Points = np.stack([_gathered(axis, corner, part) for axis in field], axis=1) / cell
    return found


def _corners(
    corner: npt.NDArray[np.int64], part: Points
) -> list[tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]]:
    """The four grid points around each node, with the share that each of them has in it."""
    found = []
    for dx in (0, 1):
        for dy in (0, 1):
            share = np.abs(1 - dx - part[:, 0]) * np.abs(1 - dy - part[:, 1])
            found.append(((corner[:, 0] + dx) * SIDE + corner[:, 1] + dy, share))
    return found


def _spread(corner: npt.NDArray[np.int64], part: Points, masses: Masses) -> npt.NDArray[np.float64]:
    """The mass at each point of the grid."""
    total = np.zeros(SIDE * SIDE)
    for place, share in _corners(corner, part):
        total += np.bincount(place, share * masses, SIDE * SIDE)
    return total.reshape(SIDE, SIDE)


def _gathered(field: npt.NDArray[np.float64], corner: npt.NDArray[np.int64], part: Points) -> npt.NDArray[np.float64]:
    """The value of a field at each node, between the points of the grid."""
    flat = field.ravel()
    found = np.zeros(len(part))
    for place, share in _corners(corner, part):
        found += share * flat[place]
    return found


def _fields(mass: npt.NDArray[np.float64]) -> list[npt.NDArray[np.float64]]:
    """The push along each axis at every point of the grid, in units of a cell."""
    shape = (2 * SIDE, 2 * SIDE)
    spectrum = np.fft.rfft2(mass, shape)
    return [np.fft.irfft2(spectrum * kernel, shape)[:SIDE, :SIDE] for kernel in _kernels()]


@cache
def _kernels() -> tuple[npt.NDArray[np.complex128], ...]:
    """The transforms of x / r^2 and y / r^2, with room for both directions: a convolution is circular."""
    along = np.concatenate((np.arange(SIDE), np.arange(-SIDE, 0))).astype(np.float64)
    x, y = np.meshgrid(along, along, indexing="ij")
    square = np.maximum(x * x + y * y, 1.0)
    return tuple(np.fft.rfft2(axis / square) for axis in (x, y))
