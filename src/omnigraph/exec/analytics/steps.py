"""``Steps``: the operations over nodes and edges that algorithms are written in.

An algorithm is a loop of these operations. One process runs them on arrays, a cluster on blocks; the algorithm and its
result are the same. Functions that are handed in must be picklable.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from omnigraph.exec.analytics.kernels import Kernel
from omnigraph.exec.analytics.vectors import Array, Made, Span, SpanWork, Vector, made

Question = Callable[..., Array]
"""A function of a block, the positions of some of its nodes, and the arrays of some vectors at the same places."""

State = dict[str, Any]
"""Vectors and numbers that pass from round to round."""


@dataclass(frozen=True)
class Round:
    """One exchange of values along all edges.

    ``send`` makes the values that travel from the vectors of a span, None if no value does. The kernel computes the
    value of every node from those of its neighbours. ``then`` gets it together with the vectors of the span; without
    it, it is the result.
    """

    kernel: Kernel
    send: Callable[..., Array] | None = None
    then: SpanWork | None = None

    def sent(self, span: Span, vectors: tuple[Array, ...], numbers: Mapping[str, Any]) -> Array:
        return np.zeros(0) if self.send is None else self.send(span, *vectors, **numbers)

    def finished(self, span: Span, gathered: Array, vectors: tuple[Array, ...], numbers: Mapping[str, Any]) -> Made:
        return made(gathered) if self.then is None else self.then(span, gathered, *vectors, **numbers)


def own_part(sent: Array, span: Span) -> Array:
    """The values that the nodes of a span send, of those of all nodes."""
    return sent[..., span.first : span.first + span.size]


class Steps(Protocol):
    """The selected edges in one form, in memory or on a cluster."""

    @property
    def nodes(self) -> int:
        """The number of nodes."""
        ...

    def apply(self, work: SpanWork, *vectors: Vector, **numbers: Any) -> Made:
        """Compute vectors from vectors, node by node."""
        ...

    def step(self, round_: Round, *vectors: Vector, **numbers: Any) -> Made:
        """Exchange values along the edges."""
        ...

    def look_up(self, values: Vector, at: Vector) -> Vector:
        """For every node the value of the node that ``at`` names. Values may belong to other steps."""
        ...

    def scatter(self, combine: np.ufunc, into: Vector, at: Vector, values: Vector) -> Vector:
        """``into`` with every value combined with the one of the node that ``at`` names; -1 names none."""
        ...

    def ask(self, question: Question, at: Vector, *vectors: Vector) -> Vector:
        """Answers of the blocks that hold the neighbours of the nodes that ``at`` names; -1 where it names none."""
        ...

    def leaving(self) -> Vector:
        """The total weight of the outgoing edges of every node."""
        ...

    def closed(self) -> Vector:
        """The total weight of the edges opposite to a node in its triangles; their number in a form without weights.

        Only for ``SIMPLE`` and ``LINKED``.
        """
        ...

    def ranks(self) -> Vector:
        """The rank of every node by type and id, independent of the storage layout."""
        ...

    def integers(self, name: str) -> Vector:
        """An integer property of all nodes; raises if one has none."""
        ...

    def turned(self) -> Steps:
        """The same edges in the opposite direction."""
        ...

    def contracted(self, groups: Vector, count: int, loops: float) -> Steps:
        """The graph of groups: nodes of one number become one node, and weights of parallel edges are added.

        A self-loop of a node counts ``loops`` times its weight.
        """
        ...

    def column(self, values: Vector, known: Vector | None = None) -> pa.Array:
        """A vector as a column of the result, null where ``known`` is false."""
        ...

    def pack(self, state: State) -> bytes:
        """The content of a checkpoint."""
        ...

    def unpack(self, content: bytes, like: State) -> State:
        """The state of a checkpoint; raises ``ValueError`` if it is no state like the given one."""
        ...
