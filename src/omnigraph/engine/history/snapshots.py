"""Snapshots by name: the head of a branch, or any moment."""

from __future__ import annotations

from datetime import date, datetime

from omnigraph.engine.history.moments import Moments
from omnigraph.engine.snapshot import Snapshot
from omnigraph.errors import UsageError
from omnigraph.history.moments import names_its_branch, parse_moment, split_range
from omnigraph.history.state import ManifestState
from omnigraph.manifest import branches
from omnigraph.manifest.layout import MAIN
from omnigraph.manifest.reader import Manifests

Moment = str | date | datetime | Snapshot
"""A branch, a commit, a time on ``main``, a form such as ``main~2``, or a snapshot."""


def head_snapshot(manifests: Manifests, branch: str) -> Snapshot:
    """The newest commit of a branch."""
    return _snapshot(manifests, branches.find_head(manifests, branch))


def snapshot_at(moments: Moments, branch: str | None, at: str | date | None) -> Snapshot:
    """The head of a branch, or a moment. With a branch, the moment must be one of it: a time, or ``HEAD~2``."""
    if at is None:
        return head_snapshot(moments.manifests, branch or MAIN)
    if branch is not None and isinstance(at, str) and names_its_branch(parse_moment(at, moments.now_us())):
        raise UsageError(
            f"{at!r} does not depend on a branch, and the branch {branch!r} was given too",
            hint="leave out the branch, or write HEAD~2, HEAD@{yesterday} or a time",
        )
    return _snapshot(moments.manifests, moments.state(at, branch))


def resolve_moment(moments: Moments, named: Moment) -> Snapshot:
    """The snapshot that a moment or a snapshot of this graph means."""
    if isinstance(named, Snapshot):
        return _own_snapshot(moments.manifests, named)
    return snapshot_at(moments, None, named)


def resolve_range(moments: Moments, before: Moment, after: Moment | None) -> tuple[Snapshot, Snapshot]:
    """Two moments, given as such or as one text ``BEFORE..AFTER``. An end that is left out is the head of ``main``."""
    ends = split_range(before) if isinstance(before, str) else None
    if ends is None:
        return resolve_moment(moments, before), resolve_moment(moments, MAIN if after is None else after)
    if after is not None:
        raise UsageError(
            f"{before!r} is a range and has its own end, and {after!r} was given too",
            hint="give one range, or two moments",
        )
    return resolve_moment(moments, ends[0] or MAIN), resolve_moment(moments, ends[1] or MAIN)


def _own_snapshot(manifests: Manifests, snapshot: Snapshot) -> Snapshot:
    if snapshot.store.root != manifests.store.root:
        raise UsageError(
            f"the snapshot {snapshot.commit_id} is one of {snapshot.store.root}, which is not this graph",
            hint="moments of one graph can be compared; load the export of one into a branch of the other",
        )
    commit = snapshot.manifest.commit(snapshot.commit_id)
    if commit is not None:
        manifests.check_files_kept(commit)
    return snapshot


def _snapshot(manifests: Manifests, state: ManifestState) -> Snapshot:
    return Snapshot(manifests.store, state, manifests.catalog(state.schema_digest))
