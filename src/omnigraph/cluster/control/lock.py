"""The lock of a cluster: a file that exists while a command runs. A killed command leaves it behind.

The lock keeps operators from working at the same time; it is not what protects the state, which only a
compare-and-swap replaces. A lock therefore has no expiry: an operator releases one that was left behind, by its id.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Final

from pydantic import BaseModel, ConfigDict, ValidationError

from omnigraph.cluster.diagnostics import Refused
from omnigraph.cluster.resources import LOCK_PATH
from omnigraph.core.ports import Clock, IdSource
from omnigraph.errors import StorageError
from omnigraph.storage.tables.store import Store

VERSION: Final = 1


class Lock(BaseModel):
    """``lock.json``."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    version: int
    lock_id: str
    operation: str
    created_at: str
    pid: int


def moment(clock: Clock) -> str:
    """The present time in the form of the cluster's files."""
    return (
        datetime.fromtimestamp(clock.now_us() / 1_000_000, UTC)
        .isoformat(timespec="milliseconds")
        .replace("+00:00", "Z")
    )


@contextmanager
def held(store: Store, operation: str, clock: Clock, ids: IdSource) -> Iterator[str]:
    """Hold the lock during a command; raises Refused if another command holds it."""
    lock = Lock(version=VERSION, lock_id=ids.new_id(), operation=operation, created_at=moment(clock), pid=os.getpid())
    content = lock.model_dump_json(indent=2).encode()
    try:
        is_taken = not store.objects.create(LOCK_PATH, content)
    except StorageError as error:
        raise Refused("state_lock_error", LOCK_PATH, error.message) from error
    if is_taken:
        raise Refused("state_lock_held", LOCK_PATH, _held_text(store))
    try:
        yield lock.lock_id
    finally:
        # Only this lock: an operator may have released it, and another command taken its own.
        store.objects.delete_if(LOCK_PATH, content)


def _held_text(store: Store) -> str:
    try:
        found = read_lock(store)
    except Refused as refused:
        return f"the cluster is locked, and {refused.diagnostic.message}"
    if found is None:
        return "the cluster was locked by another command, which has ended since: run the command again"
    lock = found[0]
    process = f"process {lock.pid}"
    running = "" if is_running(lock.pid) else ", which does not run on this machine"
    return (
        f"the cluster is locked by {lock.operation} since {lock.created_at} ({process}{running}): lock {lock.lock_id}"
    )


def is_running(pid: int) -> bool:
    """True if this machine has a process of that number."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True
    return True


def read_lock(store: Store) -> tuple[Lock, bytes] | None:
    """The lock with its content, or None; raises Refused for one that cannot be read."""
    try:
        content = store.objects.read(LOCK_PATH)
    except StorageError as error:
        raise Refused("state_lock_read_error", LOCK_PATH, error.message) from error
    if content is None:
        return None
    try:
        lock = Lock.model_validate_json(content)
    except ValidationError as error:
        raise Refused("invalid_state_lock", LOCK_PATH, f"{LOCK_PATH} cannot be read as a lock") from error
    if lock.version != VERSION:
        message = f"{LOCK_PATH} has version {lock.version}, and this release reads version {VERSION}"
        raise Refused("unsupported_state_lock_version", LOCK_PATH, message)
    return lock, content


def release(store: Store, lock_id: str | None) -> Lock:
    """Release a lock that was left behind: the one of an id, or without an id one whose process has ended.

    The number of a process says something on its own machine only, so the second is for storage on this machine.
    """
    found = read_lock(store)
    if found is None:
        raise Refused("state_lock_missing", LOCK_PATH, "the cluster is not locked")
    lock, content = found
    if lock_id is not None and lock.lock_id != lock_id:
        raise Refused("state_lock_id_mismatch", LOCK_PATH, f"the lock is {lock.lock_id}, not {lock_id}")
    if lock_id is None and (not store.root.is_local or is_running(lock.pid)):
        message = f"process {lock.pid} may still run: name the lock {lock.lock_id} to release it nevertheless"
        raise Refused("state_lock_held", LOCK_PATH, message)
    if not store.objects.delete_if(LOCK_PATH, content):
        raise Refused("state_lock_missing", LOCK_PATH, "the lock was released by its command meanwhile")
    return lock
