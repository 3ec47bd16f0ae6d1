"""Edge forms: the multigraph as stored, with both directions, or reduced to a simple graph."""

from __future__ import annotations

from enum import Enum


class Form(Enum):
    """The view of the edges that an algorithm works on."""

    DIRECTED = "directed"
    """As stored: a node receives values from the sources of its incoming edges."""
    BOTH = "both"
    """Every edge in both directions; a self-loop counts once."""
    SIMPLE = "simple"
    """Undirected simple graph: parallel edges collapsed, self-loops removed."""
    LINKED = "linked"
    """As ``SIMPLE``, weighted by the directions in which two nodes are connected: 1 or 2."""
