"""The change feed as a stream: ``spark.readStream.format("omnigraph").option("changes", "beginning")``.

An offset is a feed cursor at the end of a commit, so a restarted query resumes from its checkpoint. Each task compares
one commit with its parent; the driver only walks the commit log.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice, pairwise
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, ReadMaxFiles, SupportsTriggerAvailableNow

from omnigraph.core.commit import GraphCommit
from omnigraph.core.suggestions import did_you_mean
from omnigraph.engine.graph import Graph, open_graph
from omnigraph.engine.history.feed import Feed
from omnigraph.errors import UsageError
from omnigraph.history.changes import Change, Image
from omnigraph.spark.cluster import limits
from omnigraph.spark.cluster.python_workers import freeze_imports
from omnigraph.spark.source.options import STORAGE, checked_store

SCHEMA = (
    "commit_id string, parent_commit_id string, branch string, actor string, committed_at timestamp, number long, "
    "kind string, type string, id string, op string, changed array<string>, before string, after string"
)
"""Columns of the stream, as DDL text: Spark requests them in a process without a session.

Images are JSON texts, because types have different properties."""

_ARROW = pa.schema(
    [
        *(pa.field(name, pa.string()) for name in ("commit_id", "parent_commit_id", "branch", "actor")),
        pa.field("committed_at", pa.timestamp("us", tz="UTC")),
        pa.field("number", pa.int64()),
        *(pa.field(name, pa.string()) for name in ("kind", "type", "id", "op")),
        pa.field("changed", pa.list_(pa.string())),
        *(pa.field(name, pa.string()) for name in ("before", "after")),
    ]
)

_NAMES = ("store", "changes", "branch", "kind", "type", "op", "commits", "policy", "actor")


@dataclass(frozen=True, slots=True)
class ChangeOptions:
    """Parsed options of a change stream."""

    store: str
    start: str
    branch: str = "main"
    commits: int | None = None
    chosen: Mapping[str, list[str]] = field(default_factory=dict)
    policy: str | None = None
    actor: str | None = None
    storage: Mapping[str, str] = field(default_factory=dict)

    def feed(self) -> Feed:
        graph: Graph = open_graph(self.store, storage_options=self.storage, policy=self.policy, actor=self.actor)
        kind, type_, op = (self.chosen.get(name) for name in ("kind", "type", "op"))
        return graph.feed(self.branch, kind=kind, type=type_, op=op)


def parse_change_options(given: Mapping[str, str]) -> ChangeOptions:
    """Parse the options that Spark passes, with case-insensitive names."""
    options = {name.lower(): value for name, value in given.items()}
    for name in options:
        if name not in _NAMES and not name.startswith(STORAGE):
            hint = did_you_mean(name, list(_NAMES)) or f"options are {', '.join(_NAMES)} and storage.*"
            raise UsageError(f"unknown option {name!r} of a change stream", hint=hint)
    commits = options.get("commits")
    if commits is not None and not (commits.isdecimal() and int(commits)):
        raise UsageError(
            f"invalid number of commits: {commits!r}",
            hint='use a positive integer: .option("commits", 100) limits a micro-batch',
        )
    names = ("kind", "type", "op")
    return ChangeOptions(
        checked_store(options),
        options["changes"],
        options.get("branch", "main"),
        None if commits is None else int(commits),
        {name: [item.strip() for item in options[name].split(",")] for name in names if name in options},
        options.get("policy"),
        options.get("actor"),
        {name[len(STORAGE) :]: value for name, value in options.items() if name.startswith(STORAGE)},
    )


@dataclass(frozen=True)
class CommitPartition(InputPartition):  # type: ignore[misc, unused-ignore] # untyped where pyspark is not installed
    """A commit that one task compares with its parent."""

    commit: GraphCommit
    parent: GraphCommit


class ChangeStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):  # type: ignore[misc, unused-ignore] # as above
    """Reads the commits of a branch, oldest first."""

    def __init__(self, options: ChangeOptions) -> None:
        self._options = options
        self._target: str | None = None

    def initialOffset(self) -> dict[str, str]:  # noqa: N802 - Spark's name
        feed = self._options.feed()
        return {"cursor": feed.start(self._options.start)}

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802 - Spark's name
        # Spark has no read limit in commits; one "file" stands for one commit.
        return ReadAllAvailable() if self._options.commits is None else ReadMaxFiles(self._options.commits)

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802 - Spark's name
        self._target = self._options.feed().start("now")

    def latestOffset(self, start: dict[str, str], limit: ReadLimit) -> dict[str, str]:  # noqa: N802 - Spark's name
        feed = self._options.feed()
        waiting = feed.commits(start["cursor"], self._target)
        wanted = waiting[: limit.max_files + 1] if isinstance(limit, ReadMaxFiles) else waiting
        return {"cursor": feed.cursor(wanted[-1].id)}

    def partitions(self, start: dict[str, str], end: dict[str, str]) -> Sequence[CommitPartition]:
        line = self._options.feed().commits(start["cursor"], end["cursor"])
        return [CommitPartition(commit, parent) for parent, commit in pairwise(line) if commit.tables]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, CommitPartition)
        freeze_imports()
        changes = enumerate(self._options.feed().changes(partition.commit, partition.parent))
        while rows := [_row(partition.commit, *item) for item in islice(changes, limits.FACT_BATCH_ROWS)]:
            yield pa.RecordBatch.from_pylist(rows, schema=_ARROW)

    def commit(self, end: dict[str, str]) -> None:
        """Nothing to release: the feed keeps no state for readers."""

    def stop(self) -> None:
        """Nothing to close."""


def _row(commit: GraphCommit, number: int, change: Change) -> dict[str, Any]:
    return {
        "commit_id": commit.id,
        "parent_commit_id": commit.parents[0],
        "branch": commit.branch,
        "actor": commit.actor,
        "committed_at": commit.created_at_us,
        "number": number,
        "kind": change.kind,
        "type": change.type_name,
        "id": change.id,
        "op": change.op.value,
        "changed": list(change.changed),
        "before": _text(change.before),
        "after": _text(change.after),
    }


def _text(image: Image | None) -> str | None:
    return None if image is None else json.dumps(image.to_json(), ensure_ascii=False)
