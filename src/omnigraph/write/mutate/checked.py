"""The end of a mutation: its pending changes validated as a whole, as one delta per table."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pyarrow as pa

from omnigraph.core.tables import Counts
from omnigraph.history.plan import CommitInfo, PublishPlan, WriteMode
from omnigraph.manifest.reader import Capture
from omnigraph.rows.validate import TableDelta, check_delta
from omnigraph.rows.values import check_values
from omnigraph.rows.violations import Place, Violations
from omnigraph.storage.tables.store import Store
from omnigraph.write.committed_graph import CommittedGraph
from omnigraph.write.context import WriteOptions
from omnigraph.write.local_change import LocalChange, is_local
from omnigraph.write.mutate.changed import without_same
from omnigraph.write.mutate.current import CurrentGraph, pending_rows
from omnigraph.write.staging import count_deltas, stage_deltas
from omnigraph.write.vectors.mutation_vectors import MutationVectors, VectorGaps, report_gaps
from omnigraph.write.violations import violation_error


@dataclass(frozen=True)
class PreparedMutation:
    """A validated mutation."""

    store: Store
    deltas: dict[str, TableDelta]
    modes: dict[str, WriteMode]
    reads: frozenset[str]
    fingerprint: str
    affected_nodes: int
    affected_edges: int
    local: LocalChange | None = None
    """The change by itself; None if it depends on other entities than those it names."""
    query_name: str = ""
    returned: pa.Table | None = None
    """The rows of ``returning``; None if the mutation returns nothing."""

    @property
    def is_empty(self) -> bool:
        return not self.deltas

    def counts(self, capture: Capture) -> dict[str, Counts]:
        return count_deltas(self.store, capture, self.deltas, self.modes)

    def stage(self, capture: Capture, info: CommitInfo, options: WriteOptions) -> PublishPlan:
        return stage_deltas(self.store, capture, self.deltas, self.modes, info, options, self.reads)


def check(graph: CurrentGraph, vectors: MutationVectors, *, searches: bool) -> PreparedMutation:
    """Validate the pending changes; raises ViolationError with all that is wrong.

    ``searches`` says that a statement found entities by reading.
    """
    deltas: dict[str, TableDelta] = {}
    gaps: dict[str, VectorGaps] = {}
    violations = Violations()
    committed = CommittedGraph(graph.store, graph.capture.state, graph.tables_read)
    for key, table in graph.pending.items():
        removed = frozenset(committed.existing_ids(key, sorted(table.removed))) if table.removed else frozenset()
        if not table.rows and not removed:
            continue
        rows = pending_rows(table)
        gaps[key] = vectors.gaps(table.entity, rows, table.renewed)
        for batch in rows.to_batches():
            check_values(table.entity, batch, _nowhere, violations, [prop.name for prop, _ in gaps[key]])
        report_gaps(table.entity, rows, gaps[key], violations)
        deltas[key] = TableDelta(table.entity, rows, removed)
    if violations.total:
        raise violation_error(violations)
    if graph.guard is not None:
        # Before constraints are checked, whose violations would tell of entities that the actor may not know.
        graph.guard.check(graph.store, graph.capture, deltas)
    check_delta(graph.capture.catalog, deltas, committed, violations)
    if violations.total:
        raise violation_error(violations)
    changed = {key: _changed(graph, vectors, delta, gaps[key]) for key, delta in deltas.items()}
    written = {key: delta for key, delta in changed.items() if _size(delta)}
    modes = {key: graph.pending[key].mode for key in deltas}
    # The rules of a guard may look at other entities, such as the ends of an edge.
    alone = not searches and graph.guard is None and is_local(deltas, modes)
    reads = frozenset(graph.tables_read | deltas.keys())
    return PreparedMutation(
        graph.store,
        written,
        {key: modes[key] for key in written},
        reads,
        "|".join(graph.matched),
        sum(_size(delta) for key, delta in written.items() if key.startswith("node:")),
        sum(_size(delta) for key, delta in written.items() if key.startswith("edge:")),
        LocalChange(written, modes, reads, deltas) if alone else None,
    )


def _changed(graph: CurrentGraph, vectors: MutationVectors, delta: TableDelta, gaps: VectorGaps) -> TableDelta:
    """The delta with its vectors, without rows that are as before."""
    key = delta.entity.table_key
    pin = graph.capture.state.tables[key]
    whole = replace(delta, rows=vectors.filled(delta.entity, delta.rows, gaps, pin))
    is_append = graph.pending[key].mode is WriteMode.APPEND
    return without_same(graph.store, pin, whole, graph.seen.get(key, {}), is_append=is_append)


def _size(delta: TableDelta) -> int:
    return len(delta.ids()) + len(delta.removed)


def _nowhere(row: int) -> Place | None:
    return None
