"""Commits of a graph: listed by branch, found by id or by the beginning of one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from omnigraph.core.commit import GraphCommit
from omnigraph.core.hints import commits_hint, verify_hint
from omnigraph.core.suggestions import did_you_mean
from omnigraph.engine.history.commit_filters import passes
from omnigraph.errors import CorruptionError, Hint, NotFoundError, StorageError
from omnigraph.history.state import COMMIT_LOG_LOCATION, ManifestState
from omnigraph.manifest import branches
from omnigraph.manifest.commit_log import find_commit as find_in_branch
from omnigraph.manifest.commit_log import ids_starting_with, newest_first
from omnigraph.manifest.layout import MAIN
from omnigraph.manifest.reader import Manifests
from omnigraph.manifest.refs import Damaged

PREFIX_MATCHES_MAX = 10
"""Ids that one log returns for a prefix: two make it ambiguous, the others are shown."""


def list_commits(
    manifests: Manifests,
    branch: str,
    limit: int | None,
    filters: Mapping[str, str],
    shown: Callable[[GraphCommit], GraphCommit] | None = None,
) -> Iterator[GraphCommit]:
    """Commits of a branch that pass all filters, newest first. Filters see what is ``shown`` of a commit."""
    found = 0
    for known in newest_first(manifests.store, branches.find_head(manifests, branch)):
        if limit is not None and found >= limit:
            return
        commit = known if shown is None else shown(known)
        if passes(commit, filters):
            found += 1
            yield commit


def find_with_state(manifests: Manifests, commit_id: str) -> tuple[GraphCommit, ManifestState]:
    """A commit of any branch, and the state of a branch that has it.

    "Not found" is an answer only if every branch could be read; otherwise the commit may be in an unreadable one.
    """
    unread: list[Damaged] = []
    for state in _readable(manifests, unread):
        with _noting_damage(state, unread):
            found = find_in_branch(manifests.store, state, commit_id)
            if found is not None:
                return found, state
    _refuse_unread(unread, commit_id)
    raise NotFoundError(f"there is no commit {commit_id!r}", hint=_nearest(manifests, commit_id), commit=commit_id)


def commits_starting_with(manifests: Manifests, prefix: str) -> dict[str, ManifestState]:
    """Ids of the commits of all branches that begin with a prefix, some of them if there are many.

    The manifests hold the newest commits. Of the logs only ids are read, and a log that branches share is read once.
    """
    wanted = prefix.upper()
    found: dict[str, ManifestState] = {}
    unread: list[Damaged] = []
    logs: set[int] = set()
    for state in _readable(manifests, unread):
        for commit in state.commits:
            if commit.id.startswith(wanted):
                found.setdefault(commit.id, state)
        if state.log is None or state.log.lance_version in logs:
            continue
        logs.add(state.log.lance_version)
        with _noting_damage(state, unread):
            for commit_id in ids_starting_with(manifests.store, state.log, wanted, PREFIX_MATCHES_MAX):
                found.setdefault(commit_id, state)
    _refuse_unread(unread, prefix)
    return found


def _readable(manifests: Manifests, unread: list[Damaged]) -> Iterator[ManifestState]:
    """The states of all branches; the damaged ones are added to ``unread``."""
    for item in branches.every_branch(manifests):
        if isinstance(item, Damaged):
            unread.append(item)
        else:
            yield item[1]


@contextmanager
def _noting_damage(state: ManifestState, unread: list[Damaged]) -> Iterator[None]:
    try:
        yield
    except StorageError as error:
        unread.append(Damaged.of(error, COMMIT_LOG_LOCATION, state.branch))


def _refuse_unread(unread: list[Damaged], commit_id: str) -> None:
    if unread:
        raise CorruptionError(
            f"commit {commit_id!r} was not found, and not every branch can be read: {unread[0].path}: {unread[0].what}",
            hint=verify_hint("names everything that is damaged"),
            commit=commit_id,
            path=unread[0].path,
        )


def _nearest(manifests: Manifests, commit_id: str) -> str | Hint:
    """The most similar of the newest commits of ``main``, or the advice to list them."""
    newest = branches.find_head(manifests, MAIN).commits
    return did_you_mean(commit_id, [commit.id for commit in newest]) or commits_hint(MAIN)
