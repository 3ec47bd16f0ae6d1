"""Maintenance writer: compaction and indexes, which change files and no entities.

The expensive work is done before publishing and outside every lock; under the lock it is only rebased onto the newest
version, which writes manifests. So writers never wait for maintenance, and never fail because of it. Fragments that
were changed concurrently are left out and retried a bounded number of times.

Small tables share a commit. A large table has its own: its work takes long, and published work cannot be lost to a
later concurrent change.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from omnigraph.core.commit import CommitKind, GraphCommit
from omnigraph.core.display import counted
from omnigraph.core.tables import TablePin
from omnigraph.core.tuning import Tuning
from omnigraph.errors import ContentionError
from omnigraph.history.plan import CommitInfo, PublishPlan, TableWrite, WriteMode
from omnigraph.history.state import Fence
from omnigraph.manifest.reader import Capture
from omnigraph.rows.arrow_types import Entity
from omnigraph.storage.index.indexes import Coverage, IndexKind, IndexSpec, coverage_of
from omnigraph.storage.tables.store import Store
from omnigraph.storage.upkeep.maintenance import StagedWork, TableWork, stage_work, work_on
from omnigraph.storage.upkeep.work import HERE, Workers
from omnigraph.write import limits
from omnigraph.write.attempt import WriteJob, commit
from omnigraph.write.context import WriteContext, WriteOptions
from omnigraph.write.upkeep.index_choice import index_rows_min, wanted_indexes


@dataclass(frozen=True, slots=True)
class TableOutcome:
    """Work done on one table, and reasons for work that was skipped."""

    key: str
    rows: int
    fragments_before: int
    fragments_after: int
    rows_rewritten: int = 0
    deleted_rows_removed: int = 0
    indexes_built: tuple[str, ...] = ()
    coverage: tuple[Coverage, ...] = ()
    skipped: tuple[str, ...] = ()
    workers: str | None = None
    """Name of the executor; None if nothing was done."""


def _here(rows: int, size: int) -> Workers:
    return HERE


@dataclass(frozen=True, slots=True)
class OptimizeSettings:
    """Kinds of maintenance to run, and the choice of the executor by rows and bytes of a table."""

    compact: bool = True
    index: bool = True
    workers: Callable[[int, int], Workers] = _here


class _Superseded(Exception):
    """Concurrent writers changed everything that was worked on."""


def _superseded(_: Fence) -> None:
    """Abandon the work: cleanup may have deleted the files that were written."""
    raise _Superseded


@dataclass
class _Round:
    """The tables of one commit: worked on once, staged again after each concurrent commit."""

    store: Store
    keys: Sequence[str]
    settings: OptimizeSettings
    outcomes: dict[str, TableOutcome] = field(default_factory=dict)
    works: dict[str, TableWork] = field(default_factory=dict)

    def prepare(self, capture: Capture) -> _PreparedRound:
        """Do the work on the first captured state. Later calls reuse it for another state."""
        if not self.works:
            entities = _entities(capture)
            for key in self.keys:
                if key in entities:
                    self._work(capture.state.tables[key], entities[key])
        return _PreparedRound(self)

    def _work(self, pin: TablePin, entity: Entity) -> None:
        dataset = self.store.open(pin.location, pin.lance_version)
        found = coverage_of(dataset, wanted_indexes(entity)) if self.settings.index else ()
        specs, skipped = _chosen(pin, found, self.store.tuning)
        fragments = dataset.get_fragments()
        size = sum(file.file_size_bytes or 0 for fragment in fragments for file in fragment.metadata.files)
        workers = self.settings.workers(pin.rows, size)
        work = work_on(self.store, pin, specs, compact=self.settings.compact, workers=workers)
        if not work.is_empty:
            self.works[pin.key] = work
        self.outcomes[pin.key] = TableOutcome(
            pin.key,
            pin.rows,
            len(fragments),
            len(fragments),
            coverage=tuple(coverage_of(dataset, specs)),
            skipped=tuple(skipped),
            workers=None if work.is_empty else workers.name,
        )


@dataclass
class _PreparedRound:
    """A round on one state. ``staged`` is the work that could be applied there."""

    round: _Round
    staged: dict[str, StagedWork] = field(default_factory=dict)
    fingerprint: str = ""

    @property
    def is_empty(self) -> bool:
        return not self.round.works

    def stage(self, capture: Capture, info: CommitInfo, options: WriteOptions) -> PublishPlan:
        """Apply the work to the tables of a state."""
        tables = capture.state.tables
        for key, work in sorted(self.round.works.items()):
            staged = stage_work(self.round.store, tables[key], work) if key in tables else None
            if staged is not None:
                self.staged[key] = staged
        if not self.staged:
            raise _Superseded
        return PublishPlan(
            info=info,
            base=capture.state,
            writes=tuple(_write(tables[key], item) for key, item in self.staged.items()),
            expected_head=options.expected_head,
            files=tuple(record for item in self.staged.values() for record in item.version.files),
        )


def _write(pin: TablePin, staged: StagedWork) -> TableWrite:
    assert staged.version.rows == pin.rows, "maintenance leaves every row"
    return TableWrite(pin.key, pin.location, WriteMode.REWRITE, staged.version.version, staged.version.rows)


def optimize(
    context: WriteContext,
    incarnation: str,
    keys: Sequence[str],
    settings: OptimizeSettings,
    options: WriteOptions,
    progress: Callable[[int], None] | None = None,
) -> tuple[list[TableOutcome], list[GraphCommit]]:
    """Maintain tables of a branch; returns the work on each table, and the commits."""
    outcomes: list[TableOutcome] = []
    commits: list[GraphCommit] = []
    rows = {key: pin.rows for key, pin in context.manifests.fresh(incarnation).tables.items()}
    for batch in _batches(keys, rows):
        done, made = _run_round(context, incarnation, batch, settings, options)
        outcomes += done
        commits += made
        if progress is not None:
            progress(len(outcomes))
    return outcomes, commits


def _run_round(
    context: WriteContext, incarnation: str, keys: Sequence[str], settings: OptimizeSettings, options: WriteOptions
) -> tuple[list[TableOutcome], list[GraphCommit]]:
    outcomes: dict[str, TableOutcome] = {}
    commits: list[GraphCommit] = []
    left = list(keys)
    for _ in range(limits.OPTIMIZE_ATTEMPTS_MAX):
        round_ = _Round(context.store, left, settings)
        staged: dict[str, StagedWork] = {}
        try:
            info = options.info(context, CommitKind.MAINTENANCE)
            prepared, published = commit(
                context, WriteJob(incarnation, round_.prepare, info, options, renew=_superseded)
            )
        except (_Superseded, ContentionError):
            pass
        else:
            staged = prepared.staged
            commits += [published.commit] if published is not None else []
        outcomes |= {key: _outcome(outcome, staged.get(key)) for key, outcome in round_.outcomes.items()}
        left = [key for key in round_.works if key not in staged or not staged[key].is_whole]
        if not left:
            break
    for key in left:
        reason = f"changed concurrently {limits.OPTIMIZE_ATTEMPTS_MAX} times during maintenance; try again later"
        outcomes[key] = _with_reason(outcomes[key], reason)
    return list(outcomes.values()), commits


def _outcome(outcome: TableOutcome, staged: StagedWork | None) -> TableOutcome:
    if staged is None:
        return outcome
    originals = [part for group in staged.groups for part in group.originals]
    return replace(
        outcome,
        rows=staged.version.rows,
        fragments_after=staged.fragments,
        rows_rewritten=sum(part.num_rows for part in originals),
        deleted_rows_removed=sum(part.physical_rows - part.num_rows for part in originals),
        indexes_built=tuple(dict.fromkeys(str(spec) for spec in staged.built)),
        coverage=staged.coverage,
    )


def _with_reason(outcome: TableOutcome, reason: str) -> TableOutcome:
    return TableOutcome(
        outcome.key,
        outcome.rows,
        outcome.fragments_before,
        outcome.fragments_before,
        coverage=outcome.coverage,
        skipped=(*outcome.skipped, reason),
    )


def _chosen(pin: TablePin, found: Sequence[Coverage], tuning: Tuning) -> tuple[list[IndexSpec], list[str]]:
    """Indexes to build or extend, and reasons for those that are skipped."""
    specs: list[IndexSpec] = []
    left_out: dict[tuple[str, int], list[str]] = {}
    for coverage in found:
        kind = coverage.spec.kind
        rows_min = index_rows_min(kind, tuning)
        if pin.rows >= rows_min or coverage.segments:
            specs.append(coverage.spec)
        elif kind is not IndexKind.NGRAM or pin.rows >= tuning.index_rows_min:
            what = "n-grams of" if kind is IndexKind.NGRAM else "index on"
            left_out.setdefault((what, rows_min), []).append(coverage.spec.column)
    reasons = [
        f"no {what} {', '.join(dict.fromkeys(columns))}: {counted(pin.rows, 'row')}, minimum {rows_min:,}"
        for (what, rows_min), columns in left_out.items()
    ]
    return specs, reasons


def _entities(capture: Capture) -> dict[str, Entity]:
    every: list[Entity] = [*capture.catalog.nodes.values(), *capture.catalog.edges.values()]
    return {entity.table_key: entity for entity in every if entity.table_key in capture.state.tables}


def _batches(keys: Sequence[str], rows: dict[str, int]) -> Iterator[list[str]]:
    batch: list[str] = []
    size = 0
    for key in keys:
        if batch and size + rows.get(key, 0) > limits.OPTIMIZE_BATCH_ROWS:
            yield batch
            batch, size = [], 0
        batch.append(key)
        size += rows.get(key, 0)
    if batch:
        yield batch
