"""Graphs that belong to a cluster: their place below its storage says so. Only the cluster changes their schema.

Reads no configuration: commands on any graph ask this, also where the libraries of a server are not installed.
"""

from __future__ import annotations

from collections.abc import Mapping

from omnigraph.cluster.resources import STATE_PATH
from omnigraph.errors import ClusterInvalid, Hint
from omnigraph.storage.objects.backends import parse_root
from omnigraph.storage.tables.store import Store

_FOLDER = "graphs"
_SUFFIX = ".omni"


def refuse_managed(uri: str, storage_options: Mapping[str, str]) -> None:
    """Raise ClusterInvalid for the place of a graph that a cluster manages."""
    address = parse_root(uri)
    folder, _, name = (address.path or str(address)).rpartition("/")
    root, _, last = folder.rpartition("/")
    if last != _FOLDER or not name.endswith(_SUFFIX) or not root:
        return
    if Store(root, storage_options).objects.read(STATE_PATH) is not None:
        raise ClusterInvalid(
            f"the graph {name.removesuffix(_SUFFIX)!r} belongs to the cluster at {root}, which alone changes schemas",
            hint=Hint(
                "change its configuration and apply it", "change its configuration and run omnigraph cluster apply"
            ),
            reason="cluster_managed_graph",
        )
