"""Rows in the exact schema of their table: column order, nullability, and blobs as Lance stores them."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
from lance import LanceDataset, blob_array, blob_field

BLOB_MARK = b"omnigraph:blob"

NOTICE_KEY = "omnigraph"

NOTICE = "versions are detached: read with omnigraph.namespace or a mirror"
"""Metadata of every table: a program that opens the directory finds the first, empty version without an error.

Short, because every data file and version repeats it.
"""

ColumnNumbers = frozenset[tuple[str, int]]
"""The columns of a version: their names, and the numbers by which data files know them."""


def column_numbers(dataset: LanceDataset) -> ColumnNumbers:
    """The columns of a version. Reads nothing."""
    return frozenset((field.name(), field.id()) for field in dataset.lance_schema.fields())


def numbers_within(dataset: LanceDataset, name: str) -> frozenset[int]:
    """The numbers of a column and of its nested fields. Reads nothing."""
    found: set[int] = set()
    pending = [field for field in dataset.lance_schema.fields() if field.name() == name]
    while pending:
        current = pending.pop()
        found.add(current.id())
        pending.extend(current.children())
    return frozenset(found)


def stored_schema(schema: pa.Schema) -> pa.Schema:
    """The schema with Lance's blob type in place of marked binary columns, and the notice for other readers."""
    return pa.schema([_stored_field(field) for field in schema], metadata={NOTICE_KEY: NOTICE})


def _stored_field(field: pa.Field) -> pa.Field:
    if BLOB_MARK not in (field.metadata or {}):
        return field
    stored = blob_field(field.name).with_nullable(field.nullable)
    return stored.with_metadata({**(stored.metadata or {}), **field.metadata})


def fit_table(schema: pa.Schema, rows: pa.Table) -> pa.Table:
    """The rows with exactly the columns of the schema. The caller has checked that they fit."""
    columns = [_stored_column(rows.column(field.name), field) for field in schema]
    return pa.Table.from_arrays(columns, schema=schema)


def fit_reader(schema: pa.Schema, reader: pa.RecordBatchReader) -> pa.RecordBatchReader:
    """The same, batch by batch."""

    def batches() -> Iterator[pa.RecordBatch]:
        for batch in reader:
            yield from fit_table(schema, pa.Table.from_batches([batch])).to_batches()

    return pa.RecordBatchReader.from_batches(schema, batches())


def _stored_column(column: pa.ChunkedArray, field: pa.Field) -> pa.ChunkedArray:
    if not isinstance(field.type, pa.ExtensionType) or column.type == field.type:
        return column
    return pa.chunked_array([blob_array(column.to_pylist())], field.type)
