"""Notes of interrupted operations that Omnigraph 0.10 leaves. This release writes none, and retires those it finds."""

from __future__ import annotations

import json
from collections.abc import Mapping

from omnigraph.cluster.diagnostics import Diagnostic, note, warning
from omnigraph.cluster.resources import RECOVERIES, graph_address
from omnigraph.cluster.state import ClusterState
from omnigraph.storage.tables.store import Store


def retire(store: Store, state: ClusterState) -> list[Diagnostic]:
    """Delete the notes about graphs that are as the state says; others keep their graph from being served."""
    found = []
    for file in sorted(store.objects.level(RECOVERIES).files):
        content = store.objects.read(file.path)
        if content is None:
            continue
        graph = _graph(content)
        if graph is None:
            found.append(warning("invalid_recovery_sidecar", file.path, f"{file.path} cannot be read"))
            continue
        address = graph_address(graph)
        status = state.resource_statuses.get(address)
        if status is None or status.status == "applied":
            store.objects.delete(file.path)
            message = "the operation that was interrupted is complete"
            found.append(note("cluster_recovery_rolled_forward", address, message))
        else:
            found.append(warning("cluster_recovery_pending", address, f"{file.path} says that it was interrupted"))
    return found


def _graph(content: bytes) -> str | None:
    try:
        parsed = json.loads(content)
    except ValueError:
        return None
    name = parsed.get("graph_id") if isinstance(parsed, Mapping) else None
    return name if isinstance(name, str) else None
