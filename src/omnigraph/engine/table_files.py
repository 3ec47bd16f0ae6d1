"""Rows as CSV and Parquet files, written batch by batch to a path, an object-store address or an open file."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import BinaryIO

import pyarrow as pa
from pyarrow import csv, parquet

from omnigraph.errors import InputError
from omnigraph.rows.write.results import as_written, result_rows
from omnigraph.storage.objects.target_files import write_file

Target = str | os.PathLike[str] | BinaryIO


def write_csv(rows: pa.RecordBatchReader, target: Target, options: Mapping[str, str] | None = None) -> None:
    """CSV with a header. Null is empty, the empty text is quoted; lists and structs are JSON texts."""
    schema = pa.schema([(field.name, _csv_type(field.type)) for field in rows.schema])
    with _opened(target, options) as file, csv.CSVWriter(file, schema) as writer:
        for batch in rows:
            columns = [_csv_column(column, field.type) for column, field in zip(batch.columns, schema, strict=True)]
            writer.write_batch(pa.RecordBatch.from_arrays(columns, schema=schema))


def csv_text(rows: pa.RecordBatchReader) -> str:
    """The same as a text."""
    buffer = io.BytesIO()
    write_csv(rows, buffer)
    return buffer.getvalue().decode()


def write_parquet(rows: pa.RecordBatchReader, target: Target, options: Mapping[str, str] | None = None) -> None:
    """One Parquet file, a row group for each batch; raises before anything is written for a type that Parquet lacks."""
    for field in rows.schema:
        _check_parquet(field)
    with _opened(target, options) as file, parquet.ParquetWriter(file, rows.schema) as writer:
        for batch in rows:
            writer.write_batch(batch)


def _check_parquet(field: pa.Field) -> None:
    try:
        parquet.ParquetWriter(pa.BufferOutputStream(), pa.schema([field])).close()
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid) as error:
        raise InputError(
            f"column {field.name!r} of type {field.type} cannot be stored in Parquet",
            hint="cast it to a text in the query, or write Arrow",
            column=field.name,
        ) from error


@contextmanager
def _opened(target: Target, options: Mapping[str, str] | None) -> Iterator[BinaryIO]:
    if not isinstance(target, str | os.PathLike):
        yield target
        return
    with write_file(os.fspath(target), options or {}) as file:
        yield file


def _csv_type(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_float32(kind):
        return pa.float64()
    is_plain = not (pa.types.is_nested(kind) or isinstance(kind, pa.BaseExtensionType) or pa.types.is_binary(kind))
    return kind if is_plain and not pa.types.is_large_binary(kind) else pa.string()


def _csv_column(column: pa.Array, wanted: pa.DataType) -> pa.Array:
    if column.type == wanted:
        return column
    if pa.types.is_floating(wanted):
        return as_written(column)
    cells = [row["cell"] for row in result_rows(pa.table({"cell": as_written(column)}))]
    return pa.array([None if cell is None else json.dumps(cell, ensure_ascii=False) for cell in cells], wanted)
