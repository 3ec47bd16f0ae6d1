"""Salvage: the newest readable state of a branch with a damaged head, and the stamp of a graph that has lost it."""

from __future__ import annotations

from omnigraph.errors import CorruptionError, NotAGraphError, StorageError
from omnigraph.history.state import ManifestState
from omnigraph.manifest.layout import FORMAT, MAIN_MANIFEST, Stamp, read_stamp
from omnigraph.manifest.reader import Manifests
from omnigraph.storage.objects.version_names import version_of
from omnigraph.storage.tables.store import Store


def stored_versions(store: Store, location: str) -> list[int]:
    """The versions of a manifest that have a file, newest first."""
    found = (version_of(file.path) for file in store.objects.level(f"{location}/_versions").files)
    return sorted((version for version in found if version is not None), reverse=True)


def newest_readable(manifests: Manifests, incarnation: str) -> ManifestState | None:
    """The newest state of a branch that can be read, or None if there is none."""
    for version in stored_versions(manifests.store, manifests.location(incarnation)):
        try:
            return manifests.version(incarnation, version)
        except StorageError:
            continue
    return None


def salvaged_stamp(store: Store) -> tuple[Stamp, str | None]:
    """The stamp, and the damage of its file. A lost stamp is reconstructed from the manifest of ``main``."""
    try:
        return read_stamp(store), None
    except (CorruptionError, NotAGraphError) as error:
        # The id of the graph is the incarnation of main, and the location of main's manifest does not depend on it.
        main = Manifests(store, Stamp(FORMAT, MAIN_MANIFEST, 0))
        state = newest_readable(main, MAIN_MANIFEST)
        if state is None:
            raise
        return Stamp(FORMAT, state.incarnation, min(commit.created_at_us for commit in state.commits)), error.message
