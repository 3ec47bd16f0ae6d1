"""The NetworkX backend ``omnigraph``: ``nx.pagerank(graph.nx(), backend="omnigraph")``.

NetworkX finds it by the entry points in ``pyproject.toml``. Functions have the signatures, with the name ``G``, and the
results of NetworkX, and run the algorithms of the registry. ``can_run`` declines arguments that those do not have, so
that NetworkX reports them or runs its own implementation.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from inspect import signature
from types import SimpleNamespace
from typing import Any

import numpy as np

from omnigraph.engine.interop.backend_graph import BackendGraph
from omnigraph.engine.interop.networkx import library
from omnigraph.exec.analytics.forms import Form


def convert_from_nx(graph: Any, *_: Any, **__: Any) -> BackendGraph:
    """A NetworkX graph as one of the backend; attributes are read when an algorithm needs them."""
    if isinstance(graph, BackendGraph):
        return graph
    nodes = list(graph)
    numbers = {node: number for number, node in enumerate(nodes)}
    edges = list(graph.edges(data=True))

    def weights(name: str) -> Any:
        given = [data.get(name) for _, _, data in edges]
        is_any = any(value is not None for value in given)
        return np.array([1 if value is None else value for value in given], np.float64) if is_any else None

    return BackendGraph(
        nodes,
        np.array([numbers[source] for source, _, _ in edges], np.int64),
        np.array([numbers[target] for _, target, _ in edges], np.int64),
        graph.is_directed(),
        graph.is_multigraph(),
        weights,
        lambda: graph,
        dict(graph.graph),
    )


def convert_to_nx(result: Any, **_: Any) -> Any:
    """A graph of the backend as a NetworkX graph; every other result stays."""
    return result.to_networkx() if isinstance(result, BackendGraph) else result


def can_run(name: str, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> bool | str:
    """True, or the reason why arguments are declined."""
    if name not in FUNCTIONS:
        return f"omnigraph has no {name}"
    given = signature(FUNCTIONS[name]).bind_partial(*args, **kwargs).arguments
    for unsupported in _DECLINED.get(name, ()):
        if given.get(unsupported) is not None:
            return f"omnigraph has no {unsupported} of {name}"
    return "a weight is the name of an attribute" if callable(given.get("weight")) else True


def should_run(_name: str, _args: tuple[Any, ...], _kwargs: Mapping[str, Any]) -> bool:
    """False: a NetworkX graph is converted only for a caller who names the backend, because copying costs time."""
    return False


def pagerank(
    G: Any,
    alpha: float = 0.85,
    personalization: Mapping[Any, float] | None = None,
    max_iter: int = 100,
    tol: float = 1.0e-6,
    nstart: None = None,
    weight: str | None = "weight",
    dangling: None = None,
) -> dict[Any, float]:
    """PageRank by power iteration. Not converging raises ``PowerIterationFailedConvergence``, as in NetworkX."""
    found_graph = convert_from_nx(G)
    if not len(found_graph):
        return {}
    known = None
    if personalization is not None:
        known = {node: share for node, share in personalization.items() if node in found_graph}
        if not sum(known.values()):
            raise ZeroDivisionError("the personalization of all nodes is zero")
    # NetworkX stops at a mean change per node below tol, the registry at a total change below its tolerance.
    found = found_graph.run(
        "pagerank",
        weight=weight,
        damping=alpha,
        tolerance=tol * len(found_graph),
        max_iterations=max_iter,
        personalization=known,
    )
    if not found.facts["converged"]:
        raise library().PowerIterationFailedConvergence(max_iter)
    return found_graph.by_node(found.columns["rank"].to_pylist())


def connected_components(G: Any) -> Iterator[set[Any]]:
    """The components of an undirected graph."""
    return _components(convert_from_nx(G), strong=False)


def weakly_connected_components(G: Any) -> Iterator[set[Any]]:
    """The components of a directed graph, directions ignored."""
    return _components(convert_from_nx(G), strong=False)


def strongly_connected_components(G: Any) -> Iterator[set[Any]]:
    """The components in which every node reaches every other one."""
    return _components(convert_from_nx(G), strong=True)


def number_connected_components(G: Any) -> int:
    """The number of components of an undirected graph."""
    return sum(1 for _ in connected_components(G))


def number_weakly_connected_components(G: Any) -> int:
    """The number of components of a directed graph, directions ignored."""
    return sum(1 for _ in weakly_connected_components(G))


def number_strongly_connected_components(G: Any) -> int:
    """The number of strongly connected components."""
    return sum(1 for _ in strongly_connected_components(G))


def _components(graph: BackendGraph, *, strong: bool) -> Iterator[set[Any]]:
    labels = graph.run("components", strong=strong).columns["component"].to_pylist()
    groups: dict[int, set[Any]] = {}
    for node, label in zip(graph.nodes, labels, strict=True):
        groups.setdefault(label, set()).add(node)
    yield from groups.values()


def single_source_shortest_path_length(G: Any, source: Any, cutoff: float | None = None) -> dict[Any, int]:
    """The number of edges from a node to every node it reaches."""
    return _distances(convert_from_nx(G), source, cutoff, None)


def single_source_dijkstra_path_length(
    G: Any, source: Any, cutoff: float | None = None, weight: str = "weight"
) -> dict[Any, float]:
    """The total weight of the lightest path from a node to every node it reaches."""
    return _distances(convert_from_nx(G), source, cutoff, weight)


def _distances(graph: BackendGraph, source: Any, cutoff: float | None, weight: str | None) -> dict[Any, Any]:
    if source not in graph:
        raise library().NodeNotFound(f"Node {source} not found in graph")
    found = graph.run("shortest_paths", weight=weight, sources=[source], max_distance=cutoff)
    distances = found.columns["distance"].to_pylist()
    reached = [(distance, node) for node, distance in zip(graph.nodes, distances, strict=True) if distance is not None]
    return {node: distance for distance, node in sorted(reached, key=lambda pair: pair[0])}


def triangles(G: Any, nodes: None = None) -> dict[Any, int]:
    """The number of triangles every node is part of."""
    found_graph = convert_from_nx(G)
    return found_graph.by_node(found_graph.run("triangles", form=Form.SIMPLE).columns["triangles"].to_pylist())


def degree_centrality(G: Any) -> dict[Any, float]:
    """The share of the other nodes that a node has an edge with."""
    return _centrality(convert_from_nx(G), "degree")


def in_degree_centrality(G: Any) -> dict[Any, float]:
    """The same for incoming edges."""
    return _centrality(convert_from_nx(G), "in_degree")


def out_degree_centrality(G: Any) -> dict[Any, float]:
    """The same for outgoing edges."""
    return _centrality(convert_from_nx(G), "out_degree")


def _centrality(graph: BackendGraph, column: str) -> dict[Any, float]:
    if len(graph) <= 1:
        return dict.fromkeys(graph.nodes, 1)
    share = 1.0 / (len(graph) - 1.0)
    degrees = graph.run("degrees", form=Form.DIRECTED).columns[column].to_pylist()
    return graph.by_node(degree * share for degree in degrees)


FUNCTIONS = {
    function.__name__: function
    for function in (
        pagerank,
        connected_components,
        weakly_connected_components,
        strongly_connected_components,
        number_connected_components,
        number_weakly_connected_components,
        number_strongly_connected_components,
        single_source_shortest_path_length,
        single_source_dijkstra_path_length,
        triangles,
        degree_centrality,
        in_degree_centrality,
        out_degree_centrality,
    )
}
"""Functions of NetworkX that the backend has. ``networkx_info`` lists their names without importing this module."""

_DECLINED: Mapping[str, tuple[str, ...]] = {"pagerank": ("nstart", "dangling"), "triangles": ("nodes",)}
"""Arguments that the algorithms of the registry do not have."""

BACKEND = SimpleNamespace(
    convert_from_nx=convert_from_nx, convert_to_nx=convert_to_nx, can_run=can_run, should_run=should_run, **FUNCTIONS
)
