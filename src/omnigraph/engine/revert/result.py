"""Results of reverts and of their previews."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from omnigraph.core.commit import GraphCommit
from omnigraph.core.display import Display, Displayed, counted
from omnigraph.core.tables import TableCounts, changes_display
from omnigraph.engine.conflict_notes import conflict_notes
from omnigraph.history.conflicts import MergeConflict
from omnigraph.write.merge.conflicts import conflicts_table


@dataclass(frozen=True, slots=True, repr=False)
class RevertResult(Displayed):
    """A revert that was made. ``reverted`` are the commits it undid, newest first; ``commit`` is None if nothing of
    what they did was left."""

    branch: str
    reverted: tuple[str, ...]
    tables: tuple[TableCounts, ...]
    actor: str | None
    commit: GraphCommit | None

    @property
    def outcome(self) -> str:
        return "nothing_to_do" if self.commit is None else "reverted"

    def _display(self) -> Display:
        title = f"RevertResult on {self.branch}: {counted(len(self.reverted), 'commit')}, {self.outcome}"
        return changes_display(title, self.tables)


@dataclass(frozen=True, slots=True, repr=False)
class RevertPreview(Displayed):
    """Outcome of a revert that is not committed.

    In its conflicts the source is the state before the undone commits, the base the state after them, and the target
    the head.
    """

    branch: str
    head: str
    reverted: tuple[str, ...]
    tables: tuple[TableCounts, ...]
    conflicts: tuple[MergeConflict, ...]

    @property
    def outcome(self) -> str:
        if self.conflicts:
            return "conflicts"
        return "reverted" if self.tables else "nothing_to_do"

    def _display(self) -> Display:
        title = f"RevertPreview on {self.branch}: {counted(len(self.reverted), 'commit')}, {self.outcome}"
        return changes_display(title, self.tables, conflict_notes(self.conflicts))

    def conflicts_table(self) -> pa.Table:
        """The conflicts as Arrow: table, id, kind, property, and the values of base, source and target as JSON."""
        return conflicts_table(self.conflicts)
