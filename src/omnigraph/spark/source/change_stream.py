"""The change feed as a frame or a stream: ``spark.read.format("omnigraph").option("readChangeFeed", "true")``.

An offset is a feed cursor at the end of a commit, so a restarted query resumes from its checkpoint. A task compares a
commit with its parent, or some fragments of a large one; the driver only walks the commit log.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, ReadMaxFiles, SupportsTriggerAvailableNow
from pyspark.sql.types import StructType

from omnigraph.core.commit import GraphCommit
from omnigraph.engine.history.commit_parts import CommitPart
from omnigraph.engine.history.feed import Feed
from omnigraph.spark.cluster.python_workers import freeze_imports
from omnigraph.spark.source.change_columns import change_batches
from omnigraph.spark.source.change_options import ChangeOptions

_PART_SHIFT = 40
"""The number of a change is its part of the commit in the upper bits, and its position there in the lower ones."""


@dataclass(frozen=True)
class CommitPartition(InputPartition):  # type: ignore[misc, unused-ignore] # untyped where pyspark is not installed
    """A commit that one task compares with its parent, or a part of it."""

    commit: GraphCommit
    parent: GraphCommit
    part: CommitPart | None = None
    number: int = 0


def commit_partitions(feed: Feed, line: Sequence[GraphCommit]) -> list[CommitPartition]:
    """The tasks for consecutive commits; the first one of them was delivered before."""
    rows_max = feed.comparer.store.tuning.partition_rows
    return [
        CommitPartition(commit, parent, part, number)
        for parent, commit in pairwise(line)
        for number, part in enumerate(feed.parts(commit, parent, rows_max))
    ]


def read_partition(options: ChangeOptions, schema: StructType, partition: InputPartition) -> Iterator[pa.RecordBatch]:
    """The changes of one task."""
    assert isinstance(partition, CommitPartition)
    freeze_imports()
    feed = options.feed()
    rows = feed.rows(partition.commit, partition.parent, partition.part)
    first = partition.number << _PART_SHIFT
    yield from change_batches(partition.commit, first, rows, feed.comparer.store, schema)


class ChangeReader(DataSourceReader):  # type: ignore[misc, unused-ignore] # untyped where pyspark is not installed
    """The changes between two commits as a frame, up to the head that it was created at."""

    def __init__(self, options: ChangeOptions, schema: StructType) -> None:
        self._options = options
        self._schema = schema
        feed = options.feed()
        start, end = options.start_cursor(feed), options.end_cursor(feed)
        self._partitions = commit_partitions(feed, feed.commits(start, end))

    def partitions(self) -> Sequence[InputPartition]:
        # Spark requires at least one partition; one without a commit has no rows.
        return self._partitions or [InputPartition(None)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        if isinstance(partition, CommitPartition):
            yield from read_partition(self._options, self._schema, partition)


class ChangeStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):  # type: ignore[misc, unused-ignore] # as above
    """Reads the commits of a branch, oldest first."""

    def __init__(self, options: ChangeOptions, schema: StructType) -> None:
        self._options = options
        self._schema = schema
        self._target: str | None = None

    def initialOffset(self) -> dict[str, str]:  # noqa: N802 - Spark's name
        return {"cursor": self._options.start_cursor(self._options.feed())}

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802 - Spark's name
        # Spark has no read limit in commits; one "file" stands for one commit.
        return ReadAllAvailable() if self._options.commits is None else ReadMaxFiles(self._options.commits)

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802 - Spark's name
        self._target = self._options.feed().start("now")

    def latestOffset(self, start: dict[str, str], limit: ReadLimit) -> dict[str, str]:  # noqa: N802 - Spark's name
        feed = self._options.feed()
        waiting = feed.commits(start["cursor"], self._options.end_cursor(feed) or self._target)
        wanted = waiting[: limit.max_files + 1] if isinstance(limit, ReadMaxFiles) else waiting
        return {"cursor": feed.cursor(wanted[-1].id)}

    def partitions(self, start: dict[str, str], end: dict[str, str]) -> Sequence[CommitPartition]:
        feed = self._options.feed()
        return commit_partitions(feed, feed.commits(start["cursor"], end["cursor"]))

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return read_partition(self._options, self._schema, partition)

    def commit(self, end: dict[str, str]) -> None:
        """Nothing to release: the feed keeps no state for readers."""

    def stop(self) -> None:
        """Nothing to close."""
