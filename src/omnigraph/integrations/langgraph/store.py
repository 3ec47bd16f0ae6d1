"""``OmnigraphStore``: the long-term memory of LangGraph agents as entities of a graph.

Items are values under a namespace and a key. With an ``index``, their texts are embedded and found by meaning; vectors
have length one, so that the distance of the graph orders them as their cosine does.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from langchain_core.embeddings import Embeddings
from langgraph.store.base import (
    BaseStore,
    GetOp,
    IndexConfig,
    Item,
    ListNamespacesOp,
    Op,
    PutOp,
    Result,
    SearchItem,
    SearchOp,
    ensure_embeddings,
    get_text_at_path,
    tokenize_path,
    validate_op_namespace,
)

from omnigraph.errors import UsageError
from omnigraph.integrations.batches import Batches
from omnigraph.integrations.graphs import GraphOrAddress, opened
from omnigraph.integrations.langgraph.item_filters import matches, passes
from omnigraph.integrations.vectors import cosine, unit
from omnigraph.manifest.layout import MAIN

ITEM: Final = "LangGraphItem"
VECTOR: Final = "LangGraphVector"
_ITEMS: Final = f"""
node {ITEM} @description("An item of a LangGraph store.") {{
  namespace: String @index
  key: String
  value: String
  created: I64
  updated: I64
  @key(namespace, key)
}}
"""
_VECTORS: Final = f"""
node {VECTOR} @description("The embedding of one text of an item.") {{
  namespace: String @index
  key: String
  path: String
  embedding: Vector(%d) @index
  @key(namespace, key, path)
}}
"""
_SEPARATOR: Final = "."
"""Between the labels of a namespace, which cannot contain it."""
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_COLUMNS: Final = ", ".join(f"$i.{name} as {name}" for name in ("namespace", "key", "value", "created", "updated"))

Key = tuple[str, str]
"""The namespace as a text, and the key."""


@dataclass(frozen=True, slots=True)
class Index:
    """The embedding of items: its model, the length of its vectors, and the usual fields."""

    embeddings: Embeddings
    dims: int
    fields: tuple[str, ...]

    @classmethod
    def of(cls, config: IndexConfig) -> Index:
        return cls(ensure_embeddings(config.get("embed")), config["dims"], tuple(config.get("fields") or ("$",)))

    def texts(self, op: PutOp) -> dict[str, str]:
        """The texts of an item that are embedded, by their path."""
        if op.value is None or op.index is False:
            return {}
        found: dict[str, str] = {}
        for path in self.fields if op.index is None else op.index:
            texts = get_text_at_path(op.value, path if path == "$" else tokenize_path(path))
            found |= {path if len(texts) == 1 else f"{path}.{number}": text for number, text in enumerate(texts)}
        return found


class OmnigraphStore(BaseStore):
    """A store: ``builder.compile(store=OmnigraphStore("memory.omni", index={"dims": 1536, "embed": embed}))``.

    ``graph`` is an open graph, also a remote one, or an address; a graph that does not exist is created. All puts of a
    batch are one commit. Items do not expire.
    """

    def __init__(
        self, graph: GraphOrAddress, *, index: IndexConfig | None = None, branch: str = MAIN, **options: Any
    ) -> None:
        self.index = None if index is None else Index.of(index)
        declared = _ITEMS if self.index is None else _ITEMS + _VECTORS % self.index.dims
        self.graph = opened(graph, declared, options, branch)
        self.branch = branch
        self._batches = Batches(self.graph, branch, "LangGraph store")

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """The results of operations: reads see the state before the batch, and the last put of an item counts."""
        given = list(ops)
        embeddings = None if self.index is None else self.index.embeddings
        vectors = {} if embeddings is None else {text: embeddings.embed_query(text) for text in _queries(given)}
        texts = self._texts(given)
        made = [] if embeddings is None or not texts else embeddings.embed_documents(texts)
        return self._run(given, vectors, dict(zip(texts, made, strict=True)))

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """``batch``, awaited. Texts are embedded by the asynchronous methods of the model."""
        given = list(ops)
        embeddings = None if self.index is None else self.index.embeddings
        vectors: dict[str, list[float]] = {}
        made: list[list[float]] = []
        texts = self._texts(given)
        if embeddings is not None:
            queries = _queries(given)
            vectors = dict(zip(queries, await asyncio.gather(*map(embeddings.aembed_query, queries)), strict=True))
            made = await embeddings.aembed_documents(texts) if texts else []
        known = dict(zip(texts, made, strict=True))
        return await asyncio.to_thread(self._run, given, vectors, known)

    def _texts(self, ops: Sequence[Op]) -> list[str]:
        """The texts that puts embed, each once."""
        if self.index is None:
            return []
        puts = _last_puts(ops).values()
        return list(dict.fromkeys(text for op in puts for text in self.index.texts(op).values()))

    def _run(
        self, ops: Sequence[Op], queries: Mapping[str, Sequence[float]], vectors: Mapping[str, Sequence[float]]
    ) -> list[Result]:
        for op in ops:
            validate_op_namespace(op)
        items = self._items({_key(op) for op in ops if isinstance(op, GetOp)})
        results: list[Result] = []
        for op in ops:
            match op:
                case GetOp():
                    results.append(items.get(_key(op)))
                case SearchOp():
                    results.append(self._search(op, queries))
                case ListNamespacesOp():
                    results.append(self._namespaces(op))
                case PutOp():
                    results.append(None)
                case _:
                    raise UsageError(f"unknown operation of a store: {type(op).__name__}")
        self._put(_last_puts(ops), vectors)
        return results

    def _put(self, puts: Mapping[Key, PutOp], vectors: Mapping[str, Sequence[float]]) -> None:
        """Write and delete items with their vectors."""
        if not puts:
            return
        before, now = self._items(set(puts)), time.time_ns() // 1000
        records: dict[Hashable, Any] = {}
        paths: set[tuple[str, str, str]] = set()
        for (namespace, key), op in puts.items():
            if op.value is None:
                continue
            known = before.get((namespace, key))
            created = now if known is None else _microseconds(known.created_at)
            named = {"namespace": namespace, "key": key}
            item = {**named, "value": json.dumps(op.value), "created": created, "updated": now}
            records[ITEM, namespace, key] = {"type": ITEM, "data": item}
            for path, text in {} if self.index is None else self.index.texts(op).items():
                paths.add((namespace, key, path))
                content = {**named, "path": path, "embedding": unit(vectors[text])}
                records[VECTOR, namespace, key, path] = {"type": VECTOR, "data": content}
        self._batches.write(records)
        self._forget(puts, before, paths)

    def _forget(self, puts: Mapping[Key, PutOp], before: Mapping[Key, Item], paths: set[tuple[str, str, str]]) -> None:
        """Delete items that were put without a value, and vectors of texts that items do not have any more."""
        gone = [key for key, op in puts.items() if op.value is None and key in before]
        ids: dict[str, list[str]] = {ITEM: [row["id"] for row in self._rows(ITEM, gone)]}
        if self.index is not None:
            known = self._rows(VECTOR, [key for key in puts if key in before], "$i.path as path")
            ids[VECTOR] = [row["id"] for row in known if (row["namespace"], row["key"], row["path"]) not in paths]
        if not any(ids.values()):
            return
        statements = " ".join(f"delete {name} where id in ${name.lower()}" for name in ids)
        declared = ", ".join(f"${name.lower()}: [String]" for name in ids)
        params = {name.lower(): found for name, found in ids.items()}
        text = f"query forget({declared}) {{ {statements} }}"
        self.graph.retry(lambda graph: graph.mutate(text, params, branch=self.branch))

    def _items(self, keys: Iterable[Key]) -> dict[Key, Item]:
        rows = self._rows(ITEM, list(keys), "$i.value as value, $i.created as created, $i.updated as updated")
        return {(row["namespace"], row["key"]): Item(**_members(row)) for row in rows}

    def _rows(self, type_name: str, keys: Sequence[Key], columns: str = "") -> list[dict[str, Any]]:
        """Entities by namespace and key."""
        by_namespace: dict[str, list[str]] = defaultdict(list)
        for namespace, key in keys:
            by_namespace[namespace].append(key)
        more = f", {columns}" if columns else ""
        text = (
            f"query find($namespace: String, $keys: [String]) {{ match {{ $i: {type_name} {{ namespace: $namespace }}"
            f" ($i.key in $keys) }} return {{ id($i) as id, $i.namespace as namespace, $i.key as key{more} }} }}"
        )
        return [
            row
            for namespace, found in by_namespace.items()
            for row in self.graph.query(text, {"namespace": namespace, "keys": found}, branch=self.branch).to_dicts()
        ]

    def _search(self, op: SearchOp, queries: Mapping[str, Sequence[float]]) -> list[SearchItem]:
        """Items below a namespace: the newest first, or the closest to a text, which those without vectors follow."""
        vector = queries.get(op.query) if op.query else None
        if vector is None:
            found = self._listed(op, None if op.filter else op.offset + op.limit)
            return found[op.offset : op.offset + op.limit]
        wanted = op.offset + op.limit
        ranked = self._ranked(op, unit(vector), wanted)
        if len(ranked) < wanted:
            seen = {(item.namespace, item.key) for item in ranked}
            rest = [item for item in self._listed(op, None) if (item.namespace, item.key) not in seen]
            ranked += rest[: wanted - len(ranked)]
        return ranked[op.offset : wanted]

    def _listed(self, op: SearchOp, limit: int | None) -> list[SearchItem]:
        tail = "" if limit is None else f" limit {max(limit, 0)}"
        text = (
            f"query listed($path: String, $below: String) {{ match {{ $i: {ITEM} {_below(op)} }}"
            f" return {{ {_COLUMNS} }} order {{ $i.updated desc, $i.namespace, $i.key }}{tail} }}"
        )
        rows = self.graph.query(text, _path(op.namespace_prefix), branch=self.branch).to_dicts()
        found = [SearchItem(**_members(row)) for row in rows]
        return [item for item in found if passes(item.value, op.filter)]

    def _ranked(self, op: SearchOp, vector: list[float], wanted: int) -> list[SearchItem]:
        """The closest items with their cosine. An item has the score of its closest text."""
        text = (
            f"query ranked($path: String, $below: String, $vector: Vector({len(vector)}), $n: I64) {{"
            f" match {{ $i: {VECTOR} {_below(op)} }}"
            " return { $i.namespace as namespace, $i.key as key, nearest($i.embedding, $vector) as distance }"
            " order { nearest($i.embedding, $vector) } limit $n }"
        )
        limit = 4 * max(wanted, 1)
        while True:
            params = {**_path(op.namespace_prefix), "vector": vector, "n": limit}
            rows = self.graph.query(text, params, branch=self.branch).to_dicts()
            scores: dict[Key, float] = {}
            for row in rows:
                scores.setdefault((row["namespace"], row["key"]), cosine(row["distance"]))
            items = self._items(scores)
            found = [
                SearchItem(**items[key].dict(), score=score)
                for key, score in scores.items()
                if key in items and passes(items[key].value, op.filter)
            ]
            # Several texts of one item, and items that the filter leaves out, take places of the ranking.
            if len(found) >= wanted or len(rows) < limit:
                return found[:wanted]
            limit *= 4

    def _namespaces(self, op: ListNamespacesOp) -> list[tuple[str, ...]]:
        text = f"query namespaces() {{ match {{ $i: {ITEM} }} return distinct {{ $i.namespace as namespace }} }}"
        rows = self.graph.query(text, branch=self.branch).to_dicts()
        known = [_labels(row["namespace"]) for row in rows]
        kept = {
            labels[: op.max_depth]
            for labels in known
            if all(matches(labels, condition) for condition in op.match_conditions or ())
        }
        return sorted(kept)[op.offset : op.offset + op.limit]


def _queries(ops: Sequence[Op]) -> list[str]:
    """The texts of searches, each once."""
    return list(dict.fromkeys(op.query for op in ops if isinstance(op, SearchOp) and op.query))


def _last_puts(ops: Sequence[Op]) -> dict[Key, PutOp]:
    return {_key(op): op for op in ops if isinstance(op, PutOp)}


def _key(op: GetOp | PutOp) -> Key:
    return _SEPARATOR.join(op.namespace), op.key


def _labels(namespace: str) -> tuple[str, ...]:
    return tuple(namespace.split(_SEPARATOR)) if namespace else ()


def _below(op: SearchOp) -> str:
    """The condition of items in a namespace or below it."""
    return "($i.namespace = $path or $i.namespace starts_with $below)" if op.namespace_prefix else ""


def _path(prefix: tuple[str, ...]) -> dict[str, str]:
    path = _SEPARATOR.join(prefix)
    return {"path": path, "below": path + _SEPARATOR}


def _members(row: Mapping[str, Any]) -> dict[str, Any]:
    """The members of an item."""
    return {
        "namespace": _labels(row["namespace"]),
        "key": row["key"],
        "value": json.loads(row["value"]),
        "created_at": _EPOCH + timedelta(microseconds=row["created"]),
        "updated_at": _EPOCH + timedelta(microseconds=row["updated"]),
    }


def _microseconds(moment: datetime) -> int:
    return (moment - _EPOCH) // timedelta(microseconds=1)
