"""The snapshot as the operators see it: tables and topologies by name, and what is remembered between queries."""

from __future__ import annotations

from dataclasses import dataclass, field

from omnigraph.exec.columns import Columns
from omnigraph.exec.search import Searcher
from omnigraph.exec.tables import TableView
from omnigraph.exec.topologies import Topologies
from omnigraph.exec.topology import Topology
from omnigraph.history.state import ManifestState
from omnigraph.schema.catalog import Catalog
from omnigraph.storage.store import Store


@dataclass
class Derived:
    """State derived from pins, shared by the queries of a graph; may be dropped at any time."""

    topologies: Topologies
    columns: Columns = field(default_factory=Columns)
    searcher: Searcher = field(default_factory=Searcher)


@dataclass(frozen=True)
class GraphView:
    """One snapshot."""

    store: Store
    state: ManifestState
    catalog: Catalog
    derived: Derived

    def node_table(self, type_name: str) -> TableView:
        entity = self.catalog.nodes[type_name]
        return TableView(self.store, self.state.tables[entity.table_key], entity, self.derived.columns)

    def edge_table(self, type_name: str) -> TableView:
        entity = self.catalog.edges[type_name]
        return TableView(self.store, self.state.tables[entity.table_key], entity, self.derived.columns)

    def topology(self, edge_name: str) -> Topology:
        edge = self.catalog.edges[edge_name]
        ends = self.node_table(edge.source), self.node_table(edge.target)
        return self.derived.topologies.get((self.edge_table(edge_name), *ends))
