"""Graphs as NetworkX graphs. ``omnigraph.ingest.networkx`` reads them back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from omnigraph.engine.interop.parts import GraphParts
from omnigraph.errors import UsageError
from omnigraph.ingest.networkx import ID_ATTRIBUTE_NOTE, TYPE_ATTRIBUTE, TYPE_ATTRIBUTE_NOTE, TYPED_ENDS_NOTE

if TYPE_CHECKING:
    import networkx

OTHER_TYPE_ATTRIBUTE = "omnigraph_type"
"""The attribute of the type where a property is called ``type``."""


def library() -> Any:
    """NetworkX; raises with the command that installs it."""
    try:
        import networkx
    except ImportError as error:
        raise UsageError(
            "this needs NetworkX, which is not installed", hint='pip install "omnigraph[networkx]"'
        ) from error
    return networkx


def to_networkx(parts: GraphParts) -> networkx.MultiDiGraph[Any]:
    """A directed multigraph: nodes are named by id, edges have their id as key, properties are attributes."""
    types = [*parts.chosen.nodes, *parts.chosen.edges]
    is_taken = any(TYPE_ATTRIBUTE in type_.properties for type_ in types)
    attribute = OTHER_TYPE_ATTRIBUTE if is_taken else TYPE_ATTRIBUTE
    graph = library().MultiDiGraph(commit=parts.snapshot.commit_id)
    graph.graph[TYPE_ATTRIBUTE_NOTE] = attribute
    typed = [f"{edge.name}.{end.column}" for edge in parts.chosen.edges for end in edge.ends if end.is_typed]
    if typed:
        graph.graph[TYPED_ENDS_NOTE] = " ".join(dict.fromkeys(typed))
    if parts.names != parts.ids:
        graph.graph[ID_ATTRIBUTE_NOTE] = "id"
    for name, id_, type_, row in zip(parts.names, parts.ids, parts.types, parts.node_rows(), strict=True):
        graph.add_node(name, **{attribute: type_}, **row, **({} if name == id_ else {"id": id_}))
    for index, edge in enumerate(parts.chosen.edges):
        sources, targets = parts.ends(index)
        ids = parts.edges[index].column("id").to_pylist()
        ends = zip(sources.tolist(), targets.tolist(), ids, parts.edge_rows(index), strict=True)
        for source, target, id_, row in ends:
            tail, head = parts.names[source], parts.names[target]
            if graph.has_edge(tail, head, id_):
                # Ids are unique within a type only, and a key within a pair of nodes.
                graph.add_edge(tail, head, f"{edge.name}:{id_}", **{attribute: edge.name, "id": id_}, **row)
            else:
                graph.add_edge(tail, head, id_, **{attribute: edge.name}, **row)
    return graph
