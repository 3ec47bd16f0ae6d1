"""Commits in lists: their columns, times and numbers of changes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from omnigraph.core.temporal import format_datetime

if TYPE_CHECKING:
    from omnigraph.core.commit import GraphCommit

COMMIT_COLUMNS: Final = ("commit", "time", "kind", "changes", "actor", "message")


def commit_row(commit: GraphCommit) -> tuple[object, ...]:
    """The cells of a commit in a list, by ``COMMIT_COLUMNS``."""
    return commit.id, when(commit.created_at_us), commit.kind.value, _changes(commit), commit.actor, commit.message


def when(microseconds: int) -> str:
    """A UTC time in the format that `--at` accepts."""
    return format_datetime(microseconds // 1000)


def _changes(commit: GraphCommit) -> str:
    """`+3 ~1 -2`: the numbers of inserted, updated and deleted entities, without zeros."""
    totals = (
        ("+", sum(change.inserted for change in commit.tables)),
        ("~", sum(change.updated for change in commit.tables)),
        ("-", sum(change.deleted for change in commit.tables)),
    )
    return " ".join(f"{sign}{number:,}" for sign, number in totals if number)
