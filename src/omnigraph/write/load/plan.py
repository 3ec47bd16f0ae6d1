"""Loads that fit into memory: rows of any number of types as one commit, in every mode.

Larger input goes through ``write.load.bulk``, with the same result.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import pyarrow as pa

from omnigraph.core.tables import Counts
from omnigraph.errors import Hint, KeyConflictError
from omnigraph.history.plan import CommitInfo, PublishPlan, WriteMode
from omnigraph.manifest.reader import Capture
from omnigraph.rows.arrow_types import Entity
from omnigraph.rows.omissions import joined_cells
from omnigraph.rows.typed_rows import TypedRows
from omnigraph.rows.validate import Deltas, TableDelta, check_delta
from omnigraph.rows.violations import Place, Violation, ViolationCode, Violations
from omnigraph.storage.tables.scan import scan
from omnigraph.storage.tables.store import Store
from omnigraph.write.committed_graph import CommittedGraph
from omnigraph.write.context import WriteOptions
from omnigraph.write.guard import ChangeGuard
from omnigraph.write.load.completion import completed, folded
from omnigraph.write.load.mode import LoadMode
from omnigraph.write.load.remarks import repeated_edges
from omnigraph.write.local_change import LocalChange, is_local
from omnigraph.write.retyping import retyped
from omnigraph.write.staging import count_deltas, overwrite_counts, stage_deltas
from omnigraph.write.type_tables import refuse_external
from omnigraph.write.violations import violation_error

SourcedRows = tuple[str, TypedRows]
"""Name of the source, and its rows."""


WRITE_MODES = {
    LoadMode.UPSERT: WriteMode.UPSERT,
    LoadMode.UPDATE: WriteMode.UPSERT,
    LoadMode.MERGE: WriteMode.UPSERT,
    LoadMode.APPEND: WriteMode.APPEND,
    LoadMode.OVERWRITE: WriteMode.OVERWRITE,
}


@dataclass(frozen=True)
class PreparedLoad:
    """A validated load."""

    store: Store
    deltas: dict[str, TableDelta]
    mode: LoadMode
    reads: frozenset[str]
    cleared: int = 0
    remarks: tuple[str, ...] = ()
    fingerprint: str = ""
    local: LocalChange | None = None
    """The change by itself; None if it depends on other entities than those it names."""

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
    """Rows by type, deduplicated by id. Duplicates that the mode does not allow are violations."""
    collected: dict[str, list[SourcedRows]] = {}
    for sourced in rows:
        refuse_external(sourced[1].entity)
        collected.setdefault(sourced[1].table_key, []).append(sourced)
    return [_coalesced(parts, mode, violations) for _, parts in sorted(collected.items())]


def _coalesced(parts: list[SourcedRows], mode: LoadMode, violations: Violations) -> TableDelta:
    entity = parts[0][1].entity
    rows = pa.Table.from_batches([part.batch for _, part in parts])
    omitted = joined_cells([(part.batch.num_rows, part.omitted) for _, part in parts], rows.num_columns)
    ids: list[str] = rows.column("id").to_pylist()
    lines = [Place(source, line) for source, part in parts for line in part.lines.to_pylist()]
    last = {id_: position for position, id_ in enumerate(ids)}
    if len(last) < len(ids):
        if not mode.takes_repeats or entity.key:
            for position, id_ in enumerate(ids):
                if last[id_] != position:
                    violations.add(duplicate_violation(entity, id_, lines[position], lines[last[id_]]))
        winners = sorted(last.values())
        if mode.is_partial:
            rows, omitted = folded(rows, omitted, winners)
        else:
            rows, omitted = rows.take(winners), None if omitted is None else omitted[winners]
    places = dict(zip(ids, lines, strict=True))
    return TableDelta(entity, rows, replaces_all=mode is LoadMode.OVERWRITE, places=places, omitted=omitted)


def duplicate_violation(entity: Entity, id_: str, place: Place, again: Place) -> Violation:
    """The violation of a duplicate id, at the place of the earlier row."""
    where = f"line {again.line}" if again.source == place.source else str(again)
    message = f"{entity.name} '{id_}' is given twice: again in {where}"
    return Violation(ViolationCode.DUPLICATE_ID, message, entity.table_key, id_, None, place)


def exists_violation(entity: Entity, id_: str, place: Place) -> Violation:
    """The violation of an append whose id exists, for loads that report it among others or for every row."""
    message = f"{entity.name} '{id_}' exists already"
    return Violation(ViolationCode.DUPLICATE_ID, message, entity.table_key, id_, None, place)


def prepare_load(
    store: Store,
    capture: Capture,
    deltas: list[TableDelta],
    mode: LoadMode,
    found: Violations,
    guard: ChangeGuard | None = None,
) -> PreparedLoad:
    """Check the input against the graph, and against the data rules of a ``guard``; raises without any change.

    ``found`` are the violations of the input by itself. All of them are reported together.
    """
    tables_read: set[str] = set()
    committed = CommittedGraph(store, capture.state, tables_read)
    fitting = [retyped(delta, capture.catalog, is_partial=mode.is_partial) for delta in deltas]
    by_key = {delta.entity.table_key: _with_vanished(store, capture, delta) for delta in fitting}
    by_key = {key: _with_found(key, delta, committed) for key, delta in by_key.items()}
    violations = Violations()
    violations.absorb(found)
    whole = {key: completed(store, capture, delta, mode, violations) for key, delta in by_key.items()}
    existing = {key: _existing(key, delta, committed) for key, delta in by_key.items() if mode is LoadMode.APPEND}
    if guard is not None:
        # Before constraints are checked, whose violations would tell of entities that the actor may not know.
        guard.check(store, capture, {key: item.delta for key, item in whole.items()})
    check_delta(capture.catalog, {key: item.delta for key, item in whole.items()}, committed, violations)
    _refuse_existing(by_key, existing, violations)
    if violations.total:
        raise violation_error(violations)
    changed = {key: item.changed for key, item in whole.items()}
    # A table without a change is not written, but the decision depends on its rows.
    reads = frozenset(tables_read | whole.keys())
    cleared = sum(item.cleared for item in whole.values())
    written = {key: delta for key, delta in changed.items() if _has_work(capture, delta)}
    local, modes = None, dict.fromkeys(by_key, WRITE_MODES[mode])
    if guard is None and is_local(by_key, modes):
        local = LocalChange(written, modes, reads, {key: item.delta for key, item in whole.items()})
    return PreparedLoad(store, written, mode, reads, cleared, _remarks(store, capture, by_key), local=local)


def _has_work(capture: Capture, delta: TableDelta) -> bool:
    """True if a delta changes its table. An overwrite changes nothing if the table has exactly its rows."""
    pin = capture.state.tables[delta.entity.table_key]
    return any(overwrite_counts(delta, pin)) if delta.replaces_all else bool(delta.rows.num_rows or delta.removed)


def _remarks(store: Store, capture: Capture, deltas: Mapping[str, TableDelta]) -> tuple[str, ...]:
    found = (
        repeated_edges(store, capture.state.tables[key], delta)
        for key, delta in sorted(deltas.items())
        if not delta.replaces_all
    )
    return tuple(remark for remark in found if remark is not None)


def _existing(key: str, delta: TableDelta, committed: CommittedGraph) -> list[str]:
    existing = committed.existing_ids(key, delta.ids())
    return [id_ for id_ in delta.ids() if id_ in existing]


def _refuse_existing(deltas: Deltas, existing: Mapping[str, list[str]], violations: Violations) -> None:
    """Raise KeyConflictError for an append with existing ids; among other violations they are violations too."""
    for key, ids in existing.items():
        delta = deltas[key]
        if ids and not violations.total:
            raise exists_already(delta.entity, min(ids), len(ids), delta.places[min(ids)])
        for id_ in ids:
            violations.add(exists_violation(delta.entity, id_, delta.places[id_]))


def exists_already(entity: Entity, first: str, count: int, place: Place) -> KeyConflictError:
    """The error of an append with existing ids."""
    return KeyConflictError(
        f"{place}: {entity.name} '{first}' exists already" + (f", and {count - 1} more" if count > 1 else ""),
        hint=Hint(
            'graph.load(..., mode="upsert") changes entities by id', "load with --mode upsert to change entities by id"
        ),
        entity_kind=entity.table_key.partition(":")[0],
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
    return replace(delta, vanished=frozenset(gone))


def _with_found(key: str, delta: TableDelta, committed: CommittedGraph) -> TableDelta:
    """The delta with only those removals that remove something: a replica may not have what its source deleted."""
    if not delta.removed:
        return delta
    return replace(delta, removed=frozenset(committed.existing_ids(key, sorted(delta.removed))))
