"""Steps in one process: the neighbour lists of a snapshot as one block."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from omnigraph.errors import UsageError
from omnigraph.exec.adjacency import Adjacency, Rows
from omnigraph.exec.analytics.chosen import ChosenEdges
from omnigraph.exec.analytics.forms import Form
from omnigraph.exec.analytics.nodes import NodeSpace
from omnigraph.exec.analytics.steps import (
    EdgeArrays,
    EdgeBlock,
    Kernel,
    Vector,
    Weights,
    block_of,
    leaving_weights,
    narrow_numbers,
    smaller_behind,
)
from omnigraph.exec.analytics.triangles import triangle_counts, triangles_among
from omnigraph.exec.graph_view import GraphView
from omnigraph.schema.catalog import EdgeType


@dataclass(frozen=True)
class LocalSteps:
    """All edges in memory; every representation is built on first use."""

    view: GraphView
    space: NodeSpace
    chosen: ChosenEdges
    form: Form

    @property
    def nodes(self) -> int:
        return self.space.size

    @cached_property
    def edges(self) -> EdgeArrays:
        """The edges along which values propagate."""
        pieces = [self._edges(edge) for edge in self.chosen.edges]
        weights = [piece.weights for piece in pieces if piece.weights is not None]
        every = EdgeArrays(
            np.concatenate([piece.sources for piece in pieces]),
            np.concatenate([piece.targets for piece in pieces]),
            np.concatenate(weights) if weights else None,
        )
        return every.seen_as(self.form, self.nodes)

    @cached_property
    def block(self) -> EdgeBlock:
        """The whole graph, by receiving node."""
        if self._is_one_table:
            (edge,) = self.chosen.edges
            return self._block_of_lists(self.view.topology(edge.name).into.whole, edge.target, edge.source)
        return block_of(self.edges, 0, self.nodes, self.nodes)

    @cached_property
    def forward(self) -> EdgeBlock:
        """The whole graph, by sending node."""
        if self._is_one_table:
            (edge,) = self.chosen.edges
            return self._block_of_lists(self.view.topology(edge.name).out.whole, edge.source, edge.target)
        turned = EdgeArrays(self.edges.targets, self.edges.sources, self.edges.weights)
        return block_of(turned, 0, self.nodes, self.nodes)

    def step(self, kernel: Kernel, vector: Vector) -> Vector:
        return kernel(self.block, vector)

    def back(self, vector: Vector) -> Vector:
        nodes, found = smaller_behind(self.block, vector)
        values: Vector = vector[0].copy()
        values[nodes] = found
        return values

    def leaving(self) -> Weights:
        return leaving_weights(self.block.neighbours, self.block.weights, self.nodes)

    def triangles(self) -> Rows:
        return triangle_counts(triangles_among(self.edges.sources, self.edges.targets), self.nodes)

    @property
    def _is_one_table(self) -> bool:
        """True if the neighbour lists of one edge type can be used as they are, without sorting again."""
        return self.form is Form.DIRECTED and len(self.chosen.edges) == 1

    def _edges(self, edge: EdgeType) -> EdgeArrays:
        lists = self.view.topology(edge.name).out.whole
        sources = self.space.numbers(edge.source, lists.origins())
        return EdgeArrays(sources, self.space.numbers(edge.target, lists.neighbours), self._weights(edge, lists))

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
