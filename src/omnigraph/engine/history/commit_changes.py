"""The changes of one commit: its difference to its first parent, page by page."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import TypeAlias

import pyarrow as pa

from omnigraph.core.commit import GraphCommit
from omnigraph.core.display import Display, Displayed, counted
from omnigraph.core.limits import FEED_CHANGES_PER_PAGE_MAX
from omnigraph.core.lru import Lru
from omnigraph.engine.history.change_rows import ChangeRows
from omnigraph.engine.history.commits import find_with_state
from omnigraph.engine.history.diff import changes_lines, changes_table, diff_rows
from omnigraph.engine.history.visible_changes import scope_digest
from omnigraph.engine.permits.permit import ANYONE, Permit
from omnigraph.engine.snapshot import Snapshot
from omnigraph.errors import LimitExceeded, UsageError
from omnigraph.history.changes import Change, ChangeFilter
from omnigraph.history.commits import shown_commit
from omnigraph.history.cursors import Position, Scope, read_cursor, write_cursor
from omnigraph.history.state import ManifestState
from omnigraph.manifest.reader import Manifests
from omnigraph.storage.tables.store import Store

Compared: TypeAlias = Lru[tuple[str, str], tuple[ChangeRows, ...]]
"""Changes by commit and filter, of commits whose pages are being read."""


@dataclass(frozen=True, slots=True, repr=False)
class ChangeBlock(Displayed):
    """A commit and its changes, or a part of them where a page begins or ends within it."""

    commit: GraphCommit
    changes: tuple[Change, ...]

    def __iter__(self) -> Iterator[Change]:
        return iter(self.changes)

    def __len__(self) -> int:
        return len(self.changes)

    def _display(self) -> Display:
        return changes_lines(f"{counted(len(self), 'change')} of commit {self.commit.id}", self, len(self))


def blocks_table(blocks: Iterable[ChangeBlock]) -> pa.Table:
    """Changes of several commits as one table, each with its commit; images are JSON texts."""
    known = list(blocks)
    commits = [block.commit.id for block in known for _ in block]
    changes = changes_table(change for block in known for change in block)
    return changes.add_column(0, pa.field("commit", pa.string(), nullable=False), pa.array(commits, pa.string()))


@dataclass(frozen=True, slots=True, repr=False)
class CommitChanges(Displayed):
    """A page of a commit's changes. ``next_page_token`` leads to the next one, if there is one."""

    block: ChangeBlock
    next_page_token: str | None = None

    def __iter__(self) -> Iterator[Change]:
        return iter(self.block)

    def __len__(self) -> int:
        return len(self.block)

    def _display(self) -> Display:
        end = "" if self.next_page_token is None else ", more follows"
        title = f"CommitChanges: {counted(len(self), 'change')} of commit {self.block.commit.id}{end}"
        return changes_lines(title, self, len(self))


@dataclass(slots=True)
class Room:
    """The space left on a page."""

    changes: int
    bytes: int
    bytes_max: int
    is_used: bool = False

    def take(self, sizes: list[int]) -> int:
        """The number of next changes that fit. The first change of a page always fits."""
        taken = 0
        for size in sizes:
            if self.changes == 0 or (self.bytes < size and self.bytes < self.bytes_max):
                break
            self.changes -= 1
            self.bytes -= size
            taken += 1
        self.is_used = self.changes == 0 or self.bytes <= 0
        return taken


def check_limit(limit: int) -> None:
    """Refuse a page without changes, and one that is too large."""
    if limit < 1:
        raise UsageError(f"a page has at least one change, not {limit}", hint="use a limit of 1 or more")
    if limit > FEED_CHANGES_PER_PAGE_MAX:
        raise LimitExceeded(
            f"a page has at most {FEED_CHANGES_PER_PAGE_MAX:,} changes, not {limit:,}",
            hint="read several pages",
            resource="commit_changes_page_changes",
            limit=FEED_CHANGES_PER_PAGE_MAX,
            actual=limit,
        )


@dataclass(frozen=True)
class Comparer:
    """Compares commits with their parents under the filter of one reader.

    Data rules may name branches. They decide about every commit as a part of the branch that is read, also about those
    that were made before it was forked: the actor may be denied the branch that they were made on.
    """

    manifests: Manifests
    branch: str
    chosen: ChangeFilter
    compared: Compared
    permit: Permit = ANYONE
    _snapshots: dict[str, Snapshot] = field(default_factory=dict)

    @property
    def store(self) -> Store:
        return self.manifests.store

    @property
    def graph_id(self) -> str:
        return self.manifests.stamp.graph_id

    def block(self, commit: GraphCommit, parent: GraphCommit | None, done: int, room: Room) -> tuple[ChangeBlock, bool]:
        """The changes of a commit after the first ``done`` ones, as far as there is room, and whether that is all."""
        scope = self._scope_digest(commit, parent)
        key = (commit.id, f"{self.chosen.digest} {scope}")
        rows = self.compared.get(key) or self._rows(commit, parent)
        changes: list[Change] = []
        left = done
        is_whole = True
        for table in rows:
            waiting = max(0, len(table) - left)
            part = table.slice(left, min(waiting, room.changes))
            left = max(0, left - len(table))
            taken = room.take(part.sizes())
            changes.extend(part.slice(0, taken).exact(self.store))
            if taken < waiting:
                is_whole = False
                self.compared.put(key, rows)
                break
        return ChangeBlock(shown_commit(commit) if scope else commit, tuple(changes)), is_whole

    def sides(self, commit: GraphCommit, parent: GraphCommit) -> tuple[Snapshot, Snapshot]:
        """The snapshots before and after a commit."""
        return self._at(parent), self._at(commit)

    def _rows(self, commit: GraphCommit, parent: GraphCommit | None) -> tuple[ChangeRows, ...]:
        if not commit.kind.is_logical or not commit.tables:
            return ()
        before = None if parent is None else self._at(parent)
        after = self._at(commit)
        # The next commit is compared with this one; no other comes again.
        self._snapshots.clear()
        self._snapshots[commit.id] = after
        return tuple(rows for rows in diff_rows(before, after, self.chosen) if len(rows))

    def _scope_digest(self, commit: GraphCommit, parent: GraphCommit | None) -> str:
        """Identifies the part of the changes that the actor may see; empty if it is all of them."""
        if self.permit.authorizer is None:
            return ""
        return scope_digest(self._at(commit), None if parent is None else self._at(parent))

    def _at(self, commit: GraphCommit) -> Snapshot:
        return self._snapshots.get(commit.id) or self.snapshot(self.manifests.at(commit))

    def snapshot(self, state: ManifestState) -> Snapshot:
        seen = replace(state, branch=self.branch)
        return Snapshot(self.store, seen, self.manifests.catalog(state.schema_digest), self.permit)


def changes_of(comparer: Comparer, commit: GraphCommit, page_token: str | None, limit: int) -> CommitChanges:
    """One page of the changes of a commit against its first parent."""
    check_limit(limit)
    parent = find_with_state(comparer.manifests, commit.parents[0])[0] if commit.parents else None
    scope = Scope(comparer.graph_id, f"commit:{commit.id}", comparer.chosen.digest)
    done = 0 if page_token is None else read_cursor(page_token, scope).changes or 0
    bytes_max = comparer.store.tuning.feed_page_bytes
    block, is_whole = comparer.block(commit, parent, done, Room(limit, bytes_max, bytes_max))
    token = None if is_whole else write_cursor(scope, Position(commit.id, done + len(block)))
    return CommitChanges(block, token)
