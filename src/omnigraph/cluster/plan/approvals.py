"""Approvals: consent to one destructive change, bound to the digests that were reviewed. Never deleted."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from pydantic import BaseModel, ConfigDict

from omnigraph.cluster.plan.changes import Change, Operation
from omnigraph.cluster.resources import Kind


class ApprovalRecord(BaseModel):
    """``approvals/<id>.json``."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    schema_version: Literal[1] = 1
    approval_id: str
    resource: str
    operation: str
    reason: str
    bound_config_digest: str
    bound_before_digest: str | None = None
    bound_after_digest: str | None = None
    approved_by: str
    created_at: str
    consumed_at: str | None = None
    consumed_by_operation: str | None = None


def needs_approval(change: Change) -> bool:
    """True for a change that loses data: the deletion of a graph."""
    return change.kind is Kind.GRAPH and change.operation is Operation.DELETE


def covers(approval: ApprovalRecord, change: Change, config_digest: str) -> bool:
    """True if an approval was given for exactly this change of exactly this configuration."""
    return (
        approval.resource == change.address
        and approval.operation == change.operation
        and approval.bound_config_digest == config_digest
        and approval.bound_before_digest == change.before_digest
        and approval.bound_after_digest == change.after_digest
    )


def granted(
    approvals: Iterable[ApprovalRecord], consumed: frozenset[str], change: Change, config_digest: str
) -> ApprovalRecord | None:
    """The approval of a change. One that was used before does not count, though its file may not say so yet."""
    return next(
        (
            item
            for item in approvals
            if item.consumed_at is None and item.approval_id not in consumed and covers(item, change, config_digest)
        ),
        None,
    )


def stale(
    approvals: Iterable[ApprovalRecord], consumed: frozenset[str], change: Change, config_digest: str
) -> list[ApprovalRecord]:
    """Unused approvals of the same resource that were given for something else."""
    return [
        item
        for item in approvals
        if item.consumed_at is None
        and item.approval_id not in consumed
        and item.resource == change.address
        and not covers(item, change, config_digest)
    ]
