"""Versions that another program staged: detached Lance commits on top of a pin, checked before they are adopted.

A pin may be replaced only by a version that was made from it: from an older one it would undo the commits in between.
Lance records in each version the one it was made from, so the chain of these must reach the pin.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import pyarrow as pa
from lance import LanceDataset

from omnigraph.core.tables import TablePin
from omnigraph.errors import InputError, NotFoundError, StorageError
from omnigraph.storage.files import SegmentFiles, version_files
from omnigraph.storage.index.indexes import IndexKind, lance_indexes, segment_fragments
from omnigraph.storage.objects.durability import record_files, sync_files
from omnigraph.storage.objects.failures import translated
from omnigraph.storage.objects.version_names import DETACHED_BIT
from omnigraph.storage.stage.staging import StagedVersion
from omnigraph.storage.tables.store import Store

STEPS_MAX = 64
"""Detached commits on top of each other that are followed to the pin."""


_RESERVED = re.compile(f"({'|'.join(kind.name.lower() for kind in IndexKind)})_[0-9]+")
"""Names of the indexes that follow the schema."""


class StaleBase(Exception):
    """The version was not made from the pin."""


@dataclass(frozen=True)
class ForeignVersion:
    """A version of another program, made from a pin. ``added`` are the columns that the pin does not have."""

    base: TablePin
    dataset: LanceDataset
    added: tuple[pa.Field, ...]

    @property
    def version(self) -> int:
        number: int = self.dataset.version
        return number


def foreign_version(store: Store, base: TablePin, version: int) -> ForeignVersion:
    """A version made from the base, with its columns and perhaps more.

    Raises ``StaleBase`` if it was made from another one, and ``InputError`` if it cannot be a version of the table.
    """
    dataset = _open(store, base, version)
    _check_base(store, base, dataset)
    before = store.open(base.location, base.lance_version)
    _check_files(base, dataset)
    _check_indexes(base, before, dataset)
    found = {field.name: field for field in dataset.schema}
    for field in before.schema:
        if field.name not in found:
            raise refused(base, version, f"has no column {field.name!r}", "drop a property with graph.apply_schema")
        if found[field.name].type != field.type:
            what = f"has {found[field.name].type} in column {field.name!r}, which is {field.type}"
            raise refused(base, version, what, "cast the column before the write")
    known = set(before.schema.names)
    return ForeignVersion(base, dataset, tuple(field for field in dataset.schema if field.name not in known))


def adopted_files(store: Store, base: TablePin, dataset: LanceDataset) -> tuple[StagedVersion, list[str]]:
    """The version with the files that it adds to the base recorded and made durable, and the paths of these files."""
    pin = TablePin(base.key, base.location, dataset.version, base.table_version + 1, dataset.count_rows())
    segments = SegmentFiles(store)
    known = set(version_files(store, base, segments))
    made = [path for path in version_files(store, pin, segments) if path not in known]
    files = record_files(store.root, made, _sizes(base.location, dataset))
    sync_files(store.root, made, store.durability)
    return StagedVersion(base.location, pin.lance_version, pin.rows, files), made


def _open(store: Store, base: TablePin, version: int) -> LanceDataset:
    if not version & DETACHED_BIT:
        raise InputError(
            f"version {version} of {base.key} is an ordinary version, not a detached one",
            hint="stage the write with omnigraph.namespace.stage, or commit it with detached=True",
            table=base.key,
        )
    try:
        return store.open(base.location, version)
    except StorageError as error:
        raise NotFoundError(
            f"there is no version {version} of {base.key}", hint="stage the write again", table=base.key
        ) from error


def _check_base(store: Store, base: TablePin, dataset: LanceDataset) -> None:
    for _ in range(STEPS_MAX):
        with translated(f"a staged version of {base.key} cannot be read", location=base.location):
            transaction = dataset.read_transaction(dataset.version)
        made_from = 0 if transaction is None else transaction.read_version
        if made_from == base.lance_version:
            return
        if not made_from & DETACHED_BIT:
            break
        dataset = store.open(base.location, made_from)
    raise StaleBase


def _check_files(base: TablePin, dataset: LanceDataset) -> None:
    """Refuse files outside the directory of the table: cleanup, copies and verification would not find them."""
    for fragment in dataset.get_fragments():
        parts = fragment.metadata.to_json()
        deletion = parts.get("deletion_file") or {}
        is_elsewhere = any(file.get("base_id") is not None for file in [*parts["files"], deletion])
        if is_elsewhere or parts.get("overlays"):
            what = "refers to files of another place" if is_elsewhere else "has overlay files"
            raise refused(base, dataset.version, what, "write whole rows into the directory of the table")
        if parts.get("row_id_meta") is None:
            raise refused(base, dataset.version, "has rows without stable ids", "commit on top of the current version")


def _check_indexes(base: TablePin, before: LanceDataset, dataset: LanceDataset) -> None:
    """Refuse indexes that queries could not rely on.

    A new segment may not have the name of an index of the schema. A segment of the base may cover no fragment that it
    was not built from, and none whose column was rewritten: rows would not be found. Lance's own operations see to
    that; one built by hand may have forgotten the changed columns.
    """
    known = segment_fragments(before)
    files, files_before = (_files_by_column(version) for version in (dataset, before))
    for index in lance_indexes(dataset):
        for segment in index.segments:
            if segment.uuid not in known:
                if _RESERVED.fullmatch(index.name):
                    what = f"has an index {index.name!r}, a name of the indexes of the schema"
                    raise refused(base, dataset.version, what, "give the index another name")
                continue
            columns = [(number, field) for number in segment.fragment_ids for field in index.fields]
            outdated = [key for key in columns if key in files and files[key] != files_before.get(key)]
            if outdated or (set(segment.fragment_ids) - known[segment.uuid]) & {number for number, _ in files}:
                what = f"has an index {index.name!r} over rows that it does not hold"
                hint = "name the changed columns in fields_modified and fields_for_preserving_frag_bitmap of the Update"
                raise refused(base, dataset.version, what, hint)


def _files_by_column(dataset: LanceDataset) -> dict[tuple[int, int], str]:
    """The data file of each column, by number of the fragment and of the column."""
    return {
        (fragment.fragment_id, number): file.path
        for fragment in dataset.get_fragments()
        for file in fragment.metadata.files
        for number in file.fields
    }


def refused(base: TablePin, version: int, what: str, hint: str) -> InputError:
    return InputError(f"the staged version {version} of {base.key} {what}", hint=hint, table=base.key)


def _sizes(location: str, dataset: LanceDataset) -> dict[str, int]:
    files = (file for fragment in dataset.get_fragments() for file in fragment.metadata.files)
    return {f"{location}/data/{file.path}": file.file_size_bytes for file in files if file.file_size_bytes}
