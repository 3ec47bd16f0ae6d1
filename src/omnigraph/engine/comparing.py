"""The comparing verbs of ``Graph``: what differs between two moments, and what commits changed."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from omnigraph.core.limits import FEED_CHANGES_PER_PAGE
from omnigraph.engine.history.moments import moment_us
from omnigraph.engine.reading import Reading
from omnigraph.engine.snapshot import Snapshot
from omnigraph.engine.telemetry import told
from omnigraph.errors import HistoryCleaned, NotFoundError, UsageError
from omnigraph.history.changes import Names, read_filter
from omnigraph.manifest.layout import MAIN

if TYPE_CHECKING:
    from omnigraph.engine.history.commit_changes import CommitChanges
    from omnigraph.engine.history.diff import Diff
    from omnigraph.engine.history.feed import ChangeBaseline, ChangePage, Feed

Moment = str | datetime | Snapshot
"""A branch, a commit, a time on ``main``, or a snapshot."""


class Comparing(Reading):
    """Differences within a graph."""

    @told("diff")
    def diff(
        self, before: Moment, after: Moment = MAIN, *, kind: Names = None, type: Names = None, op: Names = None
    ) -> Diff:
        """What changed from one moment to another: branches, commits, times on ``main``, or snapshots.

        The two need not be related. ``kind`` (``node``, ``edge``), ``type`` and ``op`` (``insert``, ``update``,
        ``delete``) take one name or several. What is read follows the change, not the tables.
        """
        from omnigraph.engine.history.diff import Diff, check_types

        chosen = read_filter(kind, type, op)
        sides = self.moment(before), self.moment(after)
        check_types(chosen, *sides)
        return Diff(*sides, chosen)

    def moment(self, named: Moment) -> Snapshot:
        """The snapshot that a branch, a commit or a time on ``main`` means."""
        if isinstance(named, Snapshot):
            if named.store.root != self._store.root:
                raise UsageError(
                    f"the snapshot {named.commit_id} is one of {named.store.root}, which is not this graph",
                    hint="moments of one graph can be compared; load the export of one into a branch of the other",
                )
            commit = named.state.commit(named.commit_id)
            if commit is not None:
                self._manifests.check_files_kept(commit)
            return named
        if isinstance(named, datetime) or moment_us(named) is not None:
            return self.snapshot(at=named)
        try:
            return self.snapshot(named)
        except (NotFoundError, UsageError) as no_branch:
            try:
                return self.snapshot(at=named)
            except HistoryCleaned:
                # Also something that is not found, but the commit exists.
                raise
            except NotFoundError as no_commit:
                raise NotFoundError(
                    f"there is no branch and no commit {named!r}", hint=no_branch.hint, name=named
                ) from no_commit

    @told("changes")
    def changes(
        self,
        since: str = "now",
        *,
        limit: int = FEED_CHANGES_PER_PAGE,
        branch: str = MAIN,
        kind: Names = None,
        type: Names = None,
        op: Names = None,
    ) -> ChangePage:
        """What the commits of a branch changed, oldest first, each as compared with its first parent: one page.

        ``since`` is the cursor of an earlier page, ``"now"``, ``"beginning"``, or ``"after:01..."`` with a commit. The
        same cursor gives the same changes again; keep the new one when the page is dealt with. ``ChangeFeedGap`` says
        that history was cleaned up: start again from a ``change_baseline``.
        """
        return self.feed(branch, kind=kind, type=type, op=op).poll(since, limit)

    def change_baseline(
        self, branch: str = MAIN, *, kind: Names = None, type: Names = None, op: Names = None
    ) -> ChangeBaseline:
        """A branch as a whole, with the cursor from which ``changes`` goes on. ``op`` is about the cursor only."""
        return self.feed(branch, kind=kind, type=type, op=op).baseline()

    def feed(self, branch: str = MAIN, *, kind: Names = None, type: Names = None, op: Names = None) -> Feed:
        """The commits of a branch up to its head, for those who page through them in their own way."""
        from omnigraph.engine.history.commit_changes import Comparer
        from omnigraph.engine.history.feed import Feed

        return Feed(self._head(branch), Comparer(self._manifests, read_filter(kind, type, op), self._compared))

    def commit_changes(
        self,
        commit_id: str,
        *,
        page_token: str | None = None,
        limit: int = FEED_CHANGES_PER_PAGE,
        kind: Names = None,
        type: Names = None,
        op: Names = None,
    ) -> CommitChanges:
        """What one commit changed, as compared with its first parent: one page."""
        from omnigraph.engine.history.commit_changes import Comparer, one_commit

        comparer = Comparer(self._manifests, read_filter(kind, type, op), self._compared)
        commit = self.commit(commit_id)
        parent = self.commit(commit.parents[0]) if commit.parents else None
        return one_commit(comparer, commit, parent, page_token, limit)
