"""Three-way merge of two captured heads, table by table, published as one commit with two parents.

Invariant: a decision depends only on three immutable states (base, source, target) and on the rules of the caller. The
source is captured once. When another writer publishes to the target first, the merge is decided again on the new target
with exactly that source. So a retry never mixes in later commits of the source.

A table is decided as a whole first, and its rows are read only if both sides changed it:

==========================  ===========================  ==========================================
source, against the base    target, against the base     merged table
==========================  ===========================  ==========================================
unchanged                   unchanged or changed         version of the target, nothing read
changed                     unchanged                    version of the source (*adopted*), nothing read
changed                     same version as the source   version of the target, nothing read
changed                     changed                      rows merged into a delta on the target
dropped                     changed, or the reverse      schema conflict
==========================  ===========================  ==========================================

An adopted table bypasses the row checks, so constraints between tables are checked afterwards over all changes
(``check_merged``). The tables that those checks read are part of the plan: a concurrent change of one of them makes the
publisher decide again, which prevents write skew.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import partial

from omnigraph.compare.tables import rows_compared
from omnigraph.core.tables import FileRecord, TableCounts
from omnigraph.history.commits import Relation
from omnigraph.history.conflicts import MergeConflict, in_order
from omnigraph.history.plan import CommitInfo, PublishPlan, TableWrite, WriteMode
from omnigraph.history.state import ManifestState
from omnigraph.manifest.reader import Capture, Manifests
from omnigraph.manifest.schemas import store_schema
from omnigraph.schema.catalog import Catalog
from omnigraph.schema.ir import SchemaIR
from omnigraph.schema.print import to_pg
from omnigraph.storage.stage.staging import StagedVersion
from omnigraph.write.context import WriteOptions
from omnigraph.write.merge.checks import check_merged
from omnigraph.write.merge.external import check_external, settled
from omnigraph.write.merge.images import SOURCE, TARGET, MergeRules, Sides
from omnigraph.write.merge.newest import source_is_newer
from omnigraph.write.merge.parts import DistributedMerge
from omnigraph.write.merge.rows import RowMerge
from omnigraph.write.merge.schema import (
    check_dropped,
    dropped_conflict,
    has_other_columns,
    is_migrated,
    judges_vacated,
    merged_schema,
)
from omnigraph.write.merge.sides import Crossing, GraphSides, aligned, crossing_of, relate_heads, same_version, state_at
from omnigraph.write.merge.staging import write_merged
from omnigraph.write.merge.table import TableMerge
from omnigraph.write.merge.tables import MergedTable
from omnigraph.write.staging import StagedTable, plan_writes, write_tables
from omnigraph.write.type_tables import align_columns, entities, table_id


class MergeOutcome(StrEnum):
    """Outcome of a merge or of its preview."""

    ALREADY_UP_TO_DATE = "already_up_to_date"
    FAST_FORWARD = "fast_forward"
    MERGED = "merged"
    CONFLICTS = "conflicts"


@dataclass(frozen=True)
class MergeDecision:
    """A merge that is decided and not yet written."""

    outcome: MergeOutcome
    base: str
    source: ManifestState
    target: ManifestState
    relation: Relation
    sides: GraphSides | None = None
    tables: Mapping[str, MergedTable] = field(default_factory=dict)
    counts: tuple[TableCounts, ...] = ()
    conflicts: tuple[MergeConflict, ...] = ()
    reads: frozenset[str] = frozenset()
    new_schema: str | None = None
    schema: SchemaIR | None = None
    """The merged schema, if it differs from both sides."""
    fingerprint: str = ""

    @property
    def is_empty(self) -> bool:
        return self.outcome is MergeOutcome.ALREADY_UP_TO_DATE

    @property
    def is_distributed(self) -> bool:
        """True if a table was merged on Spark."""
        return any(table.merge is not None and table.merge.remote is not None for table in self.tables.values())

    def stage(self, capture: Capture, info: CommitInfo, options: WriteOptions) -> PublishPlan:
        """Write the merged rows and make the plan. Adopted tables need no write."""
        schema_files: tuple[FileRecord, ...] = ()
        if self.schema is not None:
            assert self.sides is not None
            schema_files = store_schema(self.sides.store, self.schema, to_pg(self.schema))
        counted = {item.key: item for item in self.counts}
        written = [key for key, table in self.tables.items() if table.is_written or self._wants_columns(table)]
        staged = write_tables(lambda key: self._write_table(counted.get(key) or _uncounted(key)), sorted(written))
        plan = plan_writes(capture, [(item.write, item.version) for item in staged], self.reads, info, options)
        writes = (*self._given_up(), *plan.writes, *self._adopted(counted, set(written)))
        return replace(
            plan,
            writes=writes,
            reads=self.reads - {write.key for write in writes},
            new_schema=self.new_schema,
            files=(*plan.files, *schema_files),
            merged=self.relation.only_source,
        )

    def _wants_columns(self, table: MergedTable) -> bool:
        """True if the version that the table stands on has other columns than the merged schema."""
        sides = self.sides
        assert sides is not None
        catalog = sides.catalogs[SOURCE if table.is_adopted else TARGET]
        return catalog is not sides.catalog and has_other_columns(sides.entity(table.pin.key), catalog)

    def _given_up(self) -> Iterator[TableWrite]:
        """Drops of keys of the target that the merged graph lacks, or uses for another table.

        A renamed table keeps its location under another key, so it counts no deleted entities.
        """
        kept = {(key, table.pin.location) for key, table in self.tables.items()}
        located = {location for _, location in kept}
        for key, pin in self.target.tables.items():
            if (key, pin.location) not in kept:
                gone = 0 if pin.location in located else pin.rows
                yield TableWrite(key, pin.location, WriteMode.MERGE, None, 0, deleted=gone)

    def _adopted(self, counted: Mapping[str, TableCounts], staged: set[str]) -> Iterator[TableWrite]:
        """Pins that change without a write: versions of the source, and renamed tables of the target."""
        for key, table in self.tables.items():
            known = self.target.tables.get(key)
            if key not in staged and (known is None or not same_version(known, table.pin)):
                counts, pin = counted.get(key) or _uncounted(key), table.pin
                changed = (counts.inserted, counts.updated, counts.deleted)
                yield TableWrite(key, pin.location, WriteMode.MERGE, pin.lance_version, pin.rows, *changed)

    def _write_table(self, counts: TableCounts) -> StagedTable:
        table, sides = self.tables[counts.key], self.sides
        assert sides is not None
        numbers = (counts.inserted, counts.updated, counts.deleted)
        entity, pin = sides.entity(counts.key), table.pin
        columns = align_columns(sides.store, pin, entity) if self._wants_columns(table) else None
        if columns is not None:
            pin = replace(pin, lance_version=columns.version)
        if table.merge is not None and table.is_written:
            return write_merged(_table_sides(sides, counts.key, MergeRules()), pin, table.merge, numbers)
        version = columns or StagedVersion(pin.location, pin.lance_version, pin.rows, ())
        write = TableWrite(counts.key, pin.location, WriteMode.MERGE, version.version, pin.rows, *numbers)
        return StagedTable(write, version)


def _uncounted(key: str) -> TableCounts:
    """Counts of a table without changed entities."""
    return TableCounts(key, 0, 0, 0, adopted=False)


def _table_sides(sides: GraphSides, key: str, rules: MergeRules) -> Sides:
    """One table with everything that its merge needs, in this process or on Spark."""
    entity = sides.entity(key)
    source, target = (sides.content(key, of_source=of_source) for of_source in (True, False))
    # Without the caches: on Spark this travels to every task.
    is_newer = partial(source_is_newer, sides.bare(), entity)
    pins = (source, target, sides.base.tables.get(key))
    return Sides(sides.store, entity, pins, rules, is_newer, sides.crossing is not None)


def decide_merge(
    manifests: Manifests,
    source: ManifestState,
    target: Capture,
    rules: MergeRules,
    distributed: DistributedMerge | None = None,
) -> MergeDecision:
    """Decide a merge of captured heads. Writes nothing; conflicts are part of the result.

    ``distributed`` merges the large tables, if given.
    """
    relation, base = relate_heads(manifests, source, target.state)
    if not relation.only_source:
        return MergeDecision(MergeOutcome.ALREADY_UP_TO_DATE, base.id, source, target.state, relation)
    base_state = state_at(manifests, base, target.state, source)
    crossing = crossing_of(manifests, relation, source, target.state, rules.policies)
    return decide_sides(manifests, relation, base_state, source, target, rules, crossing, distributed)


def decide_sides(
    manifests: Manifests,
    relation: Relation,
    base: ManifestState,
    source: ManifestState,
    target: Capture,
    rules: MergeRules,
    crossing: Crossing | None = None,
    distributed: DistributedMerge | None = None,
    *,
    is_undo: bool = False,
) -> MergeDecision:
    """Apply the changes of a source since a base to a target. ``is_undo`` marks a revert."""
    merged, schema = merged_schema(manifests, base, source, target, crossing)
    catalog = manifests.catalog(merged) if schema is None else Catalog(schema)
    catalogs = (manifests.catalog(source.schema_digest), target.catalog)
    aligned_base, aligned_source, aligned_target = (aligned(state, catalog) for state in (base, source, target.state))
    met = None if crossing is None else crossing.aligned(catalog)
    sides = GraphSides(
        manifests.store, relation, aligned_base, aligned_source, aligned_target, catalog, catalogs, met, is_undo
    )
    tables_read: set[str] = set()
    tables = {key: table for key in sides.table_keys() if (table := _whole_table(sides, key, tables_read)) is not None}
    pinned = {key: settled(sides, key, rules) for key, table in tables.items() if table.is_open and _is_external(table)}
    tables |= {key: table for key, (table, _) in pinned.items()}
    tables |= _merge_tables(sides, [key for key, table in tables.items() if table.is_open], rules, distributed)
    tables_read |= _neighbours(sides.catalog, tables_read)
    # A fast-forward makes exactly the graph of the source, whose writes were all checked. A revert is checked even
    # then: a minimum number of edges is a rule of writes, and going back may take the last edge of a node.
    is_fast = not relation.only_target
    broken: list[MergeConflict] = []
    if is_undo or not is_fast:
        tables, broken = check_merged(sides, tables, rules.resolutions, tables_read)
    check_external(sides, tables)
    of_rows = [conflict for table in tables.values() if table.merge for conflict in table.merge.conflicts]
    of_pins = [conflict for _, conflict in pinned.values() if conflict is not None]
    conflicts = in_order([*of_rows, *of_pins, *broken])
    outcome = MergeOutcome.FAST_FORWARD if is_fast else MergeOutcome.MERGED
    return MergeDecision(
        MergeOutcome.CONFLICTS if conflicts else outcome,
        base.head,
        source,
        target.state,
        relation,
        sides,
        tables,
        tuple(_counts(sides, tables, conflicts)),
        conflicts,
        frozenset(_known_keys(sides, target.state, tables_read)),
        merged if merged != target.state.schema_digest else None,
        schema,
    )


def _known_keys(sides: GraphSides, target: ManifestState, keys: Iterable[str]) -> Iterator[str]:
    """Keys of tables on the target before the merge: the plan must name what a concurrent writer may change."""
    known = {pin.location: key for key, pin in target.tables.items()}
    for key in keys:
        pin = sides.target.tables.get(key)
        yield key if pin is None else known[pin.location]


def _neighbours(catalog: Catalog, keys: Iterable[str]) -> set[str]:
    """Tables that edges connect with these: a concurrent insert there may refer to a node that is deleted here."""
    found: set[str] = set()
    for key in keys:
        kind, name = key.split(":", 1)
        if kind == "node":
            found.update(edge.table_key for edge in catalog.edges_of(name))
        elif name in catalog.edges:
            found.update(f"node:{node}" for node in catalog.edges[name].node_types)
    return found


def _whole_table(sides: GraphSides, key: str, tables_read: set[str]) -> MergedTable | None:
    """Decide one table as a whole, or leave it open for a merge of rows; None if the merged graph lacks it."""
    source, target = (state.tables.get(key) for state in (sides.source, sides.target))
    if sides.is_dropped(key):
        check_dropped(sides, key)
        return None
    if sides.is_changed(key, of_source=True):
        tables_read.add(key)
    elif not sides.is_as_base(key, target):
        return None if target is None else MergedTable(target, is_adopted=False)
    if same_version(source, target):
        return None if target is None else MergedTable(target, is_adopted=False)
    is_adopted = sides.is_as_base(key, target)
    if is_adopted and source is not None and target is not None and not source.is_external:
        # A minimum that the source never checked (another schema, or a revert) needs its rows.
        is_adopted = not judges_vacated(sides, sides.entity(key))
    if is_adopted:
        return None if source is None else MergedTable(source, is_adopted=True)
    if source is None or target is None:
        raise dropped_conflict(sides, key)
    return MergedTable(target, is_adopted=False, is_open=True)


def _is_external(table: MergedTable) -> bool:
    return table.pin.is_external


def _merge_tables(
    sides: GraphSides, keys: Sequence[str], rules: MergeRules, distributed: DistributedMerge | None
) -> dict[str, MergedTable]:
    """Merge the rows of tables that both sides changed: on Spark if they are large, else in this process."""
    pins = {key: sides.target.tables[key] for key in keys}
    found: dict[str, MergedTable] = {}
    if distributed is not None and sides.crossing is None:
        large = [key for key in keys if not is_migrated(sides, key) and _rows(sides, key) >= distributed.rows_min]
        parted = distributed.merge([_table_sides(sides, key, rules) for key in large]) if large else []
        for key, item in zip(large, parted, strict=True):
            # Checks over several tables need the changes of the target; without this they would read the rows again.
            sides.know(key, item.target)
            found[key] = MergedTable(pins[key], is_adopted=False, merge=item.merge)
    for key in keys:
        if key not in found:
            source = sides.changes(key, of_source=True)
            # Entities that only the target changed stay as they are: their rows need not be read.
            target = sides.changes(key, of_source=False, ids=source.ids())
            merge = RowMerge(_table_sides(sides, key, rules), source, target).run()
            found[key] = MergedTable(pins[key], is_adopted=False, merge=merge)
    return found


def _rows(sides: GraphSides, key: str) -> int:
    """Number of rows of a table that can differ on either side."""
    base = sides.base.tables.get(key)
    return sum(rows_compared(sides.store, base, sides.content(key, of_source=side)) for side in (True, False))


def _counts(
    sides: GraphSides, tables: Mapping[str, MergedTable], conflicts: Sequence[MergeConflict]
) -> Iterator[TableCounts]:
    """Counts of every table that changes or has conflicts."""
    names = {table_id(entity).location: entity.table_key for entity in entities(sides.catalogs[TARGET])}
    for key in sides.table_keys():
        number = sum(conflict.table == key for conflict in conflicts)
        table = tables.get(key)
        if table is None and key in sides.target.tables:
            yield TableCounts(names[sides.pin(key).location], 0, 0, sides.pin(key).rows, adopted=True)
        elif table is not None and table.is_adopted:
            counts = _adopted_counts(sides, key, number)
            inserted, updated, deleted = _changed(table.merge)
            yield replace(
                counts,
                inserted=counts.inserted + inserted,
                updated=counts.updated + updated,
                deleted=counts.deleted + deleted,
            )
        elif table is not None and (number or not table.is_kept):
            yield TableCounts(key, *_changed(table.merge), adopted=False, conflicts=number)


def _changed(merge: TableMerge | None) -> tuple[int, int, int]:
    """Entities inserted, updated and deleted on top of the version that a table stands on."""
    if merge is None:
        return 0, 0, 0
    gone, written = merge.gone(), set(merge.ids())
    return len(written - gone), len(written & gone), len(gone - written)


def _adopted_counts(sides: GraphSides, key: str, conflicts: int) -> TableCounts:
    """Counts of an adopted table from the commits of the source. Merge commits repeat changes of others: left out."""
    own = [commit for commit in sides.relation.only_source if len(commit.parents) < 2]
    location = sides.pin(key).location
    changes = [change for commit in own for change in commit.tables if change.location == location]
    return TableCounts(
        key,
        sum(change.inserted for change in changes),
        sum(change.updated for change in changes),
        sum(change.deleted for change in changes),
        adopted=True,
        conflicts=conflicts,
    )
