"""Sealing: the newest versions of external tables, read once and checked as a load that replaces all rows.

The keys of the rows go into a database on disk, so the size of a source does not matter. The rows themselves stay where
they are. After a concurrent commit the keys are checked again, and nothing is read a second time.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from omnigraph.core.display import counted
from omnigraph.core.tables import FileRecord, TablePin
from omnigraph.history.state import ManifestState
from omnigraph.lake.external.checks import unreadable_files
from omnigraph.lake.external.seal import Seal
from omnigraph.lake.external.sources import find_source
from omnigraph.lake.external.table import stored_seal
from omnigraph.rows.arrow_types import Entity
from omnigraph.rows.cardinality import has_minimum
from omnigraph.rows.ends.references import is_of_type_sql, reference_sql
from omnigraph.rows.ends.violations import endpoint_violation
from omnigraph.rows.limits import SAMPLES_PER_KIND_MAX
from omnigraph.rows.violations import ViolationCode, Violations
from omnigraph.schema.catalog import Catalog, EdgeEnd, EdgeType, NodeType
from omnigraph.storage.objects.durability import digest_bytes
from omnigraph.storage.objects.version_names import manifest_file
from omnigraph.storage.tables.store import Store
from omnigraph.write.external.columns import external_of, sealed_columns, unread_properties
from omnigraph.write.external.rows import source_rows
from omnigraph.write.load.checks import GraphChecks, settle_duplicates
from omnigraph.write.load.committed_keys import CommittedKeys
from omnigraph.write.load.keys import InputKeys, KeyTable, open_keys
from omnigraph.write.load.mode import LoadMode
from omnigraph.write.load.rows import Progress, checked
from omnigraph.write.type_tables import table_id
from omnigraph.write.violations import violation_error

STRANDED_HINT = "delete these edges first, or refresh their type too if it is external"


@dataclass
class Sealing:
    """Seals of some types and the keys of their rows."""

    store: Store
    catalog: Catalog
    keys: InputKeys
    seals: dict[str, Seal] = field(default_factory=dict)
    """By table key."""
    found: Violations = field(default_factory=Violations)
    """Violations of the rows by themselves."""
    remarks: list[str] = field(default_factory=list)

    def check(self, state: ManifestState) -> frozenset[str]:
        """Check the rows against a state of the graph; raises ViolationError. Returns the tables that were read."""
        tables_read: set[str] = set()
        violations = Violations()
        violations.absorb(self.found)
        committed = CommittedKeys(self.store, self._without_replaced(state), tables_read)
        GraphChecks(self.keys, self.catalog, committed, LoadMode.OVERWRITE, violations).run()
        for key, table in sorted(self.keys.tables.items()):
            if isinstance(table.entity, NodeType) and key not in violations.unidentified:
                self._check_stranded(table, table.entity, committed, violations)
        if violations.total:
            raise violation_error(violations)
        return frozenset(tables_read)

    def _without_replaced(self, state: ManifestState) -> ManifestState:
        """The state without the rows that the seals replace: their files may be gone.

        Only a minimum number of edges is about edges that were there before.
        """
        tables = dict(state.tables)
        for key in self.seals:
            edge = self.keys.tables[key].entity
            is_judged = isinstance(edge, EdgeType) and has_minimum(edge)
            if key in tables and not (is_judged and is_readable(self.store, tables[key])):
                tables[key] = replace(tables[key], rows=0)
        # A new type has no rows in any state.
        empty = {key: TablePin(key, "", 0, 0, 0) for key in self._keys() if key not in tables}
        return replace(state, tables={**tables, **empty})

    def _keys(self) -> Iterator[str]:
        yield from (node.table_key for node in self.catalog.nodes.values())
        yield from (edge.table_key for edge in self.catalog.edges.values())

    def _check_stranded(
        self, nodes: KeyTable, node: NodeType, committed: CommittedKeys, violations: Violations
    ) -> None:
        """Report stored edges without a node: unlike a load, this does not need the rows that were there before."""
        for edge in self.catalog.edges_of(node.name):
            if edge.table_key in self.seals or not committed.rows(edge.table_key):
                continue
            for end in edge.ends:
                if node.name in end.types:
                    self._check_ends(nodes, edge, end, committed, violations)

    def _check_ends(
        self, nodes: KeyTable, edge: EdgeType, end: EdgeEnd, committed: CommittedKeys, violations: Violations
    ) -> None:
        keys = self.keys
        keys.run(
            "CREATE OR REPLACE TEMP TABLE stranded AS SELECT c0 AS id, c1 AS node, address FROM committed c "
            f"ANTI JOIN {nodes.name} n ON c.c1 = {reference_sql(end, nodes.entity.name, 'n.k0')} "
            f"WHERE {is_of_type_sql(end, nodes.entity.name, 'c.c1')}",
            committed=committed.keys(edge, ["id", end.column]),
        )
        count = keys.number("SELECT count(*) FROM stranded")
        samples = keys.run(f"SELECT id, node FROM stranded ORDER BY address LIMIT {SAMPLES_PER_KIND_MAX}")
        found = (endpoint_violation(edge, end, id_, node_id, is_stored=True) for id_, node_id in samples)
        if count:
            violations.advise(STRANDED_HINT)
            violations.add_group((ViolationCode.ENDPOINT, edge.table_key, end.column), count, found)

    def rows(self) -> dict[str, int]:
        """The rows of every seal."""
        return {key: seal.rows for key, seal in self.seals.items()}


@contextmanager
def sealing(
    store: Store,
    catalog: Catalog,
    entities: Sequence[Entity],
    rows: Mapping[str, int],
    progress: Progress | None = None,
) -> Iterator[Sealing]:
    """Read the newest versions of the tables of some types. ``rows`` are those of the types of the graph, by table key.

    An edge type with an end at a stored type without nodes is sealed without rows: its nodes are loaded later.
    """
    with open_keys(lambda connection: InputKeys(connection, grouped_rows=store.tuning.grouped_rows)) as keys:
        made = Sealing(store, catalog, keys)
        for entity in sorted(entities, key=lambda item: item.table_key):
            _read(made, entity, rows, progress)
        settle_duplicates(keys, LoadMode.OVERWRITE, made.found)
        yield made


def _read(made: Sealing, entity: Entity, rows: Mapping[str, int], progress: Progress | None) -> None:
    store, key = made.store, entity.table_key
    source = find_source(external_of(entity), store.options)
    columns = sealed_columns(entity, made.catalog, source)
    seal = Seal(source.address, source.format, source.version, source.root, source.files, columns, entity.key)
    waiting = _empty_ends(made.catalog, entity, rows)
    if waiting:
        seal = replace(seal, version=None, files=())
        made.remarks.append(f"{entity.name} has no edges yet: load nodes of {' and '.join(waiting)}, then refresh it")
    unread = unread_properties(entity, {column.name: column for column in columns})
    if unread:
        many = counted(len(unread), "property is", "properties are")
        made.remarks.append(f"{entity.name}: {many} null, without a column in the source: {', '.join(unread)}")
    made.seals[key] = seal
    made.keys.add(entity, [])
    typed = source_rows(entity, made.catalog, seal, store.options, made.found)
    for name, part in checked(typed, made.found, progress):
        made.keys.add(entity, [(made.keys.source(name), part)])


def _empty_ends(catalog: Catalog, entity: Entity, rows: Mapping[str, int]) -> list[str]:
    """The stored node types without nodes at the ends of an edge type."""
    if not isinstance(entity, EdgeType):
        return []
    nodes = [catalog.nodes[name] for name in entity.node_types]
    return [node.name for node in nodes if node.ir.external is None and not rows.get(node.table_key)]


def first_seals(
    store: Store, catalog: Catalog, entities: Sequence[Entity]
) -> tuple[dict[str, TablePin], list[FileRecord]]:
    """The pins of external types of a new graph, by table key, and their stored seals."""
    if not entities:
        return {}, []
    with sealing(store, catalog, entities, {}) as made:
        made.check(ManifestState("", "", 0, 0, "", "", {}, ()))
        locations = {entity.table_key: table_id(entity).location for entity in entities}
        pins = {key: TablePin(key, locations[key], seal.number, 1, seal.rows) for key, seal in made.seals.items()}
        return pins, store_seals(store, [(entity, made.seals[entity.table_key]) for entity in entities])


def is_readable(store: Store, pin: TablePin) -> bool:
    """True if the files of an external table are as they were sealed."""
    return next(unreadable_files(stored_seal(store, pin), store.options), None) is None


def store_seals(store: Store, seals: Iterable[tuple[Entity, Seal]]) -> list[FileRecord]:
    """Store seals; one that exists already is the same."""
    made = []
    for entity, seal in seals:
        path = manifest_file(table_id(entity).location, seal.number)
        store.objects.create(path, seal.content)
        made.append(FileRecord(path, len(seal.content), digest_bytes(seal.content)))
    return made
