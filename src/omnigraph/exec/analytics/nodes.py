"""The nodes of an analysis, numbered from 0: type after type by name, within a type in the order of its table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.core.suggestions import did_you_mean
from omnigraph.core.tables import TablePin
from omnigraph.errors import NotFoundError, UsageError
from omnigraph.exec.adjacency import Integers, Rows
from omnigraph.exec.analytics.sparse import Numbers
from omnigraph.exec.graph_view import GraphView
from omnigraph.exec.tables import TableView

Labels = npt.NDArray[np.int64]
NodeRef = str | tuple[str, str]
"""A node as callers name it: its id, or its type and id where several types take part."""


@dataclass(frozen=True)
class NodeSpace:
    """The tables of the node types that take part."""

    tables: dict[str, TableView]

    @classmethod
    def of(cls, view: GraphView, types: Iterable[str]) -> NodeSpace:
        return cls({name: view.node_table(name) for name in types})

    @cached_property
    def starts(self) -> dict[str, int]:
        """The number of the first node of every type."""
        starts, total = {}, 0
        for name, table in self.tables.items():
            starts[name] = total
            total += table.rows
        return starts

    @cached_property
    def size(self) -> int:
        return sum(table.rows for table in self.tables.values())

    def numbers(self, type_name: str, rows: Integers) -> Rows:
        """The numbers of rows of a type's table."""
        positions = self.tables[type_name].layout.live_positions(rows.astype(np.int64))
        return positions + self.starts[type_name]

    def resolve(self, refs: Iterable[NodeRef]) -> Rows:
        """The numbers of nodes that a caller names, in his order; raises for one that is not there."""
        by_type: dict[str, list[tuple[int, str]]] = {}
        count = 0
        for place, ref in enumerate(refs):
            type_name, id_ = self._named(ref)
            by_type.setdefault(type_name, []).append((place, id_))
            count += 1
        numbers = np.zeros(count, np.int64)
        for type_name, wanted in by_type.items():
            rows = self.tables[type_name].rows_of(pa.array([id_ for _, id_ in wanted], pa.utf8()))
            missing = [id_ for (_, id_), row in zip(wanted, rows.tolist(), strict=True) if row < 0]
            if missing:
                raise NotFoundError(f"there is no {type_name} {missing[0]!r}", type=type_name, id=missing[0])
            numbers[[place for place, _ in wanted]] = self.numbers(type_name, rows)
        return numbers

    def _named(self, ref: NodeRef) -> tuple[str, str]:
        types = list(self.tables)
        if isinstance(ref, str):
            if len(types) > 1:
                raise UsageError(
                    f"{ref!r} may be a {' or a '.join(types)}", hint=f"say which: ({types[0]!r}, {ref!r})", id=ref
                )
            return types[0], ref
        type_name, id_ = ref
        if type_name not in self.tables:
            hint = did_you_mean(type_name, types) or f"the node types of the chosen edges are {', '.join(types)}"
            raise UsageError(f"no {type_name!r} takes part", hint=hint, type=type_name)
        return type_name, id_

    def columns(self, start: int, stop: int) -> tuple[pa.Array, pa.Array]:
        """Types and ids of the nodes from one number to before another."""
        return self.columns_at(np.arange(start, stop))

    def columns_at(self, numbers: Rows) -> tuple[pa.Array, pa.Array]:
        """Types and ids of some nodes, by ascending numbers."""
        types: list[pa.Array] = [pa.array([], pa.utf8())]
        ids: list[pa.Array] = [pa.array([], pa.utf8())]
        for name, table in self.tables.items():
            own = numbers - self.starts[name]
            own = own[(own >= 0) & (own < table.rows)]
            types.append(pa.repeat(pa.scalar(name, pa.utf8()), len(own)))
            ids.append(table.values("id", self._live[name][own]))
        return pa.concat_arrays(types), pa.concat_arrays(ids)

    def values_for(
        self, type_name: str, pin: TablePin, ids: pa.Array, first: int, values: pa.Array
    ) -> tuple[pa.Array, pa.Array]:
        """Values, given by number, of nodes as another commit has them, and which of these nodes were there.

        ``ids`` are those of that commit's table from a position on.
        """
        table = self.tables[type_name]
        if table.pin == pin:
            own = values.slice(self.starts[type_name] + first, len(ids))
            return own, pa.array(np.ones(len(ids), bool))
        rows = table.rows_of(ids)
        numbers = self.numbers(type_name, np.where(rows < 0, 0, rows))
        return values.take(pa.array(numbers, mask=rows < 0)), pa.array(rows >= 0)

    def largest(self, values: pa.Array, count: int) -> Rows:
        """Numbers of the nodes with the largest values, and of all that are level with the last of them; ascending."""
        known = pc.drop_null(values)
        if not len(known) or count < 1:
            return np.zeros(0, np.int64)
        least = known[pc.select_k_unstable(known, min(count, len(known)), [("", "descending")])[-1].as_py()]
        return np.flatnonzero(pc.fill_null(pc.greater_equal(values, least), False).to_numpy(zero_copy_only=False))

    def weights(self, given: Mapping[NodeRef, float]) -> Numbers:
        """Weights of some nodes as a weight of every node; raises for what is no weight, and if there is none."""
        weights = np.zeros(self.size)
        for number, value in zip(self.resolve(given).tolist(), given.values(), strict=True):
            if not (np.isfinite(value) and value >= 0):
                raise UsageError(f"a weight of {value} makes no sense", hint="weights are finite and not negative")
            weights[number] = value
        if not weights.sum() > 0:
            raise UsageError("no node has a weight", hint="give at least one node a weight above zero")
        return weights

    @cached_property
    def _live(self) -> dict[str, Rows]:
        return {name: table.live() for name, table in self.tables.items()}

    @cached_property
    def ranks(self) -> Labels:
        """The place of every node in the order of types and ids, which does not depend on how tables are stored."""
        ranks = np.zeros(self.size, np.int64)
        for name, table in self.tables.items():
            start = self.starts[name]
            ids = table.values("id", self._live[name])
            ranks[start + pc.sort_indices(ids).to_numpy()] = np.arange(start, start + table.rows)
        return ranks

    def numbered_groups(self, labels: Labels) -> Labels:
        """Groups of nodes, known by any label, numbered from 0 by the first of their nodes in the order of ids."""
        if not self.size:
            return labels
        _, group = np.unique(labels, return_inverse=True)
        first = np.full(int(group.max()) + 1, self.size, np.int64)
        np.minimum.at(first, group, self.ranks)
        places = np.empty(len(first), np.int64)
        places[np.argsort(first)] = np.arange(len(first))
        numbered: Labels = places[group]
        return numbered
