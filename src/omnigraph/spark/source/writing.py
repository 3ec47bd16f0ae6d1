"""Writers of the data source: a frame into one type as one commit, and a stream with one commit per epoch.

Tasks write fragments, as those of a load do. The process that Spark starts for a commit runs all checks and publishes;
it has no session, so the checks cannot run on executors.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSourceArrowWriter, DataSourceStreamArrowWriter, WriterCommitMessage
from pyspark.sql.types import StructType

from omnigraph.engine.load.run import LoadJob, row_embedding
from omnigraph.engine.load_options import LoadOptions
from omnigraph.errors import UsageError
from omnigraph.rows.arrow_types import DST, ID, SRC
from omnigraph.spark.cluster.python_workers import freeze_imports
from omnigraph.spark.load.checks.frame_columns import check_frame
from omnigraph.spark.load.checks.on_driver import publish_checked
from omnigraph.spark.load.folding import fold_slices
from omnigraph.spark.load.frame_slices import FrameColumns, write_frame_slice
from omnigraph.spark.load.input import LoadInput
from omnigraph.spark.load.publish import publish_input
from omnigraph.spark.load.records import frame_lines, frame_records
from omnigraph.spark.load.rejects import Rejects
from omnigraph.spark.load.slices import InputSlice, SliceWriter
from omnigraph.spark.source.changes_sink import (
    ChangesMessage,
    ChangesReader,
    is_feed_frame,
    op_column,
    publish_changes,
)
from omnigraph.spark.source.options import SourceOptions
from omnigraph.spark.source.reporting import reported
from omnigraph.write.load.mode import LoadMode
from omnigraph.write.load.outcome import Loaded
from omnigraph.write.load.reject.file import RejectFile, require_new

_QUERY_ID = "sql.streaming.queryId"
"""The local property of a task that identifies its streaming query."""


@dataclass(frozen=True)
class SliceMessage(WriterCommitMessage):  # type: ignore[misc, unused-ignore] # untyped where pyspark is not installed
    """Commit message of a task: its slice, and the query if it belongs to a stream."""

    input_slice: InputSlice
    query: str | None = None


@dataclass(frozen=True)
class Writing:
    """One write: the state that tasks need, and the publication of their slices."""

    options: SourceOptions
    mode: LoadMode
    writer: SliceWriter
    columns: FrameColumns | None
    """The columns of the type; None for changes."""
    changes: ChangesReader | None = None
    """Reads the rows as changes; None for rows of entities."""

    @classmethod
    def of(cls, options: SourceOptions, schema: StructType, mode: LoadMode) -> Writing:
        """Prepare a write of rows with these columns; raises before any task runs if the type does not have them."""
        if options.at is not None:
            raise UsageError("cannot write to a commit", hint="use the option branch instead of at")
        if options.reject_to is not None:
            require_new(options.reject_to)
        graph = options.graph()
        snapshot = graph.snapshot(options.branch)
        store, pins = snapshot.store, snapshot.state.tables
        embedding = row_embedding(store, pins, snapshot.catalog, mode, lambda: graph.embedder)
        reading = snapshot.catalog if embedding is None else embedding.reading
        names = tuple({"from": SRC, "to": DST}.get(name, name) for name in schema.names)
        twice = [name for place, name in enumerate(names) if name in names[:place]]
        if twice:
            raise UsageError(f"the frame has two columns named {twice[0]!r}", hint="drop one of them")
        rejects = options.reject_to is not None
        writer = SliceWriter(store, pins, reading, embedding, rejects, omissions=mode.omissions)
        if options.type_name is None and is_feed_frame(schema):
            return cls(options, mode, writer, None, ChangesReader(snapshot.catalog, names))._checked()
        entity = options.entity(reading)
        types = {name: field.dataType for name, field in zip(names, schema.fields, strict=True)}
        op = op_column(schema, entity)
        if op is not None:
            del types[op]
        check_frame(entity, types, mode.omissions)
        if op is not None:
            return cls(options, mode, writer, None, ChangesReader(snapshot.catalog, names, entity, op))._checked()
        return cls(options, mode, writer, FrameColumns(0, entity.name, entity, {}, names, has_files=False))

    def _checked(self) -> Writing:
        if self.mode is LoadMode.OVERWRITE or self.options.reject_to is not None:
            raise UsageError(
                "changes cannot overwrite a type, nor be rejected",
                hint='use mode("append") without reject_to, or drop the column of operations',
            )
        return self

    def write(self, batches: Iterator[pa.RecordBatch]) -> SliceMessage | ChangesMessage:
        """Write the rows of one task, or read its changes."""
        from pyspark import TaskContext

        freeze_imports()
        context = TaskContext.get()
        number = 0 if context is None else context.partitionId()
        query = None if context is None else context.getLocalProperty(_QUERY_ID)
        if self.changes is not None:
            return self.changes.read(number, iter(batches), query)
        assert self.columns is not None
        return SliceMessage(write_frame_slice(self.writer, self.columns, number, iter(batches)), query)

    def publish(self, messages: Sequence[Any], idempotency_key: str | None = None) -> None:
        """Publish the output of all tasks as one commit. A failure deletes files, unless the outcome is unknown."""
        commit_options: dict[str, Any] = {**self.options.commit_options}
        if idempotency_key is not None:
            commit_options["idempotency_key"] = idempotency_key
        mode = self.mode if self.changes is None else LoadMode.MERGE
        options = LoadOptions(mode, branch=self.options.branch or "main", **commit_options)
        graph = self.options.graph()
        if self.changes is not None:
            received = [message for message in messages if isinstance(message, ChangesMessage)]
            # An epoch without changes makes no commit; a retry of it writes nothing either.
            if any(message.tables or message.violations.total for message in received):
                graph.load_with(partial(publish_changes, received), options)
            return
        file = None if self.options.reject_to is None else RejectFile(self.options.reject_to)
        slices = [message.input_slice for message in messages if message is not None]
        with nullcontext() if file is None else file.kept():
            graph.load_with(partial(self._load, slices, file), options)

    def _load(self, slices: Sequence[InputSlice], file: RejectFile | None, job: LoadJob) -> Loaded:
        assert self.columns is not None
        slices = fold_slices(self.writer.store, self.writer.pins, self.writer.catalog, slices).slices
        replaced = frozenset([self.columns.entity.table_key] if self.mode is LoadMode.OVERWRITE else [])
        ids_given = [ID in self.columns.names] * len(slices)
        rejects = None if file is None else Rejects(file, partial(frame_records, ids_given=ids_given))
        whole = LoadInput(job.context.store, job.mode, slices, partial(frame_lines, slices), replaced=replaced)
        return publish_input(job, whole, partial(publish_checked, rejects=rejects))


class SourceWriter(DataSourceArrowWriter):  # type: ignore[misc, unused-ignore] # untyped where pyspark is not installed
    """A load as one commit. Files of an aborted write are unreferenced, and garbage for cleanup."""

    def __init__(self, writing: Writing) -> None:
        self._writing = writing

    def write(self, iterator: Iterator[pa.RecordBatch]) -> SliceMessage | ChangesMessage:
        return self._writing.write(iterator)

    @reported
    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        self._writing.publish(messages)


class SourceStreamWriter(DataSourceStreamArrowWriter):  # type: ignore[misc, unused-ignore] # as above
    """One commit per epoch, exactly once: the epoch is part of the commit's idempotency key.

    The checkpoint of a query counts its epochs. With a new checkpoint, epochs restart at 0 with other rows, even if the
    option ``query`` is the same. The key therefore contains Spark's query id, which only tasks can read.
    """

    def __init__(self, writing: Writing) -> None:
        self._writing = writing

    def write(self, iterator: Iterator[pa.RecordBatch]) -> SliceMessage | ChangesMessage:
        return self._writing.write(iterator)

    @reported
    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803 - Spark's name
        known = (message for message in messages if isinstance(message, SliceMessage | ChangesMessage))
        queries = [message.query for message in known if message.query]
        # Without a task there are no rows, so a retry writes nothing twice.
        key = f"spark-stream/{self._writing.options.query}/{queries[0]}/{batchId}" if queries else None
        self._writing.publish(messages, key)

    def abort(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803 - Spark's name
        """Nothing to undo: no version refers to the written files."""
