"""Staging: fragments, and detached versions on top of a pinned one, that no reader can see yet.

A delta of a table is (rows to add, row addresses to remove). It becomes one detached commit: an append if nothing is
removed, else an update that names the shortened and emptied fragments. Fragments do not depend on the version they are
committed on, so after a lost swap the same fragments are committed again.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Sequence
from dataclasses import field, replace
from typing import Any

import pyarrow as pa
from lance import LanceDataset, LanceOperation, Transaction
from lance.fragment import FragmentMetadata, write_fragments

from omnigraph.core.classes.dataclass import dataclass
from omnigraph.core.tables import FileRecord
from omnigraph.errors import ReadSetConflict, StorageError
from omnigraph.storage.objects.durability import record_files, sync_directories, sync_files
from omnigraph.storage.objects.failures import foreign, translated
from omnigraph.storage.objects.version_names import manifest_file
from omnigraph.storage.outbox.outbox import SMALL_ROWS_BYTES_MAX
from omnigraph.storage.publish.first_version import commit_first
from omnigraph.storage.publish.newest import newest_version
from omnigraph.storage.tables.blob_files import INLINE_BYTES_MAX, has_blobs
from omnigraph.storage.tables.columns_by_fragment import extend_layout
from omnigraph.storage.tables.key_cache import file_name, fragment_key
from omnigraph.storage.tables.row_addresses import FragmentRows, by_fragment
from omnigraph.storage.tables.store import Store
from omnigraph.storage.tables.table_schema import ColumnNumbers, column_numbers, fit_reader, fit_table, stored_schema

ROWS_PER_FILE_MAX = 1_048_576
"""Maximum rows of one data file: Lance's own default, and the target of compaction."""


@dataclass(frozen=True, slots=True)
class WrittenRows:
    """Fragments written for one table, not yet part of any version."""

    location: str
    fragments: tuple[FragmentMetadata, ...]
    rows: int
    files: tuple[FileRecord, ...]
    ids: tuple[str, ...] | None = field(default=None, repr=False)
    columns: ColumnNumbers = frozenset()
    """The columns of the version they were written for."""


@dataclass(frozen=True, slots=True)
class StagedVersion:
    """A detached version: complete, but no manifest refers to it. Its files are made durable before one does."""

    location: str
    version: int
    rows: int
    files: tuple[FileRecord, ...]


def create_table(store: Store, location: str, schema: pa.Schema) -> StagedVersion:
    """A new, empty table. Its first version is an ordinary one: Lance cannot create a dataset detached.

    An existing dataset is the remainder of a crash, or of another creator of the same graph whose manifest does not
    refer to this version: the empty table becomes a version on top of it.
    """
    operation = LanceOperation.Overwrite(stored_schema(schema), [])
    if store.root.capabilities.links_versions:
        # A first version torn by a power loss cannot be opened, and Lance cannot replace it: set it aside.
        newest_version(store.root, location)
    dataset = leftover = store.open_latest(location)
    if leftover is None:
        with translated(f"{location} could not be created", location=location):
            try:
                dataset = commit_first(store, location, operation, enable_stable_row_ids=True)
                store.remember(location, dataset)
            except foreign():
                leftover = store.open_latest(location)
                if leftover is None:
                    raise
    if leftover is not None:
        dataset = _commit(store, location, leftover, operation)
    assert dataset is not None
    files = _record(store, [manifest_file(location, dataset.version)], {})
    return StagedVersion(location, dataset.version, 0, files)


def write_rows(
    store: Store,
    base: LanceDataset,
    location: str,
    rows: pa.Table | pa.RecordBatchReader,
    *,
    settles_later: bool = False,
) -> WrittenRows:
    """Write rows as uncommitted fragments. A reader is streamed in bounded memory.

    With ``settles_later`` small files may still be under way to a bucket when this returns; the swap waits for them.
    """
    schema = base.schema
    keeps_blobs = has_blobs(schema)
    # Blobs are files of their own, which Lance names while it writes.
    outbox = store.outbox if settles_later and not keeps_blobs and _is_small(rows) else None
    stored = fit_table(schema, rows) if isinstance(rows, pa.Table) else fit_reader(schema, rows)

    def append(target: LanceDataset) -> list[FragmentMetadata]:
        return list(write_fragments(stored, target, mode="append", max_rows_per_file=ROWS_PER_FILE_MAX))

    try:
        fragments = append(base) if outbox is None else outbox.on_twin(location, base, append)
    except pa.ArrowInvalid:
        raise
    except foreign() as error:
        raise StorageError(f"rows of {location} could not be written: {error}", location=location) from error
    written = tuple(fragment for fragment in fragments if fragment.physical_rows)
    sizes = {f"{location}/data/{file.path}": file.file_size_bytes or 0 for item in written for file in item.files}
    if outbox is not None:
        outbox.send(sizes)
    if keeps_blobs:
        sizes |= _blob_sizes(store, list(sizes), rows)
    ids: tuple[str, ...] | None = None
    if isinstance(rows, pa.Table) and rows.num_rows <= store.tuning.cached_table_rows_max and len(written) == 1:
        ids = tuple(rows.column("id").to_pylist())
        store.recent.put(f"{location}/data/{written[0].files[0].path}", base, rows)
    return WrittenRows(
        location,
        written,
        sum(item.physical_rows for item in written),
        _record(store, list(sizes), sizes),
        ids,
        column_numbers(base),
    )


def _is_small(rows: pa.Table | pa.RecordBatchReader) -> bool:
    return isinstance(rows, pa.Table) and rows.nbytes <= SMALL_ROWS_BYTES_MAX


def _blob_sizes(store: Store, data_paths: list[str], rows: pa.Table | pa.RecordBatchReader) -> dict[str, int]:
    if isinstance(rows, pa.Table) and rows.nbytes <= INLINE_BYTES_MAX:
        # No value can be larger than all rows together, so there are no blob files to list.
        for path in data_paths:
            store.blob_files.remember(path, ())
    return dict(file for path in data_paths for file in store.blob_files.of(path))


def stage_delta(
    store: Store,
    base: LanceDataset,
    location: str,
    added: Sequence[WrittenRows],
    removed: Iterable[int],
    replaced: Sequence[int] = (),
    *,
    settles_later: bool = False,
) -> StagedVersion:
    """One detached version: the base without removed row addresses and replaced fragments, with the added rows.

    With ``settles_later`` its files may still be under way to a bucket when this returns; the swap waits for them.
    """
    groups = by_fragment(removed)
    shortened = (shorten_fragment(store, base, location, rows, settles_later=settles_later) for rows in groups)
    return stage_shortened(store, base, location, added, shortened, replaced, settles_later=settles_later)


def stage_grouped(
    store: Store,
    base: LanceDataset,
    location: str,
    added: Sequence[WrittenRows],
    removed: Iterable[FragmentRows],
    replaced: Sequence[int] = (),
) -> StagedVersion:
    """The same for removed rows grouped by fragment, as a stream of any length."""
    shortened = (shorten_fragment(store, base, location, rows) for rows in removed)
    return stage_shortened(store, base, location, added, shortened, replaced)


@dataclass(frozen=True, slots=True)
class ShortenedFragment:
    """A fragment without some of its rows: its description with the deletion file, or None if no row is left."""

    number: int
    metadata: FragmentMetadata | None


def shorten_fragment(
    store: Store, base: LanceDataset, location: str, rows: FragmentRows, *, settles_later: bool = False
) -> ShortenedFragment:
    """Write the deletion file of one fragment. Nothing refers to it until a version is staged with it."""
    number, offsets = rows
    outbox = store.outbox if settles_later else None
    fragment = (base if outbox is None else outbox.twin(location, base)).get_fragment(number)
    assert fragment is not None, "an address comes from this very version"
    before = fragment.metadata.deletion_file
    with translated(f"rows of {location} could not be removed", location=location):
        if outbox is not None and before is not None:
            outbox.bring(f"{location}/{before.path(number)}")
        metadata = fragment.delete_rows(offsets)
    if outbox is not None and metadata is not None and metadata.deletion_file is not None:
        outbox.send([f"{location}/{metadata.deletion_file.path(number)}"])
    if metadata is not None:
        store.keys.derive(fragment_key(location, fragment.metadata), fragment_key(location, metadata), offsets)
    return ShortenedFragment(number, metadata)


def stage_shortened(
    store: Store,
    base: LanceDataset,
    location: str,
    added: Sequence[WrittenRows],
    shortened: Iterable[ShortenedFragment],
    replaced: Sequence[int] = (),
    *,
    settles_later: bool = False,
) -> StagedVersion:
    """One detached version: the base with fragments shortened or replaced, and the added rows."""
    fragments = _fitting(base, location, added)
    operation, deletions = _update(base, location, fragments, shortened, replaced)
    parts = [*(record.path for part in added for record in part.files), *deletions]
    dataset = _commit(store, location, base, operation, parts, settles_later=settles_later)
    _remember_ids(store, dataset, location, added)
    if isinstance(operation, LanceOperation.Append):
        extend_layout(store, location, base, dataset, len(fragments))
    return _staged(store, dataset, location, added, deletions)


def stage_overwrite(
    store: Store, base: LanceDataset, location: str, added: Sequence[WrittenRows], *, settles_later: bool = False
) -> StagedVersion:
    """One detached version that holds the added rows and nothing else."""
    fragments = _fitting(base, location, added)
    # Lance would renumber the columns of an Arrow schema, and fragments identify columns by number.
    operation = LanceOperation.Overwrite(base.lance_schema, fragments)
    parts = [record.path for part in added for record in part.files]
    dataset = _commit(store, location, base, operation, parts, settles_later=settles_later)
    _remember_ids(store, dataset, location, added)
    return _staged(store, dataset, location, added, [])


def _fitting(base: LanceDataset, location: str, added: Sequence[WrittenRows]) -> list[FragmentMetadata]:
    """The fragments of rows written for a version with these columns. Files identify columns by number only."""
    known = column_numbers(base)
    if not all(part.columns <= known for part in added):
        raise ReadSetConflict(
            f"the columns of {location} changed while rows were written for it",
            hint="run the write again",
            member="schema",
            location=location,
        )
    return [fragment for part in added for fragment in part.fragments]


def stage_without(store: Store, staged: StagedVersion, removed: Iterable[tuple[str, list[int]]]) -> StagedVersion:
    """A version on top of a staged one, without some of its rows: names of data files, and offsets in them."""
    base = store.open(staged.location, staged.version)
    numbers = {fragment.metadata.files[0].path: fragment.fragment_id for fragment in base.get_fragments()}
    groups = ((numbers[name], offsets) for name, offsets in removed)
    version = stage_grouped(store, base, staged.location, [], groups)
    # The intermediate version is never published, so its manifest is not among the needed files.
    between = manifest_file(staged.location, staged.version)
    needed = tuple(record for record in staged.files if record.path != between)
    return replace(version, files=(*needed, *version.files))


def stage_operation(store: Store, base: LanceDataset, location: str, operation: Any | None) -> LanceDataset:
    """A detached version made by one operation, or the base itself if there is none. The caller records its files."""
    return base if operation is None else _commit(store, location, base, operation)


def staged_version(store: Store, dataset: LanceDataset, location: str, files: Iterable[FileRecord]) -> StagedVersion:
    """A detached version that needs these files."""
    manifest = _record(store, [manifest_file(location, dataset.version)], {})
    return StagedVersion(location, dataset.version, dataset.count_rows(), (*files, *manifest))


def _staged(
    store: Store,
    dataset: LanceDataset,
    location: str,
    added: Sequence[WrittenRows],
    deletions: list[str],
) -> StagedVersion:
    made = [manifest_file(location, dataset.version), *deletions]
    files = _record(store, made, {})
    written = tuple(record for part in added for record in part.files)
    return StagedVersion(location, dataset.version, dataset.count_rows(), (*written, *files))


def _update(
    base: LanceDataset,
    location: str,
    fragments: list[FragmentMetadata],
    without_rows: Iterable[ShortenedFragment],
    replaced: Sequence[int],
) -> tuple[Any, list[str]]:
    """The operation, and the deletion files it made."""
    removed: list[int] = list(replaced)
    shortened: list[FragmentMetadata] = []
    deletions: list[str] = []
    for fragment in without_rows:
        metadata = fragment.metadata
        if metadata is None:
            removed.append(fragment.number)
            continue
        shortened.append(metadata)
        assert metadata.deletion_file is not None, "rows were deleted"
        deletions.append(f"{location}/{metadata.deletion_file.path(metadata.id)}")
    if not removed and not shortened:
        return LanceOperation.Append(fragments), []
    operation = LanceOperation.Update(
        removed_fragment_ids=removed,
        updated_fragments=shortened,
        new_fragments=fragments,
        # Every field: with fewer, full-text and vector indexes would still return the removed rows.
        fields_for_preserving_frag_bitmap=list(field_ids(base)),
        update_mode="rewrite_rows",
    )
    return operation, deletions


def field_ids(dataset: LanceDataset) -> Iterable[int]:
    """The numbers of all columns and nested fields."""
    pending = list(dataset.lance_schema.fields())
    while pending:
        current = pending.pop()
        yield current.id()
        pending.extend(current.children())


def _commit(
    store: Store,
    location: str,
    base: LanceDataset,
    operation: Any,
    parts: Iterable[str] = (),
    *,
    settles_later: bool = False,
) -> LanceDataset:
    """Commit a detached version. ``parts`` are its files that may still be under way to a bucket."""
    outbox = store.outbox
    with translated(f"a version of {location} could not be staged", location=location):
        if outbox is not None:
            twin = outbox.commit(location, base, operation, parts)
            if not settles_later:
                outbox.settle([manifest_file(location, twin.version)])
            return store.remember_twin(location, twin)
        transaction = Transaction(base.version, operation, uuid=str(uuid.uuid4()))
        dataset = LanceDataset.commit(base, transaction, detached=True, storage_options=store.lance_options)
    return store.remember(location, dataset)


def _remember_ids(store: Store, dataset: LanceDataset, location: str, added: Sequence[WrittenRows]) -> None:
    known = {item.files[0].path: part.ids for part in added if part.ids is not None for item in part.fragments}
    # New fragments are the last ones.
    for fragment in reversed(dataset.get_fragments() if known else []):
        metadata = fragment.metadata
        ids = known.pop(file_name(metadata.files[0]), None)
        if ids is not None:
            store.keys.put(fragment_key(location, metadata), ids)
        if not known:
            return


def _record(store: Store, paths: list[str], sizes: dict[str, int]) -> tuple[FileRecord, ...]:
    return record_files(store.root, paths, sizes)


def sync_staged(store: Store, staged: StagedVersion) -> None:
    """Make a version durable."""
    sync_files(store.root, [record.path for record in staged.files], store.durability)


def sync_created(store: Store, staged: Sequence[StagedVersion]) -> None:
    """Make new tables durable, with the directories that lead to them."""
    sync_files(store.root, [record.path for version in staged for record in version.files], store.durability)
    sync_directories(store.root, [f"{version.location}/_versions" for version in staged], store.durability)
