"""Current entities of a mutation: the captured snapshot with the pending changes of its earlier statements on top.

Pending entities are Python rows by id. The snapshot rows that a statement matched enter the fingerprint. If they change
before the commit, the write fails with a conflict (no lost updates) instead of being decided again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from omnigraph.core.profile import Profiler
from omnigraph.core.tables import TablePin
from omnigraph.history.plan import WriteMode
from omnigraph.manifest.reader import Capture
from omnigraph.query import expressions as ir
from omnigraph.rows.arrow_types import ID, Entity, table_schema
from omnigraph.rows.ends.references import is_of_type, with_types
from omnigraph.schema.catalog import EdgeEnd, EdgeType
from omnigraph.storage.index.indexes import IndexKind
from omnigraph.storage.index.known import known_indexes
from omnigraph.storage.tables.filters import RowFilter
from omnigraph.storage.tables.rows_by_address import rows_at
from omnigraph.storage.tables.scan import rows_with, scan
from omnigraph.storage.tables.store import Store
from omnigraph.write.guard import ChangeGuard
from omnigraph.write.images import find_images, image_schema
from omnigraph.write.mutate.evaluation import Evaluation, held_frame, own_frame, shown_columns
from omnigraph.write.mutate.filters import columns_of, own_columns, pushed
from omnigraph.write.mutate.readable import Readable
from omnigraph.write.type_tables import refuse_external

Row = dict[str, Any]

_STRICTNESS = (WriteMode.APPEND, WriteMode.UPSERT, WriteMode.ADJUST, WriteMode.MODIFY)


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
        self.rows[row[ID]] = row
        self.removed.discard(row[ID])

    def remove(self, id_: str) -> None:
        self.rows.pop(id_, None)
        self.removed.add(id_)

    def hides(self, id_: str) -> bool:
        """True if a pending change replaces or deletes the snapshot row of an id."""
        return id_ in self.rows or id_ in self.removed


@dataclass
class CurrentGraph:
    """The entities that the next statement sees."""

    store: Store
    capture: Capture
    profiler: Profiler
    guard: ChangeGuard | None = None
    """The data rules of the actor."""
    evaluation: Evaluation = field(default_factory=Evaluation)
    pending: dict[str, Pending] = field(default_factory=dict)
    matched: list[str] = field(default_factory=list)
    """Digests of the snapshot rows that statements matched: the fingerprint of the mutation."""
    seen: dict[str, dict[str, Row]] = field(default_factory=dict)
    """Committed rows that were read, by table and id."""
    tables_read: set[str] = field(default_factory=set)

    @cached_property
    def readable(self) -> Readable | None:
        """The part of the graph that data rules leave to the actor; None if all of it."""
        scope = None if self.guard is None else self.guard.readable(self.capture.catalog)
        return None if scope is None else Readable(self.store, self.capture, scope)

    def table(self, entity: Entity, mode: WriteMode) -> Pending:
        """The pending changes of a table. Its write mode only becomes stricter."""
        refuse_external(entity)
        table = self.pending.setdefault(entity.table_key, Pending(entity))
        table.mode = max(table.mode, mode, key=_STRICTNESS.index)
        return table

    def matching(self, entity: Entity, predicate: ir.Expr, *, is_adjusted: bool = False) -> list[Row]:
        """Current rows that satisfy a predicate, those of the snapshot first.

        The snapshot rows enter the fingerprint, except for an update by their own values (``WriteMode.ADJUST``).
        """
        pending = self.pending.get(entity.table_key)
        # Recorded even if no row matches: the absence of rows is part of what the mutation was decided from (phantoms).
        self.tables_read.add(entity.table_key)
        left: ir.Expr = ir.TRUE
        if self.readable is not None:
            predicate, left = self.readable.condition(entity, predicate)
        committed = self._tested(entity, left, self.shown(entity, self._committed(entity, predicate)))
        self._remember(entity, committed)
        if not is_adjusted:
            self._note(entity, committed)
        if pending is None:
            return committed
        current = [row for row in committed if not pending.hides(row[ID])]
        added = self.shown(entity, self._tested(entity, predicate, list(pending.rows.values())))
        return current + self._tested(entity, left, added)

    def _tested(self, entity: Entity, predicate: ir.Expr, rows: list[Row]) -> list[Row]:
        """The rows in memory that satisfy a predicate."""
        if predicate == ir.TRUE or not rows:
            return rows
        holds = self.evaluation.mask(predicate, own_frame(entity, rows, [predicate]))
        return [row for row, is_matched in zip(rows, holds.tolist(), strict=True) if is_matched]

    def shown(self, entity: Entity, rows: list[Row]) -> list[Row]:
        """The current rows among these that the actor may read."""
        if self.readable is None or not rows:
            return rows
        if isinstance(entity, EdgeType):
            # Edges are hidden with their ends, so the mutation is decided from these tables as well.
            self.tables_read.update(f"node:{name}" for name in entity.node_types)
        newer = {key: pending_rows(table) for key, table in self.pending.items() if table.rows}
        return self.readable.rows(entity, rows, newer)

    def _note(self, entity: Entity, committed: list[Row]) -> None:
        self.note(entity.table_key, _content(entity, committed))

    def note(self, name: str, content: object) -> None:
        """Add what the mutation was decided from to its fingerprint."""
        self.matched.append(f"{name}:{hashlib.sha256(repr(content).encode()).hexdigest()}")

    def _remember(self, entity: Entity, committed: list[Row]) -> None:
        self.seen.setdefault(entity.table_key, {}).update((row[ID], row) for row in committed)

    def _committed(self, entity: Entity, predicate: ir.Expr) -> list[Row]:
        pin = self.capture.state.tables[entity.table_key]
        is_never = isinstance(predicate, ir.Constant) and predicate.value is not True
        if is_never or not pin.rows:
            return []
        push = pushed(entity, predicate)
        self._report_index(pin, push.filter)
        names = list(dict.fromkeys(own_columns(predicate)))
        if not push.is_exact:
            return self._narrowed(entity, pin, predicate, push.filter, names)
        found: list[Row] = []
        for batch in scan(self.store, pin, table_schema(entity).names, push.filter, blobs_as_bytes=True):
            frame = held_frame(shown_columns(entity, batch, names), batch.num_rows)
            found += batch.filter(pa.array(self.evaluation.mask(predicate, frame))).to_pylist()
        return found

    def _narrowed(
        self, entity: Entity, pin: TablePin, predicate: ir.Expr, push: RowFilter | None, names: list[str]
    ) -> list[Row]:
        """Rows of a predicate that storage cannot decide: its columns are read first, then the rows that match."""
        found: list[Any] = []
        for batch in scan(self.store, pin, names or [ID], push, with_address=True):
            frame = held_frame(shown_columns(entity, batch, names), batch.num_rows)
            mask = self.evaluation.mask(predicate, frame)
            found.append(batch.column("_rowaddr").to_numpy()[mask])
        addresses = np.concatenate(found) if found else np.zeros(0, np.uint64)
        if not len(addresses):
            return []
        rows: list[Row] = rows_at(self.store, pin, addresses, image_schema(entity)).to_pylist()
        return rows

    def _report_index(self, pin: TablePin, row_filter: RowFilter | None) -> None:
        if not self.profiler.is_on:
            return
        known = known_indexes(self.store, pin)
        used = [known.get((column, IndexKind.BTREE)) for column in columns_of(row_filter)]
        found = next((index for index in used if index is not None), None)
        self.profiler.say(f"full scan of {pin.key}" if found is None else str(found))

    def by_id(self, entity: Entity, ids: Sequence[str], *, is_fixed: bool = False) -> dict[str, Row]:
        """The current rows of the ids that exist. With ``is_fixed`` those of the snapshot enter the fingerprint."""
        found = self._existing(entity, ids, is_fixed=is_fixed)
        return {row[ID]: row for row in self.shown(entity, list(found.values()))}

    def taken(self, entity: Entity, ids: Sequence[str]) -> dict[str, Row]:
        """The current rows of the ids that exist, to be changed; raises PolicyDenied if the actor may not read one."""
        found = self._existing(entity, ids)
        if self.guard is not None and len(self.shown(entity, list(found.values()))) < len(found):
            raise self.guard.denied(entity)
        return found

    def _existing(self, entity: Entity, ids: Sequence[str], *, is_fixed: bool = False) -> dict[str, Row]:
        pending, seen = self.pending.get(entity.table_key), self.seen.get(entity.table_key, {})
        found: dict[str, Row] = {}
        unknown: list[str] = []
        for id_ in dict.fromkeys(ids):
            if pending is not None and pending.hides(id_):
                if id_ in pending.rows:
                    found[id_] = pending.rows[id_]
            elif id_ in seen:
                found[id_] = seen[id_]
            else:
                unknown.append(id_)
        if unknown:
            self.tables_read.add(entity.table_key)
            pin = self.capture.state.tables[entity.table_key]
            committed: list[Row] = find_images(self.store, pin, entity, unknown).rows.to_pylist()
            self._remember(entity, committed)
            found.update((row[ID], row) for row in committed)
            if is_fixed:
                self._note(entity, committed)
        return found

    def edges_at(self, edge: EdgeType, type_name: str, nodes: set[str]) -> set[str]:
        """Current edges at these nodes of a type: those of the snapshot that are not hidden, and pending ones."""
        pending = self.pending.get(edge.table_key)
        pin = self.capture.state.tables[edge.table_key]
        self.tables_read.add(edge.table_key)
        ends = [end for end in edge.ends if type_name in end.types]
        found: set[str] = set()
        for end in ends:
            for batch in rows_with(self.store, pin, end.column, sorted(nodes), with_types(edge, [ID, end.column])):
                found.update(batch.column(ID).filter(is_of_type(end, type_name, batch)).to_pylist())
        if pending is not None:
            found = {id_ for id_ in found if not pending.hides(id_)}
            found.update(
                id_
                for id_, row in pending.rows.items()
                if any(row[end.column] in nodes and end.type_of(_tag(end, row)) == type_name for end in ends)
            )
        return found


def _tag(end: EdgeEnd, row: Row) -> str | None:
    return None if end.type_column is None else row[end.type_column]


def pending_rows(pending: Pending) -> pa.Table:
    """The pending rows of a table; a required value may be missing before the check."""
    schema = table_schema(pending.entity)
    nullable = pa.schema([field.with_nullable(True) for field in schema])
    return pa.Table.from_pylist(list(pending.rows.values()), schema=nullable)


def _content(entity: Entity, rows: list[Row]) -> list[list[tuple[str, Any]]]:
    """The content of rows by stable property ids, without nulls, so that renamed or added properties do not matter."""
    names = {name: str(prop.id) for name, prop in entity.properties.items()}
    return [
        sorted((names.get(name, name), value) for name, value in row.items() if value is not None)
        for row in sorted(rows, key=lambda row: str(row[ID]))
    ]
