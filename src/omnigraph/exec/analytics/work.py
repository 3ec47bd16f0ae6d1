"""Input and output of an algorithm."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pyarrow as pa

from omnigraph.exec.analytics.nodes import NodeSpace
from omnigraph.exec.analytics.rounds import Rounds
from omnigraph.exec.analytics.steps import Steps

Fact = bool | int | float


@dataclass(frozen=True)
class Work:
    """The input of every algorithm: edges as steps, the numbering of nodes, and checkpoints."""

    steps: Steps
    space: NodeSpace
    rounds: Rounds
    is_weighted: bool = False


@dataclass(frozen=True)
class NodeValues:
    """The result of an algorithm: columns by name, with a value for every node by number, and facts."""

    columns: Mapping[str, pa.Array]
    facts: Mapping[str, Fact]


@dataclass(frozen=True)
class Walks:
    """The result of random walks: for every walk and every place in it the node of each start, and facts.

    Starts and nodes are given by their numbers; -1 stands after the end of a walk.
    """

    paths: tuple[tuple[pa.Array, ...], ...]
    facts: Mapping[str, Fact]
