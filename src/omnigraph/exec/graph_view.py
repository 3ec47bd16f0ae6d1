"""The snapshot as operators see it: tables and topologies by name, and state cached between queries."""

from __future__ import annotations

from dataclasses import field
from enum import Enum
from functools import cached_property
from typing import TYPE_CHECKING

from omnigraph.core.classes.dataclass import dataclass
from omnigraph.core.lru import Lru
from omnigraph.core.tables import TablePin
from omnigraph.exec.adjacency import Rows, sorted_set
from omnigraph.exec.columns import Columns
from omnigraph.exec.id_map import IdMaps
from omnigraph.exec.search import Searcher
from omnigraph.exec.tables import TableView
from omnigraph.exec.topology.indexed import SOURCE, TARGET, IndexedTopology
from omnigraph.exec.topology.neighbours import Topology
from omnigraph.exec.topology.pins import Pins
from omnigraph.exec.topology.walkable import Steps, Walkable
from omnigraph.history.state import ManifestState
from omnigraph.query.ir import ONE_HOP, Direction, Expand, ShortestPath, VisibleEdges
from omnigraph.rows.arrow_types import Entity
from omnigraph.schema.catalog import Catalog
from omnigraph.schema.ir import Pair
from omnigraph.storage.tables.array_cache import ArrayCache
from omnigraph.storage.tables.store import Store

if TYPE_CHECKING:
    from omnigraph.exec.topology.cache import Topologies
    from omnigraph.exec.topology.mixed import MixedTopology

INDEXED_STARTS_MAX = 20
INDEXED_HOPS_MAX = 2
"""Traversals with more starts or hops use neighbour lists: a lookup costs a millisecond per start and hop."""

VISIBLE_MAX = 16
"""Cached topologies of visible edges, which are in memory."""

VisibleKey = tuple[TablePin, TablePin, TablePin, str, str, VisibleEdges]
"""The three tables, the pair of types, the digest of their schema, and the predicates."""

VIEWS_MAX = 256
"""Cached table views; a view is small, but its layout takes a moment to read."""


class Traversal(Enum):
    """Traversal strategies."""

    AUTO = "auto"
    TOPOLOGY = "topology"
    """Neighbour lists of the whole edge type."""
    INDEXED = "indexed"
    """Index lookups in the edge table for a few nodes."""


@dataclass
class Derived:
    """State derived from pins, shared by the queries of a graph; may be dropped at any time."""

    files: ArrayCache
    """Entries worth keeping beyond this process."""
    id_maps: IdMaps
    columns: Columns = field(default_factory=Columns)
    searcher: Searcher = field(default_factory=Searcher)
    views: Lru[tuple[TablePin, str], TableView] = field(default_factory=lambda: Lru(VIEWS_MAX))
    visible: Lru[VisibleKey, Topology] = field(default_factory=lambda: Lru(VISIBLE_MAX))
    traversal: Traversal = Traversal.AUTO
    """Tests and benchmarks force a strategy; queries choose."""

    @classmethod
    def kept_in(cls, files: ArrayCache) -> Derived:
        """Empty caches; entries worth keeping beyond this process are persisted in these files."""
        return cls(files, IdMaps(files))

    @cached_property
    def topologies(self) -> Topologies:
        from omnigraph.exec.topology.cache import Topologies

        return Topologies(self.files)


@dataclass(frozen=True)
class GraphView:
    """One snapshot. ``remarks`` collects the decisions that a profile reports."""

    store: Store
    state: ManifestState
    catalog: Catalog
    derived: Derived
    remarks: list[str] = field(default_factory=list)
    is_restricted: bool = False
    """True if the query was compiled inside a data scope: facts about whole tables must not be shown."""
    _views: dict[str, TableView] = field(default_factory=dict, repr=False)

    def node_table(self, type_name: str) -> TableView:
        return self._table(self.catalog.nodes[type_name])

    def edge_table(self, type_name: str) -> TableView:
        return self._table(self.catalog.edges[type_name])

    def table(self, key: str) -> TableView:
        """The table of a key such as ``node:Person``."""
        kind, _, name = key.partition(":")
        return self.node_table(name) if kind == "node" else self.edge_table(name)

    def _table(self, entity: Entity) -> TableView:
        known = self._views.get(entity.table_key)
        if known is None:
            known = self._views[entity.table_key] = self._remembered(entity)
        return known

    def _remembered(self, entity: Entity) -> TableView:
        pin = self.state.tables[entity.table_key]
        key = (pin, self.state.schema_digest)
        known = self.derived.views.get(key)
        if known is None:
            known = TableView(self.store, pin, entity, self.derived.columns, self.derived.id_maps)
            self.derived.views.put(key, known)
        return known

    def pins(self, edge_name: str, pair: Pair | None = None) -> Pins:
        """The three tables of an edge type; ``pair`` are its source and target, if it has a column for types."""
        edge = self.catalog.edges[edge_name]
        source, target = edge.pairs[0] if pair is None else pair
        return Pins(self.edge_table(edge_name), self.node_table(source), self.node_table(target), pair)

    def topology(self, edge_name: str, visible: VisibleEdges | None = None, pair: Pair | None = None) -> Topology:
        """The neighbour lists of an edge type, of one pair of its types, or of the visible edges of these."""
        pins = self.pins(edge_name, pair)
        if visible is not None:
            return self._visible(pins, visible)
        found = self.derived.topologies.get(pins)
        changes = found.edge.changes + found.source.changes + found.target.changes
        since = f", {changes:,} changes on top" if changes else ""
        edges = "1 edge" if found.base.edges == 1 else f"{found.base.edges:,} edges"
        between = "" if pair is None else f" ({pair[0]} -> {pair[1]})"
        self.remarks.append(f"{edge_name}{between}: neighbour lists of {edges}{since}")
        return found

    def mixed(self, edge_name: str, ends: Pair, visible: VisibleEdges | None = None) -> MixedTopology:
        """The neighbour lists of all pairs of types of an edge type, for walks that change the type on the way.

        ``ends`` are the types of the bound end and of the other one.
        """
        from omnigraph.exec.topology.mixed import MixedTopology, NodeRanges

        edge = self.catalog.edges[edge_name]
        hidden = () if visible is None else set(edge.node_types).difference(name for name, _ in visible.nodes)
        pairs = [pair for pair in edge.pairs if not set(pair) & set(hidden)]
        tables = {name: self.node_table(name) for name in edge.node_types}
        lists = {pair: self.topology(edge_name, visible, pair) for pair in pairs}
        return MixedTopology(lists, NodeRanges(tables), ends)

    def is_mixed(self, operator: Expand | ShortestPath) -> bool:
        """True if a walk may change the type on the way, or follows edges of several pairs in one step."""
        edge = self.catalog.edges[operator.edge]
        is_step = operator.hops == ONE_HOP and operator.direction is not Direction.BOTH
        return operator.pair is not None and edge.chains and not edge.is_single and not is_step

    def _visible(self, pins: Pins, visible: VisibleEdges) -> Topology:
        edge, source, target = (table.pin for table in pins.tables)
        key = (edge, source, target, pins.tags, self.state.schema_digest, visible)
        known = self.derived.visible.get(key)
        if known is None:
            from omnigraph.exec.topology.visible import visible_topology

            whole = self.derived.topologies.get(pins)
            known = visible_topology(whole, pins, visible, self.derived.searcher)
            self.derived.visible.put(key, known)
        return known

    def walkable(self, operator: Expand, starts: Rows) -> Walkable[Steps]:
        """Neighbour lists for these rows, or the index if there are no lists yet and few rows."""
        edge_name, hops, visible, pair = operator.edge, operator.hops, operator.visible, stored_pair(operator)
        if self.is_mixed(operator):
            assert operator.pair is not None
            left, right = operator.pair
            is_reverse = operator.from_target and not operator.closes
            return self.mixed(edge_name, (right, left) if is_reverse else (left, right), visible)
        pins = self.pins(edge_name, pair)
        if visible is not None:
            return self._visible(pins, visible)
        is_short = hops.low <= 1 and hops.high <= INDEXED_HOPS_MAX
        if not is_short or self.derived.traversal is Traversal.TOPOLOGY:
            return self.topology(edge_name, None, pair)
        is_forced = self.derived.traversal is Traversal.INDEXED
        if not is_forced and not self.prefers_index(pins):
            return self.topology(edge_name, None, pair)
        different = sorted_set(starts[starts >= 0])
        if not is_forced and len(different) > INDEXED_STARTS_MAX:
            return self.topology(edge_name, None, pair)
        if not is_forced:
            self.derived.topologies.request(pins)
        self.remarks.append(f"{edge_name}: looked up by index, {len(different)} starts")
        return IndexedTopology(pins, different)

    def prefers_index(self, pins: Pins) -> bool:
        """True if traversals from a few nodes use the index: it exists, and neighbour lists do not yet."""
        edge = pins.edge
        if edge.rows < self.store.tuning.indexed_edges_min or self.derived.topologies.find(pins) is not None:
            return False
        return edge.is_indexed(SOURCE) and edge.is_indexed(TARGET)


def stored_pair(operator: Expand | ShortestPath) -> Pair | None:
    """The types of the source and the target of the edges that an operator follows."""
    if operator.pair is None or operator.direction is not Direction.IN:
        return operator.pair
    return operator.pair[1], operator.pair[0]
