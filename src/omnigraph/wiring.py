"""Wiring: plugs Spark, policies and embedding providers into the ports of the engine, and table formats into storage.

The only module that knows both sides. It runs when the package is imported and imports neither side then: a room is
imported when its port is first called.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.engine import plugs
from omnigraph.storage.tables import port

if TYPE_CHECKING:
    import os

    from omnigraph.core.ports import Embedder
    from omnigraph.core.tables import TablePin
    from omnigraph.engine.graph import Graph
    from omnigraph.engine.permits.authorizer import Authorizer
    from omnigraph.engine.ports import Cluster
    from omnigraph.storage.tables.store import Store


def plug_in() -> None:
    """Plug the rooms above into the engine."""
    plugs.plug(cluster=_cluster, embedder=_embedder, policy=_policy)
    port.plug(_external_table)


def _external_table(store: Store, pin: TablePin) -> port.PinnedTable:
    from omnigraph.lake.external.table import open_external

    return open_external(store, pin)


def _cluster() -> Cluster[Graph]:
    from omnigraph.spark import port as spark

    return spark


def _policy(path: str | os.PathLike[str]) -> Authorizer:
    from omnigraph.policy import load_policy

    return load_policy(path)


def _embedder() -> Embedder | None:
    from omnigraph.embed import configured

    return configured()
