"""``observe`` and ``import``: compare the state with graphs and files as they are, and record what differs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from omnigraph.cluster.control.ledger import EMPTY, read_ledger, required_ledger, write_first, write_next
from omnigraph.cluster.control.session import Findings, Operator, Session, open_session
from omnigraph.cluster.diagnostics import Diagnostic, Refused, problem, warning
from omnigraph.cluster.resources import (
    STATE_PATH,
    content_digest,
    graph_address,
    graph_of,
    payload_path,
    schema_address,
)
from omnigraph.cluster.state import ClusterState, Resource, ResourceStatus, StatusWord
from omnigraph.errors import OmnigraphError
from omnigraph.storage.tables.store import Store


@dataclass(slots=True)
class Observing(Findings):
    """The state after a look at the world."""

    state: ClusterState | None = None
    state_written: bool = False


def observe(operator: Operator) -> Observing:
    """Record what has drifted, so that the next plan repairs it. Graphs are only read."""
    found = Observing()
    with found.collected():
        session = open_session(operator)
        found.diagnostics = session.diagnostics
        with session.locked("observe"):
            ledger = required_ledger(session.store)
            found.state = _observed(session, ledger.state)
            if found.state != ledger.state:
                found.state = _next(found.state)
                write_next(session.store, ledger, found.state)
                found.state_written = True
    return found


def import_cluster(operator: Operator) -> Observing:
    """Write the first state of a cluster, with the graphs that exist already."""
    found = Observing()
    with found.collected():
        session = open_session(operator)
        found.diagnostics = session.diagnostics
        with session.locked("import"):
            if read_ledger(session.store) is not None:
                raise Refused("state_already_exists", STATE_PATH, "the cluster has a state already")
            found.state = _next(_observed(session, EMPTY))
            write_first(session.store, found.state)
            found.state_written = True
    return found


def _next(state: ClusterState) -> ClusterState:
    return state.model_copy(update={"state_revision": state.state_revision + 1})


def _observed(session: Session, state: ClusterState) -> ClusterState:
    look = _Look(session, state)
    names = {name for name in map(graph_of, (*session.desired.resources, *look.resources)) if name is not None}
    for name in sorted(names):
        look.at_graph(name)
    for address in sorted(look.resources):
        look.at_payload(address)
    applied = state.applied_revision.model_copy(update={"resources": dict(sorted(look.resources.items()))})
    return state.model_copy(
        update={
            "applied_revision": applied,
            "resource_statuses": dict(sorted(look.statuses.items())),
            "observations": dict(sorted(look.observations.items())),
        }
    )


@dataclass(slots=True)
class _Look:
    """Compares graph by graph and file by file."""

    session: Session
    before: ClusterState
    resources: dict[str, Resource] = field(default_factory=dict)
    statuses: dict[str, ResourceStatus] = field(default_factory=dict)
    observations: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.resources |= self.before.applied_revision.resources
        self.statuses |= self.before.resource_statuses
        self.observations |= self.before.observations or {}

    def at_graph(self, name: str) -> None:
        graph, schema = graph_address(name), schema_address(name)
        try:
            live = self.session.graphs.find(name)
        except OmnigraphError as error:
            self._report(problem("graph_observation_error", graph, error.message), "error")
            return
        if live is None:
            self._missing(name)
            return
        recorded = self.resources.get(schema)
        seen = self.observations.get(schema, {}).get("schema_digest")
        self.observations[schema] = live.observed()
        if recorded is not None and live.digest in (recorded.digest, seen):
            self._applied(graph)
            self._applied(schema)
            return
        desired = self.session.desired.resources.get(schema)
        means_desired = desired is not None and live.means(self.session.text_of(schema))
        digest = desired.digest if desired is not None and means_desired else live.digest
        is_adopted = recorded is None
        self.resources[schema] = Resource(digest=digest)
        if graph not in self.resources:
            self.resources[graph] = Resource(digest=digest)
        if means_desired and is_adopted:
            self._applied(graph)
            self._applied(schema)
        else:
            message = "the schema of the graph was changed outside the cluster"
            self._report(warning("schema_mismatch", schema, message), "drifted")

    def _missing(self, name: str) -> None:
        """Forget a graph that is gone, so that the next plan creates it."""
        if self.resources.pop(graph_address(name), None) is None:
            return
        self.resources.pop(schema_address(name), None)
        self.statuses.pop(schema_address(name), None)
        self.observations.pop(schema_address(name), None)
        message = f"there is no graph at {self.session.graphs.uri(name)}"
        self._report(warning("graph_missing", graph_address(name), message), "drifted")

    def at_payload(self, address: str) -> None:
        problem_found = payload_problem(self.session.store, address, self.resources[address].digest)
        if problem_found is None:
            if payload_path(address, "") is not None:
                self._applied(address)
            return
        if problem_found.code == "catalog_payload_read_error":
            self._report(problem_found, "error")
            return
        del self.resources[address]
        self._report(problem_found, "drifted")

    def _applied(self, address: str) -> None:
        """A resource that is as recorded. What a run of apply has said about it stays."""
        known = self.statuses.get(address)
        if known is None or known.status in ("drifted", "error"):
            self.statuses[address] = ResourceStatus(status="applied")

    def _report(self, diagnostic: Diagnostic, status: StatusWord) -> None:
        self.session.diagnostics.append(diagnostic)
        self.statuses[diagnostic.path] = ResourceStatus(
            status=status, conditions=[diagnostic.code], message=diagnostic.message
        )


def payload_problem(store: Store, address: str, digest: str) -> Diagnostic | None:
    """The problem of a resource's file: it is missing, has another content, or cannot be read."""
    path = payload_path(address, digest)
    if path is None:
        return None
    try:
        content = store.objects.read(path)
    except OmnigraphError as error:
        return problem("catalog_payload_read_error", address, error.message)
    if content is None:
        return warning("catalog_payload_missing", address, f"{path} is missing")
    if content_digest(content) != digest:
        return warning("catalog_payload_digest_mismatch", address, f"{path} does not have its digest")
    return None
