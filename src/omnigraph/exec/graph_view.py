"""The snapshot as operators see it: tables and topologies by name, and state cached between queries."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from omnigraph.core.lru import Lru
from omnigraph.core.tables import TablePin
from omnigraph.exec.adjacency import Rows, sorted_set
from omnigraph.exec.columns import Columns
from omnigraph.exec.id_map import IdMaps
from omnigraph.exec.search import Searcher
from omnigraph.exec.tables import TableView
from omnigraph.exec.topology.cache import Pins, Topologies
from omnigraph.exec.topology.indexed import SOURCE, TARGET, IndexedTopology
from omnigraph.exec.topology.neighbours import Topology
from omnigraph.exec.topology.visible import visible_topology
from omnigraph.exec.topology.walkable import Steps, Walkable
from omnigraph.history.state import ManifestState
from omnigraph.query.ir import HopRange, VisibleEdges
from omnigraph.rows.arrow_types import Entity
from omnigraph.schema.catalog import Catalog
from omnigraph.storage.tables.array_cache import ArrayCache
from omnigraph.storage.tables.store import Store

INDEXED_STARTS_MAX = 20
INDEXED_HOPS_MAX = 2
"""Traversals with more starts or hops use neighbour lists: a lookup costs a millisecond per start and hop."""

VISIBLE_MAX = 16
"""Cached topologies of visible edges, which are in memory."""

VisibleKey = tuple[TablePin, TablePin, TablePin, str, VisibleEdges]
"""The three tables, the digest of their schema, and the predicates."""

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

    topologies: Topologies
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
        return cls(Topologies(files), IdMaps(files))


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

    def pins(self, edge_name: str) -> Pins:
        """The three tables of an edge type."""
        edge = self.catalog.edges[edge_name]
        return self.edge_table(edge_name), self.node_table(edge.source), self.node_table(edge.target)

    def topology(self, edge_name: str, visible: VisibleEdges | None = None) -> Topology:
        """The neighbour lists of an edge type, or of its visible edges."""
        if visible is not None:
            return self._visible(edge_name, visible)
        found = self.derived.topologies.get(self.pins(edge_name))
        changes = found.edge.changes + found.source.changes + found.target.changes
        since = f", {changes:,} changes on top" if changes else ""
        edges = "1 edge" if found.base.edges == 1 else f"{found.base.edges:,} edges"
        self.remarks.append(f"{edge_name}: neighbour lists of {edges}{since}")
        return found

    def _visible(self, edge_name: str, visible: VisibleEdges) -> Topology:
        pins = self.pins(edge_name)
        edge, source, target = (table.pin for table in pins)
        key = (edge, source, target, self.state.schema_digest, visible)
        known = self.derived.visible.get(key)
        if known is None:
            whole = self.derived.topologies.get(pins)
            known = visible_topology(whole, pins, visible, self.derived.searcher)
            self.derived.visible.put(key, known)
        return known

    def walkable(
        self, edge_name: str, starts: Rows, hops: HopRange, visible: VisibleEdges | None = None
    ) -> Walkable[Steps]:
        """Neighbour lists for these rows, or the index if there are no lists yet and few rows."""
        if visible is not None:
            return self._visible(edge_name, visible)
        pins = self.pins(edge_name)
        is_short = hops.low <= 1 and hops.high <= INDEXED_HOPS_MAX
        if not is_short or self.derived.traversal is Traversal.TOPOLOGY:
            return self.topology(edge_name)
        is_forced = self.derived.traversal is Traversal.INDEXED
        if not is_forced and not self.prefers_index(pins):
            return self.topology(edge_name)
        different = sorted_set(starts[starts >= 0])
        if not is_forced and len(different) > INDEXED_STARTS_MAX:
            return self.topology(edge_name)
        if not is_forced:
            self.derived.topologies.request(pins)
        self.remarks.append(f"{edge_name}: looked up by index, {len(different)} starts")
        return IndexedTopology(*pins, different)

    def prefers_index(self, pins: Pins) -> bool:
        """True if traversals from a few nodes use the index: it exists, and neighbour lists do not yet."""
        edge = pins[0]
        if edge.rows < self.store.tuning.indexed_edges_min or self.derived.topologies.find(pins) is not None:
            return False
        return edge.is_indexed(SOURCE) and edge.is_indexed(TARGET)
