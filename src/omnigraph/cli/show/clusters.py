"""Clusters for people: plans by risk, the state by address, and every problem with the command that comes next."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from omnigraph.cli.show.output import count, paint, say
from omnigraph.cluster.diagnostics import Severity
from omnigraph.cluster.plan.decisions import Disposition, Outcome, Risk
from omnigraph.schema.migration import step_text

if TYPE_CHECKING:
    from omnigraph.cluster.control.apply import Application, Approving, Planning, Validation
    from omnigraph.cluster.control.observe import Observing
    from omnigraph.cluster.control.scaffold import Starting
    from omnigraph.cluster.control.session import Findings
    from omnigraph.cluster.control.status import Standing, Unlocking
    from omnigraph.cluster.plan.planning import ClusterPlan
    from omnigraph.cluster.state import ClusterState

_RISK_COLOURS: Final = {Risk.SAFE: "green", Risk.RISKY: "yellow", Risk.DESTRUCTIVE: "red"}
_SEVERITY_COLOURS: Final = {Severity.ERROR: "red", Severity.WARNING: "yellow", Severity.INFO: "cyan"}
_STATUS_COLOURS: Final = {"applied": "green", "drifted": "yellow", "blocked": "yellow", "error": "red"}
_SIGNS: Final = {"create": "+", "update": "~", "delete": "-"}

NEXT_STEPS: Final = {
    "state_missing": "run `omnigraph cluster import`",
    "cluster_config_read_error": "run `omnigraph cluster init` to write one, or pass --config DIR",
    "config_dir_not_found": "pass --config DIR",
    "state_lock_held": "if that command was killed, run `omnigraph cluster unlock LOCK_ID`",
    "state_cas_mismatch": "run `omnigraph cluster plan`",
    "plan_changed": "run `omnigraph cluster plan`",
    "approval_required": "run `omnigraph cluster approve graph.ID --as ACTOR`",
    "approval_actor_required": "pass --as ACTOR",
    "graph_missing": "run `omnigraph cluster apply` to create it again",
    "schema_mismatch": "run `omnigraph cluster plan` to see how the declared schema differs",
    "catalog_payload_missing": "run `omnigraph cluster observe`, then `omnigraph cluster apply`",
    "catalog_payload_digest_mismatch": "run `omnigraph cluster observe`, then `omnigraph cluster apply`",
    "schema_preview_unavailable": "run `omnigraph cluster observe`",
    "graph_create_skipped": "run `omnigraph cluster observe`",
}
"""The command that comes next, by the code of a problem."""


def show_started(started: Starting) -> None:
    """A new cluster."""
    for name in started.files:
        say(f"{paint('+', 'green', bold=True)} {name}")
    _show_problems(started)
    if started.ok:
        say(f"{_OK}: review the files, then run `omnigraph cluster plan` and `omnigraph cluster apply`")


def show_validation(validation: Validation) -> None:
    """A checked configuration."""
    _show_problems(validation)
    if validation.ok and validation.desired is not None:
        kinds = Counter(address.partition(".")[0] for address in validation.desired.resources)
        say(f"{_OK}: {_listed(kinds) or 'an empty cluster'}, configuration {validation.desired.config_digest}")


def show_planning(planning: Planning) -> None:
    """A plan that was not applied."""
    if planning.plan is not None:
        _show_changes(planning.plan, {})
    _show_problems(planning)
    if planning.plan is None or not planning.ok:
        return
    if planning.plan.converged:
        say(f"{_OK}: no changes, revision {planning.revision} of the state is what is declared")
        return
    risks = Counter(item.risk.value for item in planning.plan.changes)
    say(f"{count(len(planning.plan.changes), 'change')}: {_listed(risks, plural=False)}")
    say(f"plan {planning.plan.digest}")


def show_application(application: Application) -> None:
    """An applied plan."""
    if application.plan is not None:
        _show_changes(application.plan, application.outcomes)
    _show_problems(application)
    if application.plan is None or not application.ok:
        return
    done = sum(outcome is Outcome.DONE for outcome in application.outcomes.values())
    if application.converged:
        say(f"{_OK}: {count(done, 'change')} applied, revision {application.revision} of the state")
    else:
        waiting = len(application.outcomes) - done
        say(f"{paint('waiting', 'yellow', bold=True)}: {count(done, 'change')} applied, {waiting} not yet")


def show_approving(approving: Approving) -> None:
    """An approval."""
    _show_problems(approving)
    if approving.approval is not None:
        found = approving.approval
        say(f"{_OK}: {found.approved_by} approved to {found.operation} {found.resource}, approval {found.approval_id}")


def show_standing(standing: Standing) -> None:
    """The state of a cluster and its lock."""
    if standing.ledger is not None:
        _show_state(standing.ledger.state)
    if standing.lock is not None:
        lock = standing.lock
        say(f"locked by {lock.operation} since {lock.created_at} (process {lock.pid}): {lock.lock_id}")
    _show_problems(standing)


def show_observing(observing: Observing) -> None:
    """The state after a look at the graphs."""
    if observing.state is not None:
        _show_state(observing.state)
    _show_problems(observing)


def show_unlocking(unlocking: Unlocking) -> None:
    """A lock that was released."""
    _show_problems(unlocking)
    if unlocking.lock is not None:
        say(f"{_OK}: released lock {unlocking.lock.lock_id} of {unlocking.lock.operation}")


_OK: Final = paint("ok", "green", bold=True)


def _show_changes(plan: ClusterPlan, outcomes: Mapping[str, Outcome]) -> None:
    for item in plan.changes:
        sign = paint(_SIGNS[item.change.operation], _RISK_COLOURS[item.risk], bold=True)
        notes = [item.risk.value]
        disposition = item.decision.disposition
        if disposition is not Disposition.APPLIED:
            notes.append(disposition.value)
        if item.change.metadata is not None:
            notes.append(item.change.metadata.value)
        outcome = outcomes.get(item.address)
        waits = disposition in (Disposition.DEFERRED, Disposition.BLOCKED)
        if outcome is not None and outcome is not Outcome.DONE and not waits:
            notes.append(outcome.value)
        say(f"{sign} {item.address} ({', '.join(notes)})")
        if item.migration is not None:
            for step in item.migration.steps:
                say(f"    {step_text(step)}")
        if item.change.binding_change is not None:
            before, after = item.change.binding_change.before, item.change.binding_change.after
            say(f"    bound to {', '.join(before) or 'nothing'}, then to {', '.join(after) or 'nothing'}")


def _show_state(state: ClusterState) -> None:
    resources = state.applied_revision.resources
    for address in sorted({*resources, *state.resource_statuses}):
        found = state.resource_statuses.get(address)
        word = "applied" if found is None else found.status
        digest = resources[address].digest[:12] if address in resources else "-"
        say(f"{address} {paint(word, _STATUS_COLOURS.get(word))} {digest}")
    say(f"revision {state.state_revision}: {count(len(resources), 'resource')}")


def _show_problems(findings: Findings) -> None:
    hinted = set()
    for item in findings.diagnostics:
        word = paint(item.severity.value, _SEVERITY_COLOURS[item.severity], bold=True)
        place = f"{item.path}: " if item.path else ""
        say(f"{word}[{item.code}]: {place}{item.message}", to_stderr=True)
        if item.code in NEXT_STEPS and item.code not in hinted:
            hinted.add(item.code)
            say(f"  {paint('hint', 'cyan')}: {NEXT_STEPS[item.code]}", to_stderr=True)


_PLURALS: Final = {"query": "queries", "policy": "policies"}


def _listed(counts: Mapping[str, int], *, plural: bool = True) -> str:
    def text(name: str, number: int) -> str:
        return count(number, name, _PLURALS.get(name)) if plural else f"{number} {name}"

    return ", ".join(text(name, number) for name, number in sorted(counts.items()))
