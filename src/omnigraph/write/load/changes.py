"""Changes of another graph as one commit: rows that replace entities by id, and ids that are removed.

The changes are held in memory. Of several changes of one id the last one counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import pyarrow as pa

from omnigraph.history.plan import CommitInfo
from omnigraph.manifest.reader import Capture
from omnigraph.rows.arrow_types import ID, Entity
from omnigraph.rows.validate import TableDelta
from omnigraph.rows.violations import Violations
from omnigraph.write.attempt import CHECK, WriteJob
from omnigraph.write.context import WriteContext, WriteOptions
from omnigraph.write.load.mode import LoadMode
from omnigraph.write.load.outcome import Loaded
from omnigraph.write.load.plan import PreparedLoad, prepare_load
from omnigraph.write.preview import Finish


@dataclass(frozen=True, slots=True)
class TableChanges:
    """Changes of one type: whole rows with distinct ids, and removed ids, which are not among them."""

    entity: Entity
    rows: pa.Table
    removed: frozenset[str] = field(default_factory=frozenset)


def last_changes(parts: Iterable[Mapping[str, TableChanges]]) -> list[TableDelta]:
    """Changes in their order, folded: the last one of every id."""
    by_key: dict[str, list[TableChanges]] = {}
    for part in parts:
        for key, changes in part.items():
            by_key.setdefault(key, []).append(changes)
    return [_folded(changes) for _, changes in sorted(by_key.items())]


def _folded(parts: list[TableChanges]) -> TableDelta:
    """Fold parts of one type.

    ========  ===================  ==================
    part      rows                 removed
    ========  ===================  ==================
    1         a at 0, b at 1       c
    2         c at 2               a
    result    b at 1, c at 2       a
    ========  ===================  ==================
    """
    last: dict[str, int | None] = {}
    start = 0
    for part in parts:
        last |= dict.fromkeys(part.removed)
        ids = part.rows.column(ID).to_pylist()
        last |= {id_: start + place for place, id_ in enumerate(ids)}
        start += len(ids)
    rows = pa.concat_tables([part.rows for part in parts])
    chosen = sorted(place for place in last.values() if place is not None)
    removed = frozenset(id_ for id_, place in last.items() if place is None)
    return TableDelta(parts[0].entity, rows.take(pa.array(chosen, pa.int64())), removed)


def load_changes(
    context: WriteContext,
    incarnation: str,
    deltas: list[TableDelta],
    violations: Violations,
    info: CommitInfo,
    options: WriteOptions,
    finish: Finish,
) -> Loaded:
    """Apply changes as one atomic commit. ``violations`` are those of the rows by themselves."""

    def prepare(capture: Capture) -> PreparedLoad:
        with context.profiler.step(CHECK) as step:
            prepared = prepare_load(context.store, capture, deltas, LoadMode.MERGE, violations)
            step.rows = sum(delta.rows.num_rows for delta in deltas)
        return prepared

    finished = finish(context, WriteJob(incarnation, prepare, info, options))
    return Loaded({delta.entity.table_key: delta.rows.num_rows for delta in deltas}, finished)
