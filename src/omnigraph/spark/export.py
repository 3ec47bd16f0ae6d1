"""Export on a cluster: every task writes the rows of some fragments to a file of its own.

JSON lines in the form that loads read, or Parquet with the columns of the table. Files appear whole: a task writes
under another name first, so attempts that were lost leave nothing that looks like a result.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

from omnigraph.core.tables import TablePin
from omnigraph.engine.graph import Graph
from omnigraph.errors import AlreadyExistsError, StorageError, UsageError
from omnigraph.rows.arrow_types import Entity, table_schema
from omnigraph.rows.write_json import write_lines
from omnigraph.spark import limits
from omnigraph.spark.session import check_session, session
from omnigraph.spark.tasks import run_tasks
from omnigraph.storage.store import Store
from omnigraph.storage.tables import fragment_groups, scan

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FORMATS = ("jsonl", "parquet")
SCHEMA_FILE = "schema.pg"


@dataclass(frozen=True, slots=True)
class ExportedFile:
    """A file and how many entities it holds. ``path`` is relative to the directory."""

    path: str
    type_name: str
    rows: int


@dataclass(frozen=True, slots=True)
class _Piece:
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
) -> list[ExportedFile]:
    """Write a state of the graph into a new directory, with its schema. It has to be on a disk that executors share.

    Loading the files of JSON lines into a graph with that schema gives an equal graph.
    """
    if format not in FORMATS:
        raise UsageError(f"{format!r} is not a format of exports", hint=f"formats are {', '.join(FORMATS)}")
    running = session() if spark is None else check_session(spark)
    snapshot = graph.snapshot(branch, at=at)
    root = os.path.abspath(directory)
    entities = [entity for name in (types if types is not None else [None]) for entity in snapshot.entities(name)]
    pieces = [
        _Piece(pin, entity, fragments, f"{entity.table_key.replace(':', '-')}-{number:05d}.{format}")
        for entity in entities
        for pin in [snapshot.state.tables[entity.table_key]]
        for number, fragments in enumerate(fragment_groups(snapshot.store, pin, limits.PARTITION_ROWS))
    ]
    _create(root, snapshot.schema_text())
    rows = run_tasks(running, partial(_write, snapshot.store, root, format), pieces)
    return [ExportedFile(piece.path, piece.entity.name, count) for piece, count in zip(pieces, rows, strict=True)]


def _create(root: str, schema: str) -> None:
    try:
        os.makedirs(root)
        with open(os.path.join(root, SCHEMA_FILE), "w", encoding="utf-8") as file:
            file.write(schema)
    except FileExistsError as error:
        raise AlreadyExistsError(f"{root!r} exists already", hint="name a new directory", path=root) from error
    except OSError as error:
        raise StorageError(f"{root!r} cannot be written: {error.strerror or error}", path=root) from error


def _write(store: Store, root: str, format: str, piece: _Piece) -> int:
    """Write one file; how many rows it has."""
    target = os.path.join(root, piece.path)
    unfinished = f"{target}.{uuid.uuid4().hex}.part"
    names = table_schema(piece.entity).names
    counted = _Counted(scan(store, piece.pin, names, blobs_as_bytes=True, fragments=piece.fragments))
    try:
        if format == "parquet":
            schema = table_schema(piece.entity).remove_metadata()
            with pq.ParquetWriter(unfinished, schema) as writer:
                for batch in counted:
                    writer.write_batch(_plain(batch, schema))
        else:
            with open(unfinished, "wb") as file:
                file.writelines(write_lines(piece.entity, counted))
        os.replace(unfinished, target)
    except OSError as error:
        raise StorageError(f"{target!r} cannot be written: {error.strerror or error}", path=target) from error
    return counted.rows


def _plain(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    arrays = [batch.column(field.name).cast(field.type) for field in schema]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


class _Counted:
    """Batches that are counted as they go by."""

    def __init__(self, batches: Iterator[pa.RecordBatch]) -> None:
        self.rows = 0
        self._batches = batches

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        for batch in self._batches:
            self.rows += batch.num_rows
            yield batch
