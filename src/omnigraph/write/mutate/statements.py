"""Mutations: statements run in order, each sees the effects of the earlier ones, and the result is one delta per table.

Pending entities are Python rows by id, layered over the captured snapshot; predicates are evaluated on both. The rows
that an update or delete matched in the snapshot enter the fingerprint. If they change before the commit, the write
fails with a conflict (no lost updates) instead of being decided again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa

from omnigraph.core.ports import IdSource
from omnigraph.core.profile import Profiler
from omnigraph.core.tables import Counts, TablePin
from omnigraph.errors import ViolationError
from omnigraph.exec.visibility.rows import VisibleRows
from omnigraph.history.plan import CommitInfo, PublishPlan, WriteMode
from omnigraph.manifest.reader import Capture
from omnigraph.query import expressions as ir
from omnigraph.query.ir import (
    AssignmentIR,
    DeleteEdges,
    DeleteNodes,
    InsertEdge,
    InsertNode,
    MutationIR,
    StatementIR,
    UpdateNodes,
)
from omnigraph.rows.arrow_types import Entity, table_schema
from omnigraph.rows.keys import key_id, key_text, key_type
from omnigraph.rows.validate import TableDelta, check_delta
from omnigraph.rows.values import check_values
from omnigraph.rows.violations import Place, Violation, ViolationCode, Violations
from omnigraph.schema.catalog import EdgeType, NodeType
from omnigraph.storage.index.indexes import IndexKind
from omnigraph.storage.index.reads import known_indexes
from omnigraph.storage.tables.filters import Comparison
from omnigraph.storage.tables.scan import rows_with, scan
from omnigraph.storage.tables.store import Store
from omnigraph.write.attempt import CHECK, READ
from omnigraph.write.committed_graph import CommittedGraph
from omnigraph.write.context import WriteOptions
from omnigraph.write.guard import ChangeGuard
from omnigraph.write.mutate.changed import without_same
from omnigraph.write.mutate.filters import RowFilter
from omnigraph.write.staging import count_deltas, stage_deltas
from omnigraph.write.vectors.mutation_vectors import MutationVectors, VectorGaps, given_up, is_renewed, report_gaps
from omnigraph.write.violations import violation_error

Row = dict[str, Any]


@dataclass
class Pending:
    """Pending changes of one table."""

    entity: Entity
    rows: dict[str, Row] = field(default_factory=dict)
    removed: set[str] = field(default_factory=set)
    renewed: set[str] = field(default_factory=set)
    """Ids whose missing vectors are embedded."""
    mode: WriteMode = WriteMode.APPEND

    def put(self, row: Row) -> None:
        self.rows[row["id"]] = row
        self.removed.discard(row["id"])

    def remove(self, id_: str) -> None:
        self.rows.pop(id_, None)
        self.removed.add(id_)

    def hides(self, id_: str) -> bool:
        """True if a pending change replaces or deletes the snapshot row of an id."""
        return id_ in self.rows or id_ in self.removed


@dataclass(frozen=True)
class PreparedMutation:
    """A validated mutation."""

    store: Store
    deltas: dict[str, TableDelta]
    modes: dict[str, WriteMode]
    reads: frozenset[str]
    fingerprint: str
    affected_nodes: int
    affected_edges: int
    query_name: str = ""

    @property
    def is_empty(self) -> bool:
        return not self.deltas

    def counts(self, capture: Capture) -> dict[str, Counts]:
        return count_deltas(self.store, capture, self.deltas, self.modes)

    def stage(self, capture: Capture, info: CommitInfo, options: WriteOptions) -> PublishPlan:
        return stage_deltas(self.store, capture, self.deltas, self.modes, info, options, self.reads)


def prepare_mutation(
    store: Store,
    capture: Capture,
    mutation: MutationIR,
    ids: IdSource,
    vectors: MutationVectors,
    profiler: Profiler,
    lines: Sequence[str],
    guard: ChangeGuard | None = None,
) -> PreparedMutation:
    """Run the statements on the capture and validate the result as a whole; raises ViolationError without any change.

    ``lines`` are the statements as shown in a profile. A ``guard`` has the data rules of the actor.
    """
    run = _Run(store, capture, ids, vectors, profiler, guard)
    with profiler.step(READ) as reading:
        for line, statement in zip(lines, mutation.statements, strict=True):
            with profiler.step(line) as step:
                step.rows = run.execute(statement)
        reading.rows = run.affected_nodes + run.affected_edges
    with profiler.step(CHECK) as checking:
        prepared = run.check()
        checking.rows = sum(delta.rows.num_rows for delta in prepared.deltas.values())
        return replace(prepared, query_name=mutation.name)


@dataclass
class _Run:
    store: Store
    capture: Capture
    ids: IdSource
    vectors: MutationVectors
    profiler: Profiler
    guard: ChangeGuard | None = None
    pending: dict[str, Pending] = field(default_factory=dict)
    matched: list[str] = field(default_factory=list)
    seen: dict[str, dict[str, Row]] = field(default_factory=dict)
    """Committed rows that predicates matched, by table and id."""
    tables_read: set[str] = field(default_factory=set)
    affected_nodes: int = 0
    affected_edges: int = 0

    def execute(self, statement: StatementIR) -> int:
        """Run a statement after the earlier ones; returns the number of entities it changed."""
        before = self.affected_nodes + self.affected_edges
        self._execute(statement)
        return self.affected_nodes + self.affected_edges - before

    def _execute(self, statement: StatementIR) -> None:
        catalog = self.capture.catalog
        match statement:
            case InsertNode():
                self._insert_node(catalog.nodes[statement.type_name], statement)
            case InsertEdge():
                self._insert_edge(catalog.edges[statement.type_name], statement)
            case UpdateNodes():
                self._update(catalog.nodes[statement.type_name], statement)
            case DeleteNodes():
                self._delete_nodes(catalog.nodes[statement.type_name], statement.predicate)
            case DeleteEdges():
                self._delete_edges(catalog.edges[statement.type_name], statement.predicate)

    def _table(self, entity: Entity, mode: WriteMode) -> Pending:
        """The pending changes of a table. Its write mode only becomes stricter."""
        table = self.pending.setdefault(entity.table_key, Pending(entity))
        order = (WriteMode.APPEND, WriteMode.UPSERT, WriteMode.MODIFY)
        table.mode = max(table.mode, mode, key=order.index)
        return table

    def _insert_node(self, node: NodeType, statement: InsertNode) -> None:
        row = self._new_row(node, statement.assignments)
        if node.key:
            row["id"] = self._key_of(node, row)
        else:
            row["id"] = self.ids.new_id()
        table = self._table(node, WriteMode.UPSERT if node.key else WriteMode.APPEND)
        table.put(row)
        table.renewed.add(row["id"])
        self.affected_nodes += 1

    def _key_of(self, entity: Entity, row: Row) -> str:
        texts = [key_text(row[name], key_type(entity, name)) for name in entity.key]
        known = [text for text in texts if text is not None]
        if len(known) < len(texts):
            missing = entity.key[texts.index(None)]
            message = f"@key property {entity.name}.{missing} must not be null"
            violations = Violations()
            violations.add(Violation(ViolationCode.KEY, message, entity.table_key, None, missing))
            raise violation_error(violations)
        return key_id(known)

    def _insert_edge(self, edge: EdgeType, statement: InsertEdge) -> None:
        row = self._new_row(edge, statement.assignments)
        row.update(src=_value(statement.source), dst=_value(statement.target))
        row["id"] = self._key_of(edge, row) if edge.key else self.ids.new_id()
        self._table(edge, WriteMode.UPSERT if edge.key else WriteMode.APPEND).put(row)
        self.affected_edges += 1

    def _new_row(self, entity: Entity, assignments: tuple[AssignmentIR, ...]) -> Row:
        row: Row = dict.fromkeys(table_schema(entity).names)
        row.update(_assigned(entity, assignments))
        return row

    def _update(self, node: NodeType, statement: UpdateNodes) -> None:
        values = _assigned(node, statement.assignments)
        embedded = self.vectors.made_for(node)
        for row in self._matching(node, statement.predicate):
            table = self._table(node, WriteMode.MODIFY)
            table.put({**row, **values, **given_up(embedded, values)})
            if is_renewed(embedded, values):
                table.renewed.add(row["id"])
            self.affected_nodes += 1

    def _delete_nodes(self, node: NodeType, predicate: ir.Expr) -> None:
        doomed = {row["id"] for row in self._matching(node, predicate)}
        if not doomed:
            return
        table = self._table(node, WriteMode.MODIFY)
        for id_ in doomed:
            table.remove(id_)
        self.affected_nodes += len(doomed)
        for edge in self.capture.catalog.edges_of(node.name):
            ends = [end for end, name in (("src", edge.source), ("dst", edge.target)) if name == node.name]
            self._remove_edges(edge, self._edges_at(edge, ends, doomed))

    def _delete_edges(self, edge: EdgeType, predicate: ir.Expr) -> None:
        self._remove_edges(edge, {row["id"] for row in self._matching(edge, predicate)})

    def _remove_edges(self, edge: EdgeType, ids: set[str]) -> None:
        for id_ in ids:
            self._table(edge, WriteMode.MODIFY).remove(id_)
        self.affected_edges += len(ids)

    def _edges_at(self, edge: EdgeType, ends: list[str], nodes: set[str]) -> set[str]:
        """Current edges at these nodes: those of the snapshot that are not hidden, and pending ones."""
        pending = self.pending.get(edge.table_key)
        pin = self.capture.state.tables[edge.table_key]
        self.tables_read.add(edge.table_key)
        found: set[str] = set()
        for end in ends:
            for batch in rows_with(self.store, pin, end, sorted(nodes), ["id"]):
                found.update(batch.column("id").to_pylist())
        if pending is not None:
            found = {id_ for id_ in found if not pending.hides(id_)}
            found.update(id_ for id_, row in pending.rows.items() if any(row[end] in nodes for end in ends))
        return found

    def _matching(self, entity: Entity, predicate: ir.Expr) -> list[Row]:
        """Current rows that satisfy a predicate, those of the snapshot first. Snapshot rows enter the fingerprint."""
        row_filter = RowFilter.of(entity, predicate)
        pending = self.pending.get(entity.table_key)
        # Recorded even if no row matches: the absence of rows is part of what the mutation was decided from (phantoms).
        self.tables_read.add(entity.table_key)
        committed = list(self._committed(entity, row_filter))
        self.seen.setdefault(entity.table_key, {}).update((row["id"], row) for row in committed)
        digest = hashlib.sha256(repr(_seen(entity, committed)).encode()).hexdigest()
        self.matched.append(f"{entity.table_key}:{digest}")
        if pending is None:
            return self._readable(entity, committed)
        current = [row for row in committed if not pending.hides(row["id"])]
        return self._readable(entity, current + [row for row in pending.rows.values() if row_filter.matches(row)])

    def _readable(self, entity: Entity, rows: list[Row]) -> list[Row]:
        """The rows that the actor may read: for a statement, others do not exist."""
        scope = None if self.guard is None else self.guard.readable(self.capture.catalog)
        if scope is None or not rows:
            return rows
        newer = {key: _table_of(table) for key, table in self.pending.items() if table.rows}
        visible = VisibleRows(self.store, self.capture.state.tables, self.capture.catalog, scope, newer)
        mask = visible.mask(entity, pa.Table.from_pylist(rows, table_schema(entity)))
        return [row for row, is_visible in zip(rows, mask, strict=True) if is_visible]

    def _committed(self, entity: Entity, row_filter: RowFilter) -> Iterator[Row]:
        pin = self.capture.state.tables[entity.table_key]
        if row_filter.never or not pin.rows:
            return
        self._report_index(pin, row_filter.comparison)
        for batch in scan(self.store, pin, table_schema(entity).names, row_filter.comparison, blobs_as_bytes=True):
            for row in batch.to_pylist():
                if row_filter.matches(row):
                    yield row

    def _report_index(self, pin: TablePin, comparison: Comparison | None) -> None:
        if not self.profiler.is_on:
            return
        known = None if comparison is None else known_indexes(self.store, pin).get((comparison.column, IndexKind.BTREE))
        self.profiler.say(f"full scan of {pin.key}" if known is None else str(known))

    def check(self) -> PreparedMutation:
        deltas: dict[str, TableDelta] = {}
        gaps: dict[str, VectorGaps] = {}
        violations = Violations()
        committed = CommittedGraph(self.store, self.capture.state, self.tables_read)
        for key, table in self.pending.items():
            removed = frozenset(committed.existing_ids(key, sorted(table.removed))) if table.removed else frozenset()
            if not table.rows and not removed:
                continue
            rows = _table_of(table)
            gaps[key] = self.vectors.gaps(table.entity, rows, table.renewed)
            for batch in rows.to_batches():
                check_values(table.entity, batch, _nowhere, violations, [prop.name for prop, _ in gaps[key]])
            report_gaps(table.entity, rows, gaps[key], violations)
            deltas[key] = TableDelta(table.entity, rows, removed)
        if violations.total:
            raise violation_error(violations)
        if self.guard is not None:
            # Before constraints are checked, whose violations would tell of entities that the actor may not know.
            self.guard.check(self.store, self.capture, deltas)
        check_delta(self.capture.catalog, deltas, committed, violations)
        if violations.total:
            raise violation_error(violations)
        changed = {key: self._changed(delta, gaps[key]) for key, delta in deltas.items()}
        written = {key: delta for key, delta in changed.items() if _size(delta)}
        return PreparedMutation(
            self.store,
            written,
            {key: self.pending[key].mode for key in written},
            frozenset(self.tables_read | deltas.keys()),
            "|".join(self.matched),
            sum(_size(delta) for key, delta in written.items() if key.startswith("node:")),
            sum(_size(delta) for key, delta in written.items() if key.startswith("edge:")),
        )

    def _changed(self, delta: TableDelta, gaps: VectorGaps) -> TableDelta:
        """The delta with its vectors, without rows that are as before."""
        key = delta.entity.table_key
        pin = self.capture.state.tables[key]
        whole = replace(delta, rows=self.vectors.filled(delta.entity, delta.rows, gaps, pin))
        is_append = self.pending[key].mode is WriteMode.APPEND
        return without_same(self.store, pin, whole, self.seen.get(key, {}), is_append=is_append)


def _size(delta: TableDelta) -> int:
    return len(delta.ids()) + len(delta.removed)


def _seen(entity: Entity, rows: list[Row]) -> list[list[tuple[str, Any]]]:
    """The content of rows by stable property ids, without nulls, so that renamed or added properties do not matter."""
    names = {name: str(prop.id) for name, prop in entity.properties.items()}
    return [
        sorted((names.get(name, name), value) for name, value in row.items() if value is not None)
        for row in sorted(rows, key=lambda row: row["id"])
    ]


def _nowhere(row: int) -> Place | None:
    return None


def _value(expression: ir.Expr) -> Any:
    assert isinstance(expression, ir.Constant), "parameters were bound"
    return expression.value


def _assigned(entity: Entity, assignments: tuple[AssignmentIR, ...]) -> Row:
    """Assigned values, normalized by a round trip through Arrow so that they compare equal to stored ones."""
    schema = table_schema(entity)
    values: Row = {}
    for assignment in assignments:
        value = _value(assignment.value)
        type_ = schema.field(assignment.property).type
        prop = entity.properties[assignment.property]
        if isinstance(value, str) and prop.type.is_blob:
            values[assignment.property] = _blob(entity, prop.name, value)
            continue
        try:
            values[assignment.property] = pa.scalar(list(value) if isinstance(value, tuple) else value, type_).as_py()
        except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError) as error:
            raise _unfit(entity, assignment.property, value, error) from error
    return values


def _unfit(entity: Entity, name: str, value: object, error: Exception) -> ViolationError:
    violations = Violations()
    message = f"{value!r} does not fit {entity.name}.{name}: {error}"
    violations.add(Violation(ViolationCode.TYPE, message, entity.table_key, None, name))
    return violation_error(violations)


def _blob(entity: Entity, name: str, value: str) -> bytes:
    from omnigraph.rows.json_values import Unfit, converter

    try:
        decoded = converter(entity.properties[name].type)(value)
    except Unfit as error:
        raise _unfit(entity, name, value[:60], error) from error
    assert isinstance(decoded, bytes)
    return decoded


def _table_of(pending: Pending) -> pa.Table:
    schema = table_schema(pending.entity)
    nullable = pa.schema([field.with_nullable(True) for field in schema])
    return pa.Table.from_pylist(list(pending.rows.values()), schema=nullable)
