"""Merging a branch into another one: decided on two captured heads, and published as one commit with two parents.

A table that one side left alone takes the other side's version, and no row of it is read or written. Of the others
both sides' changes since the merge base become one delta on the target's version. The source is captured once; when
others publish to the target first, the merge is decided again with exactly that source.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import partial

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.core.tables import TablePin
from omnigraph.errors import SchemaConflict
from omnigraph.history.commits import Relation
from omnigraph.history.conflicts import MergeConflict, in_order
from omnigraph.history.plan import CommitInfo, PublishPlan, TableWrite, WriteMode
from omnigraph.history.state import ManifestState
from omnigraph.manifest.reader import Capture, Manifests
from omnigraph.rows.arrow_types import table_schema
from omnigraph.schema.catalog import Catalog
from omnigraph.schema.merge import merge_schemas
from omnigraph.storage.difference import ADDRESS, addresses_in
from omnigraph.storage.tables import find_ids
from omnigraph.write.changes import column_blobs, flat, missing_columns
from omnigraph.write.context import WriteOptions
from omnigraph.write.merge_checks import MergedTable, check_merged
from omnigraph.write.merge_conflicts import conflicts_error
from omnigraph.write.merge_images import PLACED_BLOB, MergeRules, Pins, Sides
from omnigraph.write.merge_rows import RowMerge, TableMerge, untouched
from omnigraph.write.merge_sides import Crossing, GraphSides, crossing_of, relate_heads, same_version, state_at
from omnigraph.write.merge_times import source_is_newer
from omnigraph.write.staging import StagedTable, plan_of, stage_all, stage_rows


class MergeOutcome(Enum):
    """What a merge does, or would do."""

    ALREADY_UP_TO_DATE = "already_up_to_date"
    FAST_FORWARD = "fast_forward"
    MERGED = "merged"
    CONFLICTS = "conflicts"


@dataclass(frozen=True)
class TableCounts:
    """What a merge does to one table. ``adopted`` tables take the source's version; their counts are its commits'."""

    key: str
    inserted: int
    updated: int
    deleted: int
    adopted: bool
    conflicts: int = 0


@dataclass(frozen=True)
class MergeDecision:
    """A merge, decided and not yet written."""

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
    fingerprint: str = ""

    @property
    def is_empty(self) -> bool:
        return self.outcome is MergeOutcome.ALREADY_UP_TO_DATE

    def stage(self, capture: Capture, info: CommitInfo, options: WriteOptions) -> PublishPlan:
        """Write what is merged. Tables that are adopted cost nothing."""
        written = [item for item in self.counts if item.key in self.tables and self.tables[item.key].is_written]
        by_key = {item.key: item for item in written}
        staged = stage_all(lambda key: self._stage_table(by_key[key]), sorted(by_key))
        adopted = tuple(self._adopted(item) for item in self.counts if item.key not in by_key)
        plan = plan_of(capture, [(item.write, item.version) for item in staged], self.reads, info, options)
        return replace(
            plan,
            writes=(*plan.writes, *adopted),
            reads=plan.reads - {write.key for write in adopted},
            new_schema=self.new_schema,
            merged=self.relation.only_source,
        )

    def _adopted(self, counts: TableCounts) -> TableWrite:
        changed = (counts.inserted, counts.updated, counts.deleted)
        pin = self.source.tables.get(counts.key)
        if pin is None:
            return TableWrite(counts.key, self.target.tables[counts.key].location, WriteMode.MERGE, None, 0, *changed)
        return TableWrite(counts.key, pin.location, WriteMode.MERGE, pin.lance_version, pin.rows, *changed)

    def _stage_table(self, counts: TableCounts) -> StagedTable:
        table, sides = self.tables[counts.key], self.sides
        assert sides is not None and table.merge is not None
        removed = _gone_addresses(sides, table.pin, table.merge)
        rows = _with_bytes(sides, table.merge)
        changed = (counts.inserted, counts.updated, counts.deleted)
        return stage_rows(sides.store, table.pin, WriteMode.MERGE, rows, removed, changed)


def _gone_addresses(sides: GraphSides, pin: TablePin, merge: TableMerge) -> set[int]:
    """Where the rows that go away lie in the version that the table stands on."""
    key = merge.entity.table_key
    gone = set(find_ids(sides.store, pin, merge.also_gone).values())
    pins = (sides.base.tables.get(key), sides.content(key, of_source=False))
    for version, rows in zip(pins, (merge.gone_from_base, merge.gone_from_target), strict=True):
        if rows.num_rows:
            assert version is not None, "rows come from a table"
            gone.update(addresses_in(sides.store, version, pin, flat(rows, "id"), flat(rows, ADDRESS)).to_pylist())
    return gone


def _with_bytes(sides: GraphSides, merge: TableMerge) -> pa.Table:
    """Merged rows as they are written: blobs with their bytes."""
    schema = table_schema(merge.entity)
    columns = [
        _bytes(sides, merge, field.name) if item.type == PLACED_BLOB else merge.rows.column(field.name)
        for field, item in zip(schema, merge.rows.schema, strict=True)
    ]
    return pa.Table.from_arrays(columns, schema=pa.schema([field.with_nullable(True) for field in schema]))


def _bytes(sides: GraphSides, merge: TableMerge, name: str) -> pa.Array:
    column = flat(merge.rows, name)
    values: list[bytes | None] = [None] * len(column)
    pins = _pins(sides, merge.entity.table_key)
    for side, pin in enumerate(pins):
        rows = pc.indices_nonzero(pc.fill_null(pc.equal(pc.struct_field(column, "side"), side), False))
        if len(rows):
            assert pin is not None, "rows come from a table"
            addresses = pc.struct_field(column, "address").take(rows)
            found = column_blobs(sides.store, merge.entity, pin, name, addresses)
            for row, value in zip(rows.to_pylist(), found.to_pylist(), strict=True):
                values[row] = value
    return pa.array(values, pa.large_binary())


def _pins(sides: GraphSides, key: str) -> Pins:
    return sides.content(key, of_source=True), sides.content(key, of_source=False), sides.base.tables.get(key)


def decide_merge(manifests: Manifests, source: ManifestState, target: Capture, rules: MergeRules) -> MergeDecision:
    """Decide a merge of captured heads. Writes nothing; conflicts are part of the answer."""
    relation, base = relate_heads(manifests, source, target.state)
    if not relation.only_source:
        return MergeDecision(MergeOutcome.ALREADY_UP_TO_DATE, base.id, source, target.state, relation)
    base_state = state_at(manifests, base, target.state, source)
    crossing = crossing_of(manifests, relation, source, target.state, rules.policies)
    return decide_sides(manifests, relation, base_state, source, target, rules, crossing)


def decide_sides(
    manifests: Manifests,
    relation: Relation,
    base: ManifestState,
    source: ManifestState,
    target: Capture,
    rules: MergeRules,
    crossing: Crossing | None = None,
) -> MergeDecision:
    """Decide what a target becomes by what a source did to their base. A revert is decided by this too."""
    digest = _merged_schema(manifests, base, source, target)
    sides = GraphSides(manifests.store, relation, base, source, target.state, manifests.catalog(digest), crossing)
    asked: set[str] = set()
    tables = {key: table for key in sides.table_keys() if (table := _merge_table(sides, key, rules, asked)) is not None}
    asked |= _neighbours(sides.catalog, asked)
    is_fast = not relation.only_target
    broken: list[MergeConflict] = []
    if not is_fast:
        tables, broken = check_merged(sides, tables, rules.resolutions, asked)
    of_rows = [conflict for table in tables.values() if table.merge for conflict in table.merge.conflicts]
    conflicts = in_order([*of_rows, *broken])
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
        frozenset(asked),
        digest if digest != target.state.schema_digest else None,
    )


def prepare_merge(manifests: Manifests, source: ManifestState, rules: MergeRules, target: Capture) -> MergeDecision:
    """The same for a merge that is to be made; raises MergeConflicts."""
    decision = decide_merge(manifests, source, target, rules)
    if decision.conflicts:
        raise conflicts_error(decision.conflicts, f"{source.branch} cannot be merged into {target.state.branch}")
    return decision


def _merged_schema(manifests: Manifests, base: ManifestState, source: ManifestState, target: Capture) -> str:
    """The digest of the merged schema, which is that of one side."""
    digests = {state.schema_digest for state in (base, source, target.state)}
    if len(digests) == 1:
        return source.schema_digest
    schemas = [manifests.catalog(state.schema_digest).schema for state in (base, source, target.state)]
    merged = merge_schemas(*schemas)
    return target.state.schema_digest if merged == schemas[2] else source.schema_digest


def _neighbours(catalog: Catalog, keys: Iterable[str]) -> set[str]:
    """The tables that edges join with these: what is added to them meanwhile may need what is deleted here."""
    found: set[str] = set()
    for key in keys:
        kind, name = key.split(":", 1)
        if kind == "node":
            found.update(edge.table_key for edge in catalog.edges_of(name))
        elif name in catalog.edges:
            edge = catalog.edges[name]
            found.update((f"node:{edge.source}", f"node:{edge.target}"))
    return found


def _merge_table(sides: GraphSides, key: str, rules: MergeRules, asked: set[str]) -> MergedTable | None:
    """What becomes of one table; None if the merged graph has none."""
    source, target = (state.tables.get(key) for state in (sides.source, sides.target))
    if sides.is_changed(key, of_source=True):
        asked.add(key)
    elif not sides.is_as_base(key, target):
        return None if target is None else MergedTable(target, is_adopted=False)
    if same_version(source, target):
        return None if target is None else MergedTable(target, is_adopted=False)
    if sides.is_as_base(key, target):
        return None if source is None else MergedTable(source, is_adopted=True)
    if source is None or target is None or missing_columns(sides.store, sides.entity(key), target):
        raise SchemaConflict(
            f"one branch changed the type of {key} and the other one its entities",
            hint="bring the branch to the schema of the other one first",
            types=[key.split(":", 1)[1]],
        )
    entity = sides.entity(key)
    mine = sides.changes(key, of_source=True)
    theirs = sides.changes(key, of_source=False, ids=mine.ids())
    is_newer = partial(source_is_newer, sides, entity)
    table = Sides(sides.store, entity, _pins(sides, key), rules, is_newer, sides.crossing is not None)
    merge = RowMerge(table, mine, theirs).run()
    return MergedTable(target, is_adopted=False, merge=merge)


def _counts(
    sides: GraphSides, tables: Mapping[str, MergedTable], conflicts: Sequence[MergeConflict]
) -> Iterator[TableCounts]:
    """What happens to every table that does not stay as it is, or that has conflicts."""
    for key in sides.table_keys():
        number = sum(conflict.table == key for conflict in conflicts)
        table = tables.get(key)
        if (table is None and key in sides.target.tables) or (table is not None and table.is_adopted):
            counts = _adopted_counts(sides, key, number)
            also_gone = len(table.merge.also_gone) if table is not None and table.merge is not None else 0
            yield replace(counts, deleted=counts.deleted + also_gone)
        elif table is not None and (number or not table.is_kept):
            merge = table.merge or untouched(sides.entity(key))
            gone, written = merge.gone(), set(merge.rows.column("id").to_pylist())
            numbers = len(written - gone), len(written & gone), len(gone - written)
            yield TableCounts(key, *numbers, adopted=False, conflicts=number)


def _adopted_counts(sides: GraphSides, key: str, conflicts: int) -> TableCounts:
    """What the source's commits say they did to a table; merges among them repeat what others did."""
    own = [commit for commit in sides.relation.only_source if len(commit.parents) < 2]
    changes = [change for commit in own for change in commit.tables if change.key == key]
    return TableCounts(
        key,
        sum(change.inserted for change in changes),
        sum(change.updated for change in changes),
        sum(change.deleted for change in changes),
        adopted=True,
        conflicts=conflicts,
    )
