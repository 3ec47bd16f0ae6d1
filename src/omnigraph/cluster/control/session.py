"""A session: the directory of a cluster, its storage, and what a command needs to act on both."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from omnigraph.cluster.control.approvals import read_approvals
from omnigraph.cluster.control.graphs import Graphs
from omnigraph.cluster.control.ledger import Ledger
from omnigraph.cluster.control.lock import held
from omnigraph.cluster.declare.desired import Desired
from omnigraph.cluster.declare.files import Declaration, read_declaration
from omnigraph.cluster.diagnostics import Diagnostic, Refused, has_errors, warning
from omnigraph.cluster.plan.approvals import ApprovalRecord, stale
from omnigraph.cluster.plan.decisions import Disposition
from omnigraph.cluster.plan.planning import ClusterPlan, Facts, changed_schemas, make_plan
from omnigraph.cluster.resources import schema_address
from omnigraph.core.ports import Clock, IdSource, SystemClock, UlidSource
from omnigraph.storage.tables.store import Store


@dataclass(frozen=True, slots=True)
class Operator:
    """Context of a command: the directory of the configuration, the options of the store, the actor."""

    directory: Path
    storage_options: Mapping[str, str] = field(default_factory=dict)
    actor: str | None = None
    clock: Clock = field(default_factory=SystemClock)
    ids: IdSource = field(default_factory=UlidSource)

    def declaration(self) -> Declaration:
        return read_declaration(self.directory)


@dataclass(slots=True)
class Session:
    """A configuration without errors and its storage."""

    operator: Operator
    desired: Desired
    store: Store
    graphs: Graphs
    diagnostics: list[Diagnostic]

    @contextmanager
    def locked(self, operation: str) -> Iterator[None]:
        """Hold the lock, unless the configuration does without."""
        if not self.desired.lock:
            message = "the cluster has no lock: two commands may run at the same time, and one of them then fails"
            self.diagnostics.append(warning("state_lock_disabled", "state.lock", message))
            yield
            return
        with held(self.store, operation, self.operator.clock, self.operator.ids):
            yield

    def text_of(self, address: str) -> str:
        """The content of a declared file."""
        return (self.desired.resources[address].content or b"").decode("utf-8")

    def plan(self, ledger: Ledger) -> tuple[ClusterPlan, tuple[ApprovalRecord, ...]]:
        """The plan from a state, with the approvals that were found. Writes nothing."""
        approvals = read_approvals(self.store)
        migrations = {
            name: self.graphs.preview(name, self.text_of(schema_address(name)))
            for name in changed_schemas(self.desired, ledger.state)
        }
        facts = Facts(migrations, approvals, _consumed(ledger))
        return make_plan(self.desired, ledger.state, ledger.token, facts), approvals

    def explain(self, plan: ClusterPlan, approvals: tuple[ApprovalRecord, ...], ledger: Ledger) -> None:
        """Say why changes wait, and which approvals do not count."""
        for item in plan.changes:
            if item.decision.disposition in (Disposition.DEFERRED, Disposition.BLOCKED):
                assert item.decision.reason is not None
                text = item.message or _REASONS[item.decision.reason]
                self.diagnostics.append(warning(item.decision.reason, item.address, text))
        for required in plan.approvals:
            found = plan.find(required.resource)
            assert found is not None
            for approval in stale(approvals, _consumed(ledger), found.change, plan.config_digest):
                message = f"approval {approval.approval_id} was given for another configuration and does not count"
                self.diagnostics.append(warning("approval_stale", required.resource, message))


def _consumed(ledger: Ledger) -> frozenset[str]:
    """The approvals that were used, by the state: a file may not say so yet."""
    records = ledger.state.approval_records
    return frozenset(records if isinstance(records, Mapping) else ())


_REASONS = {
    "approval_required": "the deletion of a graph needs an approval",
    "apply_dependency_blocked": "a change that it depends on is not applied",
}


def open_session(operator: Operator) -> Session:
    """Read the configuration; raises Invalid if it has errors."""
    declaration = operator.declaration()
    if declaration.desired is None or declaration.root is None:
        raise Invalid(declaration.diagnostics)
    return Session(
        operator,
        declaration.desired,
        Store(declaration.root, operator.storage_options),
        Graphs(declaration.root, operator.storage_options),
        list(declaration.diagnostics),
    )


class Invalid(Exception):
    """Ends a command whose configuration has errors; never leaves this package."""

    def __init__(self, diagnostics: tuple[Diagnostic, ...]) -> None:
        super().__init__("the configuration has errors")
        self.diagnostics = diagnostics


@dataclass(slots=True)
class Findings:
    """The diagnostics of a command, and whether it has succeeded."""

    diagnostics: list[Diagnostic] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        return not has_errors(self.diagnostics)

    @contextmanager
    def collected(self) -> Iterator[None]:
        """End a command early with the diagnostics that it was refused with."""
        try:
            yield
        except Refused as refused:
            self.diagnostics.append(refused.diagnostic)
        except Invalid as invalid:
            self.diagnostics += invalid.diagnostics
