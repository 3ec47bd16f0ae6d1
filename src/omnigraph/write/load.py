"""Loading: rows of any number of types as one commit, in the modes append, merge and overwrite.

This is the path for input that fits into memory; larger input goes through ``write.bulk_load``, which gives the same
graph.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import Enum

import pyarrow as pa

from omnigraph.errors import KeyConflictError
from omnigraph.history.plan import CommitInfo, PublishPlan, WriteMode
from omnigraph.manifest.reader import Capture
from omnigraph.rows.typed_rows import TypedRows
from omnigraph.rows.validate import TableDelta, check_delta
from omnigraph.rows.values import check_values
from omnigraph.rows.violations import Place, Violation, ViolationCode, Violations
from omnigraph.schema.catalog import NodeType
from omnigraph.storage.store import Store
from omnigraph.storage.tables import scan
from omnigraph.write.committed import CommittedGraph
from omnigraph.write.context import WriteOptions
from omnigraph.write.staging import stage_deltas
from omnigraph.write.violations import violation_error


class LoadMode(Enum):
    """What a load does with entities that exist already."""

    APPEND = "append"
    """An id that exists, or twice in the input, is an error."""
    MERGE = "merge"
    """An entity replaces the one with its id; everything it does not say becomes null."""
    OVERWRITE = "overwrite"
    """The types in the input hold exactly the input afterwards; other types stay."""


_WRITE_MODES = {
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

    def stage(self, capture: Capture, info: CommitInfo, options: WriteOptions) -> PublishPlan:
        modes = dict.fromkeys(self.deltas, _WRITE_MODES[self.mode])
        return stage_deltas(self.store, capture, self.deltas, modes, info, options, self.reads)


def gather(batches: Iterable[TypedRows], source: str, mode: LoadMode, violations: Violations) -> list[TableDelta]:
    """Rows by type, each id once. Checks values and ids within the input; raises what it finds."""
    collected: dict[str, list[TypedRows]] = {}
    for typed in batches:
        check_values(typed.entity, typed.batch, _places(source, typed.lines.to_pylist()), violations)
        collected.setdefault(typed.table_key, []).append(typed)
    if violations.total:
        raise violation_error(violations)
    deltas = [_coalesced(parts, source, mode, violations) for _, parts in sorted(collected.items())]
    if violations.total:
        raise violation_error(violations)
    return deltas


def _places(source: str, lines: list[int]) -> Callable[[int], Place]:
    return lambda row: Place(source, lines[row])


def _coalesced(parts: list[TypedRows], source: str, mode: LoadMode, violations: Violations) -> TableDelta:
    entity = parts[0].entity
    rows = pa.Table.from_batches([part.batch for part in parts])
    ids: list[str] = rows.column("id").to_pylist()
    lines = [line for part in parts for line in part.lines.to_pylist()]
    last = {id_: position for position, id_ in enumerate(ids)}
    places = {id_: Place(source, lines[position]) for id_, position in last.items()}
    if len(last) < len(ids):
        is_keyed = isinstance(entity, NodeType) and bool(entity.key)
        if mode is not LoadMode.MERGE or is_keyed:
            _report_duplicates(parts, ids, lines, last, source, violations)
        rows = rows.take(sorted(last.values()))
    return TableDelta(entity, rows, replaces_all=mode is LoadMode.OVERWRITE, places=places)


def _report_duplicates(
    parts: list[TypedRows], ids: list[str], lines: list[int], last: dict[str, int], source: str, violations: Violations
) -> None:
    entity = parts[0].entity
    for position, id_ in enumerate(ids):
        if last[id_] != position:
            message = f"{entity.name} '{id_}' is given twice: again in line {lines[last[id_]]}"
            place = Place(source, lines[position])
            violations.add(Violation(ViolationCode.DUPLICATE_ID, message, entity.table_key, id_, None, place))


def prepare_load(store: Store, capture: Capture, deltas: list[TableDelta], mode: LoadMode) -> PreparedLoad:
    """Check the input against the graph; raises and changes nothing."""
    asked: set[str] = set()
    committed = CommittedGraph(store, capture.state, asked)
    by_key = {delta.entity.table_key: _with_vanished(store, capture, delta) for delta in deltas}
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
        place = delta.places.get(first)
        where = f"{place}: " if place else ""
        raise KeyConflictError(
            f"{where}{delta.entity.name} '{first}' exists already"
            + (f", and {len(existing) - 1} more" if len(existing) > 1 else ""),
            hint="load with mode merge to replace entities by id",
            type_name=delta.entity.name,
            entity_id=first,
            count=len(existing),
        )


def _with_vanished(store: Store, capture: Capture, delta: TableDelta) -> TableDelta:
    if not delta.replaces_all:
        return delta
    pin = capture.state.tables[delta.entity.table_key]
    kept = set(delta.ids())
    gone = {id_ for batch in scan(store, pin, ["id"]) for id_ in batch.column("id").to_pylist() if id_ not in kept}
    return TableDelta(delta.entity, delta.rows, replaces_all=True, vanished=frozenset(gone), places=delta.places)
