"""Mutations: statements run in order, each sees the effects of the earlier ones, and the result is one delta per table.

A statement computes the values of all its entities together. Constraints are checked on the result as a whole.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa

from omnigraph.core.display import counted
from omnigraph.core.ports import IdSource
from omnigraph.core.profile import Profiler
from omnigraph.errors import ViolationError
from omnigraph.exec.frame import Frame
from omnigraph.history.plan import WriteMode
from omnigraph.history.state import ManifestState
from omnigraph.manifest.reader import Capture
from omnigraph.query import expressions as ir
from omnigraph.query.explain import describe_statement
from omnigraph.query.ir import (
    AssignmentIR,
    Column,
    DeleteEdges,
    DeleteNodes,
    EntityStatement,
    ForMatches,
    ForRecords,
    InsertEdge,
    InsertNode,
    MutationIR,
    QueryIR,
    StatementIR,
    UpdateEdges,
    UpdateNodes,
)
from omnigraph.query.operation import types_read
from omnigraph.rows.arrow_types import ID, Entity, column_type, result_type, table_schema
from omnigraph.rows.ends.references import end_of, key_text_of_end, type_columns
from omnigraph.rows.keys import key_id, key_text, key_type
from omnigraph.rows.violations import Violation, ViolationCode, Violations, shown
from omnigraph.schema.catalog import Catalog, EdgeType, NodeType
from omnigraph.storage.tables.store import Store
from omnigraph.write.attempt import CHECK, READ
from omnigraph.write.guard import ChangeGuard
from omnigraph.write.mutate.checked import PreparedMutation, check
from omnigraph.write.mutate.current import CurrentGraph, Row
from omnigraph.write.mutate.ends import assigned_ends, end_tags
from omnigraph.write.mutate.evaluation import own_frame
from omnigraph.write.mutate.filters import own_columns
from omnigraph.write.mutate.given import ALONE, Given
from omnigraph.write.mutate.overlay import current_state
from omnigraph.write.mutate.targets import Targets, find_targets
from omnigraph.write.type_tables import refuse_external
from omnigraph.write.vectors.mutation_vectors import MutationVectors, given_up, is_renewed
from omnigraph.write.violations import violation_error

ReadRows = Callable[[ManifestState, Catalog, QueryIR], pa.Table]
"""Runs a bound query over the tables of a state."""


def prepare_mutation(
    store: Store,
    capture: Capture,
    mutation: MutationIR,
    shown: MutationIR,
    ids: IdSource,
    vectors: MutationVectors,
    profiler: Profiler,
    read_rows: ReadRows,
    guard: ChangeGuard | None = None,
) -> PreparedMutation:
    """Run the statements on the capture and validate the result as a whole; raises ViolationError without any change.

    ``shown`` is the same mutation with its parameters unbound, for the profile. A ``guard`` has the data rules of the
    actor: every preparation asks it again, also the one after a lost race.
    """
    run = _Run(CurrentGraph(store, capture, profiler, guard), ids, vectors, read_rows)
    with profiler.step(READ) as reading:
        for number, (statement, line) in enumerate(zip(mutation.statements, shown.statements, strict=True), 1):
            run.execute(statement, line, f"{number}.")
        reading.rows = run.written
    with profiler.step(CHECK) as checking:
        prepared = check(run.graph, vectors, searches=_searches(mutation))
        checking.rows = sum(delta.rows.num_rows for delta in prepared.deltas.values())
        return replace(prepared, query_name=mutation.name, returned=run.returned)


def _searches(mutation: MutationIR) -> bool:
    """True if a statement finds entities by reading: all but the inserts, alone or for given records."""
    return any(isinstance(statement, ForMatches) for statement in mutation.statements) or not all(
        isinstance(statement, InsertNode | InsertEdge) for statement in mutation.entity_statements
    )


@dataclass
class _Run:
    graph: CurrentGraph
    ids: IdSource
    vectors: MutationVectors
    read_rows: ReadRows
    written: int = 0
    violations: Violations = field(default_factory=Violations)
    returned: pa.Table | None = None
    minted: dict[str, str] = field(default_factory=dict)
    """New ids, which differ each time the mutation is prepared, and names for them that do not."""

    def execute(self, statement: StatementIR, line: StatementIR, number: str) -> None:
        """Run a statement after the earlier ones; ``line`` is how the profile shows it."""
        with self.graph.profiler.step(f"{number} {describe_statement(line)}") as step:
            before = self.written
            match statement:
                case ForMatches() | ForRecords():
                    assert isinstance(line, ForMatches | ForRecords)
                    given = (
                        self._matched(statement) if isinstance(statement, ForMatches) else Given.of_records(statement)
                    )
                    self._for_each(statement, line, given, number)
                case _:
                    self._write(statement, ALONE)
            step.rows = self.written - before

    def _for_each(
        self, loop: ForMatches | ForRecords, lines: ForMatches | ForRecords, given: Given, number: str
    ) -> None:
        for part, (inner, line) in enumerate(zip(loop.statements, lines.statements, strict=True), 1):
            with self.graph.profiler.step(f"{number}{part} {describe_statement(line)}") as step:
                before = self.written
                self._write(inner, given)
                step.rows = self.written - before

    def _matched(self, loop: ForMatches) -> Given:
        """The rows of a pattern over the current entities. They are part of the fingerprint."""
        catalog = self.graph.capture.catalog
        keys = {f"{kind}:{name}" for kind, name in types_read(loop.root, catalog)}
        state = current_state(self.graph, keys)
        rows = self.read_rows(state, catalog, QueryIR("", (), loop.columns, loop.root))
        self.graph.tables_read.update(keys)
        values = [[self.minted.get(str(value), value) for value in row.values()] for row in rows.to_pylist()]
        self.graph.note("match", sorted(map(repr, values)))
        whole = [column.combine_chunks() for column in rows.columns]
        # Results mark JSON values by their type; expressions compute with their texts.
        columns = [column.storage if isinstance(column, pa.ExtensionArray) else column for column in whole]
        return Given(rows.num_rows, dict(zip(rows.column_names, columns, strict=True)), is_pattern=True)

    def _write(self, statement: EntityStatement, given: Given) -> None:
        catalog = self.graph.capture.catalog
        rows: list[Row] = []
        entity: Entity
        match statement:
            case InsertNode() | UpdateNodes() | DeleteNodes():
                entity = catalog.nodes[statement.type_name]
            case InsertEdge() | UpdateEdges() | DeleteEdges():
                entity = catalog.edges[statement.type_name]
        refuse_external(entity)
        if given.length:
            match statement:
                case InsertNode():
                    rows = self._insert(entity, statement.assignments, given, keeps=statement.keeps)
                case InsertEdge():
                    assigned = assigned_ends(entity, statement)
                    rows = self._insert(entity, (*assigned, *statement.assignments), given, keeps=statement.keeps)
                case UpdateNodes() | UpdateEdges():
                    rows = self._update(entity, statement, given)
                case DeleteNodes() | DeleteEdges():
                    rows = self._delete(entity, find_targets(self.graph, entity, statement, given).rows)
        self.written += len(rows)
        if statement.returning:
            # An entity can be written so that its actor may not read it any more.
            made = self._returned(entity, statement.returning, self.graph.shown(entity, rows))
            # Over several types one statement of the text is one for each type.
            self.returned = made if self.returned is None else pa.concat_tables([self.returned, made])

    def _refuse(self) -> None:
        if self.violations.total:
            raise violation_error(self.violations)

    def _insert(self, entity: Entity, assignments: tuple[AssignmentIR, ...], given: Given, *, keeps: bool) -> list[Row]:
        fixed = (*entity.key, "src", "dst", *type_columns(entity))
        of_key = tuple(item for item in assignments if not keeps or item.property in fixed)
        values = self._values(entity, of_key, given.frame(), [None] * given.length)
        self._refuse()
        if isinstance(entity, EdgeType):
            values |= end_tags(self.graph, entity, values, self.violations)
            self._refuse()
        rows: list[Row] = []
        for place in range(given.length):
            row: Row = dict.fromkeys(table_schema(entity).names)
            row.update((name, column[place]) for name, column in values.items())
            row[ID] = self._key_of(entity, row) if entity.key else self._new_id()
            rows.append(row)
        table = self.graph.table(entity, WriteMode.UPSERT if entity.key else WriteMode.APPEND)
        if keeps:
            others = tuple(item for item in assignments if item not in of_key)
            return self._upsert(entity, others, rows, given)
        for row in rows:
            table.put(row)
        if isinstance(entity, NodeType):
            table.renewed.update(row[ID] for row in rows)
        return list({row[ID]: row for row in rows}.values())

    def _new_id(self) -> str:
        made = self.ids.new_id()
        self.minted[made] = f"#{len(self.minted)}"
        return made

    def _upsert(
        self, entity: Entity, assignments: tuple[AssignmentIR, ...], rows: list[Row], given: Given
    ) -> list[Row]:
        """Set the assigned values of entities with these keys; ``rows`` are what a missing one starts from."""
        table = self.graph.table(entity, WriteMode.UPSERT)
        embedded = self.vectors.made_for(entity)
        names = {item.property: None for item in assignments}
        written: dict[str, Row] = {}
        for chosen in _rounds([row[ID] for row in rows]):
            current = self.graph.taken(entity, [rows[place][ID] for place in chosen])
            targets = Targets([current.get(rows[place][ID], rows[place]) for place in chosen], chosen)
            for row in self._changed(entity, assignments, targets, given):
                is_new = row[ID] not in current
                written[row[ID]] = row if is_new else {**row, **given_up(embedded, names)}
                table.put(written[row[ID]])
                if is_new or is_renewed(embedded, names):
                    table.renewed.add(row[ID])
        return list(written.values())

    def _key_of(self, entity: Entity, row: Row) -> str:
        texts = [self._key_text(entity, name, row) for name in entity.key]
        known = [text for text in texts if text is not None]
        if len(known) < len(texts):
            missing = entity.key[texts.index(None)]
            message = f"@key property {entity.name}.{missing} must not be null"
            violations = Violations()
            violations.add(Violation(ViolationCode.KEY, message, entity.table_key, None, missing))
            raise violation_error(violations)
        return key_id(known)

    @staticmethod
    def _key_text(entity: Entity, name: str, row: Row) -> str | None:
        end = end_of(entity, name)
        if end is None or row[name] is None:
            return key_text(row[name], key_type(entity, name))
        return key_text_of_end(end, None if end.type_column is None else row[end.type_column], row[name])

    def _update(self, entity: Entity, statement: UpdateNodes | UpdateEdges, given: Given) -> list[Row]:
        assignments = statement.assignments
        reads_own = any(any(own_columns(item.value)) for item in assignments)
        is_adjusted = reads_own and not given.is_pattern
        targets = find_targets(self.graph, entity, statement, given, is_adjusted=is_adjusted)
        if not targets.rows:
            return []
        table = self.graph.table(entity, WriteMode.ADJUST if is_adjusted else WriteMode.MODIFY)
        embedded = self.vectors.made_for(entity)
        names = {item.property: None for item in assignments}
        dropped, renews = given_up(embedded, names), is_renewed(embedded, names)
        ids = [row[ID] for row in targets.rows]
        written: dict[str, Row] = {}
        for chosen in [list(range(len(ids)))] if given.is_pattern else _rounds(ids):
            # Of an entity that several records name, a later one starts from what the earlier one wrote.
            part = targets.at(chosen)
            part = Targets([written.get(row[ID], row) for row in part.rows], part.places)
            for row in self._changed(entity, assignments, part, given):
                if given.is_pattern and row[ID] in written and written[row[ID]] != {**row, **dropped}:
                    self._report_ambiguous(entity, row, written[row[ID]])
                written[row[ID]] = {**row, **dropped}
        self._refuse()
        for row in written.values():
            table.put(row)
        if renews:
            table.renewed.update(written)
        return list(written.values())

    def _report_ambiguous(self, entity: Entity, row: Row, other: Row) -> None:
        name = next(name for name in row if row[name] != other[name])
        message = (
            f"{entity.name}.{name} of {row[ID]} is set to {shown(other[name])} and to {shown(row[name])} by two rows "
            "of the match"
        )
        self.violations.advise("make the match bind the entity once, or aggregate in a query first")
        self.violations.add(Violation(ViolationCode.DUPLICATE_ID, message, entity.table_key, row[ID], name))

    def _changed(
        self, entity: Entity, assignments: tuple[AssignmentIR, ...], targets: Targets, given: Given
    ) -> list[Row]:
        """The targets with their assigned values."""
        frame = targets.frame(entity, [item.value for item in assignments], given)
        values = self._values(entity, assignments, frame, [row[ID] for row in targets.rows])
        self._refuse()
        return [
            {**row, **{name: column[place] for name, column in values.items()}}
            for place, row in enumerate(targets.rows)
        ]

    def _values(
        self, entity: Entity, assignments: tuple[AssignmentIR, ...], frame: Frame, ids: Sequence[str | None]
    ) -> dict[str, list[Any]]:
        """The assigned values by property, one per row of the frame."""
        values: dict[str, list[Any]] = {}
        for item in assignments:
            if isinstance(item.value, ir.Constant):
                values[item.property] = [_constant(entity, item.property, item.value)] * frame.length
            else:
                computed = self.graph.evaluation.assigned(entity, item, frame, ids, self.violations)
                values[item.property] = computed
        return values

    def _delete(self, entity: Entity, found: Sequence[Row]) -> list[Row]:
        rows = {row[ID]: row for row in found}
        if not rows:
            return []
        table = self.graph.table(entity, WriteMode.MODIFY)
        for id_ in rows:
            table.remove(id_)
        if isinstance(entity, NodeType):
            for edge in self.graph.capture.catalog.edges_of(entity.name):
                self._remove_edges(edge, self.graph.edges_at(edge, entity.name, set(rows)))
        return list(rows.values())

    def _remove_edges(self, edge: EdgeType, ids: set[str]) -> None:
        if ids:
            edges = counted(len(ids), "edge of the external type", "edges of the external type")
            refuse_external(edge, f"{edges} {edge.name} would lose a node, and the graph cannot delete edges of it")
        for id_ in ids:
            self.graph.table(edge, WriteMode.MODIFY).remove(id_)
        self.written += len(ids)

    def _returned(self, entity: Entity, columns: tuple[Column, ...], rows: list[Row]) -> pa.Table:
        """The columns of ``returning`` for the entities that a statement wrote, or deleted."""
        frame = own_frame(entity, rows, [column.expression for column in columns])
        types = [column.expression.type for column in columns]
        schema = pa.schema([(column.name, result_type(type_)) for column, type_ in zip(columns, types, strict=True)])
        arrays = [
            self.graph.evaluation.column(column.expression, frame).cast(column_type(type_)).cast(result_type(type_))
            for column, type_ in zip(columns, types, strict=True)
        ]
        return pa.Table.from_arrays(arrays, schema=schema)


def _rounds(ids: Sequence[str]) -> list[list[int]]:
    """Places grouped so that no group has an id twice: the first ones of every id, then the second ones."""
    rounds: list[list[int]] = []
    seen: dict[str, int] = {}
    for place, id_ in enumerate(ids):
        number = seen[id_] = seen.get(id_, -1) + 1
        if number == len(rounds):
            rounds.append([])
        rounds[number].append(place)
    return rounds


def _constant(entity: Entity, name: str, constant: ir.Constant) -> Any:
    """A value known before the mutation runs, normalized by a round trip through Arrow to equal stored ones."""
    value, type_ = constant.value, table_schema(entity).field(name).type
    prop = entity.properties.get(name)
    if isinstance(value, str) and prop is not None and prop.type.is_blob:
        return _blob(entity, name, value)
    try:
        return pa.scalar(list(value) if isinstance(value, tuple) else value, type_).as_py()
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError) as error:
        raise _unfit(entity, name, value, error) from error


def _unfit(entity: Entity, name: str, value: object, error: Exception) -> ViolationError:
    violations = Violations()
    message = f"{value!r} does not fit {entity.name}.{name}: {error}"
    violations.add(Violation(ViolationCode.TYPE, message, entity.table_key, None, name))
    return violation_error(violations)


def _blob(entity: Entity, name: str, value: str) -> bytes:
    from omnigraph.rows.casting.json_values import Unfit, converter

    try:
        decoded = converter(entity.properties[name].type)(value)
    except Unfit as error:
        raise _unfit(entity, name, value[:60], error) from error
    assert isinstance(decoded, bytes)
    return decoded
