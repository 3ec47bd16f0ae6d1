"""Parts of a commit's changes, for readers that compare a large commit in several tasks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from omnigraph.compare.parts import TablePart, part_changes, table_parts
from omnigraph.core.commit import GraphCommit
from omnigraph.engine.history.change_rows import ChangeRows, change_rows
from omnigraph.engine.history.commit_changes import Comparer
from omnigraph.engine.history.diff import changed_tables, diff_rows


@dataclass(frozen=True, slots=True)
class CommitPart:
    """A part of one table's changes."""

    location: str
    part: TablePart


def commit_parts(
    comparer: Comparer, commit: GraphCommit, parent: GraphCommit, rows_max: int
) -> list[CommitPart | None]:
    """The parts of a commit in the order of its changes; None, all changes, for a commit of few rows."""
    if not commit.kind.is_logical or not commit.tables:
        return []
    if sum(table.inserted + table.updated + table.deleted for table in commit.tables) <= rows_max:
        return [None]
    before, after = comparer.sides(commit, parent)
    with before.reading(), after.reading():
        return [
            CommitPart(table.location, part)
            for table in changed_tables(before, after, comparer.chosen)
            for part in table_parts(after.store, table.entity, table.pins, rows_max)
        ]


def part_rows(
    comparer: Comparer, commit: GraphCommit, parent: GraphCommit, part: CommitPart | None
) -> Iterator[ChangeRows]:
    """The changes of one part, type by type."""
    before, after = comparer.sides(commit, parent)
    if part is None:
        yield from diff_rows(before, after, comparer.chosen)
        return
    for table in changed_tables(before, after, comparer.chosen):
        if table.location == part.location:
            with before.reading(), after.reading():
                found = part_changes(after.store, table.entity, table.pins, part.part)
            yield change_rows(found, table.location, table.pins).wanted(comparer.chosen)
