"""The change feed: the changes of each commit of a branch, in order, page by page.

A commit's changes are its difference to its first parent, so a merge shows what it brought to this branch. Nothing is
kept for a reader: where it stands is in the cursor it brings along.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from omnigraph.core.commit import GraphCommit
from omnigraph.core.display import Display, Displayed, counted
from omnigraph.core.hints import commits_hint
from omnigraph.core.ids import is_ulid
from omnigraph.engine.history.change_rows import ChangeRows, kind_of
from omnigraph.engine.history.commit_changes import ChangeBlock, Compared, Comparer, Room, check_limit
from omnigraph.engine.history.commit_parts import CommitPart, commit_parts, part_rows
from omnigraph.engine.history.diff import changes_lines, check_types
from omnigraph.engine.history.moments import Moments
from omnigraph.engine.history.visible_changes import restricted
from omnigraph.engine.permits.permit import ANYONE, Permit
from omnigraph.engine.snapshot import Snapshot
from omnigraph.errors import ChangeFeedGap, CursorRejected, Hint, HistoryCleaned, NotFoundError, SourceChanged
from omnigraph.history.changes import Change, ChangeFilter
from omnigraph.history.commits import first_parents
from omnigraph.history.cursors import Position, Scope, read_cursor, write_cursor
from omnigraph.history.state import ManifestState
from omnigraph.manifest import branches
from omnigraph.manifest.commit_log import newest_first

NOW = "now"
BEGINNING = "beginning"
AFTER = "after:"


@dataclass(frozen=True, slots=True, repr=False)
class ChangePage(Displayed):
    """Some commits of a branch, oldest first. ``cursor`` continues from here; store it after processing the page.

    ``is_partial`` says that the page ended within its last commit, ``caught_up`` that nothing followed it.
    """

    branch: str
    blocks: tuple[ChangeBlock, ...] = field(repr=False)
    cursor: str
    caught_up: bool
    is_partial: bool = False

    def __iter__(self) -> Iterator[ChangeBlock]:
        return iter(self.blocks)

    def __len__(self) -> int:
        """The number of changes."""
        return sum(map(len, self.blocks))

    def _display(self) -> Display:
        end = "the end" if self.caught_up else "more follows"
        made = f"{counted(len(self), 'change')} of {counted(len(self.blocks), 'commit')}"
        return changes_lines(f"ChangePage of {self.branch}: {made}, {end}", self.changes(), len(self))

    def changes(self) -> Iterator[Change]:
        """The changes of all commits."""
        for block in self.blocks:
            yield from block


@dataclass(frozen=True, repr=False)
class Feed(Displayed):
    """The changes of one branch up to a head, under the filter of one reader."""

    head: ManifestState
    comparer: Comparer
    moments: Moments

    def _display(self) -> Display:
        return Display(f"Feed of {self.head.branch} up to {self.head.head}")

    @property
    def _scope(self) -> Scope:
        return Scope(self.comparer.graph_id, self.head.incarnation, self.comparer.chosen.digest)

    def baseline(self) -> ChangeBaseline:
        """Everything up to the head, in one page."""
        snapshot = restricted(self.comparer.snapshot(self.head))
        check_types(self.comparer.chosen, snapshot)
        return ChangeBaseline(snapshot, self.cursor(self.head.head), self.comparer.chosen)

    def poll(self, since: str, limit: int) -> ChangePage:
        """The changes that follow a cursor, ``now``, the ``beginning``, or a commit (``after:HEAD~3``)."""
        check_limit(limit)
        if since in (NOW, BEGINNING) or since.startswith(AFTER):
            # A cursor may be older than a type that was dropped; a name that is new now is a mistake.
            check_types(self.comparer.chosen, restricted(self.comparer.snapshot(self.head)))
        start = self._position(since)
        behind, waiting = self._walk(start)
        position = Position(behind.id) if start is None else start
        tuning = self.comparer.store.tuning
        room = Room(limit, tuning.feed_page_bytes, tuning.feed_page_bytes)
        blocks: list[ChangeBlock] = []
        for commit in waiting[: tuning.feed_page_commits]:
            if room.is_used:
                break
            done = position.changes or 0 if commit.id == position.commit else 0
            try:
                block, is_whole = self.comparer.block(commit, behind, done, room)
            except (HistoryCleaned, SourceChanged) as error:
                if blocks:
                    break
                cursor = None if since in (NOW, BEGINNING) else since
                raise gap(self.head.branch, commit, cursor, error) from error
            blocks.append(block)
            if not is_whole:
                return self._page(blocks, Position(commit.id, done + len(block)))
            position, behind = Position(commit.id), commit
        return self._page(blocks, position)

    def start(self, since: str) -> str:
        """The cursor of ``now``, the ``beginning``, or a commit; one that is given already is checked."""
        position = self._position(since)
        behind, _ = self._walk(position)
        return self.cursor(behind.id) if position is None else write_cursor(self._scope, position)

    def cursor(self, commit_id: str) -> str:
        """The cursor of a reader that has processed everything up to a commit."""
        return write_cursor(self._scope, Position(commit_id))

    def commits(self, since: str, until: str | None = None) -> list[GraphCommit]:
        """The commits from one cursor to another, or to the head, oldest first, with the one at the first cursor."""
        behind, waiting = self._walk(read_cursor(since, self._scope))
        line = [behind, *waiting]
        if until is None:
            return line
        last = read_cursor(until, self._scope).commit
        place = next((number for number, commit in enumerate(line) if commit.id == last), 0)
        return line[: place + 1]

    def parts(self, commit: GraphCommit, parent: GraphCommit, rows_max: int) -> list[CommitPart | None]:
        """Parts of about ``rows_max`` changed rows that several readers can compare; raises ChangeFeedGap."""
        try:
            return commit_parts(self.comparer, commit, parent, rows_max)
        except (HistoryCleaned, SourceChanged) as error:
            raise gap(self.head.branch, commit, None, error) from error

    def rows(self, commit: GraphCommit, parent: GraphCommit, part: CommitPart | None) -> Iterator[ChangeRows]:
        """The changes of one part of a commit, type by type; raises ChangeFeedGap."""
        try:
            yield from part_rows(self.comparer, commit, parent, part)
        except (HistoryCleaned, SourceChanged) as error:
            raise gap(self.head.branch, commit, None, error) from error

    def _page(self, blocks: Sequence[ChangeBlock], position: Position) -> ChangePage:
        is_partial = position.changes is not None
        caught_up = position.commit == self.head.head and not is_partial
        return ChangePage(
            self.head.branch, tuple(blocks), write_cursor(self._scope, position), caught_up, is_partial=is_partial
        )

    def _position(self, since: str) -> Position | None:
        """The position to continue from; None is the first commit."""
        if since == BEGINNING:
            return None
        if since == NOW:
            return Position(self.head.head)
        if since.startswith(AFTER):
            return Position(self._commit_id(since.removeprefix(AFTER)))
        return read_cursor(since, self._scope)

    def _commit_id(self, said: str) -> str:
        if is_ulid(said):
            return said
        try:
            return self.moments.commit(said, self.head.branch).id
        except NotFoundError as error:
            raise CursorRejected(f"change cursor rejected: {error.message}", hint=error.hint, commit=said) from error

    def _walk(self, start: Position | None) -> tuple[GraphCommit, list[GraphCommit]]:
        """The commits that were not delivered yet, oldest first, and the one before them."""
        waiting: list[GraphCommit] = []
        for commit in first_parents(newest_first(self.comparer.store, self.head), self.head.head):
            if start is None:
                is_behind = not commit.parents
            elif start.changes is None:
                is_behind = commit.id == start.commit
            else:
                is_behind = bool(waiting) and waiting[-1].id == start.commit
            if is_behind:
                return commit, waiting[::-1]
            waiting.append(commit)
        assert start is not None, "every history begins with a commit that has no parent"
        raise CursorRejected(
            f"change cursor rejected: commit {start.commit!r} is not in the history of {self.head.branch}",
            hint=commits_hint(self.head.branch),
            commit=start.commit,
        )


def open_feed(moments: Moments, branch: str, chosen: ChangeFilter, compared: Compared, permit: Permit = ANYONE) -> Feed:
    """The change feed of a branch up to its head."""
    manifests = moments.manifests
    return Feed(branches.find_head(manifests, branch), Comparer(manifests, branch, chosen, compared, permit), moments)


def gap(branch: str, commit: GraphCommit, cursor: str | None, cause: HistoryCleaned | SourceChanged) -> ChangeFeedGap:
    """The error for a cursor whose commits were cleaned up, or refer to files of external types that are gone."""
    why = "cleanup deleted their files"
    if isinstance(cause, SourceChanged):
        why = f"files of the external type {cause.facts.get('table')} changed or are gone"
    return ChangeFeedGap(
        f"the changes of commit {commit.id} on {branch} are no longer available: {why}",
        hint=Hint(
            "start again from graph.change_baseline()", "start again from a baseline: omnigraph changes baseline"
        ),
        cursor=cursor,
        first_unreadable_commit_id=commit.id,
    )


@dataclass(frozen=True, repr=False)
class ChangeBaseline(Displayed):
    """The whole of a branch at its head, and the cursor that leads on from there."""

    snapshot: Snapshot = field(repr=False)
    cursor: str
    chosen: ChangeFilter = field(repr=False)

    def _display(self) -> Display:
        where = f"{self.snapshot.branch} at {self.snapshot.commit_id}"
        return Display(f"ChangeBaseline of {where}", notes=[f"cursor: {self.cursor}"])

    def lines(self) -> Iterator[bytes]:
        """The entities as JSON lines in the form that ``load`` reads, by type and id."""
        wanted = [item for item in self.snapshot.entities() if self.chosen.wants_type(kind_of(item), item.name)]
        return self.snapshot.export_types(wanted)
