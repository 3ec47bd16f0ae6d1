"""Clusters as JSON: diagnostics, plans, applied changes, the state and its lock."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from omnigraph.wire.schemas import migration_json

if TYPE_CHECKING:
    from omnigraph.cluster.control.apply import Application, Approving, Planning, Validation
    from omnigraph.cluster.control.lock import Lock
    from omnigraph.cluster.control.observe import Observing
    from omnigraph.cluster.control.scaffold import Starting
    from omnigraph.cluster.control.session import Findings
    from omnigraph.cluster.control.status import Standing, Unlocking
    from omnigraph.cluster.plan.planning import ClusterPlan, PlannedChange
    from omnigraph.cluster.state import ClusterState


def _diagnostics_json(findings: Findings) -> dict[str, Any]:
    return {
        "diagnostics": [
            {"code": item.code, "severity": item.severity.value, "path": item.path, "message": item.message}
            for item in findings.diagnostics
        ]
    }


def started_json(started: Starting) -> dict[str, Any]:
    """The files of a new cluster."""
    return {"ok": started.ok, "files": list(started.files), **_diagnostics_json(started)}


def validation_json(validation: Validation) -> dict[str, Any]:
    """A checked configuration: its digest, and those of its resources."""
    desired = validation.desired
    return {
        "ok": validation.ok,
        "config_digest": None if desired is None else desired.config_digest,
        "resources": {} if desired is None else {name: item.digest for name, item in desired.resources.items()},
        **_diagnostics_json(validation),
    }


def plan_json(planning: Planning) -> dict[str, Any]:
    """A plan that was not applied."""
    return {
        "ok": planning.ok,
        "converged": planning.converged,
        "state_revision": planning.revision,
        **({} if planning.plan is None else _plan_json(planning.plan)),
        **_diagnostics_json(planning),
    }


def application_json(application: Application) -> dict[str, Any]:
    """An applied plan: each change has its outcome."""
    form = {} if application.plan is None else _plan_json(application.plan)
    for change in form.get("changes", ()):
        outcome = application.outcomes.get(change["address"])
        change["outcome"] = None if outcome is None else outcome.value
    return {
        "ok": application.ok,
        "converged": application.converged,
        "operation_id": application.operation,
        "state_revision": application.revision,
        "state_written": application.state_written,
        **form,
        **_diagnostics_json(application),
    }


def _plan_json(plan: ClusterPlan) -> dict[str, Any]:
    return {
        "plan_digest": plan.digest,
        "config_digest": plan.config_digest,
        "state_cas": plan.base,
        "changes": [_change_json(item) for item in plan.changes],
        "approvals_required": [
            {
                "resource": item.resource,
                "operation": item.operation.value,
                "reason": "approval_required",
                "satisfied": item.satisfied,
                "approval_id": item.approval_id,
            }
            for item in plan.approvals
        ],
    }


def _change_json(planned: PlannedChange) -> dict[str, Any]:
    change = planned.change
    form: dict[str, Any] = {
        "address": change.address,
        "operation": change.operation.value,
        "disposition": planned.decision.disposition.value,
        "reason": planned.decision.reason,
        "risk": planned.risk.value,
        "before_digest": change.before_digest,
        "after_digest": change.after_digest,
        "blast_radius": list(planned.blast_radius),
    }
    if change.metadata is not None:
        form["metadata_change"] = change.metadata.value
    if change.binding_change is not None:
        bindings = change.binding_change
        form["binding_change"] = {"before": list(bindings.before), "after": list(bindings.after)}
    if planned.migration is not None:
        form["migration"] = migration_json(planned.migration)
    return form


def status_json(standing: Standing) -> dict[str, Any]:
    """The state of a cluster with its lock."""
    ledger = standing.ledger
    return {
        "ok": standing.ok,
        **({} if ledger is None else {"state_cas": ledger.token, **_state_json(ledger.state)}),
        "lock": None if standing.lock is None else _lock_json(standing.lock),
        **_diagnostics_json(standing),
    }


def observation_json(observing: Observing) -> dict[str, Any]:
    """The state after a look at the graphs."""
    return {
        "ok": observing.ok,
        "state_written": observing.state_written,
        **({} if observing.state is None else _state_json(observing.state)),
        **_diagnostics_json(observing),
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


def approval_json(approving: Approving) -> dict[str, Any]:
    """An approval that was given."""
    approval = approving.approval
    return {
        "ok": approving.ok,
        "approval": None if approval is None else approval.model_dump(),
        **_diagnostics_json(approving),
    }


def unlocked_json(unlocking: Unlocking) -> dict[str, Any]:
    """A lock that was released."""
    return {
        "ok": unlocking.ok,
        "lock": None if unlocking.lock is None else _lock_json(unlocking.lock),
        **_diagnostics_json(unlocking),
    }
