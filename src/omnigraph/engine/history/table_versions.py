"""Versions of one table in the history of a snapshot, newest first.

The log of a branch also holds the commits that were merged into it, and their tables have versions with the same
numbers. So only first parents are followed: the states that the branch itself has had.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from omnigraph.core.commit import GraphCommit
from omnigraph.core.tables import TablePin
from omnigraph.engine.snapshot import Snapshot
from omnigraph.history.retention import Record
from omnigraph.manifest.commit_log import newest_first
from omnigraph.manifest.records import newest_record


@dataclass(frozen=True, slots=True)
class VersionMade:
    """A version of a table, and the commit that made it if that is known without reading the log."""

    pin: TablePin
    commit: GraphCommit | None


def table_versions(snapshot: Snapshot, key: str) -> Iterator[VersionMade]:
    """Versions of a table that can be read, newest first. The newest one costs no request."""
    pin = snapshot.state.tables[key]
    yield VersionMade(pin, _maker(snapshot, pin))
    is_newest, is_kept = True, True
    record: Record | None = None
    following = snapshot.commit_id
    for commit in newest_first(snapshot.store, snapshot.state):
        if commit.id != following:
            continue
        following = commit.parents[0] if commit.parents else ""
        if not is_kept:
            record = record or newest_record(snapshot.store, Record())
            is_kept = record.given_up_since(commit) is None
        # The first commit of a graph brings its tables along without naming them.
        if commit.parents and not _made(commit, pin):
            continue
        if is_kept and not is_newest:
            yield VersionMade(pin, commit)
        before = _before(commit, pin.location)
        if before is None:
            return
        pin = TablePin(pin.key, pin.location, *before)
        is_newest, is_kept = False, False


def _maker(snapshot: Snapshot, pin: TablePin) -> GraphCommit | None:
    return next((commit for commit in reversed(snapshot.state.commits) if _made(commit, pin)), None)


def _made(commit: GraphCommit, pin: TablePin) -> bool:
    after = (pin.lance_version, pin.table_version, pin.rows)
    return any((change.location, change.after) == (pin.location, after) for change in commit.tables)


def _before(commit: GraphCommit, location: str) -> tuple[int, int, int] | None:
    # A rename drops the old name and creates the new one; the directory identifies the table.
    return next((change.before for change in commit.tables if change.location == location and change.before), None)
