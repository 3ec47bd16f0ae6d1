"""Schema migration of a branch: a text is planned against the accepted schema and applied as one commit.

Types and properties are matched by stable id. A type that stays keeps its table and data files: columns are added,
dropped and renamed in table metadata only. New requirements are checked against all entities first; nothing is changed
if one violates them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from omnigraph.core.tables import TablePin
from omnigraph.errors import MigrationRefused
from omnigraph.history.plan import CommitInfo, PublishPlan, TableWrite, WriteMode
from omnigraph.lang.pg_parser import parse_schema
from omnigraph.lang.source import Source
from omnigraph.manifest.reader import Capture
from omnigraph.manifest.schemas import store_schema
from omnigraph.rows.arrow_types import Entity, table_schema
from omnigraph.rows.violations import Violations
from omnigraph.schema.catalog import Catalog, EdgeType
from omnigraph.schema.compile import accept
from omnigraph.schema.ir import SchemaIR
from omnigraph.schema.json_form import digest
from omnigraph.schema.migrate import plan as plan_migration
from omnigraph.schema.migration import MigrationPlan
from omnigraph.schema.steps import ChangeEnds, UnsupportedChange
from omnigraph.storage.stage import staging
from omnigraph.storage.tables.store import Store
from omnigraph.write.context import WriteOptions
from omnigraph.write.external.reseal import Resealed, reseal
from omnigraph.write.external.sealing import store_seals
from omnigraph.write.schema.checks import check_entities
from omnigraph.write.schema.ends import loses_pairs, lost_edges, without_edges
from omnigraph.write.staging import plan_writes
from omnigraph.write.type_tables import TypeChange, align_columns, table_id, type_changes
from omnigraph.write.violations import violation_error

Staged = tuple[TableWrite, staging.StagedVersion | None]
"""The write of one table, and its new version."""


@dataclass(frozen=True)
class PreparedSchema:
    """A migration whose requirements all entities meet."""

    store: Store
    source: Source
    schema: SchemaIR
    migration: MigrationPlan
    reads: frozenset[str] = frozenset()
    seals: Mapping[str, Resealed] = field(default_factory=dict)
    """External types that are new or read differently, by table key."""
    remarks: tuple[str, ...] = ()
    fingerprint: str = ""

    @property
    def is_empty(self) -> bool:
        return not self.migration.steps

    def stage(
        self, capture: Capture, info: CommitInfo, options: WriteOptions, others: Collection[str] = ()
    ) -> PublishPlan:
        """Store the schema, create tables of new types, and change the columns of others.

        The tables ``others`` have versions with the new columns already.
        """
        schema_files = store_schema(self.store, self.schema, self.source.text)
        seal_files = store_seals(self.store, [(item.entity, item.seal) for item in self.seals.values()])
        staged = [
            item
            for change in type_changes(capture.catalog, Catalog(self.schema))
            if change.after is None or change.after.table_key not in others
            for item in self._of(capture, change)
        ]
        # A name may pass from one type to another, so drops come before creates.
        staged.sort(key=lambda item: item[0].lance_version is not None)
        made = [version for write, version in staged if write.mode is WriteMode.CREATE and version is not None]
        staging.sync_created(self.store, made)
        plan = plan_writes(
            capture, [(write, version) for write, version in staged if version], self.reads, info, options
        )
        writes = tuple(write for write, _ in staged)
        reads = self.reads - {write.key for write in writes}
        files = (*plan.files, *seal_files, *schema_files)
        return replace(plan, writes=writes, reads=reads, new_schema=digest(self.schema), files=files)

    def _of(self, capture: Capture, change: TypeChange) -> Iterator[Staged]:
        """Writes for the table of one type."""
        before, after = change.before, change.after
        if before is None:
            assert after is not None
            yield self._created(after)
            return
        pin = capture.state.tables[before.table_key]
        if after is None:
            yield TableWrite(pin.key, pin.location, WriteMode.DROP, None, 0, deleted=pin.rows), None
            return
        sealed = self.seals.get(after.table_key)
        version = None if pin.is_external else align_columns(self.store, pin, after)
        removed = self._lost_edges(capture, pin, before, after)
        if removed:
            version = without_edges(self.store, pin, version, removed)
        if before.table_key != after.table_key:
            yield TableWrite(pin.key, pin.location, WriteMode.ALTER, None, 0), None
        elif version is None and sealed is None:
            return
        if sealed is not None:
            yield sealed.write(WriteMode.ALTER), None
            return
        number = pin.lance_version if version is None else version.version
        rows = pin.rows - len(removed)
        yield TableWrite(after.table_key, pin.location, WriteMode.ALTER, number, rows, deleted=len(removed)), version

    def _lost_edges(self, capture: Capture, pin: TablePin, before: Entity, after: Entity) -> set[int]:
        catalogs = (capture.catalog, Catalog(self.schema))
        if not isinstance(before, EdgeType) or not isinstance(after, EdgeType) or not pin.rows:
            return set()
        lost = loses_pairs(before, after, catalogs)
        return lost_edges(self.store, pin, before, after, catalogs) if lost else set()

    def _created(self, entity: Entity) -> Staged:
        sealed = self.seals.get(entity.table_key)
        if sealed is not None:
            return sealed.write(WriteMode.CREATE), None
        location = table_id(entity).location
        version = staging.create_table(self.store, location, table_schema(entity))
        return TableWrite(entity.table_key, location, WriteMode.CREATE, version.version, 0), version


def prepare_schema(store: Store, capture: Capture, source: Source, *, allow_data_loss: bool) -> PreparedSchema:
    """Plan the migration of a branch; raises if it is unsupported or an entity violates it. Writes nothing."""
    schema, migration = planned(capture.catalog.schema, source, allow_data_loss=allow_data_loss)
    if not migration.supported:
        raise _refused(migration.refusals)
    catalog = Catalog(schema)
    changes = list(type_changes(capture.catalog, catalog))
    pins = {
        change.after.table_key: capture.state.tables[change.before.table_key]
        for change in changes
        if change.before and change.after
    }
    violations = Violations()
    demands = [step for step in migration.steps if not isinstance(step, ChangeEnds)]
    reads = check_entities(store, catalog, pins, demands, violations)
    if violations.total:
        raise violation_error(violations, stored=True)
    resealed, sealed_reads, remarks = reseal(store, catalog, replace(capture.state, tables=pins), changes)
    return PreparedSchema(store, source, schema, migration, reads | sealed_reads, resealed, remarks)


def planned(accepted: SchemaIR, source: Source, *, allow_data_loss: bool) -> tuple[SchemaIR, MigrationPlan]:
    """The schema of a text, with ids continued from the accepted one, and the steps to it."""
    schema = accept(parse_schema(source), domain=accepted.domain, previous=accepted)
    return schema, plan_migration(accepted, schema, allow_data_loss=allow_data_loss)


def _refused(refusals: Sequence[UnsupportedChange]) -> MigrationRefused:
    shown = "".join(f"\n  - {refusal.text}" for refusal in refusals)
    return MigrationRefused(
        f"unsupported schema change; nothing was changed{shown}",
        hint="load the data into a graph with the new schema, or leave these changes out",
        changes=[refusal.entity for refusal in refusals],
        codes=[refusal.code.code for refusal in refusals if refusal.code is not None],
    )
