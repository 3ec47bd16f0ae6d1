"""``validate``, ``plan``, ``apply`` and ``approve``."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from omnigraph.cluster.control.approvals import mark_consumed, write_approval
from omnigraph.cluster.control.ledger import EMPTY, Ledger, read_ledger, required_ledger, write_next
from omnigraph.cluster.control.lock import moment
from omnigraph.cluster.control.recoveries import retire
from omnigraph.cluster.control.session import Findings, Operator, Session, open_session
from omnigraph.cluster.control.steps import Steps
from omnigraph.cluster.declare.desired import Desired
from omnigraph.cluster.diagnostics import Refused, warning
from omnigraph.cluster.plan.approvals import ApprovalRecord, needs_approval
from omnigraph.cluster.plan.decisions import Outcome
from omnigraph.cluster.plan.planning import ClusterPlan
from omnigraph.cluster.plan.recording import Results, is_converged, next_state, result_of
from omnigraph.cluster.resources import STATE_PATH


@dataclass(slots=True)
class Validation(Findings):
    """The resources of a configuration."""

    desired: Desired | None = None


@dataclass(slots=True)
class Planning(Findings):
    """A plan, and the state that it was made from."""

    plan: ClusterPlan | None = None
    revision: int | None = None

    @property
    def converged(self) -> bool:
        return self.ok and self.plan is not None and self.plan.converged


@dataclass(slots=True)
class Application(Findings):
    """An applied plan: outcomes by address, and the revision of the state after it."""

    plan: ClusterPlan | None = None
    operation: str | None = None
    outcomes: dict[str, Outcome] = field(default_factory=dict)
    revision: int | None = None
    state_written: bool = False
    converged: bool = False


@dataclass(slots=True)
class Approving(Findings):
    """An approval that was given, or was given before for the same change."""

    approval: ApprovalRecord | None = None


def validate(operator: Operator) -> Validation:
    """Check a configuration with all of its files."""
    declaration = operator.declaration()
    return Validation(list(declaration.diagnostics), declaration.desired)


def plan(operator: Operator) -> Planning:
    """The changes from what was applied to what is declared. Writes nothing but the lock."""
    found = Planning()
    with found.collected():
        session = open_session(operator)
        found.diagnostics = session.diagnostics
        with session.locked("plan"):
            ledger = read_ledger(session.store)
            if ledger is None:
                message = "the cluster has no state yet: import it before it is applied"
                session.diagnostics.append(warning("state_missing", STATE_PATH, message))
                ledger = Ledger(EMPTY, b"")
            found.plan, approvals = session.plan(ledger)
            session.explain(found.plan, approvals, ledger)
            found.revision = ledger.state.state_revision
    return found


def apply(operator: Operator, expected: str | None = None) -> Application:
    """Make what is declared true. ``expected`` is the digest of the plan that was reviewed.

    What one graph fails at does not stop the others. The state is written once, at the end.
    """
    found = Application()
    with found.collected():
        session = open_session(operator)
        found.diagnostics = session.diagnostics
        with session.locked("apply"):
            _apply(session, found, expected)
    return found


def _apply(session: Session, found: Application, expected: str | None) -> None:
    ledger = required_ledger(session.store)
    found.plan, approvals = session.plan(ledger)
    session.explain(found.plan, approvals, ledger)
    found.revision = ledger.state.state_revision
    if expected is not None and found.plan.digest != expected:
        message = f"the plan is {found.plan.digest} by now: review it again"
        raise Refused("plan_changed", "", message)
    # Its id finds the commits of a run that was killed.
    found.operation = found.plan.operation
    steps = Steps(session, found.operation, ledger.state)
    steps.run(found.plan)
    results = Results(steps.results, steps.observations, _consumed(session, found, approvals, steps))
    state = next_state(ledger.state, session.desired, found.plan, results)
    if state is not ledger.state:
        write_next(session.store, ledger, state)
        found.state_written = True
        found.revision = state.state_revision
    found.outcomes = {item.address: result_of(item, steps.results).outcome for item in found.plan.changes}
    found.converged = is_converged(found.plan, steps.results)
    mark_consumed(session.store, approvals, state.approval_records or {})
    session.diagnostics += retire(session.store, state)


def _consumed(
    session: Session, found: Application, approvals: tuple[ApprovalRecord, ...], steps: Steps
) -> dict[str, dict[str, Any]]:
    """The approvals of the deletions that were carried out, as the state records them."""
    assert found.plan is not None
    by_id = {item.approval_id: item for item in approvals}
    return {
        required.approval_id: {
            "resource": required.resource,
            "operation": required.operation.value,
            "approved_by": by_id[required.approval_id].approved_by,
            "consumed_at": moment(session.operator.clock),
            "consumed_by_operation": found.operation,
        }
        for required in found.plan.approvals
        if required.approval_id is not None
        and required.resource in steps.results
        and steps.results[required.resource].outcome is Outcome.DONE
    }


def approve(operator: Operator, resource: str) -> Approving:
    """Give consent to the deletion of a graph that the configuration no longer declares."""
    found = Approving()
    with found.collected():
        if operator.actor is None:
            raise Refused("approval_actor_required", resource, "an approval needs an actor")
        session = open_session(operator)
        found.diagnostics = session.diagnostics
        with session.locked("approve"):
            found.approval = _approve(session, required_ledger(session.store), resource, operator.actor)
    return found


def _approve(session: Session, ledger: Ledger, resource: str, actor: str) -> ApprovalRecord:
    plan_now, approvals = session.plan(ledger)
    planned = plan_now.find(resource)
    if planned is None or not needs_approval(planned.change):
        message = f"{resource} needs no approval: only a graph does that the configuration deletes"
        raise Refused("approval_not_required", resource, message)
    given = next((item.approval_id for item in plan_now.approvals if item.resource == resource), None)
    if given is not None:
        return next(item for item in approvals if item.approval_id == given)
    approval = ApprovalRecord(
        approval_id=session.operator.ids.new_id(),
        resource=resource,
        operation=planned.change.operation,
        reason="approval_required",
        bound_config_digest=plan_now.config_digest,
        bound_before_digest=planned.change.before_digest,
        bound_after_digest=planned.change.after_digest,
        approved_by=actor,
        created_at=moment(session.operator.clock),
    )
    write_approval(session.store, approval)
    return approval
