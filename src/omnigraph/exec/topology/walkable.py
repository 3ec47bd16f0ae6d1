"""Traversal interface shared by neighbour lists and index lookups.

Nodes are *numbers*: a stable numbering of the nodes of both ends. ``near`` and ``far`` translate from and to rows.
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
        """An exclusive upper bound of the numbers of both ends."""

    def degrees(self, numbers: Rows) -> Rows:
        """An estimate of the number of steps from each of the nodes, as far as it is known beforehand."""

    def step(self, numbers: Rows, *, keep_edges: bool = False) -> tuple[Rows, Rows, Rows]:
        """One step from every node: the position of the node in the input, the neighbour, and the edge's row.

        Without ``keep_edges`` every pair occurs once and edge rows are undefined.
        """

    def connected(self, numbers: Rows, neighbours: Rows) -> Mask | None:
        """For every pair whether an edge leads from one to the other; None if stepping is cheaper."""

    def far_ends(self, numbers: Rows) -> Integers:
        """The neighbours of some nodes, unordered and with repetitions."""


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
        """Both directions together; only for edges within one type. A self-loop occurs once."""

    @property
    def loops(self) -> Rows:
        """Nodes with a self-loop, ascending."""
