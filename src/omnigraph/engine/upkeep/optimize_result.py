"""The result of ``optimize``: the work done and skipped for every table, and its text."""

from __future__ import annotations

from dataclasses import dataclass

from omnigraph.core.commit import GraphCommit
from omnigraph.core.display import Display, Displayed, counted
from omnigraph.write.upkeep.optimize import TableOutcome


@dataclass(frozen=True, slots=True, repr=False)
class OptimizeResult(Displayed):
    """One outcome per table. ``commits`` is empty if there was nothing to do."""

    branch: str
    tables: tuple[TableOutcome, ...]
    commits: tuple[GraphCommit, ...]

    def _display(self) -> Display:
        rows = [
            (item.key, item.rows, changes(item) or "nothing to do", "; ".join(item.skipped)) for item in self.tables
        ]
        title = f"OptimizeResult of {self.branch}: {counted(len(self.commits), 'commit')}"
        return Display(title, ("table", "rows", "done", "skipped"), rows, lines=[*map(describe, self.tables)])


def describe(outcome: TableOutcome) -> str:
    """One line about one table."""
    done = changes(outcome)
    return f"{outcome.key}: {counted(outcome.rows, 'row')}; {done or 'nothing to do'}" + "".join(
        f"; {reason}" for reason in outcome.skipped
    )


def changes(outcome: TableOutcome) -> str:
    """Text about the changes of one table; empty if there were none."""
    done = []
    if outcome.rows_rewritten or outcome.deleted_rows_removed:
        done.append(f"{outcome.fragments_before} -> {outcome.fragments_after} fragments")
    if outcome.deleted_rows_removed:
        done.append(f"{counted(outcome.deleted_rows_removed, 'deleted row')} removed")
    if outcome.indexes_built:
        done.append(f"indexed {', '.join(outcome.indexes_built)}")
    return "; ".join(done)
