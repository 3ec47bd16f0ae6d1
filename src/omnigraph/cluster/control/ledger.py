"""The state file as a ledger: read with a token, replaced only if it still has the content that was read."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field

from omnigraph.cluster.diagnostics import Refused
from omnigraph.cluster.resources import STATE_PATH
from omnigraph.cluster.state import VERSION, AppliedRevision, ClusterState, parse_state, state_content
from omnigraph.errors import ClusterInvalid, StorageError
from omnigraph.storage.tables.store import Store

EMPTY = ClusterState(
    version=VERSION,
    state_revision=0,
    applied_revision=AppliedRevision(),
    approval_records={},
    recovery_records={},
    observations={},
)
"""The state before the first one."""


@dataclass(frozen=True, slots=True)
class Ledger:
    """A state with the bytes that it was read from."""

    state: ClusterState
    content: bytes = field(repr=False)

    @property
    def token(self) -> str:
        """Identifies the bytes of the state."""
        return f"sha256:{hashlib.sha256(self.content).hexdigest()}"


def read_ledger(store: Store) -> Ledger | None:
    """The state of a cluster, or None if it has none."""
    try:
        content = store.objects.read(STATE_PATH)
    except StorageError as error:
        raise Refused("state_read_error", STATE_PATH, error.message) from error
    if content is None:
        return None
    try:
        return Ledger(parse_state(content, str(store.root)), content)
    except ClusterInvalid as error:
        raise Refused(str(error.facts["reason"]), STATE_PATH, error.message) from error


def required_ledger(store: Store) -> Ledger:
    """The state of a cluster that must have one."""
    found = read_ledger(store)
    if found is None:
        message = f"there is no state at {store.root}: import the cluster first, which makes one"
        raise Refused("state_missing", STATE_PATH, message)
    return found


def write_first(store: Store, state: ClusterState) -> None:
    """Write the first state of a cluster."""
    try:
        is_first = store.objects.create(STATE_PATH, state_content(state))
    except StorageError as error:
        raise Refused("state_write_error", STATE_PATH, error.message) from error
    if not is_first:
        raise Refused("state_already_exists", STATE_PATH, f"there is a state at {store.root} already")


def write_next(store: Store, before: Ledger, state: ClusterState) -> None:
    """Replace a state, unless another process has replaced it since it was read."""
    try:
        is_next = store.objects.replace_if(STATE_PATH, before.content, state_content(state))
    except StorageError as error:
        raise Refused("state_write_error", STATE_PATH, error.message) from error
    if not is_next:
        message = "the state was changed by another process meanwhile: nothing was recorded, so run the command again"
        raise Refused("state_cas_mismatch", STATE_PATH, message)
