"""``status`` and ``unlock``: the state, the lock and the files as they are. Takes no lock and opens no graph."""

from __future__ import annotations

from dataclasses import dataclass

from omnigraph.cluster.control.ledger import Ledger, required_ledger
from omnigraph.cluster.control.lock import Lock, read_lock, release
from omnigraph.cluster.control.observe import payload_problem
from omnigraph.cluster.control.session import Findings, Invalid, Operator
from omnigraph.cluster.declare.files import Declaration
from omnigraph.storage.tables.store import Store


@dataclass(slots=True)
class Standing(Findings):
    """The state of a cluster and its lock."""

    ledger: Ledger | None = None
    lock: Lock | None = None


@dataclass(slots=True)
class Unlocking(Findings):
    """A lock that was released."""

    lock: Lock | None = None


def status(operator: Operator) -> Standing:
    """Show applied resources, the lock, and files that are missing or changed."""
    found = Standing()
    with found.collected():
        declaration = operator.declaration()
        store = _store(declaration, operator)
        found.diagnostics += declaration.diagnostics
        with found.collected():
            held = read_lock(store)
            found.lock = None if held is None else held[0]
        found.ledger = required_ledger(store)
        for address, resource in found.ledger.state.applied_revision.resources.items():
            problem = payload_problem(store, address, resource.digest)
            if problem is not None:
                found.diagnostics.append(problem)
    return found


def unlock(operator: Operator, lock_id: str | None) -> Unlocking:
    """Release the lock of a command that was killed: by its id, or without one if its process has ended."""
    found = Unlocking()
    with found.collected():
        found.lock = release(_store(operator.declaration(), operator), lock_id)
    return found


def _store(declaration: Declaration, operator: Operator) -> Store:
    """The storage of a cluster, also of one whose configuration has other errors."""
    if declaration.root is None:
        raise Invalid(declaration.diagnostics)
    return Store(declaration.root, operator.storage_options)
