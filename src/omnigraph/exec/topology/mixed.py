"""Walks over all pairs of node types that an edge type connects.

The rows of all node tables are numbered one after the other, so that a walk may change the type with every step. A step
divides its nodes by type and follows the lists of each pair; these have numbers of their own, and are cached and
updated as those of any other edge type.

Example: two comments and three posts, edges from comment 0 to comment 1 and from comment 1 to post 2::

    numbers     0 1 | 2 3 4          comments, then posts
    pairs       Comment -> Comment: 0 -> 1    Comment -> Post: 1 -> 2
    steps       0 -> 1, 1 -> 4       number 4 is post 2
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.core.classes.dataclass import dataclass
from omnigraph.exec.adjacency import Integers, Mask, Rows, sorted_set
from omnigraph.exec.tables import TableView
from omnigraph.exec.topology.neighbours import Lists, Topology
from omnigraph.exec.topology.renumber import NOTHING, Correspondence, Renumbering
from omnigraph.query.ir import Direction
from omnigraph.schema.ir import Pair


@dataclass(frozen=True)
class NodeRanges:
    """The numbers of the rows of several tables, one table after the other."""

    tables: Mapping[str, TableView]

    @cached_property
    def starts(self) -> dict[str, int]:
        """The number of the first row of each table."""
        sizes = [table.size for table in self.tables.values()]
        return dict(zip(self.tables, np.cumsum([0, *sizes]).tolist(), strict=False))

    @cached_property
    def size(self) -> int:
        return sum(table.size for table in self.tables.values())

    def rows(self, type_name: str, numbers: Integers) -> Rows:
        """The rows of a type; those of other types are beyond its table, or negative."""
        return numbers.astype(np.int64) - self.starts[type_name]

    def among(self, type_name: str, rows: Rows) -> Mask:
        """For every row of ``rows`` whether it is one of the table of a type."""
        return (rows >= 0) & (rows < self.tables[type_name].size)

    def shifted(self, type_name: str) -> Correspondence:
        """The rows of a type as numbers, and back."""
        start, size = self.starts[type_name], self.tables[type_name].size
        first = np.zeros(1, np.int64)
        forth, back = Renumbering(first, np.array([-start])), Renumbering(first, np.array([start]))
        return Correspondence(self.size, size, forth, back, NOTHING, NOTHING, NOTHING)

    def ids(self, numbers: Rows) -> pa.Array:
        """The ids of nodes of any type."""
        parts, places = [pa.array([], pa.utf8())], [NOTHING]
        for name, table in self.tables.items():
            rows = self.rows(name, numbers)
            own = np.flatnonzero(self.among(name, rows))
            parts.append(table.values("id", rows[own]))
            places.append(own)
        return pc.take(pa.concat_arrays(parts), pa.array(np.argsort(np.concatenate(places), kind="stable")))


@dataclass(frozen=True)
class Part:
    """The lists of one pair, and the types at their near and far ends."""

    lists: Lists
    near: str
    far: str


@dataclass(frozen=True)
class MixedLists:
    """Neighbours in one direction over all pairs; the near and far ends of a walk have the types of ``ends``."""

    ranges: NodeRanges
    parts: Sequence[Part]
    ends: Pair
    repeats: bool = False
    """True if two parts may lead to the same neighbour."""

    @cached_property
    def near(self) -> Correspondence:
        return self.ranges.shifted(self.ends[0])

    @cached_property
    def far(self) -> Correspondence:
        return self.ranges.shifted(self.ends[1])

    @property
    def numbers(self) -> int:
        return self.ranges.size

    def within(self, rows: Rows) -> Mask:
        """The rows that are nodes of the far type: a walk also reaches nodes of other types."""
        return self.ranges.among(self.ends[1], rows)

    def wanted(self) -> Mask:
        """For every number whether its node is of the far type."""
        return self.within(self.ranges.rows(self.ends[1], np.arange(self.numbers)))

    def degrees(self, numbers: Rows) -> Rows:
        counts = np.zeros(len(numbers), np.int64)
        for part in self.parts:
            own, starts = self._starts(part, numbers)
            counts[own] += part.lists.degrees(starts)
        return counts

    def step(self, numbers: Rows, *, keep_edges: bool = False) -> tuple[Rows, Rows, Rows]:
        positions, neighbours, edges = [NOTHING], [NOTHING], [NOTHING]
        for part in self.parts:
            own, starts = self._starts(part, numbers)
            position, neighbour, edge = part.lists.step(starts, keep_edges=keep_edges)
            positions.append(own[position])
            neighbours.append(part.lists.far.to_row(neighbour) + self.ranges.starts[part.far])
            edges.append(edge)
        position, neighbour = np.concatenate(positions), np.concatenate(neighbours)
        if keep_edges:
            return position, neighbour, np.concatenate(edges)
        if self.repeats:
            keys = sorted_set(position * self.numbers + neighbour)
            position, neighbour = keys // self.numbers, keys % self.numbers
        return position, neighbour, NOTHING

    def connected(self, numbers: Rows, neighbours: Rows) -> None:
        """None: pairs are not probed."""

    def far_ends(self, numbers: Rows) -> Integers:
        ends = [NOTHING]
        for part in self.parts:
            _, starts = self._starts(part, numbers)
            ends.append(part.lists.far.to_row(part.lists.far_ends(starts)) + self.ranges.starts[part.far])
        return np.concatenate(ends)

    def _starts(self, part: Part, numbers: Rows) -> tuple[Rows, Rows]:
        """The positions of the nodes of a part's near type, and their numbers in its lists."""
        rows = self.ranges.rows(part.near, numbers)
        own = np.flatnonzero(self.ranges.among(part.near, rows))
        return own, part.lists.near.to_number(rows[own])


@dataclass(frozen=True)
class MixedTopology:
    """All pairs of one edge type, walked from nodes of one type to nodes of another."""

    topologies: Mapping[Pair, Topology]
    ranges: NodeRanges
    ends: Pair
    """The types of the bound end and of the other end of a walk."""
    within_one_type: bool = field(default=True, init=False)

    @property
    def source(self) -> Correspondence:
        return self.ranges.shifted(self.ends[0])

    @property
    def out(self) -> MixedLists:
        return MixedLists(self.ranges, self._parts(Direction.OUT), self.ends)

    @property
    def into(self) -> MixedLists:
        return MixedLists(self.ranges, self._parts(Direction.IN), self.ends)

    @property
    def both(self) -> MixedLists:
        return MixedLists(self.ranges, self._parts(Direction.BOTH), self.ends, repeats=True)

    def _parts(self, direction: Direction) -> list[Part]:
        found: list[Part] = []
        for (source, target), topology in self.topologies.items():
            if direction is Direction.BOTH and source == target:
                # One list for both directions: a self-loop occurs once.
                found.append(Part(topology.both, source, target))
                continue
            if direction is not Direction.IN:
                found.append(Part(topology.out, source, target))
            if direction is not Direction.OUT:
                found.append(Part(topology.into, target, source))
        return found

    @cached_property
    def loops(self) -> Rows:
        parts = [
            topology.source.to_row(topology.loops) + self.ranges.starts[source]
            for (source, target), topology in self.topologies.items()
            if source == target
        ]
        return np.sort(np.concatenate([NOTHING, *parts]))
