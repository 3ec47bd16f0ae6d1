"""Questions about rights that are not calls: whether a menu shows an entry."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.core.actors import Need
from omnigraph.errors import PolicyDenied

if TYPE_CHECKING:
    from omnigraph.engine.graph import Graph


def is_allowed(graph: Graph, need: Need) -> bool:
    """True if the policy of the graph would allow it to the actor of the graph."""
    try:
        graph._permit.check(need)
    except PolicyDenied:
        return False
    return True
