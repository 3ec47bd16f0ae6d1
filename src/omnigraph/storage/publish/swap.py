"""The compare-and-swap that every commit depends on: a strict overwrite of a manifest dataset.

Invariant: of all swaps on version N at most one creates version N + 1. With durability ``fsync``, all files that
version N + 1 refers to are durable before its name exists. A reader sees a whole version or none,
also after a power loss.

- In an object store the swap is a conditional PUT of a manifest that Lance has made in a scratch directory
  (``storage.outbox.outbox``), after the store has acknowledged every file that the version refers to.
- On a local disk Lance commits beside the dataset and the swap is a hard link (``storage.objects.beside``), because
  Lance itself creates the name before the content is durable.

``SwapLost`` proves that version N + 1 exists, not whose it is: a client that repeats a request whose response was lost
gets a conflict with itself. So the caller looks for its own commit before it retries. Every other failure leaves
the outcome unknown, and the caller looks it up.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import pyarrow as pa
from lance import LanceDataset, LanceOperation, Transaction
from lance.fragment import write_fragments

from omnigraph.core.classes.dataclass import dataclass
from omnigraph.core.hints import verify_hint
from omnigraph.core.tables import FileRecord
from omnigraph.errors import CorruptionError, OmnigraphError, StorageError
from omnigraph.storage.objects.durability import Durability, record_files, sync_directories, sync_files, sync_names
from omnigraph.storage.objects.failures import foreign, translated
from omnigraph.storage.objects.version_names import AHEAD, manifest_file
from omnigraph.storage.publish.first_version import commit_first
from omnigraph.storage.publish.newest import has_version, newest_version
from omnigraph.storage.publish.published import mark_published, newest_mark, newest_marked
from omnigraph.storage.tables.store import Store

if TYPE_CHECKING:
    from omnigraph.storage.outbox.outbox import Outbox


class SwapLost(Exception):
    """The next version is taken, by another writer or by an earlier attempt whose response was lost."""


class SwapUnclear(Exception):
    """The store failed, and whether the swap happened is unknown."""


class SwapNotDurable(Exception):
    """The swap happened and is visible, but may not survive a loss of power."""


@dataclass(frozen=True, slots=True)
class ManifestVersion:
    """A manifest dataset at a version. ``files`` are the version's own files, if they were measured."""

    location: str
    version: int
    files: tuple[FileRecord, ...] = ()


def create_manifest(store: Store, location: str, rows: pa.Table) -> ManifestVersion:
    """Version 1 of a new manifest; SwapLost if another writer's version exists."""
    uri = store.root.table_uri(location)
    if store.root.capabilities.links_versions:
        # Sets a torn version aside that a power cut left of an earlier attempt: Lance could not create over it.
        newest_version(store.root, location)
    try:
        fragments = write_fragments(rows, uri, mode="create", storage_options=store.lance_options)
        operation = LanceOperation.Overwrite(rows.schema, fragments)
        dataset = commit_first(store, location, operation, max_retries=0)
    except foreign() as error:
        # Lance has distinct types neither for "exists already" nor for a lost response: look up what exists.
        found = store.open_latest(location)
        if found is None:
            raise StorageError(f"{location} could not be created: {error}", location=location) from error
        dataset = found
    # The rows hold a unique commit id: equal rows are this attempt's own, whose response was lost.
    if dataset.version != 1 or _rows(dataset) != rows:
        raise SwapLost(location)
    _sync_new(store, location, dataset)
    return _published(store, ManifestVersion(location, dataset.version, _measured(store, location, dataset)))


def swap_manifest(
    store: Store,
    current: ManifestVersion,
    rows: pa.Table,
    staged: Sequence[str] = (),
    versions: Sequence[str] = (),
) -> ManifestVersion:
    """Replace the manifest's rows if it is still at this version: SwapLost or SwapUnclear otherwise.

    The staged files that the rows refer to are made durable first, together with the manifest's own data. ``versions``
    are the manifests of table versions, which are not made durable again but may be under way to a bucket.
    """
    outbox = store.outbox
    if outbox is not None:
        return _put_in(store, outbox, current, rows, [*staged, *versions])
    base = store.manifest_writer(current.location, current.version)
    with translated("the manifest could not be staged", location=current.location):
        fragments = write_fragments(rows, base, mode="overwrite")
    data = [f"{current.location}/data/{file.path}" for fragment in fragments for file in fragment.files]
    transaction = Transaction(current.version, LanceOperation.Overwrite(rows.schema, fragments))
    return _link_in(store, current, transaction, data, staged)


def _put_in(
    store: Store, outbox: Outbox, current: ManifestVersion, rows: pa.Table, staged: Sequence[str]
) -> ManifestVersion:
    """The swap in a bucket. The conditional PUT is the commit point: nothing before it is visible.

    Everything before it is sent in parallel, so a small commit waits for the store twice.
    """
    location = current.location
    with translated("the manifest could not be staged", location=location):
        base = None
        if not outbox.has_head(location, current.version):
            base = store.open(location, current.version)
            # ``is_newest`` uses this handle from now on; to open each version that was written would cost requests.
            store.manifest_writer(location, current.version)
        head = outbox.write_head(location, base, current.version, rows)
    # Before the PUT: a version whose files are not all stored must not get a name.
    outbox.settle([*staged, *head.files])
    try:
        if not outbox.create_head(location, head):
            raise SwapLost(location)
    except OmnigraphError as error:
        raise SwapUnclear(str(error)) from error
    return ManifestVersion(location, head.handle.version)


def _link_in(
    store: Store, current: ManifestVersion, transaction: Transaction, data: list[str], staged: Sequence[str]
) -> ManifestVersion:
    """The swap on a local disk. The link is the commit point: nothing before it is visible, everything after it is.

    The order is fixed: sync the content, link the name, sync the directory, write the mark. A power loss after any step
    leaves the old version, or the new one with all its content.
    """
    root, target = store.root, manifest_file(current.location, current.version + 1)
    # Cheap early exit. The link below is what decides.
    if os.path.exists(root.local(target)):
        raise SwapLost(current.location)
    try:
        with store.beside(current.location).committed(transaction) as made:
            # Before the link: a durable name with content that is still in the page cache would be a torn commit.
            sync_files(root, [*staged, *data], store.durability, contents=[made])
            manifest, *others = record_files(root, [made, *data], {})
            try:
                # Fails if the name exists: this is the compare-and-swap. A rename would replace the winner.
                os.link(root.local(made), root.local(target))
            except FileExistsError as error:
                raise SwapLost(current.location) from error
            except OSError as error:
                raise SwapUnclear(str(error)) from error
    except StorageError as error:
        # Staged files or the scratch directory may be gone because cleanup deleted them. It fences the branch first, so
        # in that case the version is taken, and the swap is lost rather than failed.
        if os.path.exists(root.local(target)):
            raise SwapLost(current.location) from error
        raise
    # The version is visible from here on. A failure must not be reported as "not published".
    try:
        sync_names(root, f"{current.location}/_versions", store.durability)
    except StorageError as error:
        raise SwapNotDurable(str(error)) from error
    files = (replace(manifest, path=target), *others)
    return _published(store, ManifestVersion(current.location, current.version + 1, files))


def make_durable(store: Store, location: str, version: int) -> None:
    """Make a visible version durable that any process has published; raises SwapNotDurable if that fails.

    A mark proves it. Without one the process that published the version was killed before its last step, or failed.
    """
    if not store.root.capabilities.links_versions or store.durability is Durability.OS:
        return
    if newest_marked(store.root, location) >= version:
        return
    try:
        sync_names(store.root, f"{location}/_versions", store.durability)
    except StorageError as error:
        raise SwapNotDurable(str(error)) from error


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
        ahead = (dataset.schema.metadata or {}).get(AHEAD.encode())
        if ahead and not known and (outbox := store.outbox_to_read) is not None:
            outbox.fetch_ahead(ahead.decode())
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
    """The rows of a version."""
    return _rows(store.open(location, version))


def _rows(dataset: LanceDataset) -> pa.Table:
    try:
        return dataset.to_table()
    except foreign() as error:
        raise CorruptionError(
            f"{dataset.uri} cannot be read at version {dataset.version}: {error}",
            hint=verify_hint("lists the affected commits"),
        ) from error


def is_newest(store: Store, current: ManifestVersion) -> bool:
    """True if no newer version was published. Costs one LIST, or two calls of stat on a local disk; reads nothing."""
    with translated(f"{current.location} cannot be read", location=current.location):
        if store.root.capabilities.links_versions:
            # Swaps create consecutive numbers, and cleanup deletes older versions first. If this version exists and the
            # next one does not, there is no later one.
            is_there = has_version(store.root, current.location, current.version)
            return is_there and not has_version(store.root, current.location, current.version + 1)
        try:
            # Any version of the manifest finds the newest one.
            known = store.manifest_writer(current.location, current.version)
        except CorruptionError:
            # Cleanup deletes the manifests of unnamed branches: there is no version at all, or a newer one.
            return False
        return int(known.latest_version) == current.version
