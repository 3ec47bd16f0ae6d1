"""Steps over all edges: what every node gets from its neighbours.

A *block* holds the neighbours of a range of nodes. A *kernel* computes the values of the nodes of one block from a
vector with a value for every node of the graph; the vector travels, the edges stay. One process has one block, a
cluster as many as it likes, and the outcome is the same.
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
    """Edges by the numbers of their ends, in any order."""

    sources: Rows
    targets: Rows
    weights: Weights | None = None

    def seen_as(self, form: Form, nodes: int) -> EdgeArrays:
        """The edges along which values travel, from sources to targets."""
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
    """The neighbours some nodes get values from: those of node ``first + n`` lie between two offsets, ascending."""

    first: int
    offsets: Integers
    neighbours: Integers
    nodes: int
    """How many nodes the graph has."""
    weights: Weights | None = None

    @property
    def size(self) -> int:
        return len(self.offsets) - 1

    @property
    def owners(self) -> Rows:
        """The place of every neighbour's node within the block."""
        return np.repeat(np.arange(self.size), np.diff(self.offsets))

    @cached_property
    def lists(self) -> Adjacency:
        """The neighbours of the block's nodes, to be looked up. An edge is known by its place."""
        return Adjacency(self.offsets, self.neighbours, np.arange(len(self.neighbours)))

    @cached_property
    def without_parallels(self) -> EdgeBlock:
        """The same with one edge, the lightest, for parallel ones."""
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
    """The block of the nodes from ``first`` on, of edges that all end there."""
    lists: Adjacency = adjacency(edges.targets - first, edges.sources, np.arange(len(edges.sources)), size)
    weights = None if edges.weights is None else edges.weights[lists.edges]
    return EdgeBlock(first, lists.offsets, narrow_numbers(lists.neighbours, nodes), nodes, weights)


def narrow_numbers(numbers: Integers, nodes: int) -> Integers:
    """Numbers of nodes in as few bytes as there are nodes for."""
    return numbers.astype(number_kind(nodes))


def number_kind(nodes: int) -> type[np.int32] | type[np.int64]:
    """The integers that numbers of nodes are kept in."""
    return np.int32 if nodes <= np.iinfo(np.int32).max else np.int64


Kernel = Callable[[EdgeBlock, Vector], Vector]


class Steps(Protocol):
    """The chosen edges in one form, wherever they are."""

    @property
    def nodes(self) -> int:
        """How many nodes there are."""
        ...

    def step(self, kernel: Kernel, vector: Vector) -> Vector:
        """What the kernel gives for every node."""
        ...

    def back(self, vector: Vector) -> Vector:
        """The smallest value of every node and of those it gives values to, as ``smallest_alike`` for what it gets."""
        ...

    def leaving(self) -> Weights:
        """For every node the weights of the edges by which values leave it, added up."""
        ...

    def triangles(self) -> Rows:
        """For every node the number of triangles it is part of; only for ``SIMPLE``."""
        ...


def leaving_weights(neighbours: Integers, weights: Weights | None, nodes: int) -> Weights:
    """The weights of edges added up by the nodes they come from."""
    return np.bincount(neighbours, weights, minlength=nodes).astype(np.float64)


# --- kernels ---------------------------------------------------------------------------------------------


def sums(block: EdgeBlock, vector: Vector) -> Vector:
    """The sum of the neighbours' values, weighed."""
    summed: Vector = block.matrix @ vector
    return summed


def counts(block: EdgeBlock, _vector: Vector) -> Vector:
    """How many neighbours there are, parallel edges each."""
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
    """The smallest value of the node and of those of its neighbours that are of its kind: values, and kinds."""
    values, kinds = vector
    own: Vector = values[block.first : block.first + block.size].copy()
    filled = np.flatnonzero(np.diff(block.offsets))
    if len(filled):
        is_alike = kinds[block.neighbours] == kinds[block.owners + block.first]
        offered = np.where(is_alike, values[block.neighbours], block.nodes)
        own[filled] = np.minimum(own[filled], np.minimum.reduceat(offered, block.offsets[filled]))
    return own


def smaller_behind(block: EdgeBlock, vector: Vector) -> tuple[Vector, Vector]:
    """The same against the edges: neighbours for which a node of the block has a smaller value, and the smallest."""
    values, kinds = vector
    sources, targets = block.neighbours, block.owners + block.first
    better = (kinds[sources] == kinds[targets]) & (values[targets] < values[sources])
    sources, offered = sources[better], values[targets[better]]
    nodes, places = np.unique(sources, return_inverse=True)
    smallest_offered = np.full(len(nodes), block.nodes, np.int64)
    np.minimum.at(smallest_offered, places, offered)
    return nodes, smallest_offered


def nearest(block: EdgeBlock, vector: Vector) -> Vector:
    """The shortest distance: the node's own, or that of a neighbour and the edge from there."""
    own = vector[block.first : block.first + block.size].copy()
    filled = np.flatnonzero(np.diff(block.offsets))
    if len(filled):
        lengths = vector[block.neighbours] + (1.0 if block.weights is None else block.weights)
        own[filled] = np.minimum(own[filled], np.minimum.reduceat(lengths, block.offsets[filled]))
    return own


def commonest(block: EdgeBlock, vector: Vector) -> Vector:
    """The value that most neighbours have, of several the smallest; a node without neighbours keeps its own."""
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
    # Values of one node ascend, so the first of the winners is the smallest.
    winners = np.flatnonzero(votes == most)
    winners = winners[np.concatenate(([True], nodes[winners][1:] != nodes[winners][:-1]))]
    own[nodes[winners]] = values[winners]
    return own
