"""The data source ``omnigraph``: reads a type as a Spark table, and writes frames into a type.

A frame reads one snapshot: its commit is fixed when the frame is created. A write is an atomic load of one commit; the
driver runs all checks. Neither can use a session, because Spark runs data sources in separate Python processes.
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
from omnigraph.engine.load.run import LoadJob, row_embedding
from omnigraph.engine.load_options import LoadOptions
from omnigraph.errors import UsageError
from omnigraph.rows.arrow_types import DST, SRC, table_schema
from omnigraph.spark.cluster import limits
from omnigraph.spark.cluster.python_workers import freeze_imports
from omnigraph.spark.cluster.spark_types import arrow_schema, cast_for_spark, spark_schema
from omnigraph.spark.load.checks.on_driver import publish_checked
from omnigraph.spark.load.frame_slices import FrameColumns, write_frame_slice
from omnigraph.spark.load.input import LoadInput
from omnigraph.spark.load.publish import publish_input
from omnigraph.spark.load.slices import InputSlice, SliceWriter
from omnigraph.spark.source.change_stream import SCHEMA, ChangeStreamReader, parse_change_options
from omnigraph.spark.source.options import SourceOptions, parse_options
from omnigraph.storage.tables.filters import RowFilter
from omnigraph.storage.tables.scan import fragment_groups, scan
from omnigraph.storage.tables.store import Store
from omnigraph.write.load.mode import LoadMode
from omnigraph.write.load.outcome import Loaded

_QUERY_ID = "sql.streaming.queryId"
"""The local property of a task that identifies its streaming query."""


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
        self._options.filter(entity)
        return spark_schema(entity, self._options.chosen_columns(entity))

    def streamReader(self, schema: StructType) -> ChangeStreamReader:  # noqa: N802 - Spark's name
        if self._changes is None:
            raise UsageError(
                "only changes can be read as a stream", hint='set .option("changes", "beginning") or "now"'
            )
        return ChangeStreamReader(self._changes)

    def reader(self, schema: StructType) -> SourceReader:
        if self._changes is not None:
            raise UsageError("changes can only be read as a stream", hint="use spark.readStream, or graph.changes")
        options = self._options
        snapshot = options.snapshot() if self._commit is None else options.graph().snapshot(at=self._commit)
        entity = options.entity(snapshot.catalog)
        unknown = [name for name in schema.names if name not in table_schema(entity).names]
        if unknown:
            raise UsageError(f"{entity.name} has no column {unknown[0]!r}")
        return SourceReader(snapshot.store, snapshot.state.tables[entity.table_key], schema, options.filter(entity))

    def writer(self, schema: StructType, overwrite: bool) -> SourceWriter:
        mode = LoadMode.OVERWRITE if overwrite else LoadMode(self._options.load)
        return SourceWriter(_Writing.of(self._options, schema, mode))

    def streamWriter(self, schema: StructType, overwrite: bool) -> SourceStreamWriter:  # noqa: N802 - Spark's name
        if self._options.query is None:
            hint = 'set .option("query", ...) to a name that stays the same across restarts'
            raise UsageError("a stream needs a name for exactly-once writes", hint=hint)
        if overwrite:
            raise UsageError("a stream cannot overwrite a type", hint='use outputMode("append")')
        return SourceStreamWriter(_Writing.of(self._options, schema, LoadMode(self._options.load)))


@dataclass(frozen=True)
class FragmentPartition(InputPartition):  # type: ignore[misc, unused-ignore] # untyped where pyspark is not installed
    """Fragments that one task reads."""

    fragments: tuple[int, ...]


class SourceReader(DataSourceReader):  # type: ignore[misc, unused-ignore] # untyped where pyspark is not installed
    """Reads one pinned table by fragments.

    Accepts no filter pushdown: up to version 4.3 Spark reuses the filters of one use of a frame for all others, which
    then lack rows (ADR 15). The option ``where`` belongs to the frame instead.
    """

    def __init__(self, store: Store, pin: TablePin, schema: StructType, where: RowFilter | None = None) -> None:
        self._store = store
        self._pin = pin
        self._schema = schema
        self._where = where

    def partitions(self) -> Sequence[FragmentPartition]:
        groups = [*fragment_groups(self._store, self._pin, self._store.tuning.partition_rows)]
        # Spark requires at least one partition, even for an empty table.
        return [FragmentPartition(group) for group in groups or [()]]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, FragmentPartition)
        freeze_imports()
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
            yield cast_for_spark(batch, schema)


@dataclass(frozen=True)
class SliceMessage(WriterCommitMessage):  # type: ignore[misc, unused-ignore] # untyped where pyspark is not installed
    """Commit message of a task: its slice, and the query if it belongs to a stream."""

    input_slice: InputSlice
    query: str | None = None


@dataclass(frozen=True)
class _Writing:
    """One write: the state that tasks need, and the publication of their slices."""

    options: SourceOptions
    mode: LoadMode
    writer: SliceWriter
    columns: FrameColumns

    @classmethod
    def of(cls, options: SourceOptions, schema: StructType, mode: LoadMode) -> _Writing:
        if options.at is not None:
            raise UsageError("cannot write to a commit", hint="use the option branch instead of at")
        graph = options.graph()
        snapshot = graph.snapshot(options.branch)
        store, pins = snapshot.store, snapshot.state.tables
        embedding = row_embedding(store, pins, snapshot.catalog, mode, lambda: graph.embedder)
        reading = snapshot.catalog if embedding is None else embedding.reading
        entity = options.entity(reading)
        names = tuple({"from": SRC, "to": DST}.get(name, name) for name in schema.names)
        twice = [name for place, name in enumerate(names) if name in names[:place]]
        if twice:
            raise UsageError(f"the frame has two columns named {twice[0]!r}", hint="drop one of them")
        columns = FrameColumns(0, entity.name, entity, {}, names, has_files=False)
        writer = SliceWriter(store, pins, reading, embedding, omissions=mode.omissions)
        return cls(options, mode, writer, columns)

    def write(self, batches: Iterator[pa.RecordBatch]) -> SliceMessage:
        from pyspark import TaskContext

        freeze_imports()
        context = TaskContext.get()
        number = 0 if context is None else context.partitionId()
        query = None if context is None else context.getLocalProperty(_QUERY_ID)
        return SliceMessage(write_frame_slice(self.writer, self.columns, number, iter(batches)), query)

    def publish(self, messages: Sequence[Any], idempotency_key: str | None = None) -> None:
        """Publish all slices as one commit. A failure deletes the files, unless the outcome is unknown."""
        slices = [message.input_slice for message in messages if message is not None]
        commit_options: dict[str, Any] = {**self.options.commit_options}
        if idempotency_key is not None:
            commit_options["idempotency_key"] = idempotency_key
        options = LoadOptions(self.mode, branch=self.options.branch or "main", **commit_options)
        replaced = frozenset([self.columns.entity.table_key] if self.mode is LoadMode.OVERWRITE else [])

        def load(job: LoadJob) -> Loaded:
            whole = LoadInput(job.context.store, job.mode, slices, replaced=replaced)
            return publish_input(job, whole, publish_checked)

        self.options.graph().load_with(load, options)


class SourceWriter(DataSourceArrowWriter):  # type: ignore[misc, unused-ignore] # untyped where pyspark is not installed
    """A load as one commit. Files of an aborted write are unreferenced, and garbage for cleanup."""

    def __init__(self, writing: _Writing) -> None:
        self._writing = writing

    def write(self, iterator: Iterator[pa.RecordBatch]) -> SliceMessage:
        return self._writing.write(iterator)

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        self._writing.publish(messages)


class SourceStreamWriter(DataSourceStreamArrowWriter):  # type: ignore[misc, unused-ignore] # as above
    """One commit per epoch, exactly once: the epoch is part of the commit's idempotency key.

    The checkpoint of a query counts its epochs. With a new checkpoint, epochs restart at 0 with other rows, even if the
    option ``query`` is the same. The key therefore contains Spark's query id, which only tasks can read.
    """

    def __init__(self, writing: _Writing) -> None:
        self._writing = writing

    def write(self, iterator: Iterator[pa.RecordBatch]) -> SliceMessage:
        return self._writing.write(iterator)

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803 - Spark's name
        queries = [message.query for message in messages if isinstance(message, SliceMessage) and message.query]
        # Without a task there are no rows, so a retry writes nothing twice.
        key = f"spark-stream/{self._writing.options.query}/{queries[0]}/{batchId}" if queries else None
        self._writing.publish(messages, key)

    def abort(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803 - Spark's name
        """Nothing to undo: no version refers to the written files."""
