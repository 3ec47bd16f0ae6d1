"""Distinguishing cleanup from damage after a failed read: a snapshot held for long may lose its files."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from omnigraph.errors import HistoryCleaned, StorageError
from omnigraph.history.state import ManifestState
from omnigraph.manifest.branches import named_states
from omnigraph.manifest.commit_log import find_commit
from omnigraph.manifest.layout import read_stamp
from omnigraph.manifest.reader import Manifests, history_cleaned
from omnigraph.manifest.refs import Damaged
from omnigraph.storage.tables.store import Store


@contextmanager
def reading(store: Store, state: ManifestState) -> Iterator[None]:
    """Raise HistoryCleaned if a read of a state fails because cleanup has deleted its files.

    Costs nothing unless a read fails.
    """
    try:
        yield
    except StorageError as error:
        reason = _reason(store, state)
        if reason is None:
            raise
        raise reason from error


def _reason(store: Store, state: ManifestState) -> HistoryCleaned | None:
    """The reason why cleanup deleted a state; None if the state must be kept, so that a missing file is damage."""
    commit = state.commit(state.head)
    if commit is None:
        return None
    try:
        manifests = Manifests(store, read_stamp(store))
        if manifests.record().is_gone(commit):
            return history_cleaned(commit, is_gone=True)
        states = [other for _, other in named_states(manifests) if not isinstance(other, Damaged)]
        is_kept = any(find_commit(store, other, commit.id) for other in states)
    except StorageError:
        # The store is not readable at all: the original error says more.
        return None
    if is_kept:
        return None
    return HistoryCleaned(
        f"the branch of commit {commit.id} was deleted, and cleanup has deleted its files",
        hint="read a commit of another branch",
        commit=commit.id,
        is_gone=True,
    )
