"""Steps in one process: the neighbour lists of a snapshot, or two arrays, as one block."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from omnigraph.errors import UsageError
from omnigraph.exec.adjacency import Adjacency
from omnigraph.exec.analytics.arrays import ArrayVectors
from omnigraph.exec.analytics.blocks import (
    EdgeArrays,
    EdgeBlock,
    Weights,
    block_of,
    contracted_edges,
    joined_edges,
    narrow_numbers,
)
from omnigraph.exec.analytics.chosen import ChosenEdges
from omnigraph.exec.analytics.forms import Form
from omnigraph.exec.analytics.nodes import Labels, NodeSpace
from omnigraph.exec.analytics.steps import Question, Round, Steps
from omnigraph.exec.analytics.triangles import opposite_weights, triangles_among
from omnigraph.exec.analytics.vectors import Array, Made
from omnigraph.exec.graph_view import GraphView
from omnigraph.schema.catalog import EdgeType
from omnigraph.schema.ir import Pair


class InMemorySteps(ArrayVectors):
    """All edges in memory; every representation is built on first use."""

    @property
    def block(self) -> EdgeBlock:
        """The whole graph, by receiving node."""
        raise NotImplementedError

    @property
    def forward(self) -> EdgeBlock:
        """The whole graph, by sending node."""
        raise NotImplementedError

    def step(self, round_: Round, *vectors: Array, **numbers: Any) -> Made:
        sent = round_.sent(self.whole, vectors, numbers)
        return round_.finished(self.whole, round_.kernel(self.block, sent, sent), vectors, numbers)

    def ask(self, question: Question, at: Array, *vectors: Array) -> Array:
        named = at >= 0
        answers = np.full(len(at), -1, np.int64)
        answers[named] = question(self.block, at[named], *(vector[named] for vector in vectors))
        return answers

    def leaving(self) -> Array:
        return np.bincount(self.block.neighbours, self.block.weights, minlength=self.nodes).astype(np.float64)

    def closed(self) -> Array:
        block = self.block
        found = triangles_among(block.senders, block.owners, block.weights)
        return opposite_weights(found, self.nodes)

    def ranks(self) -> Labels:
        """The numbers themselves, for nodes that have no other order."""
        return np.arange(self.nodes)

    def integers(self, name: str) -> Labels:
        raise UsageError(f"these nodes have no property {name!r}", hint="leave the parameter out")

    def turned(self) -> Steps:
        return TurnedSteps(self)

    def contracted(self, groups: Labels, count: int, loops: float) -> Steps:
        return ArraySteps(count, contracted_edges(self.block, groups, groups, count, loops), Form.DIRECTED)


@dataclass(frozen=True)
class ArraySteps(InMemorySteps):
    """The edges of two arrays."""

    size: int
    given: EdgeArrays
    form: Form

    @property
    def nodes(self) -> int:
        return self.size

    @cached_property
    def block(self) -> EdgeBlock:
        return block_of(self.given.spread(self.form), 0, self.size, self.size).seen_as(self.form)

    @cached_property
    def forward(self) -> EdgeBlock:
        return block_of(self.given.spread(self.form).turned, 0, self.size, self.size)


@dataclass(frozen=True)
class TurnedSteps(InMemorySteps):
    """Other steps against the direction of their edges."""

    inner: InMemorySteps

    @property
    def nodes(self) -> int:
        return self.inner.nodes

    @property
    def block(self) -> EdgeBlock:
        return self.inner.forward

    @property
    def forward(self) -> EdgeBlock:
        return self.inner.block


@dataclass(frozen=True)
class LocalSteps(InMemorySteps):
    """The edges of a snapshot, from its neighbour lists."""

    view: GraphView
    space: NodeSpace
    chosen: ChosenEdges
    form: Form

    @property
    def nodes(self) -> int:
        return self.space.size

    @cached_property
    def _edges(self) -> EdgeArrays:
        parts = [self._edges_of(edge, pair) for edge in self.chosen.edges for pair in edge.pairs]
        return joined_edges(parts).spread(self.form)

    @cached_property
    def block(self) -> EdgeBlock:
        if self._is_one_table:
            (edge,) = self.chosen.edges
            source, target = edge.pairs[0]
            return self._block_of_lists(self.view.topology(edge.name).into.whole, target, source)
        return block_of(self._edges, 0, self.nodes, self.nodes).seen_as(self.form)

    @cached_property
    def forward(self) -> EdgeBlock:
        if self._is_one_table:
            (edge,) = self.chosen.edges
            return self._block_of_lists(self.view.topology(edge.name).out.whole, *edge.pairs[0])
        return block_of(self._edges.turned, 0, self.nodes, self.nodes)

    def ranks(self) -> Labels:
        return self.space.ranks

    def integers(self, name: str) -> Labels:
        return self.space.integers(name)

    @property
    def _is_one_table(self) -> bool:
        """True if the neighbour lists of one edge type can be used as they are, without sorting again."""
        return self.form is Form.DIRECTED and len(self.chosen.edges) == 1 and not self.chosen.edges[0].has_types

    def _edges_of(self, edge: EdgeType, pair: Pair) -> EdgeArrays:
        lists = self.view.topology(edge.name, pair=pair if edge.has_types else None).out.whole
        sources, targets = self.space.numbers(pair[0], lists.origins()), self.space.numbers(pair[1], lists.neighbours)
        return EdgeArrays(sources, targets, self._weights(edge, lists))

    def _block_of_lists(self, lists: Adjacency, near: str, far: str) -> EdgeBlock:
        """Lists by row as lists by node number; the order stays, because numbers ascend with rows."""
        (edge,) = self.chosen.edges
        table = self.space.tables[near]
        by_row = np.zeros(table.size, np.int64)
        by_row[: lists.nodes] = np.diff(lists.offsets)
        counts = np.zeros(self.nodes, np.int64)
        start = self.space.starts[near]
        counts[start : start + table.rows] = by_row[table.live()]
        offsets = np.concatenate(([0], np.cumsum(counts)))
        neighbours = narrow_numbers(self.space.numbers(far, lists.neighbours), self.nodes)
        return EdgeBlock(0, offsets, neighbours, self.nodes, self._weights(edge, lists))

    def _weights(self, edge: EdgeType, lists: Adjacency) -> Weights | None:
        weight = self.chosen.weight
        if weight is None:
            return None
        column = self.view.edge_table(edge.name).column(weight)
        return checked_weights(column.take(pa.array(lists.edges)), edge.name, weight)


def checked_weights(column: pa.Array, edge_name: str, weight: str) -> Weights:
    """Weights as floats; raises if one is null, negative or not finite."""
    if column.null_count:
        raise UsageError(
            f"{column.null_count:,} edges of type {edge_name} have no {weight}, which is used as weight",
            hint="set the property on every edge, or use another one",
            type=edge_name,
            property=weight,
        )
    weights: Weights = column.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    if not (np.isfinite(weights) & (weights >= 0)).all():
        worst = weights[~(np.isfinite(weights) & (weights >= 0))][0]
        raise UsageError(
            f"an edge of type {edge_name} has {weight} {worst}, but weights must be finite and not negative",
            type=edge_name,
            property=weight,
        )
    return weights
