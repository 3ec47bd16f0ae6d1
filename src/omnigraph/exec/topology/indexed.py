"""Index-backed traversal: every step looks up the edges of its nodes in the edge table instead of neighbour lists.

Same interface and results as the lists. With an index on the edge endpoints a step costs milliseconds whatever the
table's size; encoding the whole table for lists costs seconds.
"""

from __future__ import annotations

from dataclasses import field
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.core.classes.dataclass import dataclass
from omnigraph.exec.adjacency import Rows, sorted_set
from omnigraph.exec.tables import TableView
from omnigraph.exec.topology.pins import Pins
from omnigraph.exec.topology.renumber import Correspondence, unchanged

SOURCE, TARGET = "src", "dst"


@dataclass(frozen=True)
class IndexedLists:
    """Neighbours by index lookup. ``columns`` are the endpoint columns to look up."""

    pins: Pins
    start: TableView
    end: TableView
    columns: tuple[str, ...]
    _known: dict[bytes, tuple[Rows, Rows, Rows]] = field(default_factory=dict, repr=False)
    """The edges of nodes that were looked up: a walk starts where its self-loops are looked for."""

    @property
    def near(self) -> Correspondence:
        return unchanged(self.start.layout)

    @property
    def far(self) -> Correspondence:
        return unchanged(self.end.layout)

    @property
    def numbers(self) -> int:
        return max(self.start.size, self.end.size)

    def degrees(self, numbers: Rows) -> Rows:
        """Zeros: degrees are unknown before the lookup, so the budget is not charged for them."""
        return np.zeros(len(numbers), np.int64)

    def step(self, numbers: Rows, *, keep_edges: bool = False) -> tuple[Rows, Rows, Rows]:
        """One step from every node: the position of the node in the input, the neighbour, and the edge's row."""
        starts, ends, edges = self._edges_of(sorted_set(numbers))
        position, slot = _joined(numbers, starts)
        neighbour, edge = ends[slot], edges[slot]
        if keep_edges:
            return position, neighbour, edge
        keys = sorted_set(position * self.numbers + neighbour)
        return keys // self.numbers, keys % self.numbers, keys[:0]

    def _edges_of(self, nodes: Rows) -> tuple[Rows, Rows, Rows]:
        """The edges of some different nodes: that node, the other end, and the edge's row."""
        key = nodes.tobytes()
        known = self._known.get(key)
        if known is not None:
            return known
        ids = self.start.values("id", nodes)
        steps = [self._along(column, ids, nodes) for column in self.columns]
        starts, ends, edges = (np.concatenate(parts) for parts in zip(*steps, strict=True))
        is_known = ends >= 0
        starts, ends, edges = starts[is_known], ends[is_known], edges[is_known]
        if len(self.columns) > 1:
            # A self-loop is found from both of its ends.
            _, once = np.unique(np.stack((starts, ends, edges)), axis=1, return_index=True)
            starts, ends, edges = starts[once], ends[once], edges[once]
        self._known[key] = starts, ends, edges
        return starts, ends, edges

    def connected(self, numbers: Rows, neighbours: Rows) -> None:
        """None: there is no structure to probe pairs in."""

    def far_ends(self, numbers: Rows) -> Rows:
        return self.step(numbers)[1]

    def _along(self, column: str, ids: pa.Array, nodes: Rows) -> tuple[Rows, Rows, Rows]:
        """The edges whose endpoint in this column is one of the nodes: that node, the other end, and the edge's row."""
        other = TARGET if column == SOURCE else SOURCE
        rows, found = self.pins.edge.with_ids(column, ids.to_pylist(), [column, other, *self.pins.type_columns])
        if self.pins.type_columns:
            counted = self.pins.counted(found, len(rows))
            rows, found = rows[counted], {name: held.filter(pa.array(counted)) for name, held in found.items()}
        places = pc.index_in(found[column], value_set=ids)
        starts: Rows = nodes[places.to_numpy().astype(np.int64)]
        return starts, self.end.rows_of(found[other]), rows


def _joined(numbers: Rows, starts: Rows) -> tuple[Rows, Rows]:
    """Equi-join of two arrays: pairs of positions with equal numbers."""
    order = np.argsort(starts, kind="stable")
    low = np.searchsorted(starts[order], numbers, side="left")
    counts = np.searchsorted(starts[order], numbers, side="right") - low
    position = np.repeat(np.arange(len(numbers)), counts)
    before = np.cumsum(counts) - counts
    slot: Rows = order[np.arange(len(position)) + np.repeat(low - before, counts)]
    return position, slot


@dataclass(frozen=True)
class IndexedTopology:
    """One edge table in both directions, walked from ``starts``."""

    pins: Pins
    starts: Rows

    @property
    def start(self) -> TableView:
        return self.pins.source

    @property
    def end(self) -> TableView:
        return self.pins.target

    @property
    def within_one_type(self) -> bool:
        return self.start.pin.key == self.end.pin.key

    @property
    def source(self) -> Correspondence:
        return unchanged(self.start.layout)

    @cached_property
    def out(self) -> IndexedLists:
        return IndexedLists(self.pins, self.start, self.end, (SOURCE,))

    @cached_property
    def into(self) -> IndexedLists:
        return IndexedLists(self.pins, self.end, self.start, (TARGET,))

    @cached_property
    def both(self) -> IndexedLists:
        return IndexedLists(self.pins, self.start, self.end, (SOURCE, TARGET))

    @cached_property
    def loops(self) -> Rows:
        """The starts with a self-loop."""
        if not self.within_one_type:
            return self.starts[:0]
        position, neighbour, _ = self.out.step(self.starts)
        return sorted_set(neighbour[self.starts[position] == neighbour])
