"""Staging with plain Lance operations, as a program without our code would do it: a detached commit on top of a pin."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import pyarrow as pa
from lance import LanceDataset, LanceOperation
from lance.fragment import FragmentMetadata, write_fragments

from omnigraph.errors import StorageError, UsageError
from omnigraph.storage.objects.failures import translated
from omnigraph.storage.objects.version_names import DETACHED_BIT
from omnigraph.storage.stage.staging import field_ids
from omnigraph.storage.tables.table_schema import fit_table

ID = "id"


def open_version(uri: str, version: int, storage_options: dict[str, str] | None) -> LanceDataset:
    """A version of a table by its address."""
    with translated(f"version {version} of {uri} cannot be opened", location=uri):
        return LanceDataset(uri, version=version, storage_options=storage_options)


def stage_append(dataset: LanceDataset, rows: pa.RecordBatchReader) -> int:
    """The detached version with these rows added."""
    return _commit(dataset, LanceOperation.Append(_written(dataset, rows)))


def stage_overwrite(dataset: LanceDataset, rows: pa.RecordBatchReader) -> int:
    """The detached version with these rows instead of the present ones."""
    numbers = [fragment.fragment_id for fragment in dataset.get_fragments()]
    if not numbers:
        return stage_append(dataset, rows)
    # Lance's own overwrite starts a new schema; a table of a graph keeps the one it has.
    return _commit(
        dataset,
        LanceOperation.Update(
            removed_fragment_ids=numbers,
            updated_fragments=[],
            new_fragments=_written(dataset, rows),
            fields_for_preserving_frag_bitmap=list(field_ids(dataset)),
            update_mode="rewrite_rows",
        ),
    )


def stage_upsert(dataset: LanceDataset, rows: pa.RecordBatchReader) -> int:
    """The detached version with these rows added, or in place of those with their ids."""
    operation = dataset.merge_insert(ID).when_matched_update_all().when_not_matched_insert_all()
    return _merged(dataset, operation, _Fitting(dataset, rows, fill=False))


def stage_update(dataset: LanceDataset, values: Mapping[str, str], where: str | None) -> int:
    """The detached version with columns computed by SQL expressions of Lance, in the rows that a filter selects.

    Holds the changed rows in memory.
    """
    names = dataset.schema.names
    unknown = [name for name in values if name not in names or name == ID]
    if unknown or not values:
        what = f"{unknown[0]!r} cannot be updated" if unknown else "no column is updated"
        raise UsageError(what, hint=f"the columns are {', '.join(name for name in names if name != ID)}")
    with translated("the rows could not be computed", location=dataset.uri):
        columns = {name: values.get(name, f"`{name}`") for name in names}
        rows = dataset.scanner(columns=columns, filter=where).to_table()
    operation = dataset.merge_insert(ID).when_matched_update_all()
    return _merged(dataset, operation, _Fitting(dataset, rows.to_reader(), fill=False))


def stage_delete(dataset: LanceDataset, predicate: str) -> int:
    """The detached version without the rows that a Lance filter selects."""
    removed: list[int] = []
    shortened: list[FragmentMetadata] = []
    with translated("the rows could not be deleted", location=dataset.uri):
        for fragment in dataset.get_fragments():
            left = fragment.delete(predicate)
            if left is None:
                removed.append(fragment.fragment_id)
            elif left.deletion_file != fragment.metadata.deletion_file:
                shortened.append(left)
    return _commit(dataset, LanceOperation.Delete(shortened, removed, predicate))


def stage_added_columns(dataset: LanceDataset, rows: pa.Table) -> int:
    """The detached version with further columns, whose values belong to the ids of the rows; other rows have null."""
    new = [name for name in rows.schema.names if name != ID]
    known = [name for name in new if name in dataset.schema.names]
    if ID not in rows.schema.names or not new or known:
        wrong = f"the column {known[0]!r} exists" if known else "an id column and new columns are needed"
        raise UsageError(wrong, hint="give a table with the column id and the columns to add")
    with translated("the columns could not be written", location=dataset.uri):
        merged = [fragment.merge(rows, left_on=ID) for fragment in dataset.get_fragments()]
    if not merged:
        raise UsageError("the table has no rows", hint="declare the property with graph.apply_schema")
    return _commit(dataset, LanceOperation.Merge([fragment for fragment, _ in merged], merged[0][1]))


def stage_index(dataset: LanceDataset, column: str, kind: str) -> int:
    """The detached version with an index over all rows, under the name that Lance gives by default."""
    fragments = [fragment.fragment_id for fragment in dataset.get_fragments()]
    if column not in dataset.schema.names:
        raise UsageError(f"there is no column {column!r}", hint=f"the columns are {', '.join(dataset.schema.names)}")
    with translated(f"{column} could not be indexed", location=dataset.uri):
        segment = dataset.create_index_uncommitted(column, kind, name=f"{column}_idx", fragment_ids=fragments)
        if kind == "INVERTED":
            # A text index is built in parts, which Lance does not read before they are merged.
            segment = dataset.merge_existing_index_segments([segment])
    return _commit(dataset, LanceOperation.CreateIndex(new_indices=[segment], removed_indices=[]))


def _written(dataset: LanceDataset, rows: pa.RecordBatchReader) -> list[FragmentMetadata]:
    fitting = _Fitting(dataset, rows, fill=True)
    with fitting.staging():
        written: list[FragmentMetadata] = write_fragments(fitting.reader(), dataset, mode="append")
    return written


class _Fitting:
    """Rows with the columns of a table; columns that they lack are null if ``fill`` and the table allows it."""

    def __init__(self, dataset: LanceDataset, rows: pa.RecordBatchReader, *, fill: bool) -> None:
        self._schema, self._rows, self._uri = dataset.schema, rows, dataset.uri
        self._failure: UsageError | None = None
        given = rows.schema.names
        missing = [field.name for field in self._schema if field.name not in given and not (fill and field.nullable)]
        unknown = [name for name in given if name not in self._schema.names]
        if missing or unknown:
            wrong = f"lack the columns {missing}" if missing else f"have the unknown columns {unknown}"
            raise UsageError(f"the rows {wrong}", hint=f"the columns of the table are {self._schema.names}")

    def reader(self) -> pa.RecordBatchReader:
        return pa.RecordBatchReader.from_batches(self._schema, self._batches())

    @contextmanager
    def staging(self) -> Iterator[None]:
        """Raise the error of a value that does not fit as it is: Lance, which reads the rows, wraps it."""
        try:
            with translated("the rows could not be staged", location=self._uri):
                yield
        except StorageError:
            if self._failure is None:
                raise
            raise self._failure from None

    def _batches(self) -> Iterator[pa.RecordBatch]:
        try:
            for batch in self._rows:
                columns = {field.name: _cast(batch, field) for field in self._schema}
                yield from fit_table(self._schema, pa.table(columns)).to_batches()
        except UsageError as error:
            self._failure = error
            raise


def _cast(batch: pa.RecordBatch, field: pa.Field) -> pa.Array:
    if field.name not in batch.schema.names:
        return pa.nulls(batch.num_rows, field.type)
    column = batch.column(field.name)
    if isinstance(field.type, pa.ExtensionType) or column.type == field.type:
        return column
    try:
        return column.cast(field.type)
    except pa.ArrowException as error:
        raise UsageError(
            f"the column {field.name!r} is {column.type}, and the table has {field.type}: {error}",
            hint="convert the column before it is staged",
        ) from error


def _merged(dataset: LanceDataset, operation: Any, fitting: _Fitting) -> int:
    with fitting.staging():
        transaction, _ = operation.execute_uncommitted(fitting.reader())
        return LanceDataset.commit(dataset, transaction, detached=True).version


def _commit(dataset: LanceDataset, operation: Any) -> int:
    with translated("the version could not be staged", location=dataset.uri):
        staged = LanceDataset.commit(dataset, operation, read_version=dataset.version, detached=True)
    assert staged.version & DETACHED_BIT, "detached versions have the highest bit set"
    return staged.version
