"""States of clusters as JSON: applied resources with their statuses, and the lock."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from omnigraph.wire.cluster.diagnostics import diagnostics_json

if TYPE_CHECKING:
    from omnigraph.cluster.control.lock import Lock
    from omnigraph.cluster.control.observe import Observing
    from omnigraph.cluster.control.scaffold import Starting
    from omnigraph.cluster.control.status import Standing, Unlocking
    from omnigraph.cluster.state import ClusterState


def started_json(started: Starting) -> dict[str, Any]:
    """The files of a new cluster."""
    return {"ok": started.ok, "files": list(started.files), **diagnostics_json(started)}


def status_json(standing: Standing) -> dict[str, Any]:
    """The state of a cluster with its lock."""
    ledger = standing.ledger
    return {
        "ok": standing.ok,
        **({} if ledger is None else {"state_cas": ledger.token, **_state_json(ledger.state)}),
        "lock": None if standing.lock is None else _lock_json(standing.lock),
        **diagnostics_json(standing),
    }


def observation_json(observing: Observing) -> dict[str, Any]:
    """The state after a look at the graphs."""
    return {
        "ok": observing.ok,
        "state_written": observing.state_written,
        **({} if observing.state is None else _state_json(observing.state)),
        **diagnostics_json(observing),
    }


def _state_json(state: ClusterState) -> dict[str, Any]:
    resources = state.applied_revision.resources
    return {
        "state_revision": state.state_revision,
        "config_digest": state.applied_revision.config_digest,
        "resources": [_resource_json(state, name) for name in _names(resources, state.resource_statuses)],
    }


def _names(*mappings: Iterable[str]) -> list[str]:
    return sorted({name for mapping in mappings for name in mapping})


def _resource_json(state: ClusterState, address: str) -> dict[str, Any]:
    resource = state.applied_revision.resources.get(address)
    status = state.resource_statuses.get(address)
    return {
        "address": address,
        "digest": None if resource is None else resource.digest,
        "status": "applied" if status is None else status.status,
        "conditions": [] if status is None else list(status.conditions),
        "message": None if status is None else status.message,
    }


def _lock_json(lock: Lock) -> dict[str, Any]:
    return {"lock_id": lock.lock_id, "operation": lock.operation, "created_at": lock.created_at, "pid": lock.pid}


def unlocked_json(unlocking: Unlocking) -> dict[str, Any]:
    """A lock that was released."""
    return {
        "ok": unlocking.ok,
        "lock": None if unlocking.lock is None else _lock_json(unlocking.lock),
        **diagnostics_json(unlocking),
    }
