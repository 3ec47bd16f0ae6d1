"""Graphs as igraph graphs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from omnigraph.engine.interop.parts import GraphParts
from omnigraph.errors import UsageError

if TYPE_CHECKING:
    import igraph


def to_igraph(parts: GraphParts) -> igraph.Graph:
    """A directed graph. Vertices have ``name``, ``id`` and ``type``, edges ``id`` and ``type``; null is None."""
    try:
        import igraph
    except ImportError as error:
        raise UsageError("this needs igraph, which is not installed", hint='pip install "omnigraph[igraph]"') from error
    pairs: list[tuple[int, int]] = []
    rows: list[dict[str, Any]] = []
    for index, edge in enumerate(parts.chosen.edges):
        sources, targets = parts.ends(index)
        pairs += zip(sources.tolist(), targets.tolist(), strict=True)
        ids = parts.edges[index].column("id").to_pylist()
        own = zip(ids, parts.edge_rows(index), strict=True)
        rows += [_attributes(row, {"id": id_, "type": edge.name}) for id_, row in own]
    named = zip(parts.names, parts.ids, parts.types, parts.node_rows(), strict=True)
    nodes = [_attributes(row, {"name": name, "id": id_, "type": type_}) for name, id_, type_, row in named]
    graph = igraph.Graph(n=parts.size, edges=pairs, directed=True)
    graph["commit"] = parts.snapshot.commit_id
    for key in dict.fromkeys(key for row in nodes for key in row):
        graph.vs[key] = [row.get(key) for row in nodes]
    for key in dict.fromkeys(key for row in rows for key in row):
        graph.es[key] = [row.get(key) for row in rows]
    return graph


def _attributes(row: dict[str, Any], system: dict[str, Any]) -> dict[str, Any]:
    """The properties after the attributes of the system; another value of the same name is ``name_property``."""
    own = {f"{name}_property" if name in system else name: value for name, value in row.items()}
    return {
        **system,
        **{name: value for name, value in own.items() if system.get(name.removesuffix("_property")) != value},
    }
