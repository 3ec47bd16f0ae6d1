"""Checkpoints as entities of a graph: their types, the queries that read them, and the mutations that delete them.

Values of channels are kept once for each version, because most of them do not change from one step to the next.
"""

from __future__ import annotations

import base64
from collections import defaultdict
from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.serde.base import SerializerProtocol

from omnigraph.integrations.graphs import AnyGraph

CHECKPOINT: Final = "LangGraphCheckpoint"
VALUE: Final = "LangGraphValue"
WRITE: Final = "LangGraphWrite"
DECLARATIONS: Final = f"""
node {CHECKPOINT} @description("A checkpoint of a LangGraph thread.") {{
  thread: String @index
  namespace: String
  checkpoint: String
  parent: String?
  run: String? @index
  facts: [String]?
  content: String
  metadata: String
  @key(thread, namespace, checkpoint)
}}

node {VALUE} @description("The value of one version of a channel.") {{
  thread: String @index
  namespace: String
  channel: String
  version: String
  content: String
  @key(thread, namespace, channel, version)
}}

node {WRITE} @description("A write of a task that follows a checkpoint.") {{
  thread: String @index
  namespace: String
  checkpoint: String
  task: String
  number: I64
  channel: String
  path: String
  content: String
  @key(thread, namespace, checkpoint, task, number)
}}
"""
KEYS: Final[Mapping[str, tuple[str, ...]]] = {
    CHECKPOINT: ("thread", "namespace", "checkpoint"),
    VALUE: ("thread", "namespace", "channel", "version"),
    WRITE: ("thread", "namespace", "checkpoint", "task", "number"),
}
CONTENTS: Final[Mapping[str, tuple[str, ...]]] = {
    CHECKPOINT: ("parent", "run", "facts", "content", "metadata"),
    VALUE: ("content",),
    WRITE: ("channel", "path", "content"),
}
EMPTY: Final = "empty:"
"""The content of a version at which a channel has no value."""

Row = Mapping[str, Any]
Key = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Place:
    """A namespace of a thread, and the id of a checkpoint in it if the configuration names one."""

    thread: str
    namespace: str
    checkpoint: str | None

    @classmethod
    def of(cls, config: RunnableConfig) -> Place:
        named = config["configurable"]
        checkpoint = named.get("checkpoint_id") or None
        return cls(
            str(named["thread_id"]), named.get("checkpoint_ns") or "", None if checkpoint is None else str(checkpoint)
        )

    @property
    def members(self) -> dict[str, Any]:
        """The place as properties of an entity."""
        return {"thread": self.thread, "namespace": self.namespace, "checkpoint": self.checkpoint}

    def config(self, checkpoint: str) -> RunnableConfig:
        """The configuration of a checkpoint of this namespace."""
        named = {"thread_id": self.thread, "checkpoint_ns": self.namespace, "checkpoint_id": checkpoint}
        return {"configurable": named}


def encoded(serde: SerializerProtocol, value: Any) -> str:
    """A value as text: the name of its format and its bytes. Queries return texts, not bytes."""
    kind, content = serde.dumps_typed(value)
    return f"{kind}:{base64.b64encode(content).decode()}"


def decoded(serde: SerializerProtocol, text: str) -> Any:
    """The value of a text."""
    kind, _, content = text.partition(":")
    return serde.loads_typed((kind, base64.b64decode(content)))


def key_of(type_name: str, row: Row) -> Key:
    """The values of the key properties."""
    return tuple(row[name] for name in KEYS[type_name])


def record(type_name: str, data: Row) -> tuple[Hashable, dict[str, Any]]:
    """An entity for a load, after what identifies it."""
    return (type_name, key_of(type_name, data)), {"type": type_name, "data": dict(data)}


@dataclass(frozen=True, slots=True)
class CheckpointRows:
    """The entities of checkpoints on one branch of a graph."""

    graph: AnyGraph
    branch: str

    def find(self, type_name: str, wanted: Row, *conditions: str, tail: str = "", **more: Any) -> list[dict[str, Any]]:
        """Entities whose properties have the wanted values, with their ids. ``tail`` orders and limits them."""
        names = [*KEYS[type_name], *CONTENTS[type_name]]
        params = {**wanted, **more}
        declared = ", ".join(f"${name}: {_type_of(value)}" for name, value in params.items())
        matched = ", ".join(f"{name}: ${name}" for name in wanted)
        columns = ", ".join(f"$c.{name} as {name}" for name in names)
        text = (
            f"query find({declared}) {{ match {{ $c: {type_name} {{ {matched} }} {' '.join(conditions)} }}"
            f" return {{ id($c) as id, {columns} }} {tail} }}"
        )
        return self.graph.query(text, params, branch=self.branch).to_dicts()

    def checkpoints(
        self, wanted: Row, facts: Sequence[str] = (), before: str | None = None, limit: int | None = None
    ) -> list[dict[str, Any]]:
        """Checkpoints, newest first: their ids grow with time."""
        more: dict[str, Any] = {f"fact{number}": text for number, text in enumerate(facts)}
        conditions = [f"($c.facts contains ${name})" for name in more]
        if before is not None:
            more["before"] = before
            conditions.append("$c.checkpoint < $before")
        tail = "order { $c.checkpoint desc }" + ("" if limit is None else f" limit {limit}")
        return self.find(CHECKPOINT, wanted, *conditions, tail=tail, **more)

    def values(self, rows: Sequence[Row], versions: Mapping[Key, Mapping[str, str]]) -> dict[Key, str]:
        """The contents of the versions of channels that checkpoints name, by thread, namespace, channel and version."""
        found: dict[Key, str] = {}
        for (thread, namespace), wanted in _by_namespace(rows, versions).items():
            place = {"thread": thread, "namespace": namespace}
            values = self.find(VALUE, place, "($c.version in $versions)", versions=sorted(wanted))
            found |= {key_of(VALUE, row): row["content"] for row in values}
        return found

    def writes(self, rows: Sequence[Row]) -> dict[Key, list[dict[str, Any]]]:
        """The writes that follow checkpoints, by the keys of the checkpoints."""
        found: dict[Key, list[dict[str, Any]]] = defaultdict(list)
        named: dict[Key, list[str]] = defaultdict(list)
        for row in rows:
            named[row["thread"], row["namespace"]].append(row["checkpoint"])
        for (thread, namespace), checkpoints in named.items():
            place = {"thread": thread, "namespace": namespace}
            for write in self.find(WRITE, place, "($c.checkpoint in $checkpoints)", checkpoints=checkpoints):
                found[key_of(CHECKPOINT, write)].append(write)
        return found

    def delete_threads(self, threads: Sequence[str]) -> None:
        """Delete everything of threads, as one commit."""
        statements = " ".join(f"delete {name} where thread in $threads" for name in KEYS)
        self._mutate(f"query forget($threads: [String]) {{ {statements} }}", {"threads": list(threads)})

    def delete(self, places: Collection[Key], versions_of: Any) -> None:
        """Delete checkpoints with their writes, and values that no checkpoint of their thread names any more."""
        if not places:
            return
        ids: dict[str, list[str]] = {name: [] for name in KEYS}
        for thread in sorted({place[0] for place in places}):
            used: set[Key] = set()
            for row in self.checkpoints({"thread": thread}):
                if key_of(CHECKPOINT, row) in places:
                    ids[CHECKPOINT].append(row["id"])
                else:
                    used |= {(*key_of(CHECKPOINT, row)[:2], *item) for item in versions_of(row).items()}
            writes = self.find(WRITE, {"thread": thread})
            ids[WRITE] += [row["id"] for row in writes if key_of(CHECKPOINT, row) in places]
            values = self.find(VALUE, {"thread": thread})
            ids[VALUE] += [row["id"] for row in values if key_of(VALUE, row) not in used]
        statements = " ".join(f"delete {name} where id in $ids{number}" for number, name in enumerate(KEYS))
        declared = ", ".join(f"$ids{number}: [String]" for number in range(len(KEYS)))
        params = {f"ids{number}": ids[name] for number, name in enumerate(KEYS)}
        self._mutate(f"query forget({declared}) {{ {statements} }}", params)

    def _mutate(self, text: str, params: Mapping[str, Any]) -> None:
        self.graph.retry(lambda graph: graph.mutate(text, params, branch=self.branch))


def _type_of(value: Any) -> str:
    return "[String]" if isinstance(value, list) else "String"


def _by_namespace(rows: Sequence[Row], versions: Mapping[Key, Mapping[str, str]]) -> dict[Key, set[str]]:
    """The versions that are named in each namespace."""
    found: dict[Key, set[str]] = defaultdict(set)
    for row in rows:
        found[row["thread"], row["namespace"]] |= set(versions[key_of(CHECKPOINT, row)].values())
    return {place: wanted for place, wanted in found.items() if wanted}
