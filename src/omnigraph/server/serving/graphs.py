"""Served graphs by id, as one immutable value: a reload builds another one beside it and replaces it whole."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from typing import Final

from omnigraph.cluster.resources import RESERVED_IDS, is_graph_id
from omnigraph.core.actors import Actor, Need
from omnigraph.core.lru import Lru
from omnigraph.engine.graph import Graph
from omnigraph.engine.permits.authorizer import Authorizer
from omnigraph.engine.picture.scene import Scene
from omnigraph.engine.reviews.files import KEPT_MAX, Kept
from omnigraph.errors import UsageError
from omnigraph.server.access.states import State, server_denial
from omnigraph.server.auth.verifying import Authenticator
from omnigraph.server.http.refusals import bad_request, not_found
from omnigraph.server.limits import QUERY_SECONDS
from omnigraph.server.serving.stored_queries import StoredQuery

SCENES_MAX: Final = 200_000
"""Nodes and edges of the pictures that are kept for one graph, all together."""


@dataclass(frozen=True, slots=True)
class ServedGraph:
    """A graph that is served. ``trusted`` has no authorizer: it finds out what a gate has to decide about.

    ``authorizer`` decides about every call; None allows everything.
    """

    id: str
    trusted: Graph
    authorizer: Authorizer | None = None
    queries: Mapping[str, StoredQuery] = field(default_factory=dict)
    is_declared: bool = False
    """The graph belongs to a cluster, which alone changes its schema."""
    scenes: Lru[Hashable, Scene] = field(
        default_factory=lambda: Lru(SCENES_MAX, lambda scene: 1 + len(scene.nodes) + len(scene.edges)),
        repr=False,
        compare=False,
    )
    """Pictures of the graph by commit: samples and changes, with the positions of their nodes."""
    reviews: Kept = field(default_factory=lambda: Lru(KEPT_MAX), repr=False, compare=False)
    """Files of saved reviews that were read."""

    @property
    def uri(self) -> str:
        return self.trusted.uri

    def acting_as(self, actor: Actor | None) -> Graph:
        """The graph as an actor calls it: the engine asks the authorizer again, whatever the gate has decided."""
        graph = self.trusted if self.authorizer is None else self.trusted.under(self.authorizer)
        return graph if actor is None else graph.acting_as(actor)

    def require(self, actor: Actor | None, need: Need) -> None:
        """Raise PolicyDenied unless the actor may do this."""
        if self.authorizer is None:
            return
        if actor is None:
            raise need.denied(": the request has no actor", None)
        self.authorizer.check(actor, need.action, need.branch, need.target_branch, query=need.query)


@dataclass(frozen=True, slots=True)
class Serving:
    """Everything that requests are served from, at one moment."""

    graphs: Mapping[str, ServedGraph]
    authenticator: Authenticator
    state: State
    server_policy: Authorizer | None = None
    query_seconds: float = QUERY_SECONDS
    """Time limit of a query."""
    quarantined: Mapping[str, str] = field(default_factory=dict)
    """Graphs of the cluster that are not served, with the reasons."""

    def find(self, graph_id: str) -> ServedGraph:
        """The graph of an id; raises Refusal 400 for a text that is no id, and 404 for one that is not served."""
        if not is_graph_id(graph_id):
            raise bad_request(f"invalid graph id '{graph_id[:64]}'")
        found = self.graphs.get(graph_id)
        if found is None:
            raise not_found(f"graph '{graph_id}' not found")
        return found

    def require(self, actor: Actor | None, need: Need) -> None:
        """Raise PolicyDenied unless the actor may do this with the server."""
        if self.state is State.OWNER:
            return
        if self.server_policy is None or actor is None:
            raise server_denial(need, actor)
        self.server_policy.check(actor, need.action)


def check_graph_id(text: str) -> str:
    """The id; raises UsageError for a text that cannot be one."""
    if is_graph_id(text):
        return text
    raise UsageError(
        f"{text!r} is no id of a graph",
        hint=f"use 1 to 64 letters, digits and hyphens, and none of {', '.join(sorted(RESERVED_IDS))}",
    )
