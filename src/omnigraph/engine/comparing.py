"""The comparing verbs of ``Graph``: what differs between two moments."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from omnigraph.engine.reading import Reading
from omnigraph.engine.snapshot import Snapshot
from omnigraph.engine.travel import moment_us
from omnigraph.errors import NotFoundError, UsageError
from omnigraph.manifest.layout import MAIN

if TYPE_CHECKING:
    from omnigraph.engine.diff import Diff
    from omnigraph.history.changes import Names

Moment = str | datetime | Snapshot
"""A branch, a commit, a time on ``main``, or a snapshot."""


class Comparing(Reading):
    """Differences within a graph."""

    def diff(
        self, before: Moment, after: Moment = MAIN, *, kind: Names = None, type: Names = None, op: Names = None
    ) -> Diff:
        """What changed from one moment to another: branches, commits, times on ``main``, or snapshots.

        The two need not be related. ``kind`` (``node``, ``edge``), ``type`` and ``op`` (``insert``, ``update``,
        ``delete``) take one name or several. What is read follows the change, not the tables.
        """
        from omnigraph.engine.diff import Diff, check_types
        from omnigraph.history.changes import read_filter

        chosen = read_filter(kind, type, op)
        sides = self.moment(before), self.moment(after)
        check_types(chosen, *sides)
        return Diff(*sides, chosen)

    def moment(self, named: Moment) -> Snapshot:
        """The snapshot that a branch, a commit or a time on ``main`` means."""
        if isinstance(named, Snapshot):
            return named
        if isinstance(named, datetime) or moment_us(named) is not None:
            return self.snapshot(at=named)
        try:
            return self.snapshot(named)
        except (NotFoundError, UsageError) as no_branch:
            try:
                return self.snapshot(at=named)
            except NotFoundError as no_commit:
                raise NotFoundError(
                    f"there is no branch and no commit {named!r}", hint=no_branch.hint, name=named
                ) from no_commit
