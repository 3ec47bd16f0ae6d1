"""Compressed sparse rows (CSR): neighbours by node, as three arrays.

Neighbours of a node are contiguous and ascending, so that a pair is found by binary search and parallel edges are
adjacent. Arrays may be memory-mapped and of any integer type.

Example: edges 0 -> 2, 0 -> 1, 2 -> 0, 0 -> 2 (edge rows 0 to 3) over three nodes::

    offsets     0        3  3  4
    neighbours  1  2  2     0
    edges       1  0  3     2
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from omnigraph.core.classes.dataclass import dataclass

PACKED_MIN = 1_024
"""Edges from which packed keys are sorted: for fewer, packing takes longer than it saves."""

WORD_BITS = 64

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
    def bounds(self) -> memoryview:
        """The offsets, for reading one at a time."""
        return self.offsets.data

    @cached_property
    def is_simple(self) -> bool:
        """True if there are no parallel edges."""
        return not bool(self._repeats.any())

    @cached_property
    def _repeats(self) -> Mask:
        repeats = np.zeros(len(self.neighbours), bool)
        repeats[1:] = self.neighbours[1:] == self.neighbours[:-1]
        # The first neighbour of a node is no repetition, even if the previous node ends with the same neighbour.
        starts = self.offsets[:-1][np.diff(self.offsets) > 0]
        repeats[starts] = False
        return repeats

    @cached_property
    def pairs(self) -> Adjacency:
        """The same lists with parallel edges collapsed."""
        if self.is_simple:
            return self
        keep = ~self._repeats
        kept_before = np.concatenate(([0], np.cumsum(keep)))
        return Adjacency(kept_before[self.offsets], self.neighbours[keep], self.edges[keep])

    def degrees(self, nodes: Rows) -> Rows:
        """The degree of each of the nodes."""
        if len(nodes) == self.nodes > 0 and nodes[0] == 0 and is_ascending(nodes) and nodes[-1] == self.nodes - 1:
            # All nodes: nothing has to be gathered.
            every: Rows = np.subtract(self.offsets[1:], self.offsets[:-1], dtype=np.int64)
            return every
        counts: Rows = self.offsets[nodes + 1].astype(np.int64) - self.offsets[nodes]
        return counts

    def of(self, nodes: Rows) -> tuple[Rows, Rows]:
        """For every given node its neighbour slots: the position of the node in the input, and the slot.

        Example with offsets 0 3 3 4 and nodes 2, 0: positions 0 1 1 1, slots 3 0 1 2.
        """
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
        """For every pair of a node and a neighbour whether there is such an edge."""
        known = (nodes < self.nodes) & (neighbours < self._width)
        probes = nodes[known] * self._width + neighbours[known]
        # Sorted probes scan the keys once; in any other order each probe misses the CPU cache.
        order = np.argsort(probes)
        held = np.zeros(len(nodes), bool)
        held[np.flatnonzero(known)[order]] = contains(self._keys, probes[order])
        return held

    def origins(self) -> Rows:
        """The node of every slot."""
        return np.repeat(np.arange(self.nodes), np.diff(self.offsets))


def adjacency(sources: Rows, targets: Rows, edges: Integers, nodes: int) -> Adjacency:
    """Neighbour lists of edges given as two arrays of nodes."""
    offsets = np.zeros(nodes + 1, np.int64)
    np.cumsum(np.bincount(sources, minlength=nodes), out=offsets[1:])
    packed = _packed(sources, targets) if len(sources) >= PACKED_MIN else None
    if packed is not None:
        neighbours, places = packed
        return Adjacency(offsets, neighbours, edges[places])
    # Sort one combined integer per edge: numpy sorts integers several times faster than pairs.
    order = np.argsort(sources * (int(targets.max(initial=0)) + 1) + targets)
    return Adjacency(offsets, targets[order], edges[order])


def _packed(sources: Rows, targets: Rows) -> tuple[Rows, Rows] | None:
    """The targets in order of source and target, and their places before; None if these do not fit into 64 bits.

    Sorting numbers that hold their place takes a third of the time of sorting places and gathering both arrays::

        sources   0 0 1 0          packed    0|2|0  0|1|1  1|0|2  0|2|3
        targets   2 1 0 2          sorted    0|1|1  0|2|0  0|2|3  1|0|2    targets 1 2 2 0, places 1 0 3 2
    """
    target_bits, place_bits = int(targets.max()).bit_length(), (len(targets) - 1).bit_length()
    if int(sources.max()).bit_length() + target_bits + place_bits > WORD_BITS:
        return None
    keys = sources.astype(np.uint64)
    keys <<= np.uint64(target_bits)
    keys |= targets.astype(np.int64, copy=False).view(np.uint64)
    keys <<= np.uint64(place_bits)
    keys |= np.arange(len(keys), dtype=np.uint64)
    keys.sort()
    places: Rows = (keys & np.uint64((1 << place_bits) - 1)).view(np.int64)
    keys >>= np.uint64(place_bits)
    keys &= np.uint64((1 << target_bits) - 1)
    neighbours: Rows = keys.view(np.int64)
    return neighbours, places


def sorted_set(keys: Rows) -> Rows:
    """Sorted distinct values. Sorting and comparing adjacent values is much faster than ``np.unique``."""
    if len(keys) < 2:
        return keys
    ordered = np.sort(keys)
    keep = np.ones(len(ordered), bool)
    keep[1:] = ordered[1:] != ordered[:-1]
    return ordered[keep]


def is_ascending(keys: Rows) -> bool:
    """True if every value is larger than the one before; then all are different."""
    return bool((keys[1:] > keys[:-1]).all())


def contains(known: Rows, keys: Integers) -> Mask:
    """A mask of the keys that are in the sorted array."""
    if not len(known):
        return np.zeros(len(keys), bool)
    place = np.minimum(np.searchsorted(known, keys), len(known) - 1)
    found: Mask = known[place] == keys
    return found
