"""A pinned version as the newest ordinary version of its own dataset, for tools that open the directory.

Lance restores a detached version as an ordinary one: the same files under a new manifest. Nothing else of the graph
looks at ordinary versions, so one of them more or less changes no state.
"""

from __future__ import annotations

from omnigraph.core.tables import TablePin
from omnigraph.errors import CorruptionError
from omnigraph.storage.objects.durability import sync_files
from omnigraph.storage.objects.failures import translated
from omnigraph.storage.objects.version_names import FIRST_VERSION, manifest_file, version_of
from omnigraph.storage.tables.store import Store


def newest_ordinary(store: Store, location: str) -> int:
    """The number of the version that a tool sees in the directory of a table."""
    dataset = store.open_latest(location)
    if dataset is None:
        raise CorruptionError(f"{location} has no first version", location=location)
    version: int = dataset.version
    return version


def show_version(store: Store, pin: TablePin) -> int:
    """Make a pinned version the newest ordinary one; returns its number."""
    dataset = store.open_own(pin.location, pin.lance_version)
    with translated(f"{pin.key} could not be shown in place", location=pin.location):
        dataset.restore()  # type: ignore[no-untyped-call]
        version: int = dataset.version
    # A manifest torn by a power loss would keep every tool from opening the directory.
    sync_files(store.root, [manifest_file(pin.location, version)], store.durability)
    return version


def hide_versions(store: Store, location: str) -> None:
    """Delete all ordinary versions but the first. Their data belongs to detached versions, or to no commit."""
    listed = [path for path, _ in store.objects.list(f"{location}/_versions/")]
    store.objects.delete_all([path for path in listed if (version_of(path) or FIRST_VERSION) != FIRST_VERSION])
