"""The history verbs of ``Graph``: its commits."""

from __future__ import annotations

from collections.abc import Iterator

from omnigraph.core.commit import GraphCommit
from omnigraph.engine.commit_filters import passes
from omnigraph.engine.handle import GraphHandle
from omnigraph.errors import NotFoundError
from omnigraph.manifest import branches
from omnigraph.manifest.commit_log import find_commit, newest_first
from omnigraph.manifest.layout import MAIN


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
        for _, state in branches.heads(self._manifests):
            found = find_commit(self._store, state, commit_id)
            if found is not None:
                return found
        raise NotFoundError(
            f"there is no commit {commit_id!r}", hint="omnigraph commit list shows them", commit=commit_id
        )
