"""The history verbs of ``Graph``: its commits."""

from __future__ import annotations

from collections.abc import Iterator

from omnigraph.core.commit import GraphCommit
from omnigraph.engine.handle import GraphHandle
from omnigraph.engine.history.commit_filters import passes
from omnigraph.errors import CorruptionError, NotFoundError, StorageError
from omnigraph.history.state import COMMIT_LOG_LOCATION
from omnigraph.manifest import branches
from omnigraph.manifest.commit_log import find_commit, newest_first
from omnigraph.manifest.layout import MAIN
from omnigraph.manifest.refs import Damaged


class History(GraphHandle):
    """Commits of a graph."""

    def commits(self, branch: str = MAIN, *, limit: int | None = None, **filters: str) -> Iterator[GraphCommit]:
        """Commits of a branch, newest first; filters such as ``actor="ann"`` or ``kind="load"`` must all hold."""
        found = 0
        for commit in newest_first(self._store, self._head(branch)):
            if limit is not None and found >= limit:
                return
            if passes(commit, filters):
                found += 1
                yield commit

    def commit(self, commit_id: str) -> GraphCommit:
        """A commit by its id, on whatever branch it is."""
        unread: Damaged | None = None
        for item in branches.every_branch(self._manifests):
            if isinstance(item, Damaged):
                unread = unread or item
                continue
            ref, state = item
            try:
                found = find_commit(self._store, state, commit_id)
            except StorageError as error:
                unread = unread or Damaged.of(error, COMMIT_LOG_LOCATION, ref.name)
                continue
            if found is not None:
                return found
        if unread is not None:
            raise CorruptionError(
                f"commit {commit_id!r} was not found, and not every branch can be read: {unread.path}: {unread.what}",
                hint="omnigraph verify names everything that is damaged",
                commit=commit_id,
                path=unread.path,
            )
        raise NotFoundError(
            f"there is no commit {commit_id!r}", hint="omnigraph commit list shows them", commit=commit_id
        )
