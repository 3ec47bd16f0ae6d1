"""The steps of ``apply`` that touch graphs and files. Each can be repeated after a kill at any point.

No step leaves a note for its recovery: a creation is completed by the same creation, a migration is found again by its
idempotency key, a file is named by its content, and a deletion resumes where it stopped.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from omnigraph.cluster.control.graphs import LiveGraph
from omnigraph.cluster.control.session import Session
from omnigraph.cluster.diagnostics import Diagnostic, note, problem, warning
from omnigraph.cluster.plan.changes import Operation
from omnigraph.cluster.plan.decisions import Disposition, Outcome
from omnigraph.cluster.plan.planning import ClusterPlan, PlannedChange
from omnigraph.cluster.plan.recording import DONE, StepResult
from omnigraph.cluster.resources import Kind, content_digest, graph_address, owner_of, payload_path, schema_address
from omnigraph.cluster.state import ClusterState
from omnigraph.errors import AlreadyExistsError, OmnigraphError

_ROLLED_FORWARD = "cluster_recovery_rolled_forward"


@dataclass(slots=True)
class Steps:
    """Carries out a plan, and remembers what came of it."""

    session: Session
    operation: str
    state: ClusterState
    results: dict[str, StepResult] = field(default_factory=dict)
    observations: dict[str, dict[str, Any]] = field(default_factory=dict)

    def run(self, plan: ClusterPlan) -> None:
        """Carry out the plan in the order in which its parts depend on each other."""
        order: tuple[tuple[Kind | None, Operation | None, Callable[[PlannedChange], StepResult]], ...] = (
            (Kind.GRAPH, Operation.CREATE, self._create),
            (Kind.SCHEMA, None, self._migrate),
            (None, None, self._publish),
            (Kind.GRAPH, Operation.DELETE, self._delete),
        )
        for kind, operation, step in order:
            for item in plan.changes:
                if item.decision.disposition is not Disposition.APPLIED or item.address in self.results:
                    continue
                is_wanted = item.change.kind is kind if kind is not None else item.change.kind is not Kind.GRAPH
                if is_wanted and operation in (None, item.change.operation):
                    self.results[item.address] = self._tried(item, step)

    def _tried(self, item: PlannedChange, step: Callable[[PlannedChange], StepResult]) -> StepResult:
        owner = owner_of(item.address)
        blocking = next(
            (
                address
                for address in (graph_address(owner or ""), schema_address(owner or ""))
                if address in self.results and self.results[address].outcome is not Outcome.DONE
            ),
            None,
        )
        if blocking is not None:
            message = f"{blocking} was not applied"
            self._say(warning("apply_dependency_blocked", item.address, message))
            return StepResult(Outcome.SKIPPED, "apply_dependency_blocked", message)
        return step(item)

    def _create(self, item: PlannedChange) -> StepResult:
        name = owner_of(item.address)
        assert name is not None
        text = self.session.text_of(schema_address(name))
        graphs = self.session.graphs
        actor = self.session.operator.actor
        try:
            live = graphs.find(name)
            if live is None:
                graphs.create(name, text, actor)
            elif live.means(text):
                self._found(item, live)
            elif live.is_new:
                # A run that was killed has created it for an earlier text of the schema, and nothing was written to it.
                graphs.migrate(live.graph, text, actor, self.operation, item.address)
                self._found(item, live)
            else:
                message = f"there is a graph with another schema at {graphs.uri(name)}: observe the cluster to adopt it"
                return self._failed(item, "graph_create_skipped", message)
            self._observe(name)
        except AlreadyExistsError as error:
            return self._failed(item, "graph_create_incomplete", f"{error.message}: {error.hint}")
        except OmnigraphError as error:
            return self._failed(item, "graph_create_failed", error.message)
        return DONE

    def _found(self, item: PlannedChange, live: LiveGraph) -> None:
        if live.is_new:
            self._say(note(_ROLLED_FORWARD, item.address, "an interrupted run had created the graph"))
        else:
            message = "the graph existed already, with this schema and with data, and was adopted"
            self._say(warning("cluster_recovery_unattributed", item.address, message))

    def _migrate(self, item: PlannedChange) -> StepResult:
        name = owner_of(item.address)
        assert name is not None
        if self.results.get(graph_address(name)) == DONE:
            return DONE  # The graph was created with it.
        text = self.session.text_of(item.address)
        graphs = self.session.graphs
        try:
            live = graphs.find(name)
            if live is None:
                return self._failed(item, "schema_apply_skipped", f"there is no graph at {graphs.uri(name)}")
            result = graphs.migrate(live.graph, text, self.session.operator.actor, self.operation, item.address)
            if result.repeated:
                self._say(note(_ROLLED_FORWARD, item.address, "an interrupted run had applied the schema"))
            elif result.commit is None and not self._is_known(item.address, live):
                message = "the graph had this schema already, by a change outside the cluster"
                self._say(warning("cluster_recovery_unattributed", item.address, message))
            if not self._observe(name).means(text):
                message = "another process has changed the schema since it was applied: observe the cluster"
                return self._failed(item, "schema_mismatch", message)
        except OmnigraphError as error:
            return self._failed(item, "schema_apply_failed", error.message)
        return DONE

    def _is_known(self, address: str, live: LiveGraph) -> bool:
        """True if the live schema is the one that the state knows, so that only its text has changed."""
        recorded = self.state.applied_revision.resources.get(address)
        observed = self.state.observations
        seen = observed.get(address, {}).get("schema_digest") if isinstance(observed, dict) else None
        return live.digest in (seen, None if recorded is None else recorded.digest)

    def _observe(self, name: str) -> LiveGraph:
        live = self.session.graphs.find(name)
        assert live is not None, "it was created or migrated just now"
        self.observations[schema_address(name)] = live.observed()
        return live

    def _publish(self, item: PlannedChange) -> StepResult:
        """Write the file of a resource. Nothing reads it before the state names it."""
        wanted = self.session.desired.resources.get(item.address)
        path = None if wanted is None else payload_path(item.address, wanted.digest)
        if wanted is None or path is None or wanted.content is None:
            return DONE
        objects = self.session.store.objects
        try:
            if not objects.create(path, wanted.content) and _digest(objects.read(path)) != wanted.digest:
                objects.replace(path, wanted.content)
        except OmnigraphError as error:
            return self._failed(item, "resource_payload_write_error", error.message)
        return DONE

    def _delete(self, item: PlannedChange) -> StepResult:
        name = owner_of(item.address)
        assert name is not None
        try:
            self.session.graphs.delete(name)
        except OmnigraphError as error:
            return self._failed(item, "graph_delete_failed", error.message)
        return DONE

    def _failed(self, item: PlannedChange, code: str, message: str) -> StepResult:
        self._say(problem(code, item.address, message))
        return StepResult(Outcome.FAILED, code, message)

    def _say(self, diagnostic: Diagnostic) -> None:
        self.session.diagnostics.append(diagnostic)


def _digest(content: bytes | None) -> str | None:
    return None if content is None else content_digest(content)
