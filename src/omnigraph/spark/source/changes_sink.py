"""Changes as the input of a write: rows with an operation, ``insert``, ``update`` or ``delete``.

Two forms are taken: the columns of the change feed, for changes of any types, and the columns of one type with the
operation in ``_op``, or in ``op`` if the type has no property of that name. An insert and an update both replace the
entity, so that a repeated change is harmless. Rows count in the order of the frame.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.datasource import WriterCommitMessage
from pyspark.sql.types import StringType, StructType

from omnigraph.core.ports import UlidSource
from omnigraph.engine.load.run import LoadJob
from omnigraph.history.changes import Op
from omnigraph.rows.arrow_types import ID, Entity, table_schema
from omnigraph.rows.omissions import Omissions
from omnigraph.rows.read.arrow import from_batches, reference_ids
from omnigraph.rows.read.json import read_lines
from omnigraph.rows.typed_rows import TypedRows, numbered
from omnigraph.rows.validate import TableDelta
from omnigraph.rows.violations import Place, Violation, ViolationCode, Violations
from omnigraph.schema.catalog import Catalog, NodeType
from omnigraph.write.load.changes import TableChanges, last_changes, load_changes
from omnigraph.write.load.outcome import Loaded
from omnigraph.write.load.rows import checked

_SOURCE = "<changes>"
_FEED = ("kind", "type", "id", "op", "after")
_OPS = frozenset(op.value for op in Op)


@dataclass(frozen=True)
class ChangesMessage(WriterCommitMessage):  # type: ignore[misc, unused-ignore] # untyped where pyspark is not installed
    """Commit message of a task: the last change of every id that it received."""

    number: int
    tables: Mapping[str, TableChanges]
    violations: Violations
    query: str | None = None


def is_feed_frame(schema: StructType) -> bool:
    """True if the columns are those of the change feed with images as JSON texts."""
    names = {field.name: field.dataType for field in schema.fields}
    return all(isinstance(names.get(name), StringType) for name in _FEED)


def op_column(schema: StructType, entity: Entity) -> str | None:
    """The column of operations; None if the rows are not changes."""
    wanted = ["_op"] if "op" in entity.properties else ["_op", "op"]
    return next((name for name in wanted if name in schema.names), None)


@dataclass(frozen=True)
class ChangesReader:
    """Reads changes in tasks. ``entity`` is the type of rows with an operation; None for the change feed."""

    catalog: Catalog
    names: tuple[str, ...]
    entity: Entity | None = None
    op: str = "op"

    def read(self, number: int, batches: Iterator[pa.RecordBatch], query: str | None = None) -> ChangesMessage:
        """The changes of one task, folded to the last one of every id."""
        violations = Violations()
        parts: list[Mapping[str, TableChanges]] = []
        line = 0
        for batch in batches:
            named = batch.rename_columns(list(self.names))
            _check_ops(named.column(self.op), line, violations)
            parts.append(self._feed(named, violations) if self.entity is None else self._rows(named, violations))
            line += batch.num_rows
        tables = {} if violations.total else {delta.entity.table_key: _changes(delta) for delta in last_changes(parts)}
        return ChangesMessage(number, tables, violations, query)

    def _feed(self, batch: pa.RecordBatch, violations: Violations) -> Mapping[str, TableChanges]:
        last = _last([f"{kind}:{name}:{id_}" for kind, name, id_ in _identities(batch)])
        chosen = batch.take(pa.array(last, pa.int64()))
        records: list[bytes] = []
        removed: dict[str, set[str]] = {}
        for row in chosen.select(list(_FEED)).to_pylist():
            if row["op"] == Op.DELETE:
                removed.setdefault(f"{row['kind']}:{row['type']}", set()).add(row["id"])
            else:
                records.append(json.dumps(_record(row), ensure_ascii=False).encode())
        lines = read_lines(
            [b"\n".join(records)],
            catalog=self.catalog,
            source=_SOURCE,
            mint_ids=UlidSource().new_ids,
            violations=violations,
        )
        found = _gathered(lines, violations)
        for key, ids in removed.items():
            entity = self._named(key, violations)
            if entity is not None:
                known = found.get(key)
                rows = table_schema(entity).empty_table() if known is None else known.rows
                found[key] = TableChanges(entity, rows, frozenset(ids))
        return found

    def _named(self, key: str, violations: Violations) -> Entity | None:
        kind, _, name = key.partition(":")
        entity: Entity | None = self.catalog.node(name) if kind == "node" else self.catalog.edge(name)
        if entity is None:
            violations.add(Violation(ViolationCode.UNKNOWN_TYPE, f"there is no {kind} type {name!r}", key))
        return entity

    def _rows(self, batch: pa.RecordBatch, violations: Violations) -> Mapping[str, TableChanges]:
        assert self.entity is not None
        ids = _given_ids(self.entity, batch)
        # Rows without an id of their own cannot be repeated: each gets a new one.
        known = [id_ if id_ is not None else f"\0{place}" for place, id_ in enumerate(ids.to_pylist())]
        last = pa.array(_last(known), pa.int64())
        chosen, chosen_ids = batch.take(last), ids.take(last)
        is_delete = pc.equal(chosen.column(self.op), Op.DELETE.value)
        removed = chosen_ids.filter(is_delete)
        if removed.null_count:
            message = f"a delete of {self.entity.name} needs the column id, or the key"
            violations.add(Violation(ViolationCode.REQUIRED, message, self.entity.table_key))
        kept = chosen.filter(pc.invert(is_delete)).drop_columns([self.op])
        typed = from_batches(
            self.entity,
            kept.schema,
            numbered([kept]),
            source=_SOURCE,
            mint_ids=UlidSource().new_ids,
            violations=violations,
            from_texts=True,
            omissions=Omissions.NOTED,
        )
        found = _gathered(typed, violations)
        key = self.entity.table_key
        rows = found[key].rows if key in found else table_schema(self.entity).empty_table()
        return {key: TableChanges(self.entity, rows, frozenset(removed.drop_null().to_pylist()))}


def publish_changes(messages: Sequence[ChangesMessage], job: LoadJob) -> Loaded:
    """Publish the changes of all tasks as one commit."""
    violations = Violations()
    ordered = sorted(messages, key=lambda message: message.number)
    for message in ordered:
        violations.absorb(message.violations)
    deltas = last_changes(message.tables for message in ordered)
    return load_changes(job.context, job.incarnation, deltas, violations, job.info, job.options, job.finish)


def _changes(delta: TableDelta) -> TableChanges:
    return TableChanges(delta.entity, delta.rows, delta.removed)


def _identities(batch: pa.RecordBatch) -> Iterator[tuple[str, str, str]]:
    yield from zip(*(batch.column(name).to_pylist() for name in ("kind", "type", "id")), strict=True)


def _last(identities: Sequence[str]) -> list[int]:
    """Positions of the last row of every identity, ascending."""
    return sorted({identity: place for place, identity in enumerate(identities)}.values())


def _record(row: Mapping[str, Any]) -> dict[str, Any]:
    """A change as a record of a load."""
    image = json.loads(row["after"] or "{}")
    data = {"id": row["id"], **image.get("properties", {})}
    if row["kind"] == "node":
        return {"type": row["type"], "data": data}
    return {"edge": row["type"], **image.get("endpoints", {}), "data": data}


def _check_ops(ops: pa.Array, before: int, violations: Violations) -> None:
    for place, op in enumerate(ops.to_pylist()):
        if op not in _OPS:
            message = f"unknown operation {op!r}: expected insert, update or delete"
            at = Place(_SOURCE, before + place + 1)
            violations.add(Violation(ViolationCode.MALFORMED, message, place=at))


def _gathered(rows: Iterator[TypedRows], violations: Violations) -> dict[str, TableChanges]:
    found: dict[str, list[pa.RecordBatch]] = {}
    entities: dict[str, Entity] = {}
    for _, typed in checked(((_SOURCE, typed) for typed in rows), violations):
        found.setdefault(typed.table_key, []).append(typed.batch)
        entities[typed.table_key] = typed.entity
    return {key: TableChanges(entities[key], pa.Table.from_batches(batches)) for key, batches in found.items()}


def _given_ids(entity: Entity, batch: pa.RecordBatch) -> pa.Array:
    """The ids of rows: those given, or those that the key gives; null where neither does."""
    given = batch.column(ID) if ID in batch.schema.names else pa.nulls(batch.num_rows, pa.string())
    if isinstance(entity, NodeType) and entity.key and all(name in batch.schema.names for name in entity.key):
        return pc.coalesce(given, reference_ids(entity, [batch.column(name) for name in entity.key]))
    return given
