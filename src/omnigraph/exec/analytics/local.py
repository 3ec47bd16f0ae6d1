"""The chosen edges in this process: from the neighbour lists of a snapshot, as one block."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from omnigraph.errors import UsageError
from omnigraph.exec.adjacency import Rows
from omnigraph.exec.analytics.chosen import ChosenEdges
from omnigraph.exec.analytics.nodes import NodeSpace
from omnigraph.exec.analytics.steps import Block, EdgeArrays, Form, Kernel, Vector, Weights, block_of, leaving_weights
from omnigraph.exec.analytics.triangles import triangle_counts, triangles_among
from omnigraph.exec.graph_view import GraphView


@dataclass(frozen=True)
class LocalSteps:
    """All edges in memory."""

    edges: EdgeArrays
    nodes: int

    @cached_property
    def block(self) -> Block:
        """The whole graph."""
        return block_of(self.edges, 0, self.nodes, self.nodes)

    @cached_property
    def forward(self) -> Block:
        """The whole graph, by the nodes that values come from."""
        turned = EdgeArrays(self.edges.targets, self.edges.sources, self.edges.weights)
        return block_of(turned, 0, self.nodes, self.nodes)

    def step(self, kernel: Kernel, vector: Vector) -> Vector:
        return kernel(self.block, vector)

    def leaving(self) -> Weights:
        return leaving_weights(self.edges.sources, self.edges.weights, self.nodes)

    def triangles(self) -> Rows:
        return triangle_counts(triangles_among(self.edges.sources, self.edges.targets), self.nodes)


def local_steps(view: GraphView, space: NodeSpace, chosen: ChosenEdges, form: Form) -> LocalSteps:
    """The chosen edges of a snapshot."""
    pieces = [_edges(view, space, chosen, edge.name) for edge in chosen.edges]
    weights = [piece.weights for piece in pieces if piece.weights is not None]
    every = EdgeArrays(
        np.concatenate([piece.sources for piece in pieces]),
        np.concatenate([piece.targets for piece in pieces]),
        np.concatenate(weights) if weights else None,
    )
    return LocalSteps(every.seen_as(form, space.size), space.size)


def _edges(view: GraphView, space: NodeSpace, chosen: ChosenEdges, name: str) -> EdgeArrays:
    edge = view.catalog.edges[name]
    lists = view.topology(name).out.whole
    weights = None
    if chosen.weight is not None:
        column = view.edge_table(name).column(chosen.weight)
        weights = checked_weights(column.take(pa.array(lists.edges)), name, chosen.weight)
    sources, targets = space.numbers(edge.source, lists.origins()), space.numbers(edge.target, lists.neighbours)
    return EdgeArrays(sources, targets, weights)


def checked_weights(column: pa.Array, edge_name: str, weight: str) -> Weights:
    """Weights as numbers; raises for those that are null, negative or not finite."""
    if column.null_count:
        raise UsageError(
            f"{column.null_count:,} edges of type {edge_name} have no {weight}, so they cannot be weighed",
            hint="give each a value, or weigh by another property",
            type=edge_name,
            property=weight,
        )
    weights: Weights = column.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    if not (np.isfinite(weights) & (weights >= 0)).all():
        worst = weights[~(np.isfinite(weights) & (weights >= 0))][0]
        raise UsageError(
            f"an edge of type {edge_name} has {weight} {worst}, and weights are finite and not negative",
            type=edge_name,
            property=weight,
        )
    return weights
