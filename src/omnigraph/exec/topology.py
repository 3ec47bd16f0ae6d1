"""Who is connected to whom, as arrays of row numbers.

Built from the id columns of one edge table and its two node tables, for exactly those pins, and kept for them.
Neighbours of a node lie together and in order, so that a pair can be looked up by binary search and parallel edges
stand side by side.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.exec.tables import Rows, TableView

TOPOLOGIES_MAX = 16
"""Topologies kept in memory by one process; ten million edges are about 500 MB."""


@dataclass(frozen=True)
class Adjacency:
    """Neighbours by node: those of node n are ``neighbours[offsets[n]:offsets[n + 1]]``, ascending."""

    offsets: Rows
    neighbours: Rows
    edges: Rows

    @property
    def nodes(self) -> int:
        return len(self.offsets) - 1

    @cached_property
    def is_simple(self) -> bool:
        """Whether no two edges connect the same pair."""
        return not bool(self._repeats.any())

    @cached_property
    def _repeats(self) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
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

    def of(self, nodes: Rows) -> tuple[Rows, Rows]:
        """For every given node its neighbour slots: the position of the node in the input, and the slot."""
        starts, ends = self.offsets[nodes], self.offsets[nodes + 1]
        counts = ends - starts
        position = np.repeat(np.arange(len(nodes)), counts)
        before = np.concatenate(([0], np.cumsum(counts)[:-1])) if len(counts) else np.zeros(0, np.int64)
        slot = np.arange(len(position)) - before[position] + starts[position]
        return position, slot


def adjacency(sources: Rows, targets: Rows, edges: Rows, nodes: int) -> Adjacency:
    """Neighbour lists of edges given as two arrays of row numbers."""
    # One sort of one number per edge: numpy sorts integers several times faster than it sorts pairs.
    order = np.argsort(sources * (int(targets.max(initial=0)) + 1) + targets, kind="stable")
    offsets = np.zeros(nodes + 1, np.int64)
    np.cumsum(np.bincount(sources, minlength=nodes), out=offsets[1:])
    return Adjacency(offsets, targets[order], edges[order])


@dataclass(frozen=True)
class Topology:
    """One edge table in both directions."""

    sources: Rows
    targets: Rows
    edges: Rows
    source_nodes: int
    target_nodes: int
    within_one_type: bool

    @cached_property
    def out(self) -> Adjacency:
        return adjacency(self.sources, self.targets, self.edges, self.source_nodes)

    @cached_property
    def into(self) -> Adjacency:
        return adjacency(self.targets, self.sources, self.edges, self.target_nodes)

    @cached_property
    def both(self) -> Adjacency:
        """Both directions at once; only for edges within one type. A self-loop stands once."""
        loops = self.sources == self.targets
        sources = np.concatenate((self.sources, self.targets[~loops]))
        targets = np.concatenate((self.targets, self.sources[~loops]))
        edges = np.concatenate((self.edges, self.edges[~loops]))
        return adjacency(sources, targets, edges, self.source_nodes)

    @cached_property
    def loops(self) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        """Which nodes have an edge to themselves; between two types equal numbers are different nodes."""
        looped = np.zeros(max(self.source_nodes, self.target_nodes), bool)
        if self.within_one_type:
            looped[self.sources[self.sources == self.targets]] = True
        return looped


def build(edge: TableView, source: TableView, target: TableView) -> Topology:
    """Encode the endpoints of every edge as row numbers. An edge without its node is left out."""
    sources = _numbers(edge.column("src"), source.live_column("id"))
    targets = _numbers(edge.column("dst"), target.live_column("id"))
    known = (sources >= 0) & (targets >= 0)
    known[edge.layout.dead] = False
    within = source.pin.key == target.pin.key
    return Topology(sources[known], targets[known], np.flatnonzero(known), source.size, target.size, within)


def _numbers(ids: pa.Array, known: pa.Array) -> Rows:
    found = pc.index_in(ids, value_set=known, skip_nulls=True)
    numbers: Rows = pc.fill_null(found, -1).to_numpy(zero_copy_only=False).astype(np.int64)
    return numbers


class Topologies:
    """Topologies by the pins they were built from, least recently used first to go."""

    def __init__(self) -> None:
        self._known: OrderedDict[tuple[str, ...], Topology] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, edge: TableView, source: TableView, target: TableView) -> Topology:
        key = tuple(f"{table.pin.location}@{table.pin.lance_version}" for table in (edge, source, target))
        with self._lock:
            known = self._known.get(key)
            if known is not None:
                self._known.move_to_end(key)
                return known
        topology = build(edge, source, target)
        with self._lock:
            self._known[key] = topology
            while len(self._known) > TOPOLOGIES_MAX:
                self._known.popitem(last=False)
        return topology
