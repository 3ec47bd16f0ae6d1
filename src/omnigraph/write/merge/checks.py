"""Constraints of the merged graph, checked incrementally from the changes of both sides.

Each side is a valid graph. So an endpoint can be missing only if the other side deleted the node, and two entities can
hold one unique value only if both sides changed something: the changes answer these questions. Values that neither side
had, and numbers of edges, are looked up in the target.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.compare.tables import rows_of
from omnigraph.history.conflicts import ConflictKind, MergeConflict, Resolutions, Take
from omnigraph.history.state import ManifestState
from omnigraph.rows.arrow_types import Entity, stored_fields
from omnigraph.rows.ends.references import reference, with_types
from omnigraph.rows.validate import TableDelta, Texts, check_delta, column_texts, nodes_by_type
from omnigraph.rows.violations import Violation, Violations
from omnigraph.schema.catalog import EdgeEnd, EdgeType, NodeType
from omnigraph.storage.tables.lance_table import open_table
from omnigraph.write.committed_graph import CommittedGraph, edge_keys
from omnigraph.write.merge.external import lost_nodes
from omnigraph.write.merge.schema import judges_vacated
from omnigraph.write.merge.settling import ROUNDS_MAX, check_rows, conflict_of, settle
from omnigraph.write.merge.sides import GraphSides
from omnigraph.write.merge.table import untouched
from omnigraph.write.merge.tables import MergedTable, bring, keep_side
from omnigraph.write.schema.checks import check_demands, demands_of
from omnigraph.write.type_tables import entity_batches

Merged = Mapping[str, MergedTable]


@dataclass(frozen=True, slots=True)
class MergedGraph(CommittedGraph):
    """The versions that merged tables stand on, behind the ``Committed`` protocol of validation."""

    sides: GraphSides
    tables: Merged

    def existing_ids(self, table_key: str, ids: Sequence[str]) -> set[str]:
        self.tables_read.add(table_key)
        return set(ids) - self.sides.deleted(table_key, of_source=False)

    def holders(self, entity: Entity, columns: Texts, wanted: set[Texts]) -> Iterable[tuple[Texts, str]]:
        self.tables_read.add(entity.table_key)
        changes = self.sides.changes(entity.table_key, of_source=False)
        for table in (changes.inserted, changes.after):
            yield from _holding(entity, columns, table, wanted)
        merge = self.tables[entity.table_key].merge
        if merge is not None and merge.mixed:
            keys = merge.keys()
            mixed = keys.filter(pc.is_in(keys.column("id"), value_set=pa.array(sorted(merge.mixed))))
            yield from self._committed_holders(entity, columns, wanted & _tuples(entity, columns, mixed))
        yield from _holding(entity, columns, self._left(entity), wanted)

    def _left(self, entity: Entity) -> pa.Table:
        """Entities that a resolution keeps as in the version their table stands on."""
        table = self.tables[entity.table_key]
        ids = () if table.merge is None else table.merge.left.difference(table.merge.gone())
        return rows_of(self.store, entity, table.pin, sorted(ids))

    def _committed_holders(self, entity: Entity, columns: Texts, wanted: set[Texts]) -> Iterable[tuple[Texts, str]]:
        pin = self.state.tables[entity.table_key]
        stored = stored_fields(entity, open_table(self.store, pin).schema)
        names = with_types(entity, columns)
        if all(name in stored and stored[name].name == name for name in names):
            yield from CommittedGraph.holders(self, entity, columns, wanted)
            return
        # The filter of ``holders`` needs column names of the merged schema, which exist only once the merge is staged.
        for batch in entity_batches(self.store, pin, entity, ["id", *names]):
            yield from _holding(entity, columns, pa.Table.from_batches([batch]), wanted)

    def vacated(self, edge: EdgeType, sources: Sequence[str]) -> set[str]:
        """Sources that stay and that have edges on the target: those that lose their last edge by the merge.

        A source without edges on a branch whose writes were checked is valid there, and not reported again.
        """
        staying: set[str] = set()
        for name, nodes in nodes_by_type(edge.source, sources).items():
            if name is not None:
                table = self.tables[f"node:{name}"]
                held = CommittedGraph.existing_ids(self, table.pin.key, list(nodes.values()))
                held.update(table.merge.ids() if table.merge is not None else ())
                staying.update(text for text, id_ in nodes.items() if id_ in held)
        found = staying & self._starts(self.sides.target, edge, sources)
        is_judged = judges_vacated(self.sides, edge)
        return found if is_judged else found & self._starts(self.sides.source, edge, sources)

    def _starts(self, side: ManifestState, edge: EdgeType, sources: Sequence[str]) -> set[str]:
        """Those of the nodes that have edges on one side."""
        if edge.table_key not in side.tables:
            return set()
        edges = CommittedGraph(self.store, side, self.tables_read).edges_at(edge, "src", sources)
        return set(edges.column("src").to_pylist())

    def edges_left_at(self, edge: EdgeType, end: str, ids: Sequence[str]) -> pa.Table:
        """Edges that the side of the table added or changed: all others were deleted together with the node.

        Two exceptions come from resolutions: edges that were kept, and all edges at a node that was removed.
        """
        self.tables_read.add(edge.table_key)
        alone = sorted(self._unwanted(edge.end(end)).intersection(ids))
        changes = self.sides.changes(edge.table_key, of_source=self.tables[edge.table_key].is_adopted)
        parts = (changes.inserted, changes.after, self._left(edge))
        found = pa.concat_tables([edge_keys(edge, part) for part in parts])
        found = found.filter(pc.is_in(found.column(end), value_set=pa.array(ids, pa.string())))
        return pa.concat_tables([found, self.edges_at(edge, end, alone)]) if alone else found

    def _unwanted(self, end: EdgeEnd) -> set[str]:
        """References to the nodes at an end that resolutions removed."""
        merges = {name: self.tables[f"node:{name}"].merge for name in end.types}
        return {reference(end, name, id_) for name, merge in merges.items() if merge for id_ in merge.unwanted}


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
    sides: GraphSides, tables: Merged, resolutions: Resolutions, tables_read: set[str]
) -> tuple[dict[str, MergedTable], list[MergeConflict]]:
    """The tables with resolutions applied, and the constraints that remain broken.

    A resolution may break another constraint that has a resolution too, so this repeats a bounded number of times.
    """
    current = dict(tables)
    for _ in range(ROUNDS_MAX):
        broken = _broken(sides, current, tables_read)
        settled = [(*item, resolution) for item in broken.items() if (resolution := resolutions.of(item[0]))]
        if not settled:
            return current, list(broken)
        for side in (Take.SOURCE, Take.TARGET):
            kept = [violation for _, violation, resolution in settled if resolution.take is side]
            keep_side(sides, current, kept, of_source=side is Take.SOURCE)
        single = [(conflict, found) for conflict, _, found in settled if found.take not in (Take.SOURCE, Take.TARGET)]
        for key in sorted({conflict.table for conflict, _ in single}):
            here = [(conflict, found) for conflict, found in single if conflict.table == key]
            changed = [str(conflict.id) for conflict, found in here if found.take is Take.VALUE]
            table = bring(sides, current[key], changed)
            merge = table.merge or untouched(sides.entity(key))
            for conflict, found in here:
                merge = settle(merge, conflict, found)
            current[key] = replace(table, merge=merge)
    return current, list(_broken(sides, current, tables_read))


def _broken(sides: GraphSides, tables: Merged, tables_read: set[str]) -> dict[MergeConflict, Violation]:
    """Broken constraints as conflicts, with their violations."""
    state = replace(sides.target, tables={key: table.pin for key, table in tables.items()})
    committed = MergedGraph(sides.store, state, tables_read, sides, tables)
    violations = Violations(keeps_all=True)
    deltas = _deltas(sides, tables)
    for table in tables.values():
        if table.merge is not None:
            check_rows(table.merge, violations)
    check_delta(sides.catalog, deltas, committed, violations)
    found = {conflict_of(violation): violation for violation in violations.samples}
    demanded = _broken_demands(sides, tables, tables_read)
    # A new requirement was checked over the whole table, so its conflicts replace those of the changes. Cardinality is
    # the exception: existing edges do not show a source that has none left, and equal conflicts are one key anyway.
    counted = ConflictKind.CARDINALITY_VIOLATION
    known = {(item.table, item.kind, item.property) for item in demanded if item.kind is not counted}
    of_changes = {item: found[item] for item in found if (item.table, item.kind, item.property) not in known}
    return of_changes | demanded


def _broken_demands(sides: GraphSides, tables: Merged, tables_read: set[str]) -> dict[MergeConflict, Violation]:
    """Entities of one side that violate a new requirement of the schema of the other side."""
    violations = Violations(keeps_all=True)
    of_source, of_target = sides.demands
    for key, table in tables.items():
        steps = (*(() if table.is_adopted else of_target), *(of_source if table.is_adopted or table.merge else ()))
        demands = demands_of(steps, sides.entity(key))
        if demands:
            tables_read.add(key)
            check_demands(sides.entity(key), demands, partial(_merged_batches, sides, table), violations)
    return {conflict_of(violation): violation for violation in violations.samples}


def _merged_batches(sides: GraphSides, table: MergedTable, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """Columns of a merged table: the remaining rows of the version it stands on, and the merged rows."""
    merge = table.merge or untouched(sides.entity(table.pin.key))
    gone = pa.array(sorted(merge.gone()), pa.string())
    for batch in entity_batches(sides.store, table.pin, merge.entity, names):
        yield batch.filter(pc.invert(pc.is_in(batch.column("id"), value_set=gone)))
    yield from merge.rows.select([name for name in merge.rows.schema.names if name in names]).to_batches()


def _deltas(sides: GraphSides, tables: Merged) -> dict[str, TableDelta]:
    """Deltas to check: the rows to write, and deleted nodes that edges of the other side may need."""
    deltas = {
        key: TableDelta(table.merge.entity, table.merge.keys(), table.merge.removed() | table.merge.unwanted)
        for key, table in tables.items()
        if table.merge is not None and (table.merge.unwanted or not table.merge.is_empty)
    }
    for key in tables:
        entity = sides.entity(key)
        gone = _missed(sides, tables, entity) if isinstance(entity, NodeType) else set()
        if gone:
            delta = deltas.get(key) or TableDelta(entity, untouched(entity).rows)
            deltas[key] = replace(delta, removed=delta.removed | (gone - set(delta.ids())))
    return deltas


def _missed(sides: GraphSides, tables: Merged, node: NodeType) -> set[str]:
    """Nodes that one side deleted while the other side may have added edges to them."""
    key = node.table_key
    edges = [tables[edge.table_key] for edge in sides.catalog.edges_of(node.name)]
    gone: set[str] = set()
    if any(edge.is_adopted for edge in edges) and sides.is_changed(key, of_source=False):
        gone |= sides.deleted(key, of_source=False)
    # An adopted table differs from the source only by resolutions.
    kept = [
        edge
        for edge in edges
        if (edge.merge is not None if edge.is_adopted else sides.is_changed(edge.pin.key, of_source=False))
    ]
    if tables[key].is_adopted and kept:
        gone |= sides.deleted(key, of_source=True)
    return gone | lost_nodes(sides, tables[key])
