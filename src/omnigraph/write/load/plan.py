"""Loading: rows of any number of types as one commit, in the modes append, merge and overwrite.

This is the path for input that fits into memory; larger input goes through ``write.load.bulk``, which gives the same
graph.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import pyarrow as pa

from omnigraph.core.tables import Counts
from omnigraph.errors import KeyConflictError
from omnigraph.history.plan import CommitInfo, PublishPlan, WriteMode
from omnigraph.manifest.reader import Capture
from omnigraph.rows.arrow_types import Entity
from omnigraph.rows.typed_rows import TypedRows
from omnigraph.rows.validate import TableDelta, check_delta
from omnigraph.rows.violations import Place, Violation, ViolationCode, Violations
from omnigraph.schema.catalog import NodeType
from omnigraph.storage.tables.scan import scan
from omnigraph.storage.tables.store import Store
from omnigraph.write.committed_graph import CommittedGraph
from omnigraph.write.context import WriteOptions
from omnigraph.write.load.mode import LoadMode
from omnigraph.write.schema.cast import retyped
from omnigraph.write.staging import count_deltas, stage_deltas
from omnigraph.write.violations import violation_error

SourcedRows = tuple[str, TypedRows]
"""Rows, and the name of the source they came from."""


WRITE_MODES = {
    LoadMode.APPEND: WriteMode.APPEND,
    LoadMode.MERGE: WriteMode.UPSERT,
    LoadMode.OVERWRITE: WriteMode.OVERWRITE,
}


@dataclass(frozen=True)
class PreparedLoad:
    """A validated load."""

    store: Store
    deltas: dict[str, TableDelta]
    mode: LoadMode
    reads: frozenset[str]
    fingerprint: str = ""

    @property
    def is_empty(self) -> bool:
        """Never: a load always makes a commit, so that a repeated job can see that it ran."""
        return False

    @property
    def modes(self) -> dict[str, WriteMode]:
        return dict.fromkeys(self.deltas, WRITE_MODES[self.mode])

    def counts(self, capture: Capture) -> dict[str, Counts]:
        return count_deltas(self.store, capture, self.deltas, self.modes)

    def stage(self, capture: Capture, info: CommitInfo, options: WriteOptions) -> PublishPlan:
        return stage_deltas(self.store, capture, self.deltas, self.modes, info, options, self.reads)


def gather(rows: Iterable[SourcedRows], mode: LoadMode, violations: Violations) -> list[TableDelta]:
    """Rows by type, each id once. Checks ids within the input; raises what was found there and in the rows before."""
    collected: dict[str, list[SourcedRows]] = {}
    for sourced in rows:
        collected.setdefault(sourced[1].table_key, []).append(sourced)
    if violations.total:
        raise violation_error(violations)
    deltas = [_coalesced(parts, mode, violations) for _, parts in sorted(collected.items())]
    if violations.total:
        raise violation_error(violations)
    return deltas


def _coalesced(parts: list[SourcedRows], mode: LoadMode, violations: Violations) -> TableDelta:
    entity = parts[0][1].entity
    rows = pa.Table.from_batches([part.batch for _, part in parts])
    ids: list[str] = rows.column("id").to_pylist()
    lines = [Place(source, line) for source, part in parts for line in part.lines.to_pylist()]
    last = {id_: position for position, id_ in enumerate(ids)}
    if len(last) < len(ids):
        if mode is not LoadMode.MERGE or is_keyed(entity):
            for position, id_ in enumerate(ids):
                if last[id_] != position:
                    violations.add(duplicate_violation(entity, id_, lines[position], lines[last[id_]]))
        rows = rows.take(sorted(last.values()))
    places = dict(zip(ids, lines, strict=True))
    return TableDelta(entity, rows, replaces_all=mode is LoadMode.OVERWRITE, places=places)


def is_keyed(entity: Entity) -> bool:
    """Whether ids are derived, so that two rows of one id are two nodes of one key."""
    return isinstance(entity, NodeType) and bool(entity.key)


def duplicate_violation(entity: Entity, id_: str, place: Place, again: Place) -> Violation:
    """An id that is given twice; the earlier row is shown."""
    where = f"line {again.line}" if again.source == place.source else str(again)
    message = f"{entity.name} '{id_}' is given twice: again in {where}"
    return Violation(ViolationCode.DUPLICATE_ID, message, entity.table_key, id_, None, place)


def exists_violation(entity: Entity, id_: str, place: Place) -> Violation:
    """A row of an append whose id exists, where every such row is told."""
    message = f"{entity.name} '{id_}' exists already"
    return Violation(ViolationCode.DUPLICATE_ID, message, entity.table_key, id_, None, place)


def prepare_load(store: Store, capture: Capture, deltas: list[TableDelta], mode: LoadMode) -> PreparedLoad:
    """Check the input against the graph; raises and changes nothing."""
    asked: set[str] = set()
    committed = CommittedGraph(store, capture.state, asked)
    fitting = [retyped(delta, capture.catalog) for delta in deltas]
    by_key = {delta.entity.table_key: _with_vanished(store, capture, delta) for delta in fitting}
    if mode is LoadMode.APPEND:
        for key, delta in by_key.items():
            _refuse_existing(key, delta, committed)
    violations = Violations()
    check_delta(capture.catalog, by_key, committed, violations)
    if violations.total:
        raise violation_error(violations)
    return PreparedLoad(store, by_key, mode, frozenset(asked))


def _refuse_existing(key: str, delta: TableDelta, committed: CommittedGraph) -> None:
    existing = committed.existing_ids(key, delta.ids())
    if existing:
        first = min(existing)
        raise exists_already(delta.entity, first, len(existing), delta.places[first])


def exists_already(entity: Entity, first: str, count: int, place: Place) -> KeyConflictError:
    """The error of an append whose ids exist."""
    return KeyConflictError(
        f"{place}: {entity.name} '{first}' exists already" + (f", and {count - 1} more" if count > 1 else ""),
        hint="load with mode merge to replace entities by id",
        type_name=entity.name,
        entity_id=first,
        count=count,
    )


def _with_vanished(store: Store, capture: Capture, delta: TableDelta) -> TableDelta:
    if not delta.replaces_all:
        return delta
    pin = capture.state.tables[delta.entity.table_key]
    kept = set(delta.ids())
    gone = {id_ for batch in scan(store, pin, ["id"]) for id_ in batch.column("id").to_pylist() if id_ not in kept}
    return TableDelta(delta.entity, delta.rows, replaces_all=True, vanished=frozenset(gone), places=delta.places)
