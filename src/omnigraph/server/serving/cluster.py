"""Serving a cluster: its graphs with their stored queries and policies, from the state that was applied last.

A problem of one graph quarantines that graph: it is not listed, and its routes answer 404. A problem of the cluster, no
healthy graph, or any unhealthy one in strict mode is an error.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from omnigraph.cluster.config import TOKEN_DIGEST, storage_root
from omnigraph.cluster.resources import STATE_PATH, content_digest
from omnigraph.cluster.serving import PolicyText, ServableGraph, ServingSnapshot, read_snapshot
from omnigraph.core.actors import Actor
from omnigraph.core.ports import Embedder
from omnigraph.embed.environment import from_environment
from omnigraph.engine.graph import open_graph
from omnigraph.errors import ClusterInvalid, InputError, OmnigraphError
from omnigraph.manifest.layout import read_stamp
from omnigraph.policy.actions import Resource
from omnigraph.policy.decide import Policy
from omnigraph.policy.read_bundle import parse_bundle
from omnigraph.server.access.states import Configured, State, graph_authorizer, state_of
from omnigraph.server.auth.configured import authenticator_of
from omnigraph.server.auth.sources import TokenSources
from omnigraph.server.auth.static_tokens import StaticTokens
from omnigraph.server.limits import QUERY_SECONDS
from omnigraph.server.serving.graphs import ServedGraph, Serving, check_graph_id
from omnigraph.server.serving.opening import checked_queries, in_parallel
from omnigraph.storage.objects.backends import parse_root
from omnigraph.storage.tables.store import Store

logger = logging.getLogger("omnigraph.server")

_KEY_NAMES: Final = ("OPENROUTER_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY")
"""The variables that embedding providers read their key from."""


@dataclass(slots=True)
class ClusterSource:
    """A cluster: the directory of its configuration, or the root of its storage."""

    place: str
    tokens: TokenSources
    unauthenticated: bool = False
    require_all: bool = False
    storage_options: Mapping[str, str] = field(default_factory=dict)
    query_seconds: float = QUERY_SECONDS
    environment: Mapping[str, str] = field(default_factory=lambda: os.environ)
    _profiles: dict[str, Mapping[str, Any] | None] = field(default_factory=dict, init=False, repr=False)
    """The embedding profiles of the graphs that are served."""

    def fingerprint(self) -> str:
        """Identifies what was applied last, by one small read; raises an error of the tree."""
        root = storage_root(self.place)
        content = Store(root, self.storage_options).objects.read(STATE_PATH)
        return f"{root} {content_digest(content or b'')}"

    def load(self, before: Serving | None = None) -> Serving:
        """Read the state and open the graphs. Graphs of ``before`` are kept, with their caches."""
        authenticator = authenticator_of(self.tokens, None if before is None else before.authenticator)
        snapshot = read_snapshot(storage_root(self.place), self.storage_options)
        declared = self._declared_tokens(snapshot.tokens)
        if declared.entries:
            authenticator = replace(authenticator, verifiers=(*authenticator.verifiers, declared))
        state = state_of(Configured(not authenticator.is_open, _has_policy(snapshot), self.unauthenticated))
        known = {} if before is None else before.graphs
        results = in_parallel(lambda graph: self._open(graph, state, known.get(graph.id)), snapshot.graphs)
        reasons = dict(snapshot.quarantined)
        served: dict[str, ServedGraph] = {}
        for graph, result in zip(snapshot.graphs, results, strict=True):
            if isinstance(result, ServedGraph):
                served[graph.id] = result
            else:
                reasons[graph.id] = result
        self._judge(served, reasons)
        self._profiles = {graph.id: graph.embedding for graph in snapshot.graphs}
        server = None if snapshot.server_policy is None else _policy(snapshot.server_policy, Resource.SERVER, None)
        return Serving(served, authenticator, state, server, self.query_seconds, reasons)

    def _judge(self, served: Mapping[str, ServedGraph], reasons: Mapping[str, str]) -> None:
        """Log why graphs are left out, and refuse to serve if that is not allowed."""
        for name, reason in sorted(reasons.items()):
            logger.error("graph %s is not served: %s", name, reason)
        shown = "; ".join(f"{name}: {reason}" for name, reason in sorted(reasons.items()))
        if not served:
            raise ClusterInvalid(f"no graph of the cluster can be served: {shown}", reason="cluster_no_healthy_graphs")
        if reasons and self.require_all:
            raise ClusterInvalid(f"not every graph of the cluster can be served: {shown}", reason="graph_not_applied")

    def _open(self, graph: ServableGraph, state: State, known: ServedGraph | None) -> ServedGraph | str:
        """The graph, or the reason why it is not served."""
        try:
            check_graph_id(graph.id)
            trusted = (
                known.trusted
                if known is not None and self._is_same(graph, known)
                else open_graph(
                    graph.uri, storage_options=self.storage_options, embedder=self._embedder(graph.embedding)
                )
            )
            queries = checked_queries(trusted, graph.queries)
            bundle = None if graph.policy is None else _policy(graph.policy, Resource.GRAPH, graph.id)
            if bundle is not None:
                bundle.check_catalog(trusted.snapshot().catalog)
        except OmnigraphError as error:
            return error.message
        for query in queries.values():
            if query.has_vector_parameter:
                logger.warning("graph %s: stored query %s takes a vector, which few callers have", graph.id, query.name)
        return ServedGraph(graph.id, trusted, graph_authorizer(state, bundle), queries, is_declared=True)

    def _is_same(self, graph: ServableGraph, known: ServedGraph) -> bool:
        """True if an open graph can be served on: it was not deleted and created again, and embeds as before."""
        stays = known.uri == str(parse_root(graph.uri)) and self._profiles.get(graph.id) == graph.embedding
        return stays and read_stamp(Store(graph.uri, self.storage_options)).graph_id == known.trusted.id

    def _declared_tokens(self, references: Mapping[str, str]) -> StaticTokens:
        """The tokens that the cluster declares. An actor whose variable is not set has none."""
        entries: list[tuple[bytes, Actor]] = []
        for actor, reference in sorted(references.items()):
            if reference.startswith(TOKEN_DIGEST):
                entries.append((bytes.fromhex(reference.removeprefix(TOKEN_DIGEST)), Actor(actor)))
                continue
            variable = reference.removeprefix("${").removesuffix("}")
            token = self.environment.get(variable, "").strip()
            if token:
                entries += StaticTokens.of({actor: token}).entries
            else:
                logger.error("actor %s has no token: the variable %s is not set", actor, variable)
        return StaticTokens(tuple(entries))

    def _embedder(self, profile: Mapping[str, Any] | None) -> Embedder | None:
        """The embedder of a profile, whose key comes from the environment; raises InputError if it is missing."""
        if profile is None:
            return None
        settings = {
            "OMNIGRAPH_EMBED_PROVIDER": profile.get("kind") or profile.get("provider"),
            "OMNIGRAPH_EMBED_BASE_URL": profile.get("base_url"),
            "OMNIGRAPH_EMBED_MODEL": profile.get("model"),
        }
        found = {name: str(value) for name, value in settings.items() if value}
        variable = str(profile.get("api_key") or "").removeprefix("${").removesuffix("}")
        if variable:
            key = self.environment.get(variable, "").strip()
            if not key:
                raise InputError(f"its embedding provider needs {variable}, which is not set")
            found |= dict.fromkeys(_KEY_NAMES, key)
        return from_environment(found)


def _has_policy(snapshot: ServingSnapshot) -> bool:
    return snapshot.server_policy is not None or any(graph.policy is not None for graph in snapshot.graphs)


def _policy(bundle: PolicyText, resource: Resource, graph_id: str | None) -> Policy:
    return Policy(parse_bundle(bundle.text, f"policy {bundle.name}", resource), graph_id)
