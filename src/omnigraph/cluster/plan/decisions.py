"""Decisions about changes as tables: the risk of a change, what ``apply`` does with it, and the status that it leaves.

Exactly one row matches any observation; a test walks all combinations.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from omnigraph.cluster.plan.changes import Operation
from omnigraph.cluster.resources import Kind
from omnigraph.cluster.state import StatusWord


class Disposition(StrEnum):
    """Treatment of a change by ``apply``."""

    APPLIED = "applied"
    DERIVED = "derived"
    """It follows from other changes."""
    DEFERRED = "deferred"
    """It waits for an approval."""
    BLOCKED = "blocked"
    """It cannot be applied, or depends on a change that is not."""


class Risk(StrEnum):
    """Risk of a change, for its reviewer."""

    SAFE = "safe"
    RISKY = "risky"
    """Callers or data may be refused that were not before, or others allowed."""
    DESTRUCTIVE = "destructive"
    """Data is lost, history included. Needs an approval."""


class Migration(StrEnum):
    """The steps of a schema change, at their worst."""

    NONE = "none"
    SAFE = "safe"
    CHECKED = "checked"
    """Entities may violate the new schema; then nothing is changed."""
    DROPS = "drops"
    """Soft drops: older commits keep the data."""
    REFUSED = "refused"
    UNAVAILABLE = "unavailable"
    """The graph cannot be read."""


class Approval(StrEnum):
    """The approval of a change."""

    MISSING = "missing"
    GRANTED = "granted"


class Parent(StrEnum):
    """The graphs that a resource belongs to or is bound to."""

    READY = "ready"
    BLOCKED = "blocked"
    """A change of the graph is not applied."""
    LEAVING = "leaving"
    """The graph is deleted by the same plan."""


class Outcome(StrEnum):
    """The result of a change that ``apply`` has tried."""

    DONE = "done"
    FAILED = "failed"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True)
class Observation:
    """The facts about a change that decide about it."""

    kind: Kind
    operation: Operation
    migration: Migration = Migration.NONE
    approval: Approval = Approval.MISSING
    parent: Parent = Parent.READY


@dataclass(frozen=True, slots=True)
class Decision:
    """Treatment of a change, and the code of the reason why it is not applied."""

    disposition: Disposition
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Row:
    """A pattern of facts with its decision. An empty set of values matches all of them."""

    decision: Decision
    kinds: frozenset[Kind] = frozenset()
    operations: frozenset[Operation] = frozenset()
    migrations: frozenset[Migration] = frozenset()
    approvals: frozenset[Approval] = frozenset()
    parents: frozenset[Parent] = frozenset()

    def matches(self, seen: Observation) -> bool:
        return all(
            not wanted or value in wanted
            for wanted, value in (
                (self.kinds, seen.kind),
                (self.operations, seen.operation),
                (self.migrations, seen.migration),
                (self.approvals, seen.approval),
                (self.parents, seen.parent),
            )
        )


_APPLIED: Final = Decision(Disposition.APPLIED)
_DERIVED: Final = Decision(Disposition.DERIVED)
_DEPENDENT: Final = Decision(Disposition.BLOCKED, "apply_dependency_blocked")
_GRAPH: Final = frozenset({Kind.GRAPH})
_SCHEMA: Final = frozenset({Kind.SCHEMA})
_PARTS: Final = frozenset(set(Kind) - {Kind.GRAPH, Kind.SCHEMA})
_DELETE: Final = frozenset({Operation.DELETE})
_OTHERS: Final = frozenset({Operation.CREATE, Operation.UPDATE})
_READY: Final = frozenset({Parent.READY, Parent.LEAVING})

ROWS: Final = (
    Row(_APPLIED, _GRAPH, frozenset({Operation.CREATE})),
    Row(_DERIVED, _GRAPH, frozenset({Operation.UPDATE})),
    Row(_APPLIED, _GRAPH, _DELETE, approvals=frozenset({Approval.GRANTED})),
    Row(Decision(Disposition.DEFERRED, "approval_required"), _GRAPH, _DELETE, approvals=frozenset({Approval.MISSING})),
    Row(_DEPENDENT, _SCHEMA, parents=frozenset({Parent.BLOCKED})),
    Row(_DERIVED, _SCHEMA, _DELETE, parents=_READY),
    Row(
        Decision(Disposition.BLOCKED, "apply_unsupported_change"),
        _SCHEMA,
        _OTHERS,
        frozenset({Migration.REFUSED}),
        parents=_READY,
    ),
    Row(
        Decision(Disposition.BLOCKED, "schema_preview_unavailable"),
        _SCHEMA,
        _OTHERS,
        frozenset({Migration.UNAVAILABLE}),
        parents=_READY,
    ),
    Row(
        _APPLIED,
        _SCHEMA,
        _OTHERS,
        frozenset({Migration.NONE, Migration.SAFE, Migration.CHECKED, Migration.DROPS}),
        parents=_READY,
    ),
    Row(_DEPENDENT, _PARTS, parents=frozenset({Parent.BLOCKED})),
    Row(_DERIVED, _PARTS, parents=frozenset({Parent.LEAVING})),
    Row(_APPLIED, _PARTS, parents=frozenset({Parent.READY})),
)


def decide(seen: Observation) -> Decision:
    """The decision about a change."""
    (row,) = (row for row in ROWS if row.matches(seen))
    return row.decision


_RISKS: Final = {
    (Kind.GRAPH, Operation.CREATE): Risk.SAFE,
    (Kind.GRAPH, Operation.UPDATE): Risk.SAFE,
    (Kind.GRAPH, Operation.DELETE): Risk.DESTRUCTIVE,
    (Kind.SCHEMA, Operation.CREATE): Risk.SAFE,
    (Kind.SCHEMA, Operation.DELETE): Risk.DESTRUCTIVE,
    (Kind.QUERY, Operation.CREATE): Risk.SAFE,
    (Kind.QUERY, Operation.UPDATE): Risk.RISKY,
    (Kind.QUERY, Operation.DELETE): Risk.RISKY,
    (Kind.PROVIDER, Operation.CREATE): Risk.SAFE,
    (Kind.PROVIDER, Operation.UPDATE): Risk.RISKY,
    (Kind.PROVIDER, Operation.DELETE): Risk.RISKY,
    # Each change of a policy or a token allows or refuses something that it was not before.
    **{(kind, operation): Risk.RISKY for kind in (Kind.POLICY, Kind.TOKEN) for operation in Operation},
}


def risk_of(kind: Kind, operation: Operation, migration: Migration) -> Risk:
    """The risk of a change; that of a schema change comes from its steps."""
    if kind is Kind.SCHEMA and operation is Operation.UPDATE:
        return Risk.SAFE if migration in (Migration.NONE, Migration.SAFE) else Risk.RISKY
    return _RISKS[kind, operation]


STATUSES: Final[Mapping[tuple[Disposition, Outcome], StatusWord]] = {
    (Disposition.APPLIED, Outcome.DONE): "applied",
    (Disposition.APPLIED, Outcome.FAILED): "error",
    (Disposition.APPLIED, Outcome.SKIPPED): "blocked",
    (Disposition.DERIVED, Outcome.DONE): "applied",
    (Disposition.DERIVED, Outcome.FAILED): "error",
    (Disposition.DERIVED, Outcome.SKIPPED): "pending",
    (Disposition.DEFERRED, Outcome.DONE): "applied",
    (Disposition.DEFERRED, Outcome.FAILED): "error",
    (Disposition.DEFERRED, Outcome.SKIPPED): "pending",
    (Disposition.BLOCKED, Outcome.DONE): "applied",
    (Disposition.BLOCKED, Outcome.FAILED): "error",
    (Disposition.BLOCKED, Outcome.SKIPPED): "blocked",
}
"""The status of a resource after ``apply``, by what was planned and what came of it."""
