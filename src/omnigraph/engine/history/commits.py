"""Commits of a graph: listed by branch, found by id."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from omnigraph.core.commit import GraphCommit
from omnigraph.engine.history.commit_filters import passes
from omnigraph.errors import CorruptionError, NotFoundError, StorageError
from omnigraph.history.state import COMMIT_LOG_LOCATION
from omnigraph.manifest import branches
from omnigraph.manifest.commit_log import find_commit as find_in_branch
from omnigraph.manifest.commit_log import newest_first
from omnigraph.manifest.reader import Manifests
from omnigraph.manifest.refs import Damaged


def list_commits(
    manifests: Manifests, branch: str, limit: int | None, filters: Mapping[str, str]
) -> Iterator[GraphCommit]:
    """Commits of a branch that pass all filters, newest first."""
    found = 0
    for commit in newest_first(manifests.store, branches.find_head(manifests, branch)):
        if limit is not None and found >= limit:
            return
        if passes(commit, filters):
            found += 1
            yield commit


def find_commit(manifests: Manifests, commit_id: str) -> GraphCommit:
    """A commit of any branch.

    "Not found" is an answer only if every branch could be read; otherwise the commit may be in an unreadable one.
    """
    unread: Damaged | None = None
    for item in branches.every_branch(manifests):
        if isinstance(item, Damaged):
            unread = unread or item
            continue
        ref, state = item
        try:
            found = find_in_branch(manifests.store, state, commit_id)
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
    raise NotFoundError(f"there is no commit {commit_id!r}", hint="omnigraph commit list shows them", commit=commit_id)
