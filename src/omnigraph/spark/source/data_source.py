"""The data source ``omnigraph``: a type as a Spark table, and tables into a type.

A frame is a snapshot: which commit it reads is settled when it is made. A write is a load: one commit or nothing, with
all checks, made by the driver. Neither has a session to ask: Spark runs them in Python processes of their own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import (
    DataSource,
    DataSourceArrowWriter,
    DataSourceReader,
    DataSourceStreamArrowWriter,
    InputPartition,
    WriterCommitMessage,
)
from pyspark.sql.types import StructType

from omnigraph.core.tables import TablePin
from omnigraph.engine.load.run import LoadJob, LoadRequest, row_embedding
from omnigraph.errors import UsageError
from omnigraph.manifest.publisher import Published
from omnigraph.rows.arrow_types import DST, SRC, table_schema
from omnigraph.spark.cluster import limits
from omnigraph.spark.cluster.python_workers import settle
from omnigraph.spark.cluster.spark_types import arrow_schema, as_spark_takes_it, spark_schema
from omnigraph.spark.load.checks.on_driver import publish_checked
from omnigraph.spark.load.frame_parts import FrameColumns, write_part
from omnigraph.spark.load.input import LoadInput
from omnigraph.spark.load.parts import Part, PartWriter
from omnigraph.spark.load.publish import publish_input
from omnigraph.spark.source.change_stream import SCHEMA, ChangeStreamReader, parse_change_options
from omnigraph.spark.source.options import SourceOptions, parse_options
from omnigraph.storage.tables.filters import RowFilter
from omnigraph.storage.tables.scan import fragment_groups, scan
from omnigraph.storage.tables.store import Store
from omnigraph.write.load.plan import LoadMode

_QUERY_ID = "sql.streaming.queryId"
"""The property of tasks that says which query of a stream they work for."""


class OmnigraphSource(DataSource):  # type: ignore[misc, unused-ignore] # untyped where pyspark is not installed
    """``spark.read.format("omnigraph").option("store", ...).option("type", ...)``."""

    def __init__(self, options: Any) -> None:
        super().__init__(options)
        self._changes = parse_change_options(options) if "changes" in {name.lower() for name in options} else None
        if self._changes is None:
            self._options = parse_options(options)
        self._commit: str | None = None

    @classmethod
    def name(cls) -> str:
        return "omnigraph"

    def schema(self) -> StructType | str:
        if self._changes is not None:
            return SCHEMA
        snapshot = self._options.snapshot()
        self._commit = snapshot.commit_id
        entity = self._options.entity(snapshot.catalog)
        self._options.condition(entity)
        return spark_schema(entity, self._options.chosen_columns(entity))

    def streamReader(self, schema: StructType) -> ChangeStreamReader:  # noqa: N802 - Spark's name
        if self._changes is None:
            raise UsageError("what is read as a stream are changes", hint='.option("changes", "beginning"), or "now"')
        return ChangeStreamReader(self._changes)

    def reader(self, schema: StructType) -> SourceReader:
        if self._changes is not None:
            raise UsageError("changes are read as a stream", hint="use spark.readStream, or graph.changes")
        options = self._options
        snapshot = options.snapshot() if self._commit is None else options.graph().snapshot(at=self._commit)
        entity = options.entity(snapshot.catalog)
        unknown = [name for name in schema.names if name not in table_schema(entity).names]
        if unknown:
            raise UsageError(f"{entity.name} has no column {unknown[0]!r}")
        return SourceReader(snapshot.store, snapshot.state.tables[entity.table_key], schema, options.condition(entity))

    def writer(self, schema: StructType, overwrite: bool) -> SourceWriter:
        mode = LoadMode.OVERWRITE if overwrite else LoadMode(self._options.load)
        return SourceWriter(_Writing.of(self._options, schema, mode))

    def streamWriter(self, schema: StructType, overwrite: bool) -> SourceStreamWriter:  # noqa: N802 - Spark's name
        if self._options.query is None:
            hint = '.option("query", "a name that stays the same when the query is started again")'
            raise UsageError("a stream needs a name, so that no epoch is written twice", hint=hint)
        if overwrite:
            raise UsageError("a stream cannot replace a type", hint='write with outputMode("append")')
        return SourceStreamWriter(_Writing.of(self._options, schema, LoadMode(self._options.load)))


# --- reading ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class FragmentPartition(InputPartition):  # type: ignore[misc, unused-ignore] # untyped where pyspark is not installed
    """Fragments that one task reads."""

    fragments: tuple[int, ...]


class SourceReader(DataSourceReader):  # type: ignore[misc, unused-ignore] # untyped where pyspark is not installed
    """Reads one pinned table by fragments.

    Takes no conditions from Spark: up to 4.3 it keeps those of one use of a frame for all others, which then lack rows
    (ADR 15). The option ``where`` belongs to the frame.
    """

    def __init__(self, store: Store, pin: TablePin, schema: StructType, where: RowFilter | None = None) -> None:
        self._store = store
        self._pin = pin
        self._schema = schema
        self._where = where

    def partitions(self) -> Sequence[FragmentPartition]:
        groups = [*fragment_groups(self._store, self._pin, limits.PARTITION_ROWS)]
        # Spark wants at least one partition, even of nothing.
        return [FragmentPartition(group) for group in groups or [()]]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, FragmentPartition)
        settle()
        schema = arrow_schema(self._schema)
        if not partition.fragments:
            return
        for batch in scan(
            self._store,
            self._pin,
            self._schema.names,
            self._where,
            blobs_as_bytes=True,
            batch_rows=limits.FACT_BATCH_ROWS,
            fragments=partition.fragments,
        ):
            yield as_spark_takes_it(batch, schema)


# --- writing ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class PartMessage(WriterCommitMessage):  # type: ignore[misc, unused-ignore] # untyped where pyspark is not installed
    """What a task wrote, and for which query if it is one of a stream."""

    part: Part
    query: str | None = None


@dataclass(frozen=True)
class _Writing:
    """A write that was begun: what tasks need, and what becomes of their parts."""

    options: SourceOptions
    mode: LoadMode
    writer: PartWriter
    columns: FrameColumns

    @classmethod
    def of(cls, options: SourceOptions, schema: StructType, mode: LoadMode) -> _Writing:
        if options.at is not None:
            raise UsageError("a commit cannot be written to", hint="name a branch")
        graph = options.graph()
        snapshot = graph.snapshot(options.branch)
        store, pins = snapshot.store, snapshot.state.tables
        embedding = row_embedding(store, pins, snapshot.catalog, mode, lambda: graph.embedder)
        reading = snapshot.catalog if embedding is None else embedding.reading
        entity = options.entity(reading)
        names = tuple({"from": SRC, "to": DST}.get(name, name) for name in schema.names)
        twice = [name for place, name in enumerate(names) if name in names[:place]]
        if twice:
            raise UsageError(f"the frame has two columns for {twice[0]!r}", hint="drop one of them")
        columns = FrameColumns(0, entity.name, entity, {}, names, has_files=False)
        return cls(options, mode, PartWriter(store, pins, reading, embedding), columns)

    def write(self, batches: Iterator[pa.RecordBatch]) -> PartMessage:
        from pyspark import TaskContext

        settle()
        context = TaskContext.get()
        number = 0 if context is None else context.partitionId()
        query = None if context is None else context.getLocalProperty(_QUERY_ID)
        return PartMessage(write_part(self.writer, self.columns, number, iter(batches)), query)

    def publish(self, messages: Sequence[Any], idempotency_key: str | None = None) -> None:
        """One commit of all parts. If it fails the files go away, unless the commit may have been made."""
        parts = [message.part for message in messages if message is not None]
        said: dict[str, Any] = {**self.options.said}
        if idempotency_key is not None:
            said["idempotency_key"] = idempotency_key
        request = LoadRequest(self.mode, self.options.branch or "main", **said)
        replaced = frozenset([self.columns.entity.table_key] if self.mode is LoadMode.OVERWRITE else [])

        def load(job: LoadJob) -> tuple[dict[str, int], Published]:
            whole = LoadInput(job.context.store, job.mode, parts, replaced=replaced)
            return publish_input(job, whole, publish_checked)

        self.options.graph().load_with(load, request)


class SourceWriter(DataSourceArrowWriter):  # type: ignore[misc, unused-ignore] # untyped where pyspark is not installed
    """A load as one commit. What an aborted write leaves is garbage for cleanup: nobody refers to it."""

    def __init__(self, writing: _Writing) -> None:
        self._writing = writing

    def write(self, iterator: Iterator[pa.RecordBatch]) -> PartMessage:
        return self._writing.write(iterator)

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        self._writing.publish(messages)


class SourceStreamWriter(DataSourceStreamArrowWriter):  # type: ignore[misc, unused-ignore] # as above
    """One commit per epoch, and each epoch once: its key is on the commit.

    Epochs are counted by Spark's notes of a query. With others it is another query that begins at 0 with other rows,
    whatever its caller names it; only tasks are told which one it is.
    """

    def __init__(self, writing: _Writing) -> None:
        self._writing = writing

    def write(self, iterator: Iterator[pa.RecordBatch]) -> PartMessage:
        return self._writing.write(iterator)

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803 - Spark's name
        queries = [message.query for message in messages if isinstance(message, PartMessage) and message.query]
        # No task, no rows: nothing could be written twice.
        key = f"spark-stream/{self._writing.options.query}/{queries[0]}/{batchId}" if queries else None
        self._writing.publish(messages, key)

    def abort(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803 - Spark's name
        """Nothing refers to what was written."""
