"""Questions about rights that are not calls: whether a menu shows an entry."""

from __future__ import annotations

from typing import Protocol

from omnigraph.core.actors import Need
from omnigraph.engine.permits.permit import Permit
from omnigraph.errors import PolicyDenied


class Permitted(Protocol):
    """A graph with the permit of its actor."""

    @property
    def _permit(self) -> Permit: ...


def is_allowed(graph: Permitted, need: Need) -> bool:
    """True if the policy of the graph would allow it to the actor of the graph."""
    try:
        graph._permit.check(need)
    except PolicyDenied:
        return False
    return True
