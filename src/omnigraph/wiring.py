"""Wiring: plugs Spark, policies and the embedding providers into the ports of the engine.

The only module that knows both sides. It runs when the package is imported and imports neither side then: a room is
imported when the engine first calls its port.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.engine import plugs

if TYPE_CHECKING:
    import os

    from omnigraph.core.ports import Embedder
    from omnigraph.engine.graph import Graph
    from omnigraph.engine.permits.authorizer import Authorizer
    from omnigraph.engine.ports import Cluster


def plug_in() -> None:
    """Plug the rooms above into the engine."""
    plugs.plug(cluster=_cluster, embedder=_embedder, policy=_policy)


def _cluster() -> Cluster[Graph]:
    from omnigraph.spark import port

    return port


def _policy(path: str | os.PathLike[str]) -> Authorizer:
    from omnigraph.policy import load_policy

    return load_policy(path)


def _embedder() -> Embedder | None:
    from omnigraph.embed import configured

    return configured()
