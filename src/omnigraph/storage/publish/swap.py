"""The one compare-and-swap of the system: a strict overwrite of a manifest dataset.

In an object store the swap is Lance's own commit, a conditional PUT: only ``Overwrite`` is strict there, an append with
no retries is rebased silently. On a local disk Lance commits beside the dataset and the swap is a hard link
(``storage.objects.beside``), so the content of a version is durable before the version exists.
A lost swap has a type of its own; every other failure leaves the outcome open, and the caller looks it up.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace

import pyarrow as pa
from lance import LanceDataset, LanceOperation, Transaction
from lance.commit import CommitConflictError
from lance.fragment import write_fragments

from omnigraph.core.tables import FileRecord
from omnigraph.errors import CorruptionError, StorageError
from omnigraph.storage.objects.durability import record_files, sync_directories, sync_files, sync_names
from omnigraph.storage.objects.failures import foreign, translated
from omnigraph.storage.objects.version_names import manifest_file
from omnigraph.storage.publish.first_version import commit_first
from omnigraph.storage.publish.newest import has_version, newest_version
from omnigraph.storage.publish.published import mark_published, newest_mark
from omnigraph.storage.tables.store import Store


class SwapLost(Exception):
    """Somebody else published first."""


class SwapUnclear(Exception):
    """The store failed in a way that does not say whether the swap happened."""


class SwapNotDurable(Exception):
    """The swap happened and is visible, but may not survive a loss of power."""


@dataclass(frozen=True, slots=True)
class ManifestVersion:
    """A manifest dataset at a version. ``files`` are the version's own files, as far as they were measured."""

    location: str
    version: int
    files: tuple[FileRecord, ...] = ()


def create_manifest(store: Store, location: str, rows: pa.Table) -> ManifestVersion:
    """Version 1 of a new manifest; SwapLost if somebody else's is there already."""
    uri = store.root.table_uri(location)
    if store.root.capabilities.links_versions:
        # What a power cut left of an earlier try is in the way of Lance.
        newest_version(store.root, location)
    try:
        fragments = write_fragments(rows, uri, mode="create", storage_options=store.lance_options)
        operation = LanceOperation.Overwrite(rows.schema, fragments)
        dataset = commit_first(store, location, operation, max_retries=0)
    except foreign() as error:
        # Lance has a type of its own neither for "exists already" nor for a lost answer: look what is there.
        found = store.open_latest(location)
        if found is None:
            raise StorageError(f"{location} could not be created: {error}", location=location) from error
        dataset = found
    if dataset.version != 1 or _rows(dataset) != rows:
        raise SwapLost(location)
    _sync_new(store, location, dataset)
    return _published(store, ManifestVersion(location, dataset.version, _measured(store, location, dataset)))


def swap_manifest(
    store: Store, current: ManifestVersion, rows: pa.Table, staged: Sequence[str] = ()
) -> ManifestVersion:
    """Replace the manifest's rows if it is still at this version: SwapLost or SwapUnclear otherwise.

    The staged files that the rows rely on are made durable before, together with the manifest's own data.
    """
    base = store.manifest_writer(current.location, current.version)
    with translated("the manifest could not be staged", location=current.location):
        fragments = write_fragments(rows, base, mode="overwrite")
    data = [f"{current.location}/data/{file.path}" for fragment in fragments for file in fragment.files]
    transaction = Transaction(current.version, LanceOperation.Overwrite(rows.schema, fragments))
    if store.root.capabilities.links_versions:
        return _link_in(store, current, transaction, data, staged)
    base = store.open(current.location, current.version)
    try:
        dataset = LanceDataset.commit(base, transaction, max_retries=0, storage_options=store.lance_options)
    except CommitConflictError as error:
        raise SwapLost(current.location) from error
    except foreign() as error:
        raise SwapUnclear(str(error)) from error
    store.remember(current.location, dataset)
    return ManifestVersion(current.location, dataset.version)


def _link_in(
    store: Store, current: ManifestVersion, transaction: Transaction, data: list[str], staged: Sequence[str]
) -> ManifestVersion:
    """The swap on a local disk. Everything before the link can be undone, everything after it is visible."""
    root, target = store.root, manifest_file(current.location, current.version + 1)
    if os.path.exists(root.local(target)):
        raise SwapLost(current.location)
    try:
        with store.beside(current.location).committed(transaction) as made:
            sync_files(root, [*staged, *data], store.durability, contents=[made])
            manifest, *others = record_files(root, [made, *data], {})
            try:
                os.link(root.local(made), root.local(target))
            except FileExistsError as error:
                raise SwapLost(current.location) from error
            except OSError as error:
                raise SwapUnclear(str(error)) from error
    except StorageError as error:
        # Behind its fence cleanup deletes scratch directories and staged files: then the version is taken.
        if os.path.exists(root.local(target)):
            raise SwapLost(current.location) from error
        raise
    try:
        sync_names(root, f"{current.location}/_versions", store.durability)
    except StorageError as error:
        raise SwapNotDurable(str(error)) from error
    files = (replace(manifest, path=target), *others)
    return _published(store, ManifestVersion(current.location, current.version + 1, files))


def _published(store: Store, place: ManifestVersion) -> ManifestVersion:
    if store.root.capabilities.links_versions:
        mark_published(store.root, place.location, place.version, place.files)
    return place


def _sync_new(store: Store, location: str, dataset: LanceDataset) -> None:
    sync_files(store.root, _files(location, dataset), store.durability)
    sync_directories(store.root, [f"{location}/_versions", f"{location}/data"], store.durability)


def _files(location: str, dataset: LanceDataset) -> list[str]:
    data = [f"{location}/data/{file.path}" for item in dataset.get_fragments() for file in item.metadata.files]
    return [manifest_file(location, dataset.version), *data]


def _measured(store: Store, location: str, dataset: LanceDataset) -> tuple[FileRecord, ...]:
    return record_files(store.root, _files(location, dataset), {})


def latest_manifest(store: Store, location: str, known: int = 0) -> tuple[ManifestVersion, pa.Table] | None:
    """The newest version and its rows, or None if there is no such manifest. ``known`` is a version seen before."""
    if not store.root.capabilities.links_versions:
        dataset = store.open_latest(location)
        if dataset is None:
            return None
        store.remember(location, dataset)
        return ManifestVersion(location, dataset.version), _rows(dataset)
    version = newest_version(store.root, location, known)
    if version is None:
        return None
    dataset = store.open(location, version)
    rows = _rows(dataset)
    mark = newest_mark(store.root, location)
    is_marked = mark is not None and mark.version == version and mark.files
    return ManifestVersion(
        location, version, mark.files if mark and is_marked else _measured(store, location, dataset)
    ), rows


def read_manifest(store: Store, location: str, version: int) -> pa.Table:
    """The rows of an older version."""
    return _rows(store.open(location, version))


def _rows(dataset: LanceDataset) -> pa.Table:
    try:
        return dataset.to_table()
    except foreign() as error:
        raise CorruptionError(
            f"{dataset.uri} cannot be read at version {dataset.version}: {error}",
            hint="omnigraph verify names the commits that are hurt",
        ) from error


def is_newest(store: Store, current: ManifestVersion) -> bool:
    """Whether no newer version has been published: one LIST, or two looks at a local disk; nothing is read."""
    with translated(f"{current.location} cannot be read", location=current.location):
        if store.root.capabilities.links_versions:
            # Every swap makes the next number, and older versions go before newer ones: if this one is still there and
            # the next is not, nothing came after it.
            is_there = has_version(store.root, current.location, current.version)
            return is_there and not has_version(store.root, current.location, current.version + 1)
        try:
            known = store.open(current.location, current.version)
        except CorruptionError:
            # Cleanup deletes the manifests of branches without a name: there is none, or a newer one.
            return False
        return int(known.latest_version) == current.version
