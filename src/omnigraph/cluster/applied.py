"""Applied graphs by their ids. The state alone decides: maintenance also works while files of queries are missing."""

from __future__ import annotations

from collections.abc import Mapping

from omnigraph.cluster.config import storage_root
from omnigraph.cluster.resources import graph_of, graph_root
from omnigraph.cluster.state import read_state
from omnigraph.errors import ClusterInvalid, Hint
from omnigraph.storage.tables.store import Store


def applied_graph(place: str, name: str | None, storage_options: Mapping[str, str]) -> str:
    """The address of an applied graph; without a name that of the only one. Raises ClusterInvalid."""
    root = storage_root(place)
    resources = read_state(Store(root, storage_options)).applied_revision.resources
    names = sorted(graph for graph in map(graph_of, resources) if graph is not None)
    chosen = names[0] if name is None and len(names) == 1 else name
    if chosen in names:
        return graph_root(root, chosen)
    problem = "the cluster has several graphs" if chosen is None else f"the cluster has no graph {chosen!r}"
    if not names:
        problem = "the cluster has no graphs"
    raise ClusterInvalid(
        f"{problem}; applied are: {', '.join(names) or 'none'}",
        hint=Hint("name one of them", "pass --graph ID"),
        reason="graph_not_applied",
    )
