"""Results of reverts and of their previews."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from omnigraph.core.commit import GraphCommit
from omnigraph.core.tables import TableCounts
from omnigraph.engine.table_counts import table_lines
from omnigraph.history.conflicts import MergeConflict
from omnigraph.write.merge.conflicts import conflicts_table


@dataclass(frozen=True, slots=True, repr=False)
class RevertResult:
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

    def __repr__(self) -> str:
        head = f"<RevertResult on {self.branch}: {_number(self.reverted)}, {self.outcome}>"
        return head + table_lines(self.tables)


@dataclass(frozen=True, slots=True, repr=False)
class RevertPreview:
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

    def __repr__(self) -> str:
        head = f"<RevertPreview on {self.branch}: {_number(self.reverted)}, {self.outcome}>"
        return head + table_lines(self.tables) + "".join(f"\n  {conflict}" for conflict in self.conflicts[:10])

    def conflicts_table(self) -> pa.Table:
        """The conflicts as Arrow: table, id, kind, property, and the values of base, source and target as JSON."""
        return conflicts_table(self.conflicts)


def _number(reverted: tuple[str, ...]) -> str:
    return "1 commit" if len(reverted) == 1 else f"{len(reverted)} commits"
