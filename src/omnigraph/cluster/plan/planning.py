"""The plan: every change with its decision, from the facts about graphs and approvals."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, assert_never

from omnigraph.cluster.declare.desired import Desired
from omnigraph.cluster.declare.digests import value_digest
from omnigraph.cluster.plan.approvals import ApprovalRecord, granted, needs_approval
from omnigraph.cluster.plan.changes import Change, Operation, differences
from omnigraph.cluster.plan.decisions import (
    Approval,
    Decision,
    Migration,
    Observation,
    Parent,
    Risk,
    decide,
    risk_of,
)
from omnigraph.cluster.resources import (
    CLUSTER_SCOPE,
    Kind,
    bound_graph,
    graph_address,
    owner_of,
    provider_address,
)
from omnigraph.cluster.state import ClusterState
from omnigraph.schema.migration import MigrationPlan, step_text
from omnigraph.schema.steps import Safety, drops_data

OPERATION_CHARACTERS: Final = 26
"""Characters of an operation's id, as many as a ULID has."""


@dataclass(frozen=True, slots=True)
class PlannedChange:
    """A change with its decision. ``blast_radius`` are the addresses that it affects."""

    change: Change
    decision: Decision
    risk: Risk
    blast_radius: tuple[str, ...] = ()
    migration: MigrationPlan | None = None
    message: str | None = None
    """Text of the reason why a change is not applied."""

    @property
    def address(self) -> str:
        return self.change.address


@dataclass(frozen=True, slots=True)
class RequiredApproval:
    """A change that needs consent, and the approval if there is one."""

    resource: str
    operation: Operation
    approval_id: str | None = None

    @property
    def satisfied(self) -> bool:
        return self.approval_id is not None


@dataclass(frozen=True, slots=True)
class ClusterPlan:
    """Changes of a state, in the order of their addresses."""

    config_digest: str
    base: str
    """The token of the state that was planned from."""
    changes: tuple[PlannedChange, ...]
    approvals: tuple[RequiredApproval, ...] = ()

    @property
    def converged(self) -> bool:
        return not self.changes

    @property
    def operation(self) -> str:
        """The id of carrying it out: the same changes from the same state are one operation, however often it is tried.

        It does not depend on what graphs look like, which a run that was killed has changed.
        """
        changes = [
            (item.address, item.change.operation, item.change.before_digest, item.change.after_digest)
            for item in self.changes
        ]
        return value_digest([self.config_digest, self.base, changes])[:OPERATION_CHARACTERS]

    @property
    def digest(self) -> str:
        """Identifies what a reviewer saw: changes, decisions, bindings and the steps of migrations."""
        shown = [
            (
                item.address,
                item.decision.disposition,
                item.change.binding_change and item.change.binding_change.after,
                [] if item.migration is None else list(map(step_text, item.migration.steps)),
            )
            for item in self.changes
        ]
        return value_digest([self.operation, shown])

    def find(self, address: str) -> PlannedChange | None:
        return next((item for item in self.changes if item.address == address), None)


@dataclass(frozen=True, slots=True)
class Facts:
    """Facts that a plan depends on: migrations by graph, or why there is none; and approvals."""

    migrations: Mapping[str, MigrationPlan | str] = field(default_factory=dict)
    approvals: tuple[ApprovalRecord, ...] = ()
    consumed: frozenset[str] = frozenset()


def changed_schemas(desired: Desired, state: ClusterState) -> list[str]:
    """Graphs whose migration a plan shows."""
    changes = differences(desired.resources, state.applied_revision.resources)
    return [
        graph
        for item in changes
        if item.kind is Kind.SCHEMA and item.operation is Operation.UPDATE and (graph := owner_of(item.address))
    ]


def make_plan(desired: Desired, state: ClusterState, base: str, facts: Facts) -> ClusterPlan:
    """Decide about every change."""
    changes = differences(desired.resources, state.applied_revision.resources)
    approvals = tuple(_required(item, desired.config_digest, facts) for item in changes if needs_approval(item))
    granted_to = {item.resource for item in approvals if item.satisfied}
    parents = _parents(changes, facts, granted_to)
    staying = frozenset(bound_graph(item.resource) for item in approvals if not item.satisfied)
    planned = tuple(
        _planned(change, desired, state, facts, granted_to, _parent(change, state, parents, staying))
        for change in changes
    )
    return ClusterPlan(desired.config_digest, base, planned, approvals)


def _required(change: Change, config_digest: str, facts: Facts) -> RequiredApproval:
    found = granted(facts.approvals, facts.consumed, change, config_digest)
    return RequiredApproval(change.address, change.operation, None if found is None else found.approval_id)


def _parents(changes: list[Change], facts: Facts, granted_to: set[str]) -> dict[str, Parent]:
    """The state of every graph that a change keeps others waiting for."""
    found: dict[str, Parent] = {}
    for change in changes:
        graph = owner_of(change.address)
        if graph is None:
            continue
        if change.kind is Kind.GRAPH and change.operation is Operation.DELETE:
            found[graph] = Parent.LEAVING if change.address in granted_to else Parent.BLOCKED
        elif change.kind is Kind.SCHEMA and _migration(change, facts) in (Migration.REFUSED, Migration.UNAVAILABLE):
            found[graph] = Parent.BLOCKED
    return found


def _parent(change: Change, state: ClusterState, parents: Mapping[str, Parent], staying: frozenset[str]) -> Parent:
    """The state of what a resource depends on; ``staying`` are graphs whose deletion waits for an approval."""
    graph = owner_of(change.address)
    match change.kind:
        case Kind.GRAPH | Kind.TOKEN:
            return Parent.READY
        case Kind.SCHEMA if change.operation is not Operation.DELETE:
            return Parent.READY
        case Kind.SCHEMA | Kind.QUERY:
            return parents.get(graph or "", Parent.READY)
        case Kind.POLICY:
            # A graph without its policy would fall back to what every actor with a token may do, so a policy keeps
            # the graphs whose deletion waits.
            before = state.applied_revision.resources.get(change.address)
            bound = {bound_graph(item) for item in (before and before.applies_to) or ()}
            kept = {bound_graph(item) for item in change.binding_change.after} if change.binding_change else set()
            loses = change.operation is Operation.DELETE or change.binding_change is not None
            return Parent.BLOCKED if loses and (bound - kept) & staying else Parent.READY
        case Kind.PROVIDER:
            is_used = any(_uses(state, name, change.address) for name in staying)
            return Parent.BLOCKED if change.operation is Operation.DELETE and is_used else Parent.READY


def _uses(state: ClusterState, graph: str, provider: str) -> bool:
    found = state.applied_revision.resources.get(graph_address(graph))
    name = None if found is None else found.embedding_provider
    return name is not None and provider == provider_address(name)


def _planned(
    change: Change, desired: Desired, state: ClusterState, facts: Facts, granted_to: set[str], parent: Parent
) -> PlannedChange:
    migration = _migration(change, facts)
    approval = Approval.GRANTED if change.address in granted_to else Approval.MISSING
    seen = Observation(change.kind, change.operation, migration, approval, parent)
    preview = facts.migrations.get(owner_of(change.address) or "") if change.kind is Kind.SCHEMA else None
    refusals = preview.refusals if isinstance(preview, MigrationPlan) else ()
    return PlannedChange(
        change,
        decide(seen),
        risk_of(change.kind, change.operation, migration),
        _blast_radius(change, desired, state),
        preview if isinstance(preview, MigrationPlan) else None,
        preview if isinstance(preview, str) else "; ".join(map(step_text, refusals)) or None,
    )


def _migration(change: Change, facts: Facts) -> Migration:
    graph = owner_of(change.address)
    if change.kind is not Kind.SCHEMA or change.operation is not Operation.UPDATE or graph is None:
        return Migration.NONE
    plan = facts.migrations.get(graph)
    if not isinstance(plan, MigrationPlan):
        return Migration.UNAVAILABLE
    if not plan.supported:
        return Migration.REFUSED
    if any(drops_data(step) for step in plan.steps):
        return Migration.DROPS
    is_checked = any(step.safety is not Safety.SAFE for step in plan.steps)
    return Migration.CHECKED if is_checked else Migration.SAFE


def _blast_radius(change: Change, desired: Desired, state: ClusterState) -> tuple[str, ...]:
    """Resources that notice a change: the parts of a graph, or the graphs that a policy or provider serves."""
    known = {address: item.recorded for address, item in desired.resources.items()}
    resources = {**state.applied_revision.resources, **known}
    graph = owner_of(change.address)
    match change.kind:
        case Kind.GRAPH | Kind.SCHEMA:
            found = {address for address in resources if owner_of(address) == graph}
            found |= {address for address, item in resources.items() if _binds(item.applies_to, graph)}
        case Kind.QUERY:
            found = {graph_address(graph or "")}
        case Kind.POLICY:
            bindings = change.binding_change
            named = {*(resources[change.address].applies_to or ())}
            named |= {*bindings.before, *bindings.after} if bindings is not None else set()
            found = {item if item == CLUSTER_SCOPE else graph_address(bound_graph(item)) for item in named}
        case Kind.PROVIDER:
            found = {
                address
                for address, item in resources.items()
                if item.embedding_provider is not None and provider_address(item.embedding_provider) == change.address
            }
        case Kind.TOKEN:
            found = {CLUSTER_SCOPE}
        case _:
            assert_never(change.kind)
    return tuple(sorted(found - {change.address}))


def _binds(applies_to: list[str] | None, graph: str | None) -> bool:
    return any(item != CLUSTER_SCOPE and bound_graph(item) == graph for item in applies_to or ())
