"""Edges for message passing: arrays of node numbers in a form, and CSR blocks by receiving node.

A *block* holds the neighbours of a span of nodes. One process has one block, a cluster several; every one of them
gives its nodes the values that the whole graph would.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from omnigraph.exec.adjacency import Adjacency, Integers, Mask, Rows, adjacency
from omnigraph.exec.analytics import sparse
from omnigraph.exec.analytics.forms import Form

Weights = sparse.Numbers

_ALONG, _AGAINST = 1, 2
"""Directions of an edge between two nodes, as bits."""


@dataclass(frozen=True)
class EdgeArrays:
    """Edges as two arrays of node numbers, unordered."""

    sources: Rows
    targets: Rows
    weights: Weights | None = None

    def where(self, kept: Mask) -> EdgeArrays:
        """Some of the edges."""
        weights = None if self.weights is None else self.weights[kept]
        return EdgeArrays(self.sources[kept], self.targets[kept], weights)

    @property
    def turned(self) -> EdgeArrays:
        """The edges in the opposite direction."""
        return EdgeArrays(self.targets, self.sources, self.weights)

    def spread(self, form: Form) -> EdgeArrays:
        """The edges in the directions in which values travel in a form; parallel edges are still there.

        In a linked form a weight holds the direction, until ``EdgeBlock.seen_as`` has both of a pair.
        """
        if form is Form.DIRECTED:
            return self
        loops = self.sources == self.targets
        if form is Form.BOTH:
            return joined_edges([self, self.where(~loops).turned])
        edges = EdgeArrays(self.sources, self.targets).where(~loops)
        if form is Form.SIMPLE:
            return joined_edges([edges, edges.turned])
        along, against = (np.full(len(edges.sources), float(way)) for way in (_ALONG, _AGAINST))
        return EdgeArrays(
            np.concatenate((edges.sources, edges.targets)),
            np.concatenate((edges.targets, edges.sources)),
            np.concatenate((along, against)),
        )


def joined_edges(parts: list[EdgeArrays]) -> EdgeArrays:
    """All edges of several arrays."""
    nothing = np.zeros(0, np.int64)
    weights = [part.weights for part in parts if part.weights is not None]
    return EdgeArrays(
        np.concatenate([nothing, *(part.sources for part in parts)]),
        np.concatenate([nothing, *(part.targets for part in parts)]),
        np.concatenate(weights) if weights else None,
    )


@dataclass(frozen=True)
class EdgeBlock:
    """CSR lists of the neighbours that a span of nodes receives values from; row n is node ``first + n``.

    Neighbours are positions in the array of values that a kernel gets with the block: node numbers where that array
    has all nodes, or positions among the nodes that the block needs.
    """

    first: int
    offsets: Integers
    neighbours: Integers
    width: int
    """The length of that array."""
    weights: Weights | None = None
    needed: Rows | None = None
    """The numbers of the nodes that the block needs; None if the array has all nodes."""

    @property
    def senders(self) -> Rows:
        """The number of the neighbour in every slot."""
        return self.senders_at(slice(None))

    def senders_at(self, slots: Rows | slice) -> Rows:
        """The number of the neighbour in some slots."""
        neighbours = self.neighbours[slots]
        return neighbours.astype(np.int64) if self.needed is None else self.needed[neighbours]

    def holds(self, places: Rows, numbers: Rows) -> Mask:
        """For every pair of a node of the block and a node number whether that is a neighbour."""
        if self.needed is None:
            return self.lists.holds(places, numbers)
        positions = np.minimum(np.searchsorted(self.needed, numbers), max(len(self.needed) - 1, 0))
        held = np.zeros(len(places), bool)
        known = np.flatnonzero(self.needed[positions] == numbers) if len(self.needed) else np.zeros(0, np.int64)
        held[known] = self.lists.holds(places[known], positions[known])
        return held

    @property
    def loops(self) -> Mask:
        """A mask of the slots of self-loops."""
        mask: Mask = self.senders == self.owners + self.first
        return mask

    @property
    def size(self) -> int:
        return len(self.offsets) - 1

    @property
    def owners(self) -> Rows:
        """The receiving node of every slot, relative to the block."""
        return np.repeat(np.arange(self.size), np.diff(self.offsets))

    @property
    def filled(self) -> Rows:
        """The nodes with neighbours, relative to the block."""
        return np.flatnonzero(np.diff(self.offsets))

    @cached_property
    def lists(self) -> Adjacency:
        """The same as an ``Adjacency``; edges are identified by their slot."""
        return Adjacency(self.offsets, self.neighbours, np.arange(len(self.neighbours)))

    @cached_property
    def without_parallels(self) -> EdgeBlock:
        """The same with parallel edges collapsed to the lightest one."""
        if self.lists.is_simple:
            return self
        pairs = self.lists.pairs
        weights = None if self.weights is None else np.minimum.reduceat(self.weights, pairs.edges)
        return replace(self, offsets=pairs.offsets, neighbours=pairs.neighbours, weights=weights)

    def seen_as(self, form: Form) -> EdgeBlock:
        """The block of edges that were spread in a form, with parallel edges treated as the form wants."""
        match form:
            case Form.DIRECTED | Form.BOTH:
                return self
            case Form.SIMPLE:
                return self.without_parallels
            case Form.LINKED:
                return self._linked

    @property
    def _linked(self) -> EdgeBlock:
        assert self.weights is not None, "spread edges have their direction as weight"
        pairs = self.lists.pairs
        seen = np.bitwise_or.reduceat(self.weights.astype(np.int64), pairs.edges)
        ways = np.where(seen == (_ALONG | _AGAINST), 2.0, 1.0)
        return replace(self, offsets=pairs.offsets, neighbours=pairs.neighbours, weights=ways)

    @cached_property
    def matrix(self) -> Any:
        """The same as a sparse matrix."""
        weights = np.ones(len(self.neighbours)) if self.weights is None else self.weights
        return sparse.matrix(self.offsets, self.neighbours, weights, self.width)


def block_of(edges: EdgeArrays, first: int, size: int, width: int) -> EdgeBlock:
    """The block of the nodes from ``first`` on; all edges must end there."""
    lists: Adjacency = adjacency(edges.targets - first, edges.sources, np.arange(len(edges.sources)), size)
    weights = None if edges.weights is None else edges.weights[lists.edges]
    return EdgeBlock(first, lists.offsets, narrow_numbers(lists.neighbours, width), width, weights)


def narrow_numbers(numbers: Integers, nodes: int) -> Integers:
    """Node numbers in the smallest sufficient integer type."""
    return numbers.astype(number_kind(nodes))


def number_kind(nodes: int) -> type[np.int32] | type[np.int64]:
    """The integer type of node numbers."""
    return np.int32 if nodes <= np.iinfo(np.int32).max else np.int64


def contracted_edges(block: EdgeBlock, seen: Rows, own: Rows, count: int, loops: float) -> EdgeArrays:
    """The edges of a block between groups, with added weights; ``seen`` and ``own`` are the groups of its nodes."""
    sources, targets = seen[block.neighbours], own[block.owners]
    weights = np.ones(len(sources)) if block.weights is None else block.weights.copy()
    weights[block.loops] *= loops
    return merged_edges(EdgeArrays(sources, targets, weights), count)


def merged_edges(edges: EdgeArrays, nodes: int) -> EdgeArrays:
    """Parallel edges as one, with added weights."""
    keys = edges.targets * nodes + edges.sources
    order = np.argsort(keys, kind="stable")
    heads = np.flatnonzero(np.concatenate((np.ones(min(len(keys), 1), bool), np.diff(keys[order]) != 0)))
    assert edges.weights is not None, "groups are connected by weights"
    weights = np.add.reduceat(edges.weights[order], heads) if len(heads) else edges.weights
    known = keys[order][heads]
    return EdgeArrays(known % max(nodes, 1), known // max(nodes, 1), weights)
