"""Plugs: how the engine reaches the rooms above it, whose interfaces are in ``engine.ports``.

``omnigraph.wiring`` plugs them in when the package is imported, so this module imports nothing at run time. A plug is
called, and its room imported, on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from omnigraph.core.ports import Embedder
    from omnigraph.engine.ports import Cluster

_plugs: dict[str, Callable[[], Any]] = {}


def plug(*, cluster: Callable[[], Cluster[Any]], embedder: Callable[[], Embedder | None]) -> None:
    """Set how the rooms above are reached."""
    _plugs.update(cluster=cluster, embedder=embedder)


def cluster() -> Cluster[Any]:
    """Spark; raises ``SparkUnavailable`` where it is not installed."""
    plugged: Cluster[Any] = _plugs["cluster"]()
    return plugged


def configured_embedder() -> Embedder | None:
    """The embedder that the environment names, if any."""
    plugged: Embedder | None = _plugs["embedder"]()
    return plugged
