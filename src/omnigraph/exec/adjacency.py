"""Neighbours by node, as arrays.

Neighbours of a node lie together and in order, so that a pair can be looked up by binary search and parallel edges
stand side by side. The arrays may be mapped from disk and of any integer type.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

Rows = npt.NDArray[np.int64]
Integers = npt.NDArray[Any]
Mask = np.ndarray[tuple[int], np.dtype[np.bool_]]


@dataclass(frozen=True)
class Adjacency:
    """Neighbours by node: those of node n are ``neighbours[offsets[n]:offsets[n + 1]]``, ascending."""

    offsets: Integers
    neighbours: Integers
    edges: Integers

    @property
    def nodes(self) -> int:
        return len(self.offsets) - 1

    @cached_property
    def is_simple(self) -> bool:
        """Whether no two edges connect the same pair."""
        return not bool(self._repeats.any())

    @cached_property
    def _repeats(self) -> Mask:
        repeats = np.zeros(len(self.neighbours), bool)
        repeats[1:] = self.neighbours[1:] == self.neighbours[:-1]
        # The first neighbour of a node repeats nothing, whatever stands before it.
        starts = self.offsets[:-1][np.diff(self.offsets) > 0]
        repeats[starts] = False
        return repeats

    @cached_property
    def pairs(self) -> Adjacency:
        """The same with parallel edges collapsed."""
        if self.is_simple:
            return self
        keep = ~self._repeats
        kept_before = np.concatenate(([0], np.cumsum(keep)))
        return Adjacency(kept_before[self.offsets], self.neighbours[keep], self.edges[keep])

    def degrees(self, nodes: Rows) -> Rows:
        """How many neighbours each of the nodes has."""
        counts: Rows = self.offsets[nodes + 1].astype(np.int64) - self.offsets[nodes]
        return counts

    def of(self, nodes: Rows) -> tuple[Rows, Rows]:
        """For every given node its neighbour slots: the position of the node in the input, and the slot."""
        starts = self.offsets[nodes].astype(np.int64)
        counts = self.offsets[nodes + 1] - starts
        ends = np.cumsum(counts)
        position = np.repeat(np.arange(len(nodes)), counts)
        slot = np.arange(len(position)) + np.repeat(starts - ends + counts, counts)
        return position, slot

    @cached_property
    def _keys(self) -> Rows:
        """One number for every slot, ascending: node and neighbour together."""
        return self.origins() * self._width + self.neighbours

    @cached_property
    def _width(self) -> int:
        return int(self.neighbours.max(initial=0)) + 1

    def holds(self, nodes: Rows, neighbours: Rows) -> Mask:
        """For every pair of a node and a neighbour whether it is there."""
        known = (nodes < self.nodes) & (neighbours < self._width)
        probes = nodes[known] * self._width + neighbours[known]
        # Sorted probes walk through the keys once; in any other order every one of them misses the cache.
        order = np.argsort(probes)
        held = np.zeros(len(nodes), bool)
        held[np.flatnonzero(known)[order]] = contains(self._keys, probes[order])
        return held

    def origins(self) -> Rows:
        """The node of every slot."""
        return np.repeat(np.arange(self.nodes), np.diff(self.offsets))


def adjacency(sources: Rows, targets: Rows, edges: Integers, nodes: int) -> Adjacency:
    """Neighbour lists of edges given as two arrays of nodes."""
    # One sort of one number per edge: numpy sorts integers several times faster than it sorts pairs.
    order = np.argsort(sources * (int(targets.max(initial=0)) + 1) + targets)
    offsets = np.zeros(nodes + 1, np.int64)
    np.cumsum(np.bincount(sources, minlength=nodes), out=offsets[1:])
    return Adjacency(offsets, targets[order], edges[order])


def sorted_set(keys: Rows) -> Rows:
    """Sorted and each once. Sorting and comparing neighbours beats ``np.unique`` by far on large arrays."""
    if len(keys) < 2:
        return keys
    ordered = np.sort(keys)
    keep = np.ones(len(ordered), bool)
    keep[1:] = ordered[1:] != ordered[:-1]
    return ordered[keep]


def contains(known: Rows, keys: Integers) -> Mask:
    """Which keys are in the sorted array."""
    if not len(known):
        return np.zeros(len(keys), bool)
    place = np.minimum(np.searchsorted(known, keys), len(known) - 1)
    found: Mask = known[place] == keys
    return found
