"""Resolved match blocks: typed variables, directed traversals, typed filters.

The checker builds them; lowering chooses the evaluation order.
"""

from __future__ import annotations

from omnigraph.core.classes.dataclass import dataclass
from omnigraph.query.expressions import Expr
from omnigraph.query.ir import Direction, HopRange
from omnigraph.schema.ir import Pair


@dataclass(frozen=True, slots=True)
class NodeVariable:
    """A node variable that this block binds; ``declared`` if a typed binding names it."""

    name: str
    type_name: str
    declared: bool


@dataclass(frozen=True, slots=True)
class Step:
    """One traversal. Reachability is defined from ``source`` to ``target``, following ``edge`` in ``direction``."""

    source: str
    target: str
    edge: str
    direction: Direction
    hops: HopRange
    source_type: str
    target_type: str
    edge_variable: str | None = None
    path_variable: str | None = None
    has_pair: bool = False
    """True if the edge type connects several pairs of types, or did."""
    every_path: bool = False
    """True for ``all shortest``."""

    @property
    def pair(self) -> Pair | None:
        return (self.source_type, self.target_type) if self.has_pair else None


@dataclass(frozen=True, slots=True)
class MarkedBlock:
    """The block of an ``exists``, and the variable whose value tells whether it has a match."""

    name: str
    block: MatchBlock


@dataclass(frozen=True, slots=True)
class MatchBlock:
    """A resolved match, ``not``, ``maybe`` or ``exists`` block.

    ``nodes`` are in the order of their first typed binding, or of first use; ``filters`` include the inline matches;
    ``mentions`` are the variables of enclosing blocks that this one and its inner blocks use. ``marked`` are the
    ``exists`` blocks that the filters read.
    """

    nodes: tuple[NodeVariable, ...] = ()
    steps: tuple[Step, ...] = ()
    filters: tuple[Expr, ...] = ()
    optional: tuple[MatchBlock, ...] = ()
    negated: tuple[MatchBlock, ...] = ()
    mentions: tuple[str, ...] = ()
    marked: tuple[MarkedBlock, ...] = ()

    @property
    def entities(self) -> tuple[str, ...]:
        """The nodes and edges that this block binds, ``maybe`` blocks included."""
        own = [node.name for node in self.nodes]
        own.extend(step.edge_variable for step in self.steps if step.edge_variable is not None)
        for block in self.optional:
            own.extend(block.entities)
        return tuple(own)

    @property
    def introduced(self) -> tuple[str, ...]:
        """The variables visible after the block: its entities and paths."""
        return (*self.entities, *self._paths())

    def _paths(self) -> tuple[str, ...]:
        own = tuple(step.path_variable for step in self.steps if step.path_variable is not None)
        return own + tuple(name for block in self.optional for name in block._paths())
