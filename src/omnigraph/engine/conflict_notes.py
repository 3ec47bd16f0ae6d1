"""Conflicts below the display of a preview."""

from __future__ import annotations

from collections.abc import Sequence

from omnigraph.history.conflicts import MergeConflict

SHOWN_CONFLICTS = 10


def conflict_notes(conflicts: Sequence[MergeConflict]) -> list[str]:
    """The first conflicts, one line each."""
    notes = [str(conflict) for conflict in conflicts[:SHOWN_CONFLICTS]]
    more = len(conflicts) - len(notes)
    return [*notes, f"... {more:,} more conflicts"] if more > 0 else notes
