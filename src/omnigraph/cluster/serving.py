"""The serving snapshot of a cluster: graphs with their stored queries and policies, read once and verified.

A problem of one graph keeps that graph out, with the reason. A problem of the whole cluster is an error.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from omnigraph.cluster.resources import (
    CLUSTER_SCOPE,
    RECOVERIES,
    bound_graph,
    content_digest,
    graph_of,
    graph_root,
    policy_of,
    policy_path,
    provider_address,
    query_of,
    token_of,
    token_path,
)
from omnigraph.cluster.state import ClusterState, Resource, read_state
from omnigraph.errors import ClusterInvalid
from omnigraph.storage.tables.store import Store


@dataclass(frozen=True, slots=True)
class PolicyText:
    """A policy bundle."""

    name: str
    text: str = field(repr=False)
    digest: str


@dataclass(frozen=True, slots=True)
class ServableGraph:
    """A graph that can be served, as far as the cluster knows; opening it may show more."""

    id: str
    uri: str
    queries: Mapping[str, str] = field(default_factory=dict, repr=False)
    policy: PolicyText | None = None
    embedding: Mapping[str, Any] | None = None
    """The profile of its embedding provider."""


@dataclass(frozen=True, slots=True)
class ServingSnapshot:
    """Graphs and policies of a cluster that a server serves, at one revision of the state."""

    revision: int
    graphs: tuple[ServableGraph, ...]
    quarantined: Mapping[str, str]
    """Graphs that cannot be served, with the reason."""
    server_policy: PolicyText | None = None
    tokens: Mapping[str, str] = field(default_factory=dict, repr=False)
    """References to tokens by actor: the name of a variable, or the digest of the token."""


def read_snapshot(root: str, storage_options: Mapping[str, str] | None = None) -> ServingSnapshot:
    """Read the state and its files below a root, without a lock; raises ClusterInvalid."""
    store = Store(root, storage_options)
    state = read_state(store)
    return _Reader(store, root, state).snapshot()


class _Unservable(Exception):
    """A problem of one graph; the text is the reason."""


class _Reader:
    """Reads what one state refers to."""

    def __init__(self, store: Store, root: str, state: ClusterState) -> None:
        self._store = store
        self._root = root
        self._state = state
        self._resources = state.applied_revision.resources
        self._graphs = sorted(name for name in map(graph_of, self._resources) if name is not None)

    def snapshot(self) -> ServingSnapshot:
        if not self._graphs:
            raise ClusterInvalid("the cluster has no graphs", hint="declare and apply one", reason="cluster_empty")
        bindings = self._bindings()
        pending = self._pending()
        servable: list[ServableGraph] = []
        quarantined: dict[str, str] = {}
        for name in self._graphs:
            try:
                if name in pending:
                    raise _Unservable("an operation of the cluster on it was interrupted: apply the cluster again")
                servable.append(self._graph(name, bindings.get(name)))
            except _Unservable as problem:
                quarantined[name] = str(problem)
        server = bindings.get(CLUSTER_SCOPE)
        return ServingSnapshot(
            self._state.state_revision,
            tuple(servable),
            quarantined,
            None if server is None else self._server_policy(server),
            self._tokens(),
        )

    def _tokens(self) -> dict[str, str]:
        """A reference that cannot be read is a problem of the cluster: without its token an actor is locked out."""
        found: dict[str, str] = {}
        for address, resource in sorted(self._resources.items()):
            actor = token_of(address)
            if actor is None:
                continue
            try:
                found[actor] = self._content(token_path(actor, resource.digest), resource.digest)
            except _Unservable as problem:
                raise ClusterInvalid(f"token of {actor!r}: {problem}", reason="catalog_payload_missing") from None
        return found

    def _bindings(self) -> dict[str, str]:
        """The policy of each scope; one scope has one policy."""
        found: dict[str, str] = {}
        for address, resource in sorted(self._resources.items()):
            name = policy_of(address)
            if name is None:
                continue
            if not resource.applies_to:
                raise ClusterInvalid(
                    f"policy {name!r} is bound to nothing",
                    hint="apply the cluster again",
                    reason="policy_bindings_missing",
                )
            for binding in resource.applies_to:
                scope = binding if binding == CLUSTER_SCOPE else bound_graph(binding)
                if scope in found:
                    raise ClusterInvalid(
                        f"policies {found[scope]!r} and {name!r} are both bound to {scope!r}",
                        hint="bind one policy to each graph and to the cluster",
                        reason="duplicate_policy_binding",
                    )
                found[scope] = name
        return found

    def _pending(self) -> frozenset[str]:
        """Graphs with an interrupted operation."""
        found: set[str] = set()
        for file in self._store.objects.level(RECOVERIES).files:
            content = self._store.objects.read(file.path) or b"{}"
            try:
                found.add(str(json.loads(content)["graph_id"]))
            except (ValueError, KeyError, TypeError) as error:
                raise ClusterInvalid(f"{file.path} cannot be read", reason="invalid_recovery_sidecar") from error
        return frozenset(found)

    def _graph(self, name: str, policy: str | None) -> ServableGraph:
        queries = {
            address.name: self._content(address.path(resource.digest), resource.digest)
            for key, resource in sorted(self._resources.items())
            if (address := query_of(key)) is not None and address.graph == name
        }
        return ServableGraph(
            name,
            graph_root(self._root, name),
            queries,
            None if policy is None else self._policy(policy),
            self._embedding(self._resources[f"graph.{name}"]),
        )

    def _policy(self, name: str) -> PolicyText:
        digest = self._resources[f"policy.{name}"].digest
        return PolicyText(name, self._content(policy_path(name, digest), digest), digest)

    def _server_policy(self, name: str) -> PolicyText:
        try:
            return self._policy(name)
        except _Unservable as problem:
            raise ClusterInvalid(f"policy {name!r}: {problem}", reason="catalog_payload_missing") from None

    def _content(self, path: str, digest: str) -> str:
        """A file named by its digest, whose content has that digest."""
        content = self._store.objects.read(path)
        if content is None:
            raise _Unservable(f"{path} is missing")
        if content_digest(content) != digest:
            raise _Unservable(f"{path} does not have its digest")
        try:
            return content.decode("utf-8")
        except UnicodeDecodeError:
            raise _Unservable(f"{path} is not UTF-8") from None

    def _embedding(self, graph: Resource) -> Mapping[str, Any] | None:
        if graph.embedding_provider is None:
            return None
        found = self._resources.get(provider_address(graph.embedding_provider))
        if found is None or found.embedding_profile is None:
            raise _Unservable(f"its embedding provider {graph.embedding_provider!r} was not applied")
        return found.embedding_profile
