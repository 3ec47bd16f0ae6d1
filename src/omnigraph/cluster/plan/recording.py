"""The next state: what a run of ``apply`` has done, recorded. Pure, so that what is written is decided in one place."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from omnigraph.cluster.declare.desired import Desired
from omnigraph.cluster.declare.digests import graph_digest
from omnigraph.cluster.plan.changes import Operation
from omnigraph.cluster.plan.decisions import STATUSES, Disposition, Outcome
from omnigraph.cluster.plan.planning import ClusterPlan, PlannedChange
from omnigraph.cluster.resources import (
    Kind,
    graph_address,
    graph_of,
    owner_of,
    provider_address,
    query_of,
    schema_address,
)
from omnigraph.cluster.state import AppliedRevision, ClusterState, Resource, ResourceStatus

_TRANSIENT = frozenset({"pending", "planned", "applying", "blocked", "drifted"})
"""Statuses that end when a resource is as declared: a change is not wanted any more, or what drifted is declared."""


@dataclass(frozen=True, slots=True)
class StepResult:
    """The outcome of one change; code and message say why it is not done."""

    outcome: Outcome
    code: str | None = None
    message: str | None = None


DONE = StepResult(Outcome.DONE)


@dataclass(frozen=True, slots=True)
class Results:
    """Results of a run: outcomes by address, observations of graphs, and the approvals that it has used."""

    steps: Mapping[str, StepResult]
    observations: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    consumed: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


def result_of(planned: PlannedChange, steps: Mapping[str, StepResult]) -> StepResult:
    """The outcome of a change: its own, or that of the change it follows from."""
    if planned.address in steps:
        return steps[planned.address]
    if planned.decision.disposition is not Disposition.DERIVED:
        return StepResult(Outcome.SKIPPED, planned.decision.reason)
    if planned.change.kind is Kind.GRAPH:
        return DONE
    return steps.get(graph_address(owner_of(planned.address) or ""), StepResult(Outcome.SKIPPED))


def is_converged(plan: ClusterPlan, steps: Mapping[str, StepResult]) -> bool:
    """True if every change is done."""
    return all(
        result_of(item, steps).outcome is Outcome.DONE
        and item.decision.disposition in (Disposition.APPLIED, Disposition.DERIVED)
        for item in plan.changes
    )


def next_state(state: ClusterState, desired: Desired, plan: ClusterPlan, results: Results) -> ClusterState:
    """The state after a run, with the next revision; the same state if nothing changes."""
    resources = dict(state.applied_revision.resources)
    statuses = dict(state.resource_statuses)
    for item in plan.changes:
        result = result_of(item, results.steps)
        _record(resources, item, desired, result)
        if item.change.operation is Operation.DELETE and item.address not in resources:
            statuses.pop(item.address, None)
        else:
            statuses[item.address] = ResourceStatus(
                status=STATUSES[item.decision.disposition, result.outcome],
                conditions=[] if result.code is None else [result.code],
                message=result.message,
            )
    planned = {item.address for item in plan.changes}
    _compose(resources, planned)
    applied = AppliedRevision(
        config_digest=desired.config_digest
        if is_converged(plan, results.steps)
        else state.applied_revision.config_digest,
        resources=dict(sorted(resources.items())),
    )
    changed = state.model_copy(
        update={
            "applied_revision": applied,
            "resource_statuses": _settled(statuses, resources, planned),
            "observations": _kept({**_mapping(state.observations), **results.observations}, resources),
            "approval_records": {**_mapping(state.approval_records), **results.consumed},
            "recovery_records": _mapping(state.recovery_records),
        }
    )
    return state if _same(changed, state) else changed.model_copy(update={"state_revision": state.state_revision + 1})


def _record(resources: dict[str, Resource], item: PlannedChange, desired: Desired, result: StepResult) -> None:
    if result.outcome is not Outcome.DONE:
        return
    if item.change.operation is Operation.DELETE:
        resources.pop(item.address, None)
    else:
        resources[item.address] = desired.resources[item.address].recorded


def _compose(resources: dict[str, Resource], planned: set[str]) -> None:
    """Give graphs the digest of the parts that are recorded: of a partial apply that is not the desired one."""
    for address, found in list(resources.items()):
        graph = graph_of(address)
        if graph is None or not any(owner_of(item) == graph for item in planned):
            continue
        schema = resources.get(schema_address(graph))
        if schema is None:
            continue
        queries = {
            query.name: item.digest
            for key, item in resources.items()
            if (query := query_of(key)) is not None and query.graph == graph
        }
        name = found.embedding_provider
        provider = None if name is None else resources.get(provider_address(name))
        pair = None if name is None or provider is None else (name, provider.digest)
        digest = graph_digest(graph, schema.digest, queries, pair, found.external_blob_policy)
        resources[address] = found.model_copy(update={"digest": digest})


def _settled(
    statuses: Mapping[str, ResourceStatus], resources: Mapping[str, Resource], planned: set[str]
) -> dict[str, ResourceStatus]:
    """Statuses of what exists or is planned. A resource that is as declared waits for nothing."""
    applied = ResourceStatus(status="applied")
    kept = {
        address: applied if address not in planned and status.status in _TRANSIENT else status
        for address, status in statuses.items()
        if address in resources or address in planned
    }
    return dict(sorted({**dict.fromkeys(resources, applied), **kept}.items()))


def _mapping(value: Any) -> dict[str, Any]:
    return dict(value) if isinstance(value, Mapping) else {}


def _kept(observations: Mapping[str, Any], resources: Mapping[str, Resource]) -> dict[str, Any]:
    return {address: value for address, value in sorted(observations.items()) if address in resources}


def _same(one: ClusterState, other: ClusterState) -> bool:
    """True for states that say the same. Members that hold nothing and members that are missing are equal."""
    empty: dict[str, Any] = {"approval_records": {}, "recovery_records": {}, "observations": {}}
    return {**empty, **one.model_dump(exclude_none=True)} == {**empty, **other.model_dump(exclude_none=True)}
