"""Ordinary Lance datasets that show a pinned version without copying its data.

Lance's shallow clone writes a manifest whose files lie in another dataset. It has two limits: the target must not
exist, and a clone of a detached version is itself detached. So the clone goes to a scratch directory, its manifest is
copied into the target, and Lance restores it there, which makes an ordinary version: one small file for each refresh.
"""

from __future__ import annotations

import uuid

import lance
from lance import LanceDataset

from omnigraph.core.tables import TablePin
from omnigraph.errors import StorageError
from omnigraph.storage.objects.failures import foreign, translated
from omnigraph.storage.objects.version_names import DETACHED_BIT, manifest_file
from omnigraph.storage.tables.store import Store


def mirror_version(source: Store, pin: TablePin, target: Store, location: str) -> int:
    """Make a pinned version the newest one of an ordinary dataset; returns that version's number."""
    present = target.open_latest(location)
    if not pin.lance_version & DETACHED_BIT:
        # Only the first version of a table is not detached, and it is empty.
        return _write_empty(source, pin, target, location, is_new=present is None)
    if present is None:
        _write_empty(source, pin, target, location, is_new=True)
    scratch = f".scratch-{uuid.uuid4().hex}"
    try:
        cloned = _clone(source, pin, target, scratch)
        staged = manifest_file(location, cloned)
        content = target.objects.read(manifest_file(scratch, cloned))
        if content is None:
            raise StorageError(f"{pin.key} could not be mirrored: the clone is missing", location=location)
        target.objects.create(staged, content)
        with translated(f"{pin.key} could not be mirrored", location=location):
            dataset = _open(target, location, cloned)
            dataset.restore()  # type: ignore[no-untyped-call]
            version: int = dataset.version
        target.objects.delete(staged)
        return version
    finally:
        target.objects.delete_all([path for path, _ in target.objects.list(f"{scratch}/")])
        target.objects.prune(scratch)


def remove_dataset(target: Store, location: str) -> None:
    """Delete a dataset that a mirror no longer has."""
    target.objects.delete_all([path for path, _ in target.objects.list(f"{location}/")])
    target.objects.prune(location)


def _clone(source: Store, pin: TablePin, target: Store, scratch: str) -> int:
    """Clone a detached version into a new directory; returns the number of the detached clone."""
    dataset = source.open_own(pin.location, pin.lance_version)
    failure: BaseException | None = None
    try:
        dataset.shallow_clone(
            target.root.table_uri(scratch), reference=pin.lance_version, storage_options=target.lance_options
        )
    except foreign() as error:
        # Lance writes the detached manifest, and then fails to open the newest ordinary version, which is not there.
        failure = error
    for path, _ in target.objects.list(f"{scratch}/_versions/"):
        name = path.rpartition("/")[2].removesuffix(".manifest")
        if path.endswith(".manifest") and name.startswith("d"):
            return int(name.removeprefix("d"))
    raise StorageError(f"{pin.key} could not be mirrored: {failure}", location=pin.location) from failure


def _write_empty(source: Store, pin: TablePin, target: Store, location: str, *, is_new: bool) -> int:
    schema = source.open(pin.location, pin.lance_version).schema
    with translated(f"{pin.key} could not be mirrored", location=location):
        dataset = lance.write_dataset(
            schema.empty_table(),
            target.root.table_uri(location),
            mode="create" if is_new else "overwrite",
            enable_stable_row_ids=True,
            storage_options=target.lance_options,
        )
        version: int = dataset.version
    return version


def _open(target: Store, location: str, version: int) -> LanceDataset:
    return lance.dataset(target.root.table_uri(location), version=version, storage_options=target.lance_options)
