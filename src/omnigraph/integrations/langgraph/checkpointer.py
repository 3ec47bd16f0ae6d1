"""``OmnigraphSaver``: the checkpoints of LangGraph threads as entities of a graph.

A step of a thread is one commit, and steps of several threads that end at the same time share one. The asynchronous
methods run the others in threads, so that an event loop never waits for storage.
"""

from __future__ import annotations

import asyncio
import random
from collections import defaultdict
from collections.abc import AsyncIterator, Hashable, Iterator, Sequence
from typing import Any, Final, cast

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    WRITES_IDX_MAP,
    BaseCheckpointSaver,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    get_checkpoint_metadata,
    writes_sort_key,
)
from langgraph.checkpoint.serde.base import SerializerProtocol

from omnigraph.errors import UsageError
from omnigraph.integrations.batches import Batches
from omnigraph.integrations.facts import facts
from omnigraph.integrations.graphs import GraphOrAddress, opened
from omnigraph.integrations.langgraph.checkpoint_rows import (
    CHECKPOINT,
    CONTENTS,
    DECLARATIONS,
    EMPTY,
    KEYS,
    VALUE,
    WRITE,
    CheckpointRows,
    Key,
    Place,
    Row,
    decoded,
    encoded,
    key_of,
    record,
)
from omnigraph.manifest.layout import MAIN

_DELTA_COUNTERS: Final = "counters_since_delta_snapshot"
"""Metadata of threads with channels that keep differences: their checkpoints need the ones before them."""


class OmnigraphSaver(BaseCheckpointSaver[str]):
    """A checkpointer: ``builder.compile(checkpointer=OmnigraphSaver("threads.omni"))``.

    ``graph`` is an open graph, also a remote one, or an address; a graph that does not exist is created. Threads may
    share it. Values are serialized by ``serde``, as in other checkpointers.
    """

    def __init__(
        self, graph: GraphOrAddress, *, branch: str = MAIN, serde: SerializerProtocol | None = None, **options: Any
    ) -> None:
        super().__init__(serde=serde)
        self.graph = opened(graph, DECLARATIONS, options, branch)
        self._rows = CheckpointRows(self.graph, branch)
        self._batches = Batches(self.graph, branch, "LangGraph checkpoints")

    def get_next_version(self, current: str | int | None, channel: None) -> str:
        """The next version of a channel: a counter, and a random part that tells forks of a thread apart."""
        number = 0 if current is None else current if isinstance(current, int) else int(current.split(".")[0])
        return f"{number + 1:032}.{random.random():016}"

    def put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Store a checkpoint and the new values of its channels, as one commit."""
        place, values = Place.of(config), checkpoint["channel_values"]
        kept = cast("dict[str, Any]", get_checkpoint_metadata(config, metadata))
        bare = {name: value for name, value in checkpoint.items() if name != "channel_values"}
        content = {
            **place.members,
            "checkpoint": checkpoint["id"],
            "parent": place.checkpoint,
            "run": kept.get("run_id"),
            "facts": facts(kept),
            "content": encoded(self.serde, bare),
            "metadata": encoded(self.serde, kept),
        }
        records = dict([record(CHECKPOINT, content)])
        for channel, version in new_versions.items():
            text = encoded(self.serde, values[channel]) if channel in values else EMPTY
            named = {"channel": channel, "version": str(version), "content": text}
            records |= [record(VALUE, {"thread": place.thread, "namespace": place.namespace, **named})]
        self._batches.write(records)
        return place.config(checkpoint["id"])

    def put_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """Store the writes of a task. Those that were stored before stay, except for errors and interrupts."""
        place = {**Place.of(config).members, "task": task_id}
        known = {row["number"] for row in self._rows.find(WRITE, place)}
        records: dict[Hashable, Any] = {}
        for position, (channel, value) in enumerate(writes):
            number = WRITES_IDX_MAP.get(channel, position)
            if number < 0 or number not in known:
                content = {"channel": channel, "path": task_path, "content": encoded(self.serde, value)}
                records |= [record(WRITE, {**place, "number": number, **content})]
        self._batches.write(records)

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """The checkpoint that a configuration names, or the newest one of its namespace."""
        wanted = {name: value for name, value in Place.of(config).members.items() if value is not None}
        found = self._tuples(self._rows.checkpoints(wanted, limit=1))
        return found[0] if found else None

    def list(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> Iterator[CheckpointTuple]:
        """Checkpoints, newest first: of a thread, of one of its namespaces, or of all threads."""
        if limit is not None and limit <= 0:
            return
        wanted: dict[str, Any] = {}
        if config is not None:
            wanted = {name: value for name, value in Place.of(config).members.items() if value is not None}
            if config["configurable"].get("checkpoint_ns") is None:
                del wanted["namespace"]
        earlier = None if before is None else Place.of(before).checkpoint
        yield from self._tuples(self._rows.checkpoints(wanted, facts(filter or {}), earlier, limit))

    def delete_thread(self, thread_id: str) -> None:
        """Delete everything of a thread, as one commit."""
        self._rows.delete_threads([str(thread_id)])

    def delete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Delete the checkpoints of runs with their writes, and values that no other checkpoint names."""
        runs = [str(run_id) for run_id in run_ids]
        found = self._rows.find(CHECKPOINT, {}, "($c.run in $runs)", runs=runs) if runs else []
        self._rows.delete({key_of(CHECKPOINT, row) for row in found}, self._versions)

    def copy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Copy all checkpoints, values and writes of a thread to another one, as one commit."""
        records: dict[Hashable, Any] = {}
        for name in KEYS:
            for row in self._rows.find(name, {"thread": str(source_thread_id)}):
                data = {part: row[part] for part in (*KEYS[name], *CONTENTS[name])}
                records |= [record(name, {**data, "thread": str(target_thread_id)})]
        self._batches.write(records)

    def prune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """Delete all checkpoints of threads (``delete``), or all but the newest of each namespace (``keep_latest``).

        Of threads with channels that keep differences, the checkpoints stay that the newest one is computed from.
        """
        threads = [str(thread_id) for thread_id in thread_ids]
        if strategy == "delete":
            self._rows.delete_threads(threads)
            return
        if strategy != "keep_latest":
            raise UsageError(f"unknown strategy: {strategy!r} (expected keep_latest or delete)")
        removed: set[Key] = set()
        for thread in threads:
            by_namespace: dict[str, list[Row]] = defaultdict(list)
            for row in self._rows.checkpoints({"thread": thread}):
                by_namespace[row["namespace"]].append(row)
            for rows in by_namespace.values():
                kept = self._needed(rows)
                removed |= {key_of(CHECKPOINT, row) for row in rows if row["checkpoint"] not in kept}
        self._rows.delete(removed, self._versions)

    def _needed(self, rows: Sequence[Row]) -> set[str]:
        """The newest checkpoint, and those before it up to the last whole value of every channel of differences."""
        by_id = {row["checkpoint"]: row for row in rows}
        waiting = set(decoded(self.serde, rows[0]["metadata"]).get(_DELTA_COUNTERS) or ())
        needed: set[str] = set()
        at: Row | None = rows[0]
        while at is not None:
            needed.add(at["checkpoint"])
            waiting -= self._channels(at).keys() if waiting else set()
            at = by_id.get(at["parent"] or "") if waiting else None
        return needed

    def _versions(self, row: Row) -> dict[str, str]:
        """The versions of the channels at a checkpoint."""
        versions = decoded(self.serde, row["content"])["channel_versions"]
        return {channel: str(version) for channel, version in versions.items()}

    def _channels(self, row: Row) -> dict[str, Any]:
        return self._tuples([row])[0].checkpoint["channel_values"]

    def _tuples(self, rows: Sequence[Row]) -> Sequence[CheckpointTuple]:
        """Checkpoints with their values and writes, by two queries for each namespace."""
        versions = {key_of(CHECKPOINT, row): self._versions(row) for row in rows}
        values, writes = self._rows.values(rows, versions), self._rows.writes(rows)
        found = []
        for row in rows:
            key = key_of(CHECKPOINT, row)
            place = Place(row["thread"], row["namespace"], row["checkpoint"])
            contents = {channel: values.get((*key[:2], channel, version)) for channel, version in versions[key].items()}
            channels = {name: decoded(self.serde, text) for name, text in contents.items() if text not in (None, EMPTY)}
            ordered = sorted(
                writes.get(key, ()), key=lambda row: writes_sort_key(row["path"], row["task"], row["number"])
            )
            found.append(
                CheckpointTuple(
                    place.config(row["checkpoint"]),
                    cast("Checkpoint", {**decoded(self.serde, row["content"]), "channel_values": channels}),
                    decoded(self.serde, row["metadata"]),
                    None if row["parent"] is None else place.config(row["parent"]),
                    [(item["task"], item["channel"], decoded(self.serde, item["content"])) for item in ordered],
                )
            )
        return found

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """``get_tuple``, awaited."""
        return await asyncio.to_thread(self.get_tuple, config)

    async def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        """``list``, as an asynchronous iterator."""
        rows = await asyncio.to_thread(
            lambda: [*self.list(config, filter=filter, before=before, limit=limit)],
        )
        for row in rows:
            yield row

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """``put``, awaited."""
        return await asyncio.to_thread(self.put, config, checkpoint, metadata, new_versions)

    async def aput_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """``put_writes``, awaited."""
        await asyncio.to_thread(self.put_writes, config, writes, task_id, task_path)

    async def adelete_thread(self, thread_id: str) -> None:
        """``delete_thread``, awaited."""
        await asyncio.to_thread(self.delete_thread, thread_id)

    async def adelete_for_runs(self, run_ids: Sequence[str]) -> None:
        """``delete_for_runs``, awaited."""
        await asyncio.to_thread(self.delete_for_runs, run_ids)

    async def acopy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """``copy_thread``, awaited."""
        await asyncio.to_thread(self.copy_thread, source_thread_id, target_thread_id)

    async def aprune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """``prune``, awaited."""
        await asyncio.to_thread(lambda: self.prune(thread_ids, strategy=strategy))
