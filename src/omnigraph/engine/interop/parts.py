"""The nodes and edges of chosen types, numbered from 0: what every other graph library is given."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.core.hints import verify_hint
from omnigraph.engine.snapshot import Snapshot
from omnigraph.engine.views.view import EntityView
from omnigraph.errors import CorruptionError, UsageError
from omnigraph.rows.ends.references import type_columns
from omnigraph.rows.write.results import python_rows
from omnigraph.schema.catalog import EdgeType, NodeType
from omnigraph.schema.ir import Pair

Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Chosen:
    """The types of a conversion. Every edge type connects two of the node types.

    An edge type over several types occurs once for each of its ``pairs``, which are those of ``edges``.
    """

    nodes: tuple[NodeType, ...]
    edges: tuple[EdgeType, ...]
    pairs: tuple[Pair, ...]


def choose(snapshot: Snapshot, names: Sequence[str]) -> Chosen:
    """The named types, or all. Edge types bring the types of their ends, node types alone the edges among them."""
    named = [entity for name in names for entity in snapshot.entities(name)] if names else snapshot.entities()
    edges = [item for item in named if isinstance(item, EdgeType)]
    nodes = [item for item in named if isinstance(item, NodeType)]
    if names and not edges:
        inside = {item.name for item in nodes}
        every = (item for item in snapshot.entities() if isinstance(item, EdgeType))
        chosen = [(item, pair) for item in every for pair in item.pairs if inside.issuperset(pair)]
    else:
        chosen = [(item, pair) for item in edges for pair in item.pairs]
    ends = [snapshot.catalog.nodes[name] for _, pair in chosen for name in pair]
    found = {node.name: node for node in [*nodes, *ends]}
    ordered = sorted(chosen, key=lambda one: (one[0].name, one[1]))
    connecting = {(edge.name, pair): (edge, pair) for edge, pair in ordered}
    return Chosen(
        tuple(found[name] for name in sorted(found)),
        tuple(edge for edge, _ in connecting.values()),
        tuple(pair for _, pair in connecting.values()),
    )


@dataclass(frozen=True)
class GraphParts:
    """Tables of nodes and edges by type, in the order of the types. Nodes are numbered in the order of the tables."""

    snapshot: Snapshot
    chosen: Chosen
    nodes: tuple[pa.Table, ...]
    edges: tuple[pa.Table, ...]

    @cached_property
    def starts(self) -> dict[str, int]:
        """The number of the first node of each type."""
        lengths = [table.num_rows for table in self.nodes]
        return dict(zip((node.name for node in self.chosen.nodes), np.cumsum([0, *lengths]).tolist(), strict=False))

    @cached_property
    def size(self) -> int:
        """The number of nodes."""
        return sum(table.num_rows for table in self.nodes)

    @cached_property
    def ids(self) -> list[str]:
        """The ids of all nodes, by number."""
        return [id_ for table in self.nodes for id_ in table.column("id").to_pylist()]

    def named(self, numbers: Numbers) -> Iterator[tuple[str, Numbers, list[str]]]:
        """Some nodes by type: the places that they have in ``numbers``, and their ids."""
        for node, table in zip(self.chosen.nodes, self.nodes, strict=True):
            local = numbers - self.starts[node.name]
            places = np.flatnonzero((local >= 0) & (local < table.num_rows))
            yield node.name, places, table.column("id").take(local[places]).to_pylist()

    @cached_property
    def types(self) -> list[str]:
        """The names of the types of all nodes, by number."""
        tables = zip(self.chosen.nodes, self.nodes, strict=True)
        return [node.name for node, table in tables for _ in range(table.num_rows)]

    @cached_property
    def names(self) -> list[str]:
        """Names of all nodes: their ids, with the type before an id that nodes of two types share."""
        shared = _repeated(self.ids)
        pairs = zip(self.types, self.ids, strict=True)
        return [f"{type_}:{id_}" if id_ in shared else id_ for type_, id_ in pairs]

    def node_rows(self) -> list[dict[str, Any]]:
        """The properties of all nodes, by number; without nulls."""
        return [row for table in self.nodes for row in _properties(table, ("id",))]

    def edge_rows(self, index: int) -> list[dict[str, Any]]:
        """The properties of the edges of one type; without nulls."""
        edge = self.chosen.edges[index]
        return _properties(self.edges[index], ("id", "src", "dst", *type_columns(edge)))

    def ends(self, index: int) -> tuple[Numbers, Numbers]:
        """The numbers of the nodes that the edges of one type connect."""
        source, target = self.chosen.pairs[index]
        return self._positions(index, "src", source), self._positions(index, "dst", target)

    def local_ends(self, index: int) -> tuple[Numbers, Numbers]:
        """The same, counted from 0 within the type of each end."""
        source, target = self.chosen.pairs[index]
        sources, targets = self.ends(index)
        return sources - self.starts[source], targets - self.starts[target]

    def _positions(self, index: int, column: str, type_name: str) -> Numbers:
        place = [node.name for node in self.chosen.nodes].index(type_name)
        known = self.nodes[place].column("id").combine_chunks()
        found = pc.index_in(self.edges[index].column(column).combine_chunks(), value_set=known)
        if found.null_count:
            raise CorruptionError(
                f"{found.null_count:,} edges of {self.chosen.edges[index].name} have no {type_name} as {column}",
                hint=verify_hint("lists what is missing"),
            )
        positions: Numbers = found.to_numpy(zero_copy_only=False).astype(np.int64)
        return positions + self.starts[type_name]


def read_parts(snapshot: Snapshot, names: Sequence[str], *, properties: bool = True) -> GraphParts:
    """Read the chosen types; without ``properties`` only ids and ends. Blobs are left out."""
    chosen = choose(snapshot, names)
    if not chosen.nodes:
        raise UsageError("the graph has no node types", hint="declare one in the schema")

    def table(entity: NodeType | EdgeType) -> pa.Table:
        view = plain_view(snapshot, entity)
        keys = [name for name in view.columns if name not in entity.properties]
        return view.arrow() if properties else view.select(*keys).arrow()

    whole = {edge.name: table(edge) for edge in {edge.name: edge for edge in chosen.edges}.values()}
    edges = (_between(edge, pair, whole[edge.name]) for edge, pair in zip(chosen.edges, chosen.pairs, strict=True))
    return GraphParts(snapshot, chosen, tuple(map(table, chosen.nodes)), tuple(edges))


def _between(edge: EdgeType, pair: Pair, edges: pa.Table) -> pa.Table:
    """The edges between two types."""
    for end, name in zip(edge.ends, pair, strict=True):
        if end.is_typed:
            edges = edges.filter(pc.equal(edges.column(str(end.type_column)), name))
    return edges


def plain_view(snapshot: Snapshot, entity: NodeType | EdgeType) -> EntityView:
    """All columns of a type except blobs."""
    view = snapshot.nodes(entity.name) if isinstance(entity, NodeType) else snapshot.edges(entity.name)
    declared = entity.properties
    return view.select(*(name for name in view.columns if name not in declared or not declared[name].type.is_blob))


def _repeated(ids: list[str]) -> set[str]:
    seen: set[str] = set()
    return {id_ for id_ in ids if id_ in seen or seen.add(id_)}  # type: ignore[func-returns-value] # add is for its effect


def _properties(table: pa.Table, without: tuple[str, ...]) -> list[dict[str, Any]]:
    names = [name for name in table.schema.names if name not in without]
    if not names:
        return [{} for _ in range(table.num_rows)]
    rows = python_rows(table.select(names))
    return [{name: value for name, value in row.items() if value is not None} for row in rows]
