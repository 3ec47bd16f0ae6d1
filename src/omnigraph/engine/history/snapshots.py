"""Snapshots by name: the head of a branch, a commit, or a time on a branch."""

from __future__ import annotations

from datetime import datetime

from omnigraph.engine.history.commits import find_commit
from omnigraph.engine.history.moments import moment_us
from omnigraph.engine.snapshot import Snapshot
from omnigraph.errors import HistoryCleaned, NotFoundError, UsageError
from omnigraph.history.commits import first_parents
from omnigraph.history.state import ManifestState
from omnigraph.manifest import branches
from omnigraph.manifest.commit_log import newest_first
from omnigraph.manifest.layout import MAIN
from omnigraph.manifest.reader import Manifests

Moment = str | datetime | Snapshot
"""A branch, a commit, a time on ``main``, or a snapshot."""


def head_snapshot(manifests: Manifests, branch: str) -> Snapshot:
    """The newest commit of a branch."""
    return _snapshot(manifests, branches.find_head(manifests, branch))


def snapshot_at(manifests: Manifests, branch: str | None, at: str | datetime | None) -> Snapshot:
    """The head of a branch, a commit, or the newest commit of a branch that is not younger than a time."""
    if at is None:
        return head_snapshot(manifests, branch or MAIN)
    time_us = moment_us(at)
    if time_us is None:
        if branch is not None:
            raise UsageError("a commit is named without a branch", hint="leave out the branch")
        return _snapshot(manifests, manifests.at(find_commit(manifests, str(at))))
    head = branches.find_head(manifests, branch or MAIN)
    for commit in first_parents(newest_first(manifests.store, head), head.head):
        if commit.created_at_us <= time_us:
            return _snapshot(manifests, manifests.at(commit))
    raise NotFoundError(f"branch {branch or MAIN} has no commit as old as {at}", at=str(at))


def resolve_moment(manifests: Manifests, named: Moment) -> Snapshot:
    """The snapshot that a branch, a commit, a time on ``main`` or a snapshot of this graph means."""
    if isinstance(named, Snapshot):
        return _own_snapshot(manifests, named)
    if isinstance(named, datetime) or moment_us(named) is not None:
        return snapshot_at(manifests, None, named)
    try:
        return head_snapshot(manifests, named)
    except (NotFoundError, UsageError) as no_branch:
        try:
            return snapshot_at(manifests, None, named)
        except HistoryCleaned:
            # A kind of "not found", but the commit exists: its own message says more.
            raise
        except NotFoundError as no_commit:
            raise NotFoundError(
                f"there is no branch and no commit {named!r}", hint=no_branch.hint, name=named
            ) from no_commit


def _own_snapshot(manifests: Manifests, snapshot: Snapshot) -> Snapshot:
    if snapshot.store.root != manifests.store.root:
        raise UsageError(
            f"the snapshot {snapshot.commit_id} is one of {snapshot.store.root}, which is not this graph",
            hint="moments of one graph can be compared; load the export of one into a branch of the other",
        )
    commit = snapshot.state.commit(snapshot.commit_id)
    if commit is not None:
        manifests.check_files_kept(commit)
    return snapshot


def _snapshot(manifests: Manifests, state: ManifestState) -> Snapshot:
    return Snapshot(manifests.store, state, manifests.catalog(state.schema_digest))
