"""What can be walked: the interface that neighbour lists and lookups by index share.

Nodes are *numbers*: some stable naming of the nodes of the two ends, which ``near`` and ``far`` translate from and to
rows.
"""

from __future__ import annotations

from typing import Protocol, TypeVar

from omnigraph.exec.adjacency import Integers, Mask, Rows
from omnigraph.exec.topology.renumber import Correspondence


class Steps(Protocol):
    """Neighbours in one direction."""

    @property
    def near(self) -> Correspondence: ...

    @property
    def far(self) -> Correspondence: ...

    @property
    def numbers(self) -> int:
        """Every number of either end is below it."""

    def degrees(self, numbers: Rows) -> Rows:
        """About how many steps each of the nodes allows, as far as that is known without making them."""

    def step(self, numbers: Rows, *, keep_edges: bool = False) -> tuple[Rows, Rows, Rows]:
        """One step from every node: the position of the node in the input, the neighbour, and the edge's row.

        Without edges every pair comes once and the edges mean nothing.
        """

    def connected(self, numbers: Rows, neighbours: Rows) -> Mask | None:
        """For every pair whether an edge leads from one to the other; None if walking is the better way to tell."""

    def far_ends(self, numbers: Rows) -> Integers:
        """The neighbours of some nodes, in no order and as often as they come."""


SomeSteps_co = TypeVar("SomeSteps_co", bound=Steps, covariant=True)


class Walkable(Protocol[SomeSteps_co]):
    """One edge type in all directions."""

    @property
    def source(self) -> Correspondence: ...

    @property
    def within_one_type(self) -> bool: ...

    @property
    def out(self) -> SomeSteps_co: ...

    @property
    def into(self) -> SomeSteps_co: ...

    @property
    def both(self) -> SomeSteps_co:
        """Both directions at once; only for edges within one type. A self-loop stands once."""

    @property
    def loops(self) -> Rows:
        """Nodes that have an edge to themselves, ascending."""
