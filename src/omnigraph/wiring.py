"""Wiring: plugs Spark and the embedding providers into the ports of the engine.

The only module that knows both sides. It runs when the package is imported and imports neither side then: a room is
imported when the engine first calls its port.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.engine import plugs

if TYPE_CHECKING:
    from omnigraph.core.ports import Embedder
    from omnigraph.engine.graph import Graph
    from omnigraph.engine.ports import Cluster


def plug_in() -> None:
    """Plug the rooms above into the engine."""
    plugs.plug(cluster=_cluster, embedder=_embedder)


def _cluster() -> Cluster[Graph]:
    from omnigraph.spark import port

    return port


def _embedder() -> Embedder | None:
    from omnigraph.embed import configured

    return configured()
