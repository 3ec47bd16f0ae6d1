"""The merged graph, checked as a whole. What both sides checked before is not looked at again.

Each side is a valid graph. So an end of an edge can only be missing if the other side deleted that node, and two
entities can only hold one unique value if both sides changed something: these questions are answered from the changes.
Values that neither side had, and numbers of edges, are looked up in the target.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.core.tables import TablePin
from omnigraph.history.conflicts import ConflictKind, MergeConflict, Resolution, Resolutions, Take
from omnigraph.rows.arrow_types import Entity
from omnigraph.rows.validate import TableDelta, Texts, check_delta, column_texts
from omnigraph.rows.values import check_values
from omnigraph.rows.violations import Place, Violation, ViolationCode, Violations
from omnigraph.schema.catalog import EdgeType, NodeType
from omnigraph.write.changes import flat
from omnigraph.write.committed import CommittedGraph
from omnigraph.write.merge_properties import resolved_value
from omnigraph.write.merge_rows import TableMerge, untouched
from omnigraph.write.merge_sides import GraphSides

ROUNDS_MAX = 8
"""How often what settles a conflict may lead to another one that the caller settled too."""

_KINDS = {
    ViolationCode.ENDPOINT: ConflictKind.ORPHAN_EDGE,
    ViolationCode.UNIQUE: ConflictKind.UNIQUE_VIOLATION,
    ViolationCode.CARDINALITY: ConflictKind.CARDINALITY_VIOLATION,
}


@dataclass(frozen=True)
class MergedTable:
    """One table of the merged graph: the version it stands on, whose it is, and what is changed on top of it."""

    pin: TablePin
    is_adopted: bool
    merge: TableMerge | None = None

    @property
    def is_written(self) -> bool:
        return self.merge is not None and not self.merge.is_empty

    @property
    def is_kept(self) -> bool:
        """Whether the target's table stays as it is."""
        return not self.is_adopted and not self.is_written


Merged = Mapping[str, MergedTable]


@dataclass(frozen=True, slots=True)
class MergedGraph(CommittedGraph):
    """What the merged tables stand on, as validation asks for it."""

    sides: GraphSides
    tables: Merged

    def existing_ids(self, table_key: str, ids: Sequence[str]) -> set[str]:
        self.asked.add(table_key)
        return set(ids) - self.sides.deleted(table_key, of_source=False)

    def holders(self, entity: Entity, columns: Texts, wanted: set[Texts]) -> Iterable[tuple[Texts, str]]:
        self.asked.add(entity.table_key)
        changes = self.sides.changes(entity.table_key, of_source=False)
        for table in (changes.inserted, changes.after):
            yield from _holding(entity, columns, table, wanted)
        merge = self.tables[entity.table_key].merge
        if merge is not None and merge.mixed:
            mixed = merge.rows.filter(pc.is_in(merge.rows.column("id"), value_set=pa.array(sorted(merge.mixed))))
            yield from CommittedGraph.holders(self, entity, columns, wanted & _tuples(entity, columns, mixed))

    def edges_left_at(self, edge: EdgeType, end: str, ids: Sequence[str]) -> pa.Table:
        """Edges that the side the table stands on added or changed: the others were deleted with their ends."""
        self.asked.add(edge.table_key)
        changes = self.sides.changes(edge.table_key, of_source=self.tables[edge.table_key].is_adopted)
        names = ["id", "src", "dst"]
        edges = pa.concat_tables([changes.inserted.select(names), changes.after.select(names)])
        return edges.filter(pc.is_in(edges.column(end), value_set=pa.array(ids, pa.string())))


def _tuples(entity: Entity, columns: Texts, rows: pa.Table) -> set[Texts]:
    return {value for value, _ in _held(entity, columns, rows)}


def _held(entity: Entity, columns: Texts, rows: pa.Table) -> Iterable[tuple[Texts, str]]:
    texts = zip(*(column_texts(entity, column, rows) for column in columns), strict=True)
    for id_, row in zip(rows.column("id").to_pylist(), texts, strict=True):
        if None not in row:
            yield tuple(text for text in row if text is not None), id_


def _holding(entity: Entity, columns: Texts, rows: pa.Table, wanted: set[Texts]) -> Iterable[tuple[Texts, str]]:
    return ((value, id_) for value, id_ in _held(entity, columns, rows) if value in wanted)


def check_merged(
    sides: GraphSides, tables: Merged, resolutions: Resolutions, asked: set[str]
) -> tuple[dict[str, MergedTable], list[MergeConflict]]:
    """The tables with what the caller settled, and the constraints that stay broken."""
    current = dict(tables)
    for _ in range(ROUNDS_MAX):
        conflicts = _broken(sides, current, asked)
        settled = [(conflict, resolution) for conflict in conflicts if (resolution := resolutions.of(conflict))]
        if not settled:
            return current, conflicts
        for conflict, resolution in settled:
            current[conflict.table] = _settle(sides, current[conflict.table], conflict, resolution)
    return current, _broken(sides, current, asked)


def _broken(sides: GraphSides, tables: Merged, asked: set[str]) -> list[MergeConflict]:
    state = replace(sides.target, tables={key: table.pin for key, table in tables.items()})
    committed = MergedGraph(sides.store, state, asked, sides, tables)
    violations = Violations(keeps_all=True)
    deltas = _deltas(sides, tables)
    for delta in deltas.values():
        for batch in delta.rows.to_batches():
            check_values(delta.entity, batch, _nowhere, violations)
    check_delta(sides.catalog, deltas, committed, violations)
    return list(dict.fromkeys(_conflict(violation) for violation in violations.samples))


def _deltas(sides: GraphSides, tables: Merged) -> dict[str, TableDelta]:
    """What is to be checked: the rows that are written, and nodes that are missing for edges of the other side."""
    deltas = {
        key: TableDelta(table.merge.entity, table.merge.rows, table.merge.removed())
        for key, table in tables.items()
        if table.merge is not None and not table.merge.is_empty
    }
    for key in tables:
        entity = sides.entity(key)
        gone = _missed(sides, tables, entity) if isinstance(entity, NodeType) else set()
        if gone:
            delta = deltas.get(key) or TableDelta(entity, untouched(entity).rows)
            deltas[key] = replace(delta, removed=delta.removed | (gone - set(delta.ids())))
    return deltas


def _missed(sides: GraphSides, tables: Merged, node: NodeType) -> set[str]:
    """Nodes that one side deleted while edges of the other side may have been added to them."""
    key = node.table_key
    edges = [tables[edge.table_key] for edge in sides.catalog.edges_of(node.name)]
    gone: set[str] = set()
    if any(edge.is_adopted for edge in edges) and sides.is_changed(key, of_source=False):
        gone |= sides.deleted(key, of_source=False)
    kept = [edge for edge in edges if not edge.is_adopted and sides.is_changed(edge.pin.key, of_source=False)]
    if tables[key].is_adopted and kept:
        gone |= sides.deleted(key, of_source=True)
    return gone


def _conflict(violation: Violation) -> MergeConflict:
    assert violation.table_key is not None, "a stored row belongs to a table"
    kind = _KINDS.get(violation.code, ConflictKind.VALUE_CONSTRAINT_VIOLATION)
    return MergeConflict(violation.table_key, violation.entity_id, kind, violation.property, message=violation.message)


def _settle(sides: GraphSides, table: MergedTable, conflict: MergeConflict, resolution: Resolution) -> MergedTable:
    """The table without the entity, or with another value in it."""
    merge = table.merge or untouched(sides.entity(conflict.table))
    is_it = pc.equal(merge.rows.column("id"), conflict.id)
    if resolution.take is Take.DELETE:
        assert conflict.id is not None, "what can be deleted has an id"
        is_written = pc.any(is_it, min_count=0).as_py()
        gone = merge.also_gone if is_written else merge.also_gone | {conflict.id}
        return replace(table, merge=replace(merge, rows=merge.rows.filter(pc.invert(is_it)), also_gone=gone))
    assert conflict.property is not None, "a value belongs to a property"
    value = resolved_value(merge.entity, conflict.property, resolution.value)
    place = merge.rows.schema.get_field_index(conflict.property)
    column = flat(merge.rows, conflict.property)
    flags = flat(merge.rows.select([conflict.property]).append_column("it", is_it), "it").to_pylist()
    changed = pa.concat_arrays([column, value]).take(
        pa.array([len(column) if flag else row for row, flag in enumerate(flags)], pa.int64())
    )
    rows = merge.rows.set_column(place, merge.rows.schema.field(place), changed)
    mixed = merge.mixed | {conflict.id} if conflict.id is not None else merge.mixed
    return replace(table, merge=replace(merge, rows=rows, mixed=mixed))


def _nowhere(row: int) -> Place | None:
    return None
