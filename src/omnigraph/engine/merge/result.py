"""Results of merges and merge previews. ``omnigraph.wire.merges`` renders, saves and loads them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pyarrow as pa

from omnigraph.core.commit import GraphCommit
from omnigraph.core.display import Display, Displayed
from omnigraph.core.tables import TableCounts, changes_display
from omnigraph.engine.conflict_notes import conflict_notes
from omnigraph.engine.engine_choice import EMBEDDED
from omnigraph.errors import UsageError
from omnigraph.history.conflicts import MergeConflict, Resolution
from omnigraph.write.merge.conflicts import conflicts_table
from omnigraph.write.merge.decide import MergeOutcome

if TYPE_CHECKING:
    from omnigraph.engine.history.diff import Diff
    from omnigraph.engine.picture.picture import Picture

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
    diff: Callable[[], Diff] | None = field(default=None, repr=False, compare=False)
    """Compares the base with the source; None if the preview was read from a file."""

    def draw(self, *, limit: int = 2_000, height: int = 520) -> Picture:
        """An interactive picture of what the merge brings: changed entities with signs, their neighbours, conflicts.

        More changes than the ``limit`` are drawn by type, with their numbers.
        """
        from omnigraph.engine.picture.draw import draw_changes

        if self.diff is None:
            raise UsageError(
                "this preview has no graph to read the entities from", hint="draw one that graph.merge_preview returned"
            )
        conflicts = [(item.type_name(), item.id) for item in self.conflicts if item.id is not None]
        title = f"{self.source} into {self.target}: {self.outcome.value}"
        return draw_changes(self.diff(), conflicts, title, limit, height)

    def _display(self) -> Display:
        title = f"MergePreview of {self.source} into {self.target}: {self.outcome.value}"
        return changes_display(title, self.tables, conflict_notes(self.conflicts))

    def conflicts_table(self) -> pa.Table:
        """The conflicts as Arrow: table, id, kind, property, and the values of base, source and target as JSON."""
        return conflicts_table(self.conflicts)
