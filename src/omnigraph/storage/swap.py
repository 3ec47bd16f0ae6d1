"""The one compare-and-swap of the system: a strict overwrite of a manifest dataset.

Only ``Overwrite`` is strict: an append with no retries is rebased silently. A lost swap is told apart from every
other failure by its type; anything else may or may not have happened, and is for the caller to find out.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa
from lance import LanceDataset, LanceOperation, Transaction
from lance.commit import CommitConflictError
from lance.fragment import write_fragments

from omnigraph.errors import StorageError
from omnigraph.storage.durability import sync_directories, sync_files
from omnigraph.storage.failures import FOREIGN, translated
from omnigraph.storage.store import Store


class SwapLost(Exception):
    """Somebody else published first."""


class SwapUnclear(Exception):
    """The store failed in a way that does not say whether the swap happened."""


class SwapNotDurable(Exception):
    """The swap happened and is visible, but may not survive a loss of power."""


@dataclass(frozen=True, slots=True)
class ManifestVersion:
    """A manifest dataset at a version."""

    location: str
    version: int


def create_manifest(store: Store, location: str, rows: pa.Table) -> ManifestVersion:
    """Version 1 of a new manifest; SwapLost if somebody else's is there already."""
    uri = store.root.table_uri(location)
    try:
        fragments = write_fragments(rows, uri, mode="create", storage_options=store.lance_options)
        operation = LanceOperation.Overwrite(rows.schema, fragments)
        dataset = LanceDataset.commit(uri, operation, storage_options=store.lance_options, max_retries=0)
    except FOREIGN as error:
        # Lance has a type of its own neither for "exists already" nor for a lost answer: look what is there.
        found = store.open_latest(location)
        if found is None:
            raise StorageError(f"{location} could not be created: {error}", location=location) from error
        dataset = found
    if dataset.version != 1 or _rows(dataset) != rows:
        raise SwapLost(location)
    _sync_new(store, location, dataset)
    store.remember(location, dataset)
    return ManifestVersion(location, dataset.version)


def swap_manifest(
    store: Store, current: ManifestVersion, rows: pa.Table, staged: Sequence[str] = ()
) -> ManifestVersion:
    """Replace the manifest's rows if it is still at this version: SwapLost or SwapUnclear otherwise.

    The staged files that the rows rely on are made durable before, together with the manifest's own data.
    """
    base = store.open(current.location, current.version)
    with translated("the manifest could not be staged", location=current.location):
        fragments = write_fragments(rows, base, mode="overwrite")
    data = [f"{current.location}/data/{file.path}" for fragment in fragments for file in fragment.files]
    sync_files(store.root, [*staged, *data], store.durability)
    transaction = Transaction(base.version, LanceOperation.Overwrite(rows.schema, fragments))
    try:
        dataset = LanceDataset.commit(base, transaction, max_retries=0, storage_options=store.lance_options)
    except CommitConflictError as error:
        raise SwapLost(current.location) from error
    except FOREIGN as error:
        raise SwapUnclear(str(error)) from error
    store.remember(current.location, dataset)
    try:
        sync_files(store.root, [_manifest_path(current.location, dataset.version)], store.durability)
    except StorageError as error:
        raise SwapNotDurable(str(error)) from error
    return ManifestVersion(current.location, dataset.version)


def _sync_new(store: Store, location: str, dataset: LanceDataset) -> None:
    paths = [f"{location}/data/{file.path}" for item in dataset.get_fragments() for file in item.metadata.files]
    sync_files(store.root, [*paths, _manifest_path(location, dataset.version)], store.durability)
    sync_directories(store.root, [f"{location}/_versions", f"{location}/data"], store.durability)


def _manifest_path(location: str, version: int) -> str:
    return f"{location}/_versions/{2**64 - 1 - version:020d}.manifest"


def latest_manifest(store: Store, location: str) -> tuple[ManifestVersion, pa.Table] | None:
    """The newest version and its rows, or None if there is no such manifest."""
    dataset = store.open_latest(location)
    if dataset is None:
        return None
    store.remember(location, dataset)
    return ManifestVersion(location, dataset.version), _rows(dataset)


def read_manifest(store: Store, location: str, version: int) -> pa.Table:
    """The rows of an older version."""
    return _rows(store.open(location, version))


def _rows(dataset: LanceDataset) -> pa.Table:
    with translated(f"{dataset.uri} cannot be read at version {dataset.version}"):
        return dataset.to_table()


def is_newest(store: Store, current: ManifestVersion) -> bool:
    """Whether no newer version has been published: one LIST, or two looks at a local disk; nothing is read."""
    if store.root.is_local and os.path.exists(store.root.local(_manifest_path(current.location, current.version))):
        # Every swap makes the next number, and older versions go before newer ones: if this one is still there and the
        # next is not, nothing came after it.
        return not os.path.exists(store.root.local(_manifest_path(current.location, current.version + 1)))
    with translated(f"{current.location} cannot be read", location=current.location):
        return int(store.open(current.location, current.version).latest_version) == current.version
