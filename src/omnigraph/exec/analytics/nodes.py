"""Node numbering of an analysis: from 0, types by name, within a type in the order of its table."""

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
RANKED_MAX = 1_000_000
"""Nodes whose values are compared together when the largest are searched: some tens of megabytes."""

NodeRef = str | tuple[str, str]
"""A node reference: its id, or its type and id where several types take part."""


@dataclass(frozen=True)
class NodeSpace:
    """The numbering over the tables of the participating node types."""

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
        """The numbers of referenced nodes, in the given order; raises for a missing one."""
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
                raise NotFoundError(
                    f"there is no {type_name} {missing[0]!r}",
                    hint="nodes are named by their ids; the id of a node with a key is its key",
                    type=type_name,
                    id=missing[0],
                )
            numbers[[place for place, _ in wanted]] = self.numbers(type_name, rows)
        return numbers

    def _named(self, ref: NodeRef) -> tuple[str, str]:
        types = list(self.tables)
        if isinstance(ref, str):
            if len(types) > 1:
                raise UsageError(
                    f"{ref!r} is ambiguous: it may be a {' or a '.join(types)}",
                    hint=f"pass ({types[0]!r}, {ref!r})",
                    id=ref,
                )
            return types[0], ref
        type_name, id_ = ref
        if type_name not in self.tables:
            hint = did_you_mean(type_name, types) or f"node types of the selected edges: {', '.join(types)}"
            raise UsageError(f"node type {type_name!r} is not part of the analysis", hint=hint, type=type_name)
        return type_name, id_

    def columns(self, start: int, stop: int) -> tuple[pa.Array, pa.Array]:
        """Types and ids of a half-open range of nodes."""
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
        """Values by node number, joined with the nodes of another commit; and which of those nodes were analysed.

        ``ids`` is a slice of that commit's table that starts at position ``first``.
        """
        table = self.tables[type_name]
        if table.pin == pin:
            own = values.slice(self.starts[type_name] + first, len(ids))
            return own, pa.array(np.ones(len(ids), bool))
        rows = table.rows_of(ids)
        numbers = self.numbers(type_name, np.where(rows < 0, 0, rows))
        return values.take(pa.array(numbers, mask=rows < 0)), pa.array(rows >= 0)

    def largest(self, values: pa.Array, count: int) -> Rows:
        """Numbers of the nodes with the largest values, with all ties of the last; ascending."""
        found = np.zeros(0, np.int64)
        for start in range(0, len(values) if count > 0 else 0, RANKED_MAX):
            part = values.slice(start, RANKED_MAX)
            own = np.flatnonzero(pc.is_valid(part).to_numpy(zero_copy_only=False)) + start
            candidates = np.concatenate((found, own))
            held = values.take(pa.array(candidates))
            if len(candidates) > count:
                least = held[pc.select_k_unstable(held, count, [("", "descending")])[-1].as_py()]
                candidates = candidates[pc.greater_equal(held, least).to_numpy(zero_copy_only=False)]
            found = candidates
        return found

    def weights(self, given: Mapping[NodeRef, float]) -> tuple[Rows, Numbers]:
        """Numbers and weights of some nodes; raises for an invalid weight, or if all are zero."""
        numbers, weights = self.resolve(given), np.array(list(given.values()), np.float64)
        is_valid = np.isfinite(weights) & (weights >= 0)
        if not is_valid.all():
            raise UsageError(
                f"invalid node weight {weights[~is_valid][0]}", hint="weights must be finite and not negative"
            )
        if not weights.sum() > 0:
            raise UsageError("all node weights are zero", hint="give at least one node a weight above zero")
        return numbers, weights

    def integers(self, name: str) -> Labels:
        """An integer property of all nodes; raises if a type does not have it or a node has no value."""
        parts = [
            checked_integers(table.values(name, self._live[type_name]), type_name, name)
            for type_name, table in self.checked_property(name).items()
        ]
        return np.concatenate([np.zeros(0, np.int64), *parts])

    def checked_property(self, name: str) -> dict[str, TableView]:
        """All tables; raises unless each has an integer property of this name."""
        for type_name, table in self.tables.items():
            prop = table.entity.properties.get(name)
            if prop is None or not prop.type.is_number or prop.type.scalar.is_float:
                known = [item for item, other in table.entity.properties.items() if other.type.is_number]
                raise UsageError(
                    f"node type {type_name} has no integer property {name!r}",
                    hint=did_you_mean(name, known) or f"numeric properties: {', '.join(known) or 'none'}",
                    type=type_name,
                    property=name,
                )
        return self.tables

    @cached_property
    def _live(self) -> dict[str, Rows]:
        return {name: table.live() for name, table in self.tables.items()}

    @cached_property
    def ranks(self) -> Labels:
        """The rank of every node by type and id, independent of the storage layout."""
        ranks = np.zeros(self.size, np.int64)
        for name, table in self.tables.items():
            start = self.starts[name]
            ids = table.values("id", self._live[name])
            ranks[start + pc.sort_indices(ids).to_numpy()] = np.arange(start, start + table.rows)
        return ranks


def checked_integers(values: pa.Array, type_name: str, name: str) -> Labels:
    """Values as integers; raises if one is null."""
    if values.null_count:
        raise UsageError(
            f"{values.null_count:,} nodes of type {type_name} have no {name}",
            hint="set the property on every node, or use another one",
            type=type_name,
            property=name,
        )
    try:
        integers: Labels = values.cast(pa.int64()).to_numpy(zero_copy_only=False)
    except pa.ArrowInvalid as error:
        raise UsageError(
            f"a value of {type_name}.{name} is too large: {error}", type=type_name, property=name
        ) from error
    return integers
