"""Conversions of a snapshot, each with the library it needs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from omnigraph.engine.interop.parts import read_parts
from omnigraph.engine.snapshot import Snapshot

if TYPE_CHECKING:
    from omnigraph.engine.interop.backend_graph import BackendGraph


def to_networkx(snapshot: Snapshot, types: Sequence[str]) -> Any:
    """A NetworkX graph."""
    from omnigraph.engine.interop.networkx import to_networkx as convert

    return convert(read_parts(snapshot, types))


def to_igraph(snapshot: Snapshot, types: Sequence[str]) -> Any:
    """An igraph graph."""
    from omnigraph.engine.interop.igraph import to_igraph as convert

    return convert(read_parts(snapshot, types))


def to_pyg(snapshot: Snapshot, types: Sequence[str], features: Any, missing: float) -> Any:
    """A ``HeteroData`` of PyTorch Geometric."""
    from omnigraph.engine.interop.pyg import to_pyg as convert

    return convert(read_parts(snapshot, types), features, missing)


def to_backend(snapshot: Snapshot, types: Sequence[str], *, directed: bool) -> BackendGraph:
    """A graph for the NetworkX backend."""
    from omnigraph.engine.interop.backend_graph import backend_graph
    from omnigraph.engine.interop.networkx import to_networkx as convert

    parts = read_parts(snapshot, types, properties=False)
    found = backend_graph(parts, lambda: read_parts(snapshot, types), convert)
    return found if directed else found.to_undirected()
