"""Call: one request after authentication, as handlers see it. They have no other access to the request."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from omnigraph.core.actors import Actor, Need
from omnigraph.engine.graph import Graph
from omnigraph.manifest.layout import MAIN
from omnigraph.server.http.cancelling import Cancelling
from omnigraph.server.http.refusals import bad_request
from omnigraph.server.jobs.pool import Jobs
from omnigraph.server.serving.graphs import ServedGraph, Serving


@dataclass(slots=True)
class Call:
    """A request after authentication. ``served`` is the graph of the path, if the path has one."""

    id: str
    serving: Serving
    actor: Actor | None
    path: Mapping[str, str]
    query: Mapping[str, Any] = field(default_factory=dict)
    headers: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """The headers that the row declares, by name in lower case."""
    found: ServedGraph | None = None
    cancelling: Cancelling = field(default_factory=Cancelling)
    body: Any = None
    jobs: Jobs = field(default_factory=Jobs)

    @property
    def served(self) -> ServedGraph:
        assert self.found is not None, "the path of this route has no graph"
        return self.found

    @property
    def graph(self) -> Graph:
        """The graph of the path as the actor calls it."""
        return self.served.acting_as(self.actor)

    @property
    def cancel(self) -> threading.Event:
        """Set when the caller goes away or the server stops."""
        return self.cancelling.event

    @property
    def actor_id(self) -> str | None:
        return None if self.actor is None else self.actor.id

    def require(self, need: Need) -> None:
        """Raise PolicyDenied unless the actor may do this with the graph."""
        self.served.require(self.actor, need)

    def header(self, name: str) -> str | None:
        """The first value of a header that the row declares."""
        values = self.headers.get(name, ())
        return values[0] if values else None


def branch_name(given: str | None, default: str = MAIN) -> str:
    """A branch as policies and the engine see it: trimmed once, here. Raises Refusal 400 for an empty one.

    The engine takes an empty name for ``main``, so a policy must never decide about one.
    """
    name = default if given is None else given.strip()
    if not name:
        raise bad_request("branch must not be empty")
    return name
