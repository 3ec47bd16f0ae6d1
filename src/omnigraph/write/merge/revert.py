"""Revert as a three-way merge: the state before the commits is the source, the state after them the base, the head the
target.

Later changes survive, or are conflicts. Stretches of commits that are not adjacent are undone one after the other,
newest first, each on top of the result of the previous one; together they become one commit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from omnigraph.compare.tables import table_changes
from omnigraph.core.commit import GraphCommit
from omnigraph.core.tables import FileRecord, TableCounts, TablePin
from omnigraph.history.commits import Relation, relate
from omnigraph.history.conflicts import ConflictKind, MergeConflict, in_order
from omnigraph.history.plan import CommitInfo, PublishPlan, TableWrite, apply_plan
from omnigraph.history.reverts import Stretch, undoing
from omnigraph.history.state import ManifestState
from omnigraph.manifest.commit_log import Lineage
from omnigraph.manifest.reader import Capture, Manifests
from omnigraph.rows.cardinality import is_beyond
from omnigraph.rows.ends.references import reference
from omnigraph.schema.catalog import Catalog
from omnigraph.storage.files import SegmentFiles, version_files
from omnigraph.storage.tables.store import Store
from omnigraph.write.committed_graph import CommittedGraph
from omnigraph.write.context import WriteOptions
from omnigraph.write.merge.conflicts import conflicts_error
from omnigraph.write.merge.decide import MergeDecision, decide_sides
from omnigraph.write.merge.guarded import DecisionGuard, guarded
from omnigraph.write.merge.images import MergeRules
from omnigraph.write.merge.sides import state_at


@dataclass(frozen=True)
class RevertDecision:
    """A decided revert. A single stretch is not written yet; several are staged, as each needs the one before."""

    counts: tuple[TableCounts, ...]
    conflicts: tuple[MergeConflict, ...] = ()
    decision: MergeDecision | None = None
    plan: PublishPlan | None = None
    leftover: tuple[FileRecord, ...] = field(default=())
    fingerprint: str = ""

    @property
    def is_empty(self) -> bool:
        return not self.counts and (self.decision is None or self.decision.new_schema is None)

    def stage(self, capture: Capture, info: CommitInfo, options: WriteOptions) -> PublishPlan:
        """Write the undone entities and make the plan."""
        if self.plan is not None:
            return replace(self.plan, info=info)
        assert self.decision is not None, "a revert is staged or decided"
        return _plan_step(self.decision, capture, info, options)


def _plan_step(decision: MergeDecision, capture: Capture, info: CommitInfo, options: WriteOptions) -> PublishPlan:
    """Stage one step. Its plan merges no commits: the undone ones are in the history already."""
    return replace(decision.stage(capture, info, options), merged=())


@dataclass
class Reverter:
    """Decides the revert of some commits on any head, for retries after concurrent writes."""

    manifests: Manifests
    stretches: Sequence[Stretch]
    rules: MergeRules
    info: CommitInfo
    options: WriteOptions
    guard: DecisionGuard | None = None

    def prepare(self, target: Capture) -> RevertDecision:
        """Decide a revert that is to be committed; raises MergeConflicts."""
        decided = self.decide(target)
        if decided.conflicts:
            discard(self.manifests.store, decided)
            number = sum(len(stretch.commits) for stretch in self.stretches)
            what = "the commit" if number == 1 else f"{number} commits"
            raise conflicts_error(decided.conflicts, f"{what} cannot be reverted on {target.state.branch}")
        return decided

    def decide(self, target: Capture) -> RevertDecision:
        """Decide a revert. Conflicts are part of the result."""
        decision = self._step(self.stretches[0], target, ())
        if len(self.stretches) == 1:
            return RevertDecision(decision.counts, decision.conflicts, decision)
        conflicts = list(decision.conflicts)
        plans: list[PublishPlan] = []
        current = target
        for number, stretch in enumerate(self.stretches):
            undone = current.state.commits[len(target.state.commits) :]
            if number:
                decision = self._step(stretch, current, undone)
                conflicts.extend(decision.conflicts)
            if decision.counts or decision.new_schema:
                info = replace(self.info, id=f"{self.info.id}.{number}", created_at_us=self.info.created_at_us + number)
                plans.append(_plan_step(decision, current, info, self.options))
                current = self.manifests.capture(apply_plan(current.state, plans[-1], current.state.version))
        standing = [conflict for conflict in conflicts if not _is_mended(self.manifests.store, conflict, current)]
        return self._together(target, current, plans, in_order(standing))

    def _step(self, stretch: Stretch, target: Capture, undone: Sequence[GraphCommit]) -> MergeDecision:
        """Undo one stretch on top of the head, or of the result of earlier steps."""
        lineage = Lineage(self.manifests.store, target.state)
        head = undone[0].parents[0] if undone else target.state.head
        later = relate(stretch.last.id, head, lineage).only_target
        base = state_at(self.manifests, stretch.last, target.state)
        source = self.manifests.at(lineage(stretch.before))
        undo = undoing(stretch, source, base, self.info.created_at_us)
        relation = Relation((stretch.last.id,), (undo,), (*later, *undone))
        decide = partial(decide_sides, self.manifests, relation, base, source, target, self.rules, is_undo=True)
        return guarded(self.guard, self.manifests, source, target, decide)

    def _together(
        self, target: Capture, made: Capture, plans: Sequence[PublishPlan], conflicts: tuple[MergeConflict, ...]
    ) -> RevertDecision:
        """One plan for all steps: the last version of every changed table."""
        store = self.manifests.store
        last = {write.key: write for plan in plans for write in plan.writes}
        writes: list[TableWrite] = []
        counts: list[TableCounts] = []
        for key, write in sorted(last.items()):
            counted = _counted(store, made.catalog, write, target.state.tables.get(key), made.state.tables.get(key))
            if counted is not None:
                writes.append(counted)
                number = sum(conflict.table == key for conflict in conflicts)
                changed = (counted.inserted, counted.updated, counted.deleted)
                counts.append(TableCounts(key, *changed, adopted=False, conflicts=number))
        records = [record for plan in plans for record in plan.files]
        kept = {write.key for write in writes}
        segments = SegmentFiles(store)
        needed = {path for pin in _pins(made.state, kept) for path in version_files(store, pin, segments)}
        reads = frozenset(key for plan in plans for key in (*plan.reads, *(write.key for write in plan.writes)))
        plan = PublishPlan(
            info=self.info,
            base=target.state,
            writes=tuple(writes),
            reads=reads - kept,
            expected_head=self.options.expected_head,
            new_schema=made.state.schema_digest if made.state.schema_digest != target.state.schema_digest else None,
            files=tuple(record for record in records if record.path in needed),
        )
        leftover = tuple(record for record in records if record.path not in needed)
        return RevertDecision(tuple(counts), conflicts, plan=plan, leftover=leftover)


def _is_mended(store: Store, conflict: MergeConflict, made: Capture) -> bool:
    """True if a cardinality conflict of one step is gone after all steps: enough edges, or the node is deleted."""
    edge = made.catalog.edges.get(conflict.type_name())
    if conflict.kind is not ConflictKind.CARDINALITY_VIOLATION or conflict.id is None or edge is None:
        return False
    graph, source = CommittedGraph(store, made.state, set()), edge.source
    nodes = [name for name in source.types if graph.existing_ids(f"node:{name}", [conflict.id])]
    counts = [graph.edges_at(edge, "src", [reference(source, name, conflict.id)]).num_rows for name in nodes]
    # The conflict names the id alone. Where several types have it, a node without edges may be another one.
    return not any(is_beyond(edge, count) for count in counts if count or len(nodes) == 1)


def _pins(state: ManifestState, keys: set[str]) -> list[TablePin]:
    return [pin for key, pin in state.tables.items() if key in keys]


def _counted(
    store: Store, catalog: Catalog, write: TableWrite, before: TablePin | None, after: TablePin | None
) -> TableWrite | None:
    """The write of one table with the net counts of all steps; None if nothing changes."""
    kind, name = write.key.split(":", 1)
    entity = catalog.nodes.get(name) if kind == "node" else catalog.edges.get(name)
    if entity is None or before is None or after is None or before.location != after.location:
        return write
    changes = table_changes(store, entity, before, after)
    if changes.is_empty:
        return None
    inserted, updated, deleted = (part.num_rows for part in (changes.inserted, changes.after, changes.deleted))
    return replace(write, inserted=inserted, updated=updated, deleted=deleted)


def discard(store: Store, decided: RevertDecision) -> None:
    """Delete files that were staged for the decision and will not be published."""
    files = decided.plan.files if decided.plan is not None else ()
    for record in (*files, *decided.leftover):
        store.objects.delete(record.path)
