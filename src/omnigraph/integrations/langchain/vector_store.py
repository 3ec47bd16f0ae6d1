"""``OmnigraphVectorStore``: documents with embeddings as nodes of a graph.

Vectors have length one, so the distance of the graph orders them as their cosine does. Members of metadata are kept as
texts that queries compare, so a filter selects documents before they are ranked.
"""

from __future__ import annotations

import asyncio
import json
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

import numpy as np
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.vectorstores import VectorStore
from langchain_core.vectorstores.utils import maximal_marginal_relevance

from omnigraph.errors import UsageError
from omnigraph.integrations.facts import fact, kept
from omnigraph.integrations.graphs import GraphOrAddress, opened
from omnigraph.integrations.vectors import cosine, unit
from omnigraph.manifest.layout import MAIN

_DECLARATION: Final = """
node %s @description("A document with its embedding.") {
  name: String @key
  content: String @index
  metadata: String
  facts: [String]?
  embedding: Vector(%d) @index
}
"""
Filter = Mapping[str, Any]
Hit = tuple[Document, float, list[float]]


class OmnigraphVectorStore(VectorStore):
    """A vector store: ``OmnigraphVectorStore("documents.omni", embedding)``.

    ``graph`` is an open graph, also a remote one, or an address; a graph that does not exist is created. ``node_type``
    holds the documents. A ``filter`` is a mapping of metadata to equal values, or to ``{"$in": [...]}``.
    """

    def __init__(
        self,
        graph: GraphOrAddress,
        embedding: Embeddings,
        *,
        node_type: str = "Document",
        dims: int | None = None,
        branch: str = MAIN,
        **options: Any,
    ) -> None:
        self._embedding = embedding
        self.node_type = node_type
        self.dims = dims or len(embedding.embed_query("dimension"))
        self.branch = branch
        self.graph = opened(graph, _DECLARATION % (node_type, self.dims), options, branch)

    @property
    def embeddings(self) -> Embeddings:
        """The model of embeddings."""
        return self._embedding

    @classmethod
    def from_texts(
        cls,
        texts: list[str],
        embedding: Embeddings,
        metadatas: list[dict[str, Any]] | None = None,
        *,
        ids: list[str] | None = None,
        **kwargs: Any,
    ) -> OmnigraphVectorStore:
        """A store with texts in it: ``from_texts(texts, embedding, graph="documents.omni")``."""
        if kwargs.get("graph") is None:
            raise UsageError("no graph is given", hint='pass an open graph or an address: graph="documents.omni"')
        store = cls(embedding=embedding, **kwargs)
        store.add_texts(texts, metadatas, ids=ids)
        return store

    def add_texts(
        self,
        texts: Iterable[str],
        metadatas: list[dict[str, Any]] | None = None,
        *,
        ids: list[str] | None = None,
        **kwargs: Any,
    ) -> list[str]:
        """Write texts as one commit and return their ids; an existing document with the same id is replaced."""
        return self._write(list(texts), metadatas, ids, self._embedding.embed_documents)

    def add_documents(self, documents: list[Document], **kwargs: Any) -> list[str]:
        """Write documents as one commit and return their ids."""
        texts, metadatas = [item.page_content for item in documents], [item.metadata for item in documents]
        ids = kwargs.get("ids") or [item.id or "" for item in documents]
        return self._write(texts, metadatas, ids, self._embedding.embed_documents)

    async def aadd_documents(self, documents: list[Document], **kwargs: Any) -> list[str]:
        """``add_documents``, awaited. Texts are embedded by the asynchronous method of the model."""
        texts = [item.page_content for item in documents]
        made = await self._embedding.aembed_documents(texts)
        ids = kwargs.get("ids") or [item.id or "" for item in documents]
        metadatas = [item.metadata for item in documents]
        return await asyncio.to_thread(self._write, texts, metadatas, ids, lambda _: made)

    def _write(
        self,
        texts: list[str],
        metadatas: Sequence[Mapping[str, Any]] | None,
        ids: Sequence[str] | None,
        embed: Callable[[list[str]], list[list[float]]],
    ) -> list[str]:
        for name, given in (("metadatas", metadatas), ("ids", ids)):
            if given is not None and len(given) != len(texts):
                raise UsageError(f"{len(texts)} texts have {len(given)} {name}", hint="pass one for each text")
        names = [str(given or uuid.uuid4()) for given in ids or [""] * len(texts)]
        records = {
            name: _record(self.node_type, name, text, metadata, vector)
            for name, text, metadata, vector in zip(
                names, texts, metadatas or [{}] * len(texts), embed(texts) if texts else [], strict=True
            )
        }
        if records:
            self.graph.retry(lambda graph: graph.load(list(records.values()), "merge", branch=self.branch))
        return names

    def delete(self, ids: list[str] | None = None, **kwargs: Any) -> bool:
        """Delete documents by id; without ids all of them."""
        condition = "name is not null" if ids is None else "name in $ids"
        text = f"query remove($ids: [String]) {{ delete {self.node_type} where {condition} }}"
        self.graph.retry(lambda graph: graph.mutate(text, {"ids": list(ids or ())}, branch=self.branch))
        return True

    async def adelete(self, ids: list[str] | None = None, **kwargs: Any) -> bool:
        """``delete``, awaited."""
        return await asyncio.to_thread(self.delete, ids)

    def get_by_ids(self, ids: Sequence[str], /) -> list[Document]:
        """Documents by id, in the order of the ids; missing ones are left out."""
        rows = self._query("($d.name in $ids)", "", {"ids": list(ids)})
        found = {row["name"]: _document(row) for row in rows}
        return [found[name] for name in ids if name in found]

    async def aget_by_ids(self, ids: Sequence[str], /) -> list[Document]:
        """``get_by_ids``, awaited."""
        return await asyncio.to_thread(self.get_by_ids, ids)

    def similarity_search(self, query: str, k: int = 4, **kwargs: Any) -> list[Document]:
        """The documents closest to a text."""
        return [document for document, _ in self.similarity_search_with_score(query, k, **kwargs)]

    async def asimilarity_search(self, query: str, k: int = 4, **kwargs: Any) -> list[Document]:
        """``similarity_search``, awaited."""
        return [document for document, _ in await self.asimilarity_search_with_score(query, k, **kwargs)]

    def similarity_search_with_score(self, query: str, k: int = 4, **kwargs: Any) -> list[tuple[Document, float]]:
        """The documents closest to a text, with their cosine similarity."""
        return [
            (document, score) for document, score, _ in self._nearest(self._embedding.embed_query(query), k, **kwargs)
        ]

    async def asimilarity_search_with_score(
        self, query: str, k: int = 4, **kwargs: Any
    ) -> list[tuple[Document, float]]:
        """``similarity_search_with_score``, awaited."""
        vector = await self._embedding.aembed_query(query)
        found = await asyncio.to_thread(lambda: self._nearest(vector, k, **kwargs))
        return [(document, score) for document, score, _ in found]

    def similarity_search_by_vector(self, embedding: list[float], k: int = 4, **kwargs: Any) -> list[Document]:
        """The documents closest to a vector."""
        return [document for document, _, _ in self._nearest(embedding, k, **kwargs)]

    async def asimilarity_search_by_vector(self, embedding: list[float], k: int = 4, **kwargs: Any) -> list[Document]:
        """``similarity_search_by_vector``, awaited."""
        return await asyncio.to_thread(lambda: self.similarity_search_by_vector(embedding, k, **kwargs))

    def max_marginal_relevance_search_by_vector(
        self, embedding: list[float], k: int = 4, fetch_k: int = 20, lambda_mult: float = 0.5, **kwargs: Any
    ) -> list[Document]:
        """Documents close to a vector and different from each other."""
        hits = self._nearest(embedding, fetch_k, **kwargs)
        vectors = [vector for _, _, vector in hits]
        chosen = maximal_marginal_relevance(np.array(unit(embedding)), vectors, lambda_mult, k)
        return [hits[place][0] for place in chosen]

    def max_marginal_relevance_search(
        self, query: str, k: int = 4, fetch_k: int = 20, lambda_mult: float = 0.5, **kwargs: Any
    ) -> list[Document]:
        """Documents close to a text and different from each other."""
        vector = self._embedding.embed_query(query)
        return self.max_marginal_relevance_search_by_vector(vector, k, fetch_k, lambda_mult, **kwargs)

    async def amax_marginal_relevance_search(
        self, query: str, k: int = 4, fetch_k: int = 20, lambda_mult: float = 0.5, **kwargs: Any
    ) -> list[Document]:
        """``max_marginal_relevance_search``, awaited."""
        vector = await self._embedding.aembed_query(query)
        return await asyncio.to_thread(
            lambda: self.max_marginal_relevance_search_by_vector(vector, k, fetch_k, lambda_mult, **kwargs)
        )

    def _select_relevance_score_fn(self) -> Callable[[float], float]:
        # The cosine is a similarity: from -1 for opposite to 1 for equal directions.
        return lambda score: (score + 1.0) / 2.0

    def _nearest(self, vector: Sequence[float], k: int, filter: Filter | None = None, **kwargs: Any) -> list[Hit]:
        if len(vector) != self.dims:
            raise UsageError(f"a vector of {len(vector)} numbers is compared with embeddings of {self.dims}")
        conditions, params = _conditions(filter or {})
        rows = self._query(
            conditions,
            " order { nearest($d.embedding, $vector) } limit $k",
            {**params, "vector": unit(vector), "k": k},
            ", $d.embedding as embedding, nearest($d.embedding, $vector) as distance",
        )
        return [(_document(row), cosine(row["distance"]), row["embedding"]) for row in rows]

    def _query(self, conditions: str, tail: str, params: Mapping[str, Any], columns: str = "") -> list[dict[str, Any]]:
        kinds = {"vector": f"Vector({self.dims})", "k": "I64", "ids": "[String]"}
        declared = ", ".join(f"${name}: {kinds.get(name, 'String')}" for name in params)
        text = (
            f"query find({declared}) {{ match {{ $d: {self.node_type} {conditions} }} return {{ $d.name as name,"
            f" $d.content as content, $d.metadata as metadata{columns} }}{tail} }}"
        )
        return self.graph.query(text, params, branch=self.branch).to_dicts()


def _record(
    type_name: str, name: str, text: str, metadata: Mapping[str, Any], vector: Sequence[float]
) -> dict[str, Any]:
    data = {"name": name, "content": text, **kept(metadata, "metadata"), "embedding": unit(vector)}
    return {"type": type_name, "data": data}


def _document(row: Mapping[str, Any]) -> Document:
    return Document(id=row["name"], page_content=row["content"], metadata=json.loads(row["metadata"]))


def _conditions(filter: Filter) -> tuple[str, dict[str, str]]:
    """The conditions of a filter, and the texts that they compare."""
    params: dict[str, str] = {}
    tests: list[str] = []
    for name, wanted in filter.items():
        if isinstance(wanted, Mapping) and wanted.keys() == {"$in"}:
            values = list(wanted["$in"])
        elif isinstance(wanted, Mapping) and any(key.startswith("$") for key in wanted):
            raise UsageError(f"unknown condition on {name!r}: {dict(wanted)} (expected a value or $in)")
        else:
            values = [wanted]
        choices = []
        for value in values:
            params[f"fact{len(params)}"] = fact(name, value)
            choices.append(f"$d.facts contains $fact{len(params) - 1}")
        tests.append(f"({' or '.join(choices)})" if choices else "(false)")
    return " ".join(tests), params
