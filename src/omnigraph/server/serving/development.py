"""Servers without a cluster: graphs by address, for development and for small installations."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from omnigraph.core.actors import Actor
from omnigraph.errors import Hint, UsageError
from omnigraph.policy.actions import Resource
from omnigraph.policy.decide import Policy
from omnigraph.policy.read_bundle import read_bundle
from omnigraph.server.access.states import Configured, State, graph_authorizer, state_of
from omnigraph.server.auth.configured import authenticator_of
from omnigraph.server.auth.sources import TokenSources
from omnigraph.server.auth.static_tokens import StaticTokens
from omnigraph.server.auth.verifying import Authenticator
from omnigraph.server.limits import QUERY_SECONDS
from omnigraph.server.serving.graphs import ServedGraph, Serving
from omnigraph.server.serving.opening import GraphAddress, check_distinct, in_parallel, open_served

OWNER = Actor("owner")
"""The actor of the token that a development server makes for itself."""


@dataclass(slots=True)
class AddressSource:
    """Graphs by address. Configured tokens are used as they are.

    Without any, a token is made that may do everything, unless the server is unauthenticated on purpose.
    """

    addresses: Sequence[GraphAddress]
    tokens: TokenSources
    unauthenticated: bool = False
    query_seconds: float = QUERY_SECONDS
    policy: Path | None = None
    """The bundle that decides about all of the graphs."""
    made_token: str | None = field(default=None, init=False, repr=False)
    """The token that was made, for the operator to see; tokens of the environment are never shown."""

    def load(self, before: Serving | None = None) -> Serving:
        """Open the graphs and read their queries. Graphs of ``before`` are kept, with their caches."""
        if not self.addresses:
            raise UsageError("no graph is named", hint=Hint("name at least one", "omnigraph serve GRAPH"))
        check_distinct(self.addresses)
        bundle = None if self.policy is None else read_bundle(self.policy, Resource.GRAPH)
        authenticator, state = self._authentication(before, has_policy=bundle is not None)
        known = {} if before is None else before.graphs

        def opened(address: GraphAddress) -> ServedGraph:
            found = known.get(address.id)
            return open_served(address, None if found is None else found.trusted)

        def policed(graph: ServedGraph) -> ServedGraph:
            policy = None if bundle is None else Policy(bundle, graph.id)
            return replace(graph, authorizer=graph_authorizer(state, policy))

        return Serving(
            {item.id: policed(item) for item in in_parallel(opened, self.addresses)},
            authenticator,
            state,
            query_seconds=self.query_seconds,
        )

    def _authentication(self, before: Serving | None, *, has_policy: bool) -> tuple[Authenticator, State]:
        configured = authenticator_of(self.tokens, None if before is None else before.authenticator)
        if not configured.is_open:
            return configured, state_of(Configured(True, has_policy, self.unauthenticated))
        if self.unauthenticated or has_policy:
            return Authenticator(), state_of(Configured(False, has_policy, self.unauthenticated))
        self.made_token = self.made_token or secrets.token_urlsafe(24)
        return Authenticator([StaticTokens.of({OWNER.id: self.made_token})]), State.OWNER
