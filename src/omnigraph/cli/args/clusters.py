"""Graphs of a cluster with their stored queries and policies, as the applied state has them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import click

from omnigraph.cli.args.scopes import GraphWords, chosen_cluster
from omnigraph.errors import UsageError

if TYPE_CHECKING:
    from omnigraph.cluster.serving import ServableGraph


def cluster_graph(words: GraphWords, storage_options: Mapping[str, str]) -> ServableGraph:
    """The graph that is named, or the only one."""
    found = cluster_graphs(words, storage_options)
    if len(found) != 1:
        raise UsageError("the cluster has several graphs", hint=f"pass --graph with one of: {_names(found)}")
    return found[0]


def cluster_graphs(words: GraphWords, storage_options: Mapping[str, str]) -> list[ServableGraph]:
    """The graph that is named, or all of them."""
    from omnigraph.cluster.config import storage_root
    from omnigraph.cluster.serving import read_snapshot

    place = chosen_cluster(words)
    if place is None:
        raise click.UsageError("no cluster is given: pass --cluster, or a profile that names one")
    root, graph_id = place
    snapshot = read_snapshot(storage_root(root), storage_options)
    if graph_id is None:
        return list(snapshot.graphs)
    if graph_id in snapshot.quarantined:
        raise UsageError(f"the graph {graph_id!r} cannot be served: {snapshot.quarantined[graph_id]}")
    found = [graph for graph in snapshot.graphs if graph.id == graph_id]
    if not found:
        raise UsageError(
            f"the cluster has no graph {graph_id!r}", hint=f"pass --graph with one of: {_names(snapshot.graphs)}"
        )
    return found


def _names(graphs: tuple[ServableGraph, ...] | list[ServableGraph]) -> str:
    return ", ".join(sorted(graph.id for graph in graphs)) or "none"
