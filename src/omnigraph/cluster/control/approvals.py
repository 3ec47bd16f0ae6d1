"""The files of approvals: read, written, and marked as used."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from omnigraph.cluster.diagnostics import Refused
from omnigraph.cluster.plan.approvals import ApprovalRecord
from omnigraph.cluster.resources import APPROVALS, approval_path
from omnigraph.errors import StorageError
from omnigraph.storage.tables.store import Store


def read_approvals(store: Store) -> tuple[ApprovalRecord, ...]:
    """All approvals of a cluster, oldest first."""
    found = []
    for file in sorted(store.objects.level(APPROVALS).files):
        if not file.path.endswith(".json"):
            continue
        try:
            found.append(ApprovalRecord.model_validate_json(store.objects.read(file.path) or b""))
        except ValidationError as error:
            raise Refused("invalid_approval", file.path, f"{file.path} cannot be read as an approval") from error
    return tuple(found)


def write_approval(store: Store, approval: ApprovalRecord) -> None:
    """Write a new approval."""
    path = approval_path(approval.approval_id)
    try:
        store.objects.create(path, _content(approval))
    except StorageError as error:
        raise Refused("approval_write_error", path, error.message) from error


def mark_consumed(store: Store, approvals: tuple[ApprovalRecord, ...], records: Mapping[str, Any]) -> None:
    """Mark the approvals that the state records as used.

    The state is what counts. A run that was killed between the two is completed by the next one.
    """
    for approval in approvals:
        record = records.get(approval.approval_id)
        if approval.consumed_at is None and isinstance(record, Mapping):
            used = {"consumed_at": record["consumed_at"], "consumed_by_operation": record["consumed_by_operation"]}
            store.objects.replace(approval_path(approval.approval_id), _content(approval.model_copy(update=used)))


def _content(approval: ApprovalRecord) -> bytes:
    return approval.model_dump_json(indent=2, exclude_none=True).encode() + b"\n"
