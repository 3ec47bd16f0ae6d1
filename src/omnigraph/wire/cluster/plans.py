"""Plans of clusters as JSON: checked configurations, planned and applied changes, approvals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from omnigraph.wire.cluster.diagnostics import diagnostics_json
from omnigraph.wire.schemas import migration_json

if TYPE_CHECKING:
    from omnigraph.cluster.control.apply import Application, Approving, Planning, Validation
    from omnigraph.cluster.plan.planning import ClusterPlan, PlannedChange


def validation_json(validation: Validation) -> dict[str, Any]:
    """A checked configuration: its digest, and those of its resources."""
    desired = validation.desired
    return {
        "ok": validation.ok,
        "config_digest": None if desired is None else desired.config_digest,
        "resources": {} if desired is None else {name: item.digest for name, item in desired.resources.items()},
        **diagnostics_json(validation),
    }


def plan_json(planning: Planning) -> dict[str, Any]:
    """A plan that was not applied."""
    return {
        "ok": planning.ok,
        "converged": planning.converged,
        "state_revision": planning.revision,
        **({} if planning.plan is None else _plan_json(planning.plan)),
        **diagnostics_json(planning),
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
        **diagnostics_json(application),
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


def approval_json(approving: Approving) -> dict[str, Any]:
    """An approval that was given."""
    approval = approving.approval
    return {
        "ok": approving.ok,
        "approval": None if approval is None else approval.model_dump(),
        **diagnostics_json(approving),
    }
