"""Export on a cluster: every task writes the rows of some fragments to one file.

The formats are JSON lines, as loads read them, and Parquet with the columns of the table. Files are written atomically,
so a lost attempt leaves no partial file.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

from omnigraph.core.tables import TablePin
from omnigraph.engine.graph import Graph
from omnigraph.errors import UsageError
from omnigraph.rows.arrow_types import Entity, table_schema
from omnigraph.rows.write_json import write_lines
from omnigraph.spark.cluster.session import check_session, session
from omnigraph.spark.cluster.tasks import run_tasks
from omnigraph.storage.objects.target_files import TargetDirectory
from omnigraph.storage.tables.scan import fragment_groups, scan
from omnigraph.storage.tables.store import Store

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FORMATS = ("jsonl", "parquet")
SCHEMA_FILE = "schema.pg"


@dataclass(frozen=True, slots=True)
class ExportedFile:
    """An exported file and its number of entities. ``path`` is relative to the directory."""

    path: str
    type_name: str
    rows: int


@dataclass(frozen=True, slots=True)
class _FileExport:
    pin: TablePin
    entity: Entity
    fragments: tuple[int, ...]
    path: str


def export(
    graph: Graph,
    directory: str | os.PathLike[str],
    format: str = "jsonl",
    *,
    branch: str | None = None,
    at: str | datetime | None = None,
    types: Sequence[str] | None = None,
    spark: SparkSession | None = None,
    target_options: Mapping[str, str] | None = None,
) -> list[ExportedFile]:
    """Export a snapshot of the graph, with its schema, to a new directory.

    The directory is on a disk that executors share, or in an object store (``s3://bucket/prefix``), whose options are
    ``target_options``, or those of the graph if not given. Loading the files of JSON lines into a graph with that
    schema gives an equal graph.
    """
    if format not in FORMATS:
        raise UsageError(f"unknown export format {format!r}", hint=f"use one of {', '.join(FORMATS)}")
    running = session() if spark is None else check_session(spark)
    snapshot = graph.snapshot(branch, at=at)
    options = graph.storage_options if target_options is None else target_options
    target = TargetDirectory.at(os.fspath(directory), options)
    entities = [entity for name in (types if types is not None else [None]) for entity in snapshot.entities(name)]
    exports = [
        _FileExport(pin, entity, fragments, f"{entity.table_key.replace(':', '-')}-{number:05d}.{format}")
        for entity in entities
        for pin in [snapshot.state.tables[entity.table_key]]
        for number, fragments in enumerate(fragment_groups(snapshot.store, pin, snapshot.store.tuning.partition_rows))
    ]
    target.create(SCHEMA_FILE, snapshot.schema_text().encode())
    rows = run_tasks(running, partial(_write, snapshot.store, target, format), exports)
    return [
        ExportedFile(file_export.path, file_export.entity.name, count)
        for file_export, count in zip(exports, rows, strict=True)
    ]


def _write(store: Store, target: TargetDirectory, format: str, file_export: _FileExport) -> int:
    """Write one file; returns its number of rows."""
    names = table_schema(file_export.entity).names
    counted = _Counted(scan(store, file_export.pin, names, blobs_as_bytes=True, fragments=file_export.fragments))
    with target.writing(file_export.path) as file:
        if format == "parquet":
            schema = table_schema(file_export.entity).remove_metadata()
            with pq.ParquetWriter(file, schema) as writer:
                for batch in counted:
                    writer.write_batch(_plain(batch, schema))
        else:
            file.writelines(write_lines(file_export.entity, counted))
    return counted.rows


def _plain(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    arrays = [batch.column(field.name).cast(field.type) for field in schema]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


class _Counted:
    """Iterator of batches that counts their rows."""

    def __init__(self, batches: Iterator[pa.RecordBatch]) -> None:
        self.rows = 0
        self._batches = batches

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        for batch in self._batches:
            self.rows += batch.num_rows
            yield batch
