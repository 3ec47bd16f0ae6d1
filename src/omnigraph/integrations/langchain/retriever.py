"""``OmnigraphRetriever``: typed nodes of a graph as documents, found by words, by meaning, or by both.

Unlike the retriever of a vector store it reads the types that a graph has anyway, and can name the neighbours of what
it finds.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any, Final, Literal

from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.retrievers import BaseRetriever
from pydantic import ConfigDict, Field

from omnigraph.engine.explore.searches import TypeSearch, interleaved
from omnigraph.engine.graph import Graph
from omnigraph.errors import UsageError
from omnigraph.manifest.layout import MAIN
from omnigraph.schema.catalog import Catalog, type_named

NEIGHBOURS_MAX: Final = 200
"""Edges that are read to name the neighbours of all hits of one search and type."""


class OmnigraphRetriever(BaseRetriever):
    """A retriever: ``OmnigraphRetriever(graph=graph, types=["Article"], embedding=model, k=5).invoke("...")``.

    ``graph`` is an open graph, also a remote one. Without an ``embedding``, meaning is searched if the graph has an
    embedder of its own. The content of a document is the text of the node; its metadata has the type, the id, the
    commit, and with ``neighbours`` the nodes around it.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    graph: Any
    types: list[str] | None = None
    k: int = Field(default=4, ge=1)
    mode: Literal["auto", "text", "vector", "hybrid"] = "auto"
    embedding: Embeddings | None = None
    neighbours: bool = False
    branch: str = MAIN
    at: str | None = None
    """A commit or moment to read at; by default the head of the branch."""

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, **kwargs: Any
    ) -> list[Document]:
        k = kwargs.get("k", self.k)
        catalog: Catalog = self.graph.catalog(self.branch)
        names = self.types or list(catalog.nodes)
        types = [type_named(list(catalog.nodes.values()), name, "node type") for name in names]
        has_vectors = self.embedding is not None or self._graph_embeds()
        searches = [
            search
            for type_ in types
            if (search := TypeSearch.of(type_, self.mode, has_vectors=has_vectors)) is not None
        ]
        if not searches:
            raise UsageError(f"none of the types has properties to search by {self.mode}: {', '.join(names)}")
        needs_vector = self.embedding is not None and any(search.vector for search in searches)
        vector = self.embedding.embed_query(query) if self.embedding is not None and needs_vector else None
        return interleaved([self._hits(search, query, vector, k) for search in searches])[:k]

    def _graph_embeds(self) -> bool:
        """True if the graph embeds texts itself; a server does not say, so its graphs do if the mode asks for it."""
        if isinstance(self.graph, Graph):
            return self.graph.embedder is not None
        return self.mode in ("vector", "hybrid")

    def _hits(self, search: TypeSearch, query: str, vector: Sequence[float] | None, k: int) -> list[Document]:
        params: dict[str, Any] = {"words": query}
        if vector is not None and search.vector is not None:
            params["vector"] = list(vector)
        result = self.graph.query(search.query(k, embeds="vector" not in params), params, **self._target())
        rows = result.to_dicts()
        around = self._around(search.type.name, [row["id"] for row in rows]) if self.neighbours else {}
        return [
            Document(
                id=row["id"],
                page_content="\n".join(str(row[name]) for name in search.texts if row[name]),
                metadata={
                    "type": search.type.name,
                    "id": row["id"],
                    "commit": result.commit_id,
                    **({"neighbours": around.get(row["id"], [])} if self.neighbours else {}),
                },
            )
            for row in rows
        ]

    def _around(self, type_name: str, ids: list[str]) -> dict[str, list[dict[str, str]]]:
        """The neighbours of nodes over all edge types."""
        found: dict[str, list[dict[str, str]]] = defaultdict(list)
        if not ids:
            return found
        text = (
            f"query around($ids: [String]) {{ match {{ $n: {type_name} (id($n) in $ids) $n <$e> $m }}"
            f" return {{ id($n) as id, type($e) as edge, type($m) as type, id($m) as neighbour }}"
            f" order {{ id($n), type($e), id($m) }} limit {NEIGHBOURS_MAX} }}"
        )
        for row in self.graph.query(text, {"ids": ids}, **self._target()).to_dicts():
            found[row["id"]].append({"edge": row["edge"], "type": row["type"], "id": row["neighbour"]})
        return found

    def _target(self) -> dict[str, Any]:
        return {"branch": self.branch} if self.at is None else {"at": self.at}
