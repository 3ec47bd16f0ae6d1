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

from omnigraph.errors import SchemaConflict
from omnigraph.history.commits import Relation
from omnigraph.history.conflicts import MergeConflict, in_order
from omnigraph.history.plan import CommitInfo, PublishPlan, TableWrite, WriteMode
from omnigraph.history.state import ManifestState
from omnigraph.manifest.reader import Capture, Manifests
from omnigraph.schema.catalog import Catalog
from omnigraph.schema.merge import merge_schemas
from omnigraph.write.changes import missing_columns, rows_compared
from omnigraph.write.context import WriteOptions
from omnigraph.write.merge_checks import check_merged
from omnigraph.write.merge_conflicts import conflicts_error
from omnigraph.write.merge_images import MergeRules, Sides
from omnigraph.write.merge_keeping import MergedTable
from omnigraph.write.merge_parts import Elsewhere
from omnigraph.write.merge_rows import RowMerge
from omnigraph.write.merge_sides import Crossing, GraphSides, crossing_of, relate_heads, same_version, state_at
from omnigraph.write.merge_staging import stage_merge
from omnigraph.write.merge_table import TableMerge
from omnigraph.write.merge_times import source_is_newer
from omnigraph.write.staging import StagedTable, plan_of, stage_all


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

    @property
    def is_away(self) -> bool:
        """Whether a table was merged elsewhere."""
        return any(table.merge is not None and table.merge.away is not None for table in self.tables.values())

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
        numbers = (counts.inserted, counts.updated, counts.deleted)
        return stage_merge(_table_sides(sides, counts.key, MergeRules()), table.pin, table.merge, numbers)


def _table_sides(sides: GraphSides, key: str, rules: MergeRules) -> Sides:
    """One table, to be merged by itself here or elsewhere."""
    entity = sides.entity(key)
    source, target = (sides.content(key, of_source=of_source) for of_source in (True, False))
    is_newer = partial(source_is_newer, sides.bare(), entity)
    pins = (source, target, sides.base.tables.get(key))
    return Sides(sides.store, entity, pins, rules, is_newer, sides.crossing is not None)


def decide_merge(
    manifests: Manifests,
    source: ManifestState,
    target: Capture,
    rules: MergeRules,
    elsewhere: Elsewhere | None = None,
) -> MergeDecision:
    """Decide a merge of captured heads. Writes nothing; conflicts are part of the answer.

    Tables that are large are left to ``elsewhere``.
    """
    relation, base = relate_heads(manifests, source, target.state)
    if not relation.only_source:
        return MergeDecision(MergeOutcome.ALREADY_UP_TO_DATE, base.id, source, target.state, relation)
    base_state = state_at(manifests, base, target.state, source)
    crossing = crossing_of(manifests, relation, source, target.state, rules.policies)
    return decide_sides(manifests, relation, base_state, source, target, rules, crossing, elsewhere)


def decide_sides(
    manifests: Manifests,
    relation: Relation,
    base: ManifestState,
    source: ManifestState,
    target: Capture,
    rules: MergeRules,
    crossing: Crossing | None = None,
    elsewhere: Elsewhere | None = None,
) -> MergeDecision:
    """Decide what a target becomes by what a source did to their base. A revert is decided by this too."""
    digest = _merged_schema(manifests, base, source, target)
    sides = GraphSides(manifests.store, relation, base, source, target.state, manifests.catalog(digest), crossing)
    asked: set[str] = set()
    tables = {key: table for key in sides.table_keys() if (table := _whole_table(sides, key, asked)) is not None}
    tables |= _merge_tables(sides, [key for key, table in tables.items() if table.is_open], rules, elsewhere)
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


def prepare_merge(
    manifests: Manifests, source: ManifestState, rules: MergeRules, elsewhere: Elsewhere | None, target: Capture
) -> MergeDecision:
    """The same for a merge that is to be made; raises MergeConflicts."""
    decision = decide_merge(manifests, source, target, rules, elsewhere)
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


def _whole_table(sides: GraphSides, key: str, asked: set[str]) -> MergedTable | None:
    """What becomes of one table as a whole, or that its rows are to be merged; None if the merged graph has none."""
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
    return MergedTable(target, is_adopted=False, is_open=True)


def _merge_tables(
    sides: GraphSides, keys: Sequence[str], rules: MergeRules, elsewhere: Elsewhere | None
) -> dict[str, MergedTable]:
    """Tables that both sides changed, merged row by row: here, or elsewhere if they are large."""
    pins = {key: sides.target.tables[key] for key in keys}
    found: dict[str, MergedTable] = {}
    if elsewhere is not None and sides.crossing is None:
        away = [key for key in keys if _rows(sides, key) >= elsewhere.rows_min]
        parted = elsewhere.merge([_table_sides(sides, key, rules) for key in away]) if away else []
        for key, item in zip(away, parted, strict=True):
            sides.know(key, item.target)
            found[key] = MergedTable(pins[key], is_adopted=False, merge=item.merge)
    for key in keys:
        if key not in found:
            mine = sides.changes(key, of_source=True)
            theirs = sides.changes(key, of_source=False, ids=mine.ids())
            merge = RowMerge(_table_sides(sides, key, rules), mine, theirs).run()
            found[key] = MergedTable(pins[key], is_adopted=False, merge=merge)
    return found


def _rows(sides: GraphSides, key: str) -> int:
    """How many rows of a table can differ on one of the sides."""
    base = sides.base.tables.get(key)
    return sum(rows_compared(sides.store, base, sides.content(key, of_source=side)) for side in (True, False))


def _counts(
    sides: GraphSides, tables: Mapping[str, MergedTable], conflicts: Sequence[MergeConflict]
) -> Iterator[TableCounts]:
    """What happens to every table that does not stay as it is, or that has conflicts."""
    for key in sides.table_keys():
        number = sum(conflict.table == key for conflict in conflicts)
        table = tables.get(key)
        if (table is None and key in sides.target.tables) or (table is not None and table.is_adopted):
            counts = _adopted_counts(sides, key, number)
            inserted, updated, deleted = _changed(None if table is None else table.merge)
            yield replace(
                counts,
                inserted=counts.inserted + inserted,
                updated=counts.updated + updated,
                deleted=counts.deleted + deleted,
            )
        elif table is not None and (number or not table.is_kept):
            yield TableCounts(key, *_changed(table.merge), adopted=False, conflicts=number)


def _changed(merge: TableMerge | None) -> tuple[int, int, int]:
    """How many entities are inserted, updated and deleted on top of the version that a table stands on."""
    if merge is None:
        return 0, 0, 0
    gone, written = merge.gone(), set(merge.ids())
    return len(written - gone), len(written & gone), len(gone - written)


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
