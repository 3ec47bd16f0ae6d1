"""Adoption: detached versions of several tables, staged by another program, become one commit.

Each version must have been made from the pin that the branch has now. Only the difference between the two is read; it
passes the checks of any other write. A concurrent commit to one of the tables is a conflict, because the version was
decided by a program that has not seen it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import TypeVar

from omnigraph.compare.tables import TableChanges, table_changes
from omnigraph.core.tables import Counts, TablePin
from omnigraph.errors import InputError, NotFoundError, ReadSetConflict
from omnigraph.history.plan import CommitInfo, PublishPlan, TableWrite, WriteMode
from omnigraph.manifest.reader import Capture
from omnigraph.rows.arrow_types import Entity, table_schema
from omnigraph.rows.validate import TableDelta, check_delta
from omnigraph.rows.violations import Violation, ViolationCode, Violations
from omnigraph.schema.catalog import Catalog
from omnigraph.storage.stage.fitting import fitted_version, missing_values
from omnigraph.storage.stage.foreign import ForeignVersion, StaleBase, adopted_files, foreign_version
from omnigraph.storage.stage.staging import StagedVersion
from omnigraph.storage.tables.store import Store
from omnigraph.write.adopt.row_checks import added_rows, check_rows, check_unique
from omnigraph.write.committed_graph import CommittedGraph
from omnigraph.write.context import WriteOptions
from omnigraph.write.load.kept_files import check_paths_kept
from omnigraph.write.schema.apply import PreparedSchema, prepare_schema
from omnigraph.write.schema.edits import SchemaEdits, edited_schema
from omnigraph.write.staging import STAGING_THREADS_MAX, plan_writes
from omnigraph.write.type_tables import refuse_external
from omnigraph.write.violations import violation_error

Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class OfferedVersion:
    """A staged version: its Lance number, and the number that the table is expected to have before."""

    lance_version: int
    expected: int | None = None


@dataclass(frozen=True)
class PreparedAdoption:
    """Checked versions with their differences to the pins, and the schema change that they come with."""

    staged: Mapping[str, StagedVersion]
    changes: Mapping[str, TableChanges]
    reads: frozenset[str]
    schema: PreparedSchema | None = None
    fingerprint: str = ""

    @property
    def is_empty(self) -> bool:
        return not self.staged and (self.schema is None or self.schema.is_empty)

    def stage(self, capture: Capture, info: CommitInfo, options: WriteOptions) -> PublishPlan:
        writes = [(self._write(key, version), version) for key, version in sorted(self.staged.items())]
        plan = plan_writes(capture, writes, self.reads, info, options)
        if self.schema is None:
            return plan
        migration = self.schema.stage(capture, info, options, others=frozenset(self.staged))
        return replace(
            plan,
            writes=(*migration.writes, *plan.writes),
            reads=(plan.reads | migration.reads) - {write.key for write in (*migration.writes, *plan.writes)},
            new_schema=migration.new_schema,
            files=(*migration.files, *plan.files),
        )

    def _write(self, key: str, version: StagedVersion) -> TableWrite:
        counts = _counts(self.changes[key])
        return TableWrite(key, version.location, WriteMode.MODIFY, version.version, version.rows, *counts)


def prepare_adoption(
    store: Store, capture: Capture, offered: Mapping[str, OfferedVersion], edits: SchemaEdits
) -> PreparedAdoption:
    """Check the offered versions, by table key, against the captured state; raises without any change."""
    opened = _opened(store, capture, offered)
    source = edited_schema(store, capture, edits, {key: version.added for key, version in opened.items()})
    schema = None
    if source is not None:
        schema = prepare_schema(store, capture, source, allow_data_loss=False)
    catalog = capture.catalog if schema is None else Catalog(schema.schema)
    _check_present(store, opened.values())
    compared = _each(opened, lambda key: _Adopted.of(store, _entity(catalog, key), opened[key]))
    _check_kept(store, capture, compared.values())
    violations = Violations()
    for table in compared.values():
        check_unique(store, table.changes, table.base, table.staged.rows, violations)
        check_rows(table.changes, violations)
    tables_read: set[str] = set()
    deltas = {key: _delta(table.changes) for key, table in compared.items()}
    check_delta(catalog, deltas, CommittedGraph(store, capture.state, tables_read), violations)
    if violations.total:
        raise violation_error(violations)
    staged = {key: table.staged for key, table in compared.items()}
    changes = {key: table.changes for key, table in compared.items()}
    return PreparedAdoption(staged, changes, frozenset(tables_read), schema)


@dataclass(frozen=True)
class _Adopted:
    """One table: the version that it gets, and the difference to its pin."""

    base: TablePin
    staged: StagedVersion
    paths: list[str]
    """The files that the version adds."""
    changes: TableChanges

    @classmethod
    def of(cls, store: Store, entity: Entity, foreign: ForeignVersion) -> _Adopted:
        base = foreign.base
        dataset = fitted_version(store, foreign, table_schema(entity))
        staged, paths = adopted_files(store, base, dataset)
        after = TablePin(entity.table_key, base.location, staged.version, base.table_version + 1, staged.rows)
        return cls(base, staged, paths, table_changes(store, entity, base, after))


def _opened(store: Store, capture: Capture, offered: Mapping[str, OfferedVersion]) -> dict[str, ForeignVersion]:
    """The versions, made from the current pins; raises one conflict that names all tables that have moved."""
    tables = capture.state.tables
    unknown = sorted(offered.keys() - tables.keys())
    if unknown:
        raise NotFoundError(f"there is no table {unknown[0]!r} on branch {capture.state.branch}", table=unknown[0])

    for key in sorted(offered):
        refuse_external(_entity(capture.catalog, key))

    def opened(key: str) -> ForeignVersion | None:
        offer, pin = offered[key], tables[key]
        if offer.expected is not None and offer.expected != pin.table_version:
            return None
        try:
            return foreign_version(store, pin, offer.lance_version)
        except StaleBase:
            return None

    found = _each(offered, opened)
    stale = {key: offered[key].expected for key, version in found.items() if version is None}
    if stale:
        raise moved(tables, stale)
    return {key: version for key, version in found.items() if version is not None}


def moved(tables: Mapping[str, TablePin], stale: Mapping[str, int | None]) -> ReadSetConflict:
    """The error for versions that were not made from the current ones, by table key with their expected base."""
    texts = [_moved(tables[key], expected) for key, expected in sorted(stale.items())]
    first, expected = min(stale.items())
    return ReadSetConflict(
        "; ".join(texts),
        hint="stage these tables again on their current versions",
        member=first,
        expected=expected,
        actual=tables[first].table_version,
        tables={key: [expected, tables[key].table_version] for key, expected in sorted(stale.items())},
    )


def _moved(pin: TablePin, expected: int | None) -> str:
    was = "another version" if expected in (None, pin.table_version) else f"version {expected}"
    return f"{pin.key} is at version {pin.table_version}, and the staged version was made from {was}"


def _check_present(store: Store, versions: Iterable[ForeignVersion]) -> None:
    """Refuse nulls in required columns first: rows with them cannot be read as rows of the table."""
    violations = Violations()
    for version in versions:
        key = version.base.key
        for name, count in missing_values(store, version).items():
            message = f"{count} rows of {key.partition(':')[2]} have no {name}"
            violations.add(Violation(ViolationCode.REQUIRED, message, key, None, name))
    if violations.total:
        raise violation_error(violations)


def _check_kept(store: Store, capture: Capture, tables: Iterable[_Adopted]) -> None:
    """Refuse files that a cleanup may delete. It is unknown when they were staged, so the newest fence counts."""
    fence = capture.state.fence
    if fence.cutoff_us:
        paths = [path for table in tables for path in table.paths]
        check_paths_kept(store, paths, fence, "batch", "stage the batch again")


def _entity(catalog: Catalog, key: str) -> Entity:
    kind, _, name = key.partition(":")
    entity: Entity | None = catalog.node(name) if kind == "node" else catalog.edge(name)
    if entity is None:
        raise InputError(f"the batch drops {key} and changes it", hint="leave one of the two out", table=key)
    return entity


def _each(keys: Iterable[str], work: Callable[[str], Value]) -> dict[str, Value]:
    """The work of every table, in parallel: it mostly waits for the store."""
    ordered = sorted(keys)
    if len(ordered) <= 1:
        return {key: work(key) for key in ordered}
    with ThreadPoolExecutor(min(len(ordered), STAGING_THREADS_MAX)) as pool:
        return dict(zip(ordered, pool.map(work, ordered), strict=True))


def _delta(changes: TableChanges) -> TableDelta:
    removed = frozenset(changes.deleted.column("id").to_pylist())
    return TableDelta(changes.entity, added_rows(changes), removed=removed)


def _counts(changes: TableChanges) -> Counts:
    return changes.inserted.num_rows, changes.after.num_rows, changes.deleted.num_rows
