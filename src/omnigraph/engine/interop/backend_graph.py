"""The graph that NetworkX algorithms run on in the backend: two arrays of node numbers and the names of the nodes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from omnigraph.core.display import Display, Displayed, counted
from omnigraph.engine.interop.parts import GraphParts, Numbers
from omnigraph.errors import NotFoundError
from omnigraph.exec.adjacency import Rows
from omnigraph.exec.analytics.blocks import EdgeArrays
from omnigraph.exec.analytics.forms import Form
from omnigraph.exec.analytics.local import ArraySteps
from omnigraph.exec.analytics.nodes import NodeRef, NodeSpace
from omnigraph.exec.analytics.registry import find_algorithm
from omnigraph.exec.analytics.rounds import NOTHING_KEPT
from omnigraph.exec.analytics.sparse import Numbers as Floats
from omnigraph.exec.analytics.work import NodeValues, Work

ReadWeights = Callable[[str], Floats | None]
"""Values of an edge attribute, 1 where it is missing; None if no edge has it."""


@dataclass(frozen=True, eq=False, repr=False)
class BackendGraph(Displayed):
    """A graph for ``nx.pagerank(graph.nx())`` and the other algorithms of the backend.

    ``to_networkx`` gives the whole graph with its attributes to algorithms that the backend does not have.
    """

    nodes: Sequence[Any]
    sources: Numbers
    targets: Numbers
    directed: bool
    multigraph: bool
    read_weights: ReadWeights
    to_networkx: Callable[[], Any]
    graph: dict[str, Any] = field(default_factory=dict)

    __networkx_backend__ = "omnigraph"

    def is_directed(self) -> bool:
        """True if edges have a direction."""
        return self.directed

    def is_multigraph(self) -> bool:
        """True if two nodes may be connected by several edges."""
        return self.multigraph

    def to_undirected(self) -> BackendGraph:
        """The same graph without directions."""
        return BackendGraph(
            self.nodes,
            self.sources,
            self.targets,
            False,
            self.multigraph,
            self.read_weights,
            lambda: self.to_networkx().to_undirected(),
            self.graph,
        )

    def number_of_nodes(self) -> int:
        """The number of nodes."""
        return len(self.nodes)

    def number_of_edges(self) -> int:
        """The number of edges."""
        return len(self.sources)

    def __len__(self) -> int:
        return len(self.nodes)

    def __contains__(self, node: object) -> bool:
        return node in self.numbers

    def _display(self) -> Display:
        kind = "directed" if self.directed else "undirected"
        edges = counted(self.number_of_edges(), "edge")
        return Display(f"BackendGraph: {kind}, {counted(len(self), 'node')}, {edges}")

    @cached_property
    def numbers(self) -> dict[Any, int]:
        """Numbers of the nodes by name."""
        return {node: number for number, node in enumerate(self.nodes)}

    def by_node(self, values: Iterable[Any]) -> dict[Any, Any]:
        """Values by the name of the node."""
        return dict(zip(self.nodes, values, strict=True))

    def run(self, algorithm: str, *, form: Form | None = None, weight: str | None = None, **given: Any) -> NodeValues:
        """Run a registered algorithm; ``weight`` is an edge attribute."""
        row = find_algorithm(algorithm)
        settings = row.settings(given)
        weights = None if weight is None else self.read_weights(weight)
        chosen = form or (Form.DIRECTED if self.directed else Form.BOTH)
        steps = ArraySteps(len(self), EdgeArrays(self.sources, self.targets, weights), chosen)
        found = row.run(Work(steps, NamedNodes({}, self), NOTHING_KEPT, weights is not None), settings)
        assert isinstance(found, NodeValues), "NetworkX has values of nodes"
        return found


@dataclass(frozen=True)
class NamedNodes(NodeSpace):
    """Nodes that are referenced by their names."""

    graph: BackendGraph

    @cached_property
    def size(self) -> int:
        return len(self.graph)

    def resolve(self, refs: Iterable[NodeRef]) -> Rows:
        wanted = list(refs)
        for ref in wanted:
            if ref not in self.graph.numbers:
                raise NotFoundError(f"there is no node {ref!r}", id=str(ref))
        return np.array([self.graph.numbers[ref] for ref in wanted], np.int64)


def backend_graph(
    parts: GraphParts, read: Callable[[], GraphParts], convert: Callable[[GraphParts], Any]
) -> BackendGraph:
    """The graph of a snapshot. ``read`` reads all properties, for weights and for conversions."""
    ends = [parts.ends(index) for index in range(len(parts.edges))]
    empty = np.zeros(0, np.int64)
    whole: list[GraphParts] = []

    def properties() -> GraphParts:
        if not whole:
            whole.append(read())
        return whole[0]

    return BackendGraph(
        parts.names,
        np.concatenate([empty, *(sources for sources, _ in ends)]),
        np.concatenate([empty, *(targets for _, targets in ends)]),
        True,
        True,
        lambda name: _weights(properties(), name) if _has(parts, name) else None,
        lambda: convert(properties()),
        {"commit": parts.snapshot.commit_id},
    )


def _has(parts: GraphParts, name: str) -> bool:
    return any(name in edge.properties for edge in parts.chosen.edges)


def _weights(parts: GraphParts, name: str) -> Floats:
    columns = [
        np.array(table.column(name).fill_null(1).to_pylist(), np.float64)
        if name in table.schema.names
        else np.ones(table.num_rows)
        for table in parts.edges
    ]
    return np.concatenate(columns)
