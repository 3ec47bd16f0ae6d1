"""Results of merges and merge previews. ``omnigraph.wire.merges`` renders, saves and loads them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import pyarrow as pa

from omnigraph.core.commit import GraphCommit
from omnigraph.core.display import Display, Displayed
from omnigraph.core.tables import TableCounts, changes_display
from omnigraph.engine.conflict_notes import conflict_notes
from omnigraph.engine.engine_choice import EMBEDDED
from omnigraph.history.conflicts import MergeConflict, Resolution
from omnigraph.write.merge.conflicts import conflicts_table
from omnigraph.write.merge.decide import MergeOutcome

Policy = str | Mapping[str, str] | None
"""A policy for everything, or by ``Type``, ``Type.property`` and ``*``."""


@dataclass(frozen=True, slots=True, repr=False)
class MergeResult(Displayed):
    """A merge that was made. ``commit`` is None if there was nothing to merge."""

    source: str
    target: str
    outcome: MergeOutcome
    base: str | None
    source_head: str
    tables: tuple[TableCounts, ...]
    actor: str | None
    commit: GraphCommit | None
    repeated: bool = False
    engine: str = EMBEDDED
    """The engine that merged the rows: ``spark`` if it merged at least one table."""

    def _display(self) -> Display:
        made = "" if self.commit is None else f", commit {self.commit.id}"
        title = f"MergeResult {self.source} into {self.target}: {self.outcome.value}{made}"
        return changes_display(title, self.tables)


@dataclass(frozen=True, slots=True, repr=False)
class MergePreview(Displayed):
    """Outcome and settings of a merge that is not committed, valid for the two heads it was computed from."""

    source: str
    target: str
    outcome: MergeOutcome
    base: str
    source_head: str
    target_head: str
    tables: tuple[TableCounts, ...] = ()
    conflicts: tuple[MergeConflict, ...] = ()
    policy: Policy = None
    resolutions: tuple[Resolution, ...] = field(default=())
    engine: str = EMBEDDED

    def _display(self) -> Display:
        title = f"MergePreview of {self.source} into {self.target}: {self.outcome.value}"
        return changes_display(title, self.tables, conflict_notes(self.conflicts))

    def conflicts_table(self) -> pa.Table:
        """The conflicts as Arrow: table, id, kind, property, and the values of base, source and target as JSON."""
        return conflicts_table(self.conflicts)
