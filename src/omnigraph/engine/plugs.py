"""Plugs: how the engine reaches the rooms above it, whose interfaces are in ``engine.ports``.

``omnigraph.wiring`` plugs them in when the package is imported, so this module imports nothing at run time. A plug is
called, and its room imported, on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import os
    from collections.abc import Callable

    from omnigraph.core.ports import Embedder
    from omnigraph.engine.permits.authorizer import Authorizer
    from omnigraph.engine.ports import Cluster

_plugs: dict[str, Callable[..., Any]] = {}


def plug(
    *,
    cluster: Callable[[], Cluster[Any]],
    embedder: Callable[[], Embedder | None],
    policy: Callable[[str | os.PathLike[str]], Authorizer],
) -> None:
    """Set how the rooms above are reached."""
    _plugs.update(cluster=cluster, embedder=embedder, policy=policy)


def cluster() -> Cluster[Any]:
    """Spark; raises ``SparkUnavailable`` where it is not installed."""
    plugged: Cluster[Any] = _plugs["cluster"]()
    return plugged


def configured_embedder() -> Embedder | None:
    """The embedder that the environment names, if any."""
    plugged: Embedder | None = _plugs["embedder"]()
    return plugged


def load_policy(path: str | os.PathLike[str]) -> Authorizer:
    """The authorizer of a policy bundle; raises PolicyInvalid for one that does not validate."""
    plugged: Authorizer = _plugs["policy"](path)
    return plugged
