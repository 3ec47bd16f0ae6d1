"""Message passing over all edges: every node receives values from its neighbours.

A *block* holds the neighbours of a range of nodes. A *kernel* computes the values of the nodes of one block from a
vector with a value for every node of the graph; the vector is shipped, the edges stay. One process has one block, a
cluster several; the result is the same.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from omnigraph.exec.adjacency import Adjacency, Integers, Rows, adjacency, sorted_set
from omnigraph.exec.analytics import sparse
from omnigraph.exec.analytics.forms import Form

Vector = npt.NDArray[Any]
Weights = sparse.Numbers


@dataclass(frozen=True)
class EdgeArrays:
    """Edges as two arrays of node numbers, unordered."""

    sources: Rows
    targets: Rows
    weights: Weights | None = None

    def seen_as(self, form: Form, nodes: int) -> EdgeArrays:
        """The edges in a form; values propagate from sources to targets."""
        sources, targets, weights = self.sources, self.targets, self.weights
        if form is Form.DIRECTED:
            return self
        turned = sources != targets
        if form is Form.BOTH:
            both = None if weights is None else np.concatenate((weights, weights[turned]))
            return EdgeArrays(
                np.concatenate((sources, targets[turned])), np.concatenate((targets, sources[turned])), both
            )
        low, high = np.minimum(sources, targets)[turned], np.maximum(sources, targets)[turned]
        keys = sorted_set(low * nodes + high)
        low, high = keys // max(nodes, 1), keys % max(nodes, 1)
        return EdgeArrays(np.concatenate((low, high)), np.concatenate((high, low)))


@dataclass(frozen=True)
class EdgeBlock:
    """CSR lists of the neighbours that a range of nodes receives values from; row n is node ``first + n``."""

    first: int
    offsets: Integers
    neighbours: Integers
    nodes: int
    """The number of nodes of the whole graph."""
    weights: Weights | None = None

    @property
    def size(self) -> int:
        return len(self.offsets) - 1

    @property
    def owners(self) -> Rows:
        """The receiving node of every slot, relative to the block."""
        return np.repeat(np.arange(self.size), np.diff(self.offsets))

    @cached_property
    def lists(self) -> Adjacency:
        """The same as an ``Adjacency``; edges are identified by their slot."""
        return Adjacency(self.offsets, self.neighbours, np.arange(len(self.neighbours)))

    @cached_property
    def without_parallels(self) -> EdgeBlock:
        """The same with parallel edges collapsed to the lightest one."""
        lists = self.lists
        if lists.is_simple:
            return self
        pairs = lists.pairs
        weights = None if self.weights is None else np.minimum.reduceat(self.weights, pairs.edges)
        return EdgeBlock(self.first, pairs.offsets, pairs.neighbours, self.nodes, weights)

    @cached_property
    def matrix(self) -> Any:
        """The same as a sparse matrix."""
        weights = np.ones(len(self.neighbours)) if self.weights is None else self.weights
        return sparse.matrix(self.offsets, self.neighbours, weights, self.nodes)


def block_of(edges: EdgeArrays, first: int, size: int, nodes: int) -> EdgeBlock:
    """The block of the nodes from ``first`` on; all edges must end there."""
    lists: Adjacency = adjacency(edges.targets - first, edges.sources, np.arange(len(edges.sources)), size)
    weights = None if edges.weights is None else edges.weights[lists.edges]
    return EdgeBlock(first, lists.offsets, narrow_numbers(lists.neighbours, nodes), nodes, weights)


def narrow_numbers(numbers: Integers, nodes: int) -> Integers:
    """Node numbers in the smallest sufficient integer type."""
    return numbers.astype(number_kind(nodes))


def number_kind(nodes: int) -> type[np.int32] | type[np.int64]:
    """The integer type of node numbers."""
    return np.int32 if nodes <= np.iinfo(np.int32).max else np.int64


Kernel = Callable[[EdgeBlock, Vector], Vector]


class Steps(Protocol):
    """The selected edges in one form, in memory or on a cluster."""

    @property
    def nodes(self) -> int:
        """The number of nodes."""
        ...

    def step(self, kernel: Kernel, vector: Vector) -> Vector:
        """The kernel's value for every node."""
        ...

    def back(self, vector: Vector) -> Vector:
        """``smallest_alike`` against the direction of edges: the minimum over the nodes it sends to, and itself."""
        ...

    def leaving(self) -> Weights:
        """The total weight of the outgoing edges of every node."""
        ...

    def triangles(self) -> Rows:
        """The number of triangles of every node; only for ``SIMPLE``."""
        ...


def leaving_weights(neighbours: Integers, weights: Weights | None, nodes: int) -> Weights:
    """The total weight of edges by sending node."""
    return np.bincount(neighbours, weights, minlength=nodes).astype(np.float64)


def sums(block: EdgeBlock, vector: Vector) -> Vector:
    """The weighted sum of the neighbours' values."""
    summed: Vector = block.matrix @ vector
    return summed


def counts(block: EdgeBlock, _vector: Vector) -> Vector:
    """The number of neighbours, counting parallel edges."""
    return np.diff(block.offsets).astype(np.int64)


def smallest(block: EdgeBlock, vector: Vector) -> Vector:
    """The smallest value of the node and its neighbours."""
    own = vector[block.first : block.first + block.size].copy()
    filled = np.flatnonzero(np.diff(block.offsets))
    if len(filled):
        found = np.minimum.reduceat(vector[block.neighbours], block.offsets[filled])
        own[filled] = np.minimum(own[filled], found)
    return own


def smallest_alike(block: EdgeBlock, vector: Vector) -> Vector:
    """The smallest value of the node and its neighbours of the same class; the vector holds values and classes."""
    values, kinds = vector
    own: Vector = values[block.first : block.first + block.size].copy()
    filled = np.flatnonzero(np.diff(block.offsets))
    if len(filled):
        is_alike = kinds[block.neighbours] == kinds[block.owners + block.first]
        offered = np.where(is_alike, values[block.neighbours], block.nodes)
        own[filled] = np.minimum(own[filled], np.minimum.reduceat(offered, block.offsets[filled]))
    return own


def smaller_behind(block: EdgeBlock, vector: Vector) -> tuple[Vector, Vector]:
    """``smallest_alike`` against the edges: neighbours that receive a smaller value from the block, and that value."""
    values, kinds = vector
    sources, targets = block.neighbours, block.owners + block.first
    better = (kinds[sources] == kinds[targets]) & (values[targets] < values[sources])
    sources, offered = sources[better], values[targets[better]]
    nodes, places = np.unique(sources, return_inverse=True)
    smallest_offered = np.full(len(nodes), block.nodes, np.int64)
    np.minimum.at(smallest_offered, places, offered)
    return nodes, smallest_offered


def nearest(block: EdgeBlock, vector: Vector) -> Vector:
    """One relaxation: the node's distance, or a neighbour's plus the edge, whichever is smaller."""
    own = vector[block.first : block.first + block.size].copy()
    filled = np.flatnonzero(np.diff(block.offsets))
    if len(filled):
        lengths = vector[block.neighbours] + (1.0 if block.weights is None else block.weights)
        own[filled] = np.minimum(own[filled], np.minimum.reduceat(lengths, block.offsets[filled]))
    return own


def commonest(block: EdgeBlock, vector: Vector) -> Vector:
    """The most common value of the neighbours, ties to the smallest; a node without neighbours keeps its own.

    Example: one node (owner 0) whose neighbours have the values 4 2 4 2 3, width 10::

        keys     02 02 03 04 04     owner * width + value, sorted
        heads    0     2  3         first slot of each (owner, value)
        votes    2     1  2
        winners  2                  most votes are 2; the first of the winners is the smallest value
    """
    own = vector[block.first : block.first + block.size].copy()
    if not len(block.neighbours):
        return own
    width = block.nodes
    keys = np.sort(block.owners * width + vector[block.neighbours])
    heads = np.flatnonzero(np.concatenate(([True], keys[1:] != keys[:-1])))
    votes = np.diff(np.append(heads, len(keys)))
    nodes, values = keys[heads] // width, keys[heads] % width
    firsts = np.flatnonzero(np.concatenate(([True], nodes[1:] != nodes[:-1])))
    most = np.repeat(np.maximum.reduceat(votes, firsts), np.diff(np.append(firsts, len(nodes))))
    # Values of one node ascend, so the first winner is the smallest value.
    winners = np.flatnonzero(votes == most)
    winners = winners[np.concatenate(([True], nodes[winners][1:] != nodes[winners][:-1]))]
    own[nodes[winners]] = values[winners]
    return own
