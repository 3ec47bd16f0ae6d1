"""The key comparisons of a load, derived from the schema, the input types and the mode."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field

from omnigraph.history.state import ManifestState
from omnigraph.rows.arrow_types import ID, SRC, Entity
from omnigraph.rows.cardinality import has_bounds, has_minimum
from omnigraph.rows.validate import unique_columns
from omnigraph.schema.catalog import Catalog, EdgeEnd, EdgeType, NodeType
from omnigraph.spark.load.checks.facts import SPACES_PER_TABLE, Emission, FactRole, KeyScan
from omnigraph.spark.load.input import InputTable
from omnigraph.write.load.mode import LoadMode


@dataclass(frozen=True, slots=True)
class Reference:
    """One end of an edge type: of input edges, or of committed edges that the load keeps."""

    number: int
    edge: EdgeType
    end: EdgeEnd
    node_name: str
    is_kept: bool = False

    @property
    def node_key(self) -> str:
        return f"node:{self.node_name}"

    @property
    def role(self) -> int:
        return FactRole.REFERENCE + self.number


@dataclass
class Spaces:
    """The comparisons of one load with one state. ``reads`` are the committed tables that the result depends on."""

    catalog: Catalog
    state: ManifestState
    tables: dict[str, InputTable]
    mode: LoadMode
    reads: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self._numbers = {key: number for number, key in enumerate(sorted(self.state.tables))}
        self.references = list(self._references())

    def entity(self, key: str) -> Entity:
        kind, _, name = key.partition(":")
        return self.catalog.nodes[name] if kind == "node" else self.catalog.edges[name]

    def ids(self, key: str) -> int:
        """The id space of a table."""
        return self._numbers[key] * SPACES_PER_TABLE

    def unique(self, key: str, number: int) -> int:
        """The space of a unique constraint of a table."""
        assert number < SPACES_PER_TABLE - 2, "a type has more unique constraints than there are spaces"
        return self.ids(key) + 1 + number

    def sources(self, key: str) -> int:
        """The space of the source nodes of an edge table."""
        return self.ids(key) + SPACES_PER_TABLE - 1

    def bounded_edges(self) -> Iterator[EdgeType]:
        """Edge types of the input with a cardinality constraint."""
        for _, table in sorted(self.tables.items()):
            edge = table.entity
            if isinstance(edge, EdgeType) and has_bounds(edge):
                yield edge

    def committed_rows(self, key: str) -> int:
        """Number of committed rows. It is a read: seeing no rows conflicts with a writer that adds the first one."""
        self.reads.add(key)
        return self.state.tables[key].rows

    def ascending(self) -> dict[str, KeyScan | None]:
        """Tables without duplicate ids that no edge refers to, with a scan of the committed ids to compare them with.

        There are none to compare with in an empty table, and in one that is overwritten.
        """
        referred = {reference.node_key for reference in self.references}
        found: dict[str, KeyScan | None] = {}
        for key, table in sorted(self.tables.items()):
            if table.ids is not None and key not in referred:
                is_compared = self.mode is not LoadMode.OVERWRITE and self.committed_rows(key)
                emission = Emission(self.ids(key), FactRole.COMMITTED, (ID,))
                found[key] = self.committed_scan(key, emission) if is_compared else None
        return found

    def id_scans(self, new: Collection[str] = ()) -> list[KeyScan]:
        """Scans of the ids of input and committed rows, and of the references to them.

        The ids of ``new`` tables are known to differ from each other and from committed ones.
        """
        emissions: dict[str, list[Emission]] = {
            key: [Emission(self.ids(key), FactRole.INPUT, (ID,))] for key in sorted(self.tables.keys() - new)
        }
        kept: dict[str, list[Emission]] = {}
        for reference in self.references:
            target = kept if reference.is_kept else emissions
            emission = self.reference(reference)
            target.setdefault(reference.edge.table_key, []).append(emission)
        scans = [self.input_scan(key, *items) for key, items in emissions.items()]
        scans += [self.committed_scan(key, *items) for key, items in kept.items()]
        needed = {*(self.tables.keys() - new), *(reference.node_key for reference in self.references)}
        for key in sorted(needed):
            is_replaced = self.mode is LoadMode.OVERWRITE and key in self.tables
            if not is_replaced and self.committed_rows(key):
                scans.append(self.committed_scan(key, Emission(self.ids(key), FactRole.COMMITTED, (ID,))))
        return scans

    def reference(self, reference: Reference) -> Emission:
        """The nodes at one end of edges, in the id space of their type."""
        column = reference.end.column
        return Emission(self.ids(reference.node_key), reference.role, (column,), of_type=reference.node_name)

    def _references(self) -> Iterator[Reference]:
        number = 0
        for _, table in sorted(self.tables.items()):
            if isinstance(table.entity, EdgeType):
                for end in table.entity.ends:
                    for name in end.types:
                        yield Reference(number, table.entity, end, name)
                        number += 1
        if self.mode is not LoadMode.OVERWRITE:
            return
        for _, table in sorted(self.tables.items()):
            if not isinstance(table.entity, NodeType):
                continue
            for edge in self.catalog.edges_of(table.entity.name):
                if edge.table_key in self.tables or not self.committed_rows(edge.table_key):
                    continue
                for end in edge.ends:
                    if table.entity.name in end.types:
                        yield Reference(number, edge, end, table.entity.name, is_kept=True)
                        number += 1

    def input_tuple_scans(self) -> list[KeyScan]:
        """Scans of unique values and edge sources of the input, and of new nodes to detect deleted ones."""
        scans = []
        for key, table in sorted(self.tables.items()):
            emissions = self._tuples(table.entity, FactRole.INPUT)
            if emissions:
                scans.append(self.input_scan(key, *emissions))
        for edge, name in self._edges_of_replaced_nodes():
            scans.append(self.input_scan(f"node:{name}", self._sources_among(edge, name, FactRole.NEW_NODE)))
        return scans

    def _sources_among(self, edge: EdgeType, name: str, role: FactRole) -> Emission:
        """The nodes of a type as sources of an edge type."""
        return Emission(self.sources(edge.table_key), role, (ID,), at_end=(edge.source, name))

    def committed_tuple_scans(self) -> list[KeyScan]:
        """The same scans of committed rows. Of an overwritten table, only the sources with a minimum of edges."""
        scans = []
        for key, table in sorted(self.tables.items()):
            emissions = self._tuples(table.entity, FactRole.COMMITTED)
            if emissions and self.mode is not LoadMode.OVERWRITE and self.committed_rows(key):
                scans.append(self.committed_scan(key, *emissions))
        if self.mode is LoadMode.OVERWRITE:
            for edge in self.bounded_edges():
                key = edge.table_key
                if has_minimum(edge) and self.committed_rows(key):
                    scans.append(self.committed_scan(key, Emission(self.sources(key), FactRole.REPLACED, (SRC,))))
        for edge, name in self._edges_of_replaced_nodes():
            scans.append(self.committed_scan(f"node:{name}", self._sources_among(edge, name, FactRole.OLD_NODE)))
        return scans

    def _tuples(self, entity: Entity, role: FactRole) -> list[Emission]:
        key = entity.table_key
        emissions = [
            Emission(self.unique(key, number), role, columns) for number, columns in enumerate(unique_columns(entity))
        ]
        if any(edge.table_key == key for edge in self.bounded_edges()):
            emissions.append(Emission(self.sources(key), role, (SRC,)))
        return emissions

    def _edges_of_replaced_nodes(self) -> Iterator[tuple[EdgeType, str]]:
        """Edge types with a cardinality, and the types of their sources that the load replaces."""
        for edge in self.bounded_edges() if self.mode is LoadMode.OVERWRITE else ():
            yield from ((edge, name) for name in edge.source.types if f"node:{name}" in self.tables)

    def input_scan(self, key: str, *emissions: Emission, with_ids: bool = False) -> KeyScan:
        table = self.tables[key]
        return KeyScan(table.pin, table.entity, tuple(emissions), with_ids)

    def committed_scan(self, key: str, *emissions: Emission, with_ids: bool = False) -> KeyScan:
        self.reads.add(key)
        return KeyScan(self.state.tables[key], self.entity(key), tuple(emissions), with_ids)
