"""``OmnigraphPropertyGraphStore``: the property graph of a LlamaIndex index, with history, branches and vectors."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, Final

from llama_index.core.graph_stores.types import (
    ChunkNode,
    EntityNode,
    LabelledNode,
    PropertyGraphStore,
    Relation,
    Triplet,
)
from llama_index.core.prompts import PromptTemplate
from llama_index.core.vector_stores.types import FilterCondition, FilterOperator, MetadataFilter, VectorStoreQuery

from omnigraph.errors import UsageError
from omnigraph.integrations import labelled
from omnigraph.integrations.graphs import AnyGraph, GraphOrAddress, opened
from omnigraph.integrations.labelled import LabelledGraph, Names
from omnigraph.manifest.layout import MAIN

_IS_CHUNK: Final = "_chunk"
"""A member of the properties of chunks: a chunk and an entity may have the same label."""
_QUERY_TEMPLATE: Final = PromptTemplate(
    "Write a query in the language .gq for this schema:\n{schema}\n"
    "A node is $e: Entity with name, label and text; a relation is $a $r: relation $b with $r.label.\n"
    'Example: query q() {{ match {{ $a: Entity {{ name: "Ada" }} $a $r: relation $b }}'
    " return {{ $b.name, $r.label }} limit 20 }}\n"
    "Answer with the query only.\nQuestion: {question}\nQuery:"
)


class OmnigraphPropertyGraphStore(PropertyGraphStore):
    """A property graph store: ``PropertyGraphIndex.from_documents(..., property_graph_store=store)``.

    ``graph`` is an open graph, also a remote one, or an address; a graph that does not exist is created. Structured
    queries are texts in ``.gq``.
    """

    supports_structured_queries: bool = True
    supports_vector_queries: bool = True
    text_to_cypher_template: PromptTemplate = _QUERY_TEMPLATE

    def __init__(
        self,
        graph: GraphOrAddress,
        *,
        branch: str = MAIN,
        node_type: str = "Entity",
        relation_type: str = "Relation",
        **options: Any,
    ) -> None:
        names = Names(node_type, relation_type)
        found = opened(graph, names.declarations(), options, branch)
        self._graph = LabelledGraph(found, branch, names, "LlamaIndex property graph")

    @property
    def client(self) -> AnyGraph:
        """The graph."""
        return self._graph.graph

    def get(self, properties: dict[str, Any] | None = None, ids: list[str] | None = None) -> list[LabelledNode]:
        """Nodes with these ids and all of these properties."""
        return [_read(node) for node in self._graph.nodes(ids=ids or None, properties=properties)]

    def get_triplets(
        self,
        entity_names: list[str] | None = None,
        relation_names: list[str] | None = None,
        properties: dict[str, Any] | None = None,
        ids: list[str] | None = None,
    ) -> list[Triplet]:
        """Relations with both ends: of some nodes, labels, or with a property of the relation or of an end."""
        if not (entity_names or relation_names or properties or ids):
            return []
        ends = [*(entity_names or ()), *(ids or ())]
        found = self._triplets(self._graph.relations(ends=ends or None, labels=relation_names or None))
        wanted = (properties or {}).items()
        return [
            triplet
            for triplet in found
            if (not entity_names or triplet[0].id in entity_names or triplet[2].id in entity_names)
            and (not ids or triplet[0].id in ids or triplet[2].id in ids)
            and (not wanted or any(part.properties.get(name) == value for part in triplet for name, value in wanted))
        ]

    def get_rel_map(
        self,
        graph_nodes: list[LabelledNode],
        depth: int = 2,
        limit: int = 30,
        ignore_rels: list[str] | None = None,
    ) -> list[Triplet]:
        """The relations around nodes, step by step."""
        seen: dict[tuple[str, str, str], labelled.Relation] = {}
        ends = [node.id for node in graph_nodes]
        for _ in range(depth):
            fresh = {item.key: item for item in self._graph.relations(ends=ends) if item.key not in seen}
            seen |= fresh
            ends = [item.target for item in fresh.values()]
            if not ends:
                break
        kept = [item for item in seen.values() if item.label not in (ignore_rels or ())]
        return self._triplets(kept[:limit])

    def upsert_nodes(self, nodes: Sequence[LabelledNode]) -> None:
        """Write nodes, as one commit."""
        self._graph.upsert([_written(node) for node in nodes])

    def upsert_relations(self, relations: list[Relation]) -> None:
        """Write relations, as one commit."""
        self._graph.upsert(
            relations=[
                labelled.Relation(item.source_id, item.target_id, item.label, item.properties) for item in relations
            ]
        )

    def delete(
        self,
        entity_names: list[str] | None = None,
        relation_names: list[str] | None = None,
        properties: dict[str, Any] | None = None,
        ids: list[str] | None = None,
    ) -> None:
        """Delete nodes by name, id or properties, with their relations; and relations by label."""
        named = [*(entity_names or ()), *(ids or ())]
        if properties:
            named += [node.id for node in self._graph.nodes(properties=properties)]
        self._graph.delete_nodes(named)
        if relation_names:
            self._graph.delete_relations(self._graph.relations(labels=relation_names))

    def structured_query(self, query: str, param_map: dict[str, Any] | None = None) -> list[dict[str, Any]]:
        """The rows of a read in ``.gq``."""
        return self.client.query(query, param_map, branch=self._graph.branch).to_dicts()

    def vector_query(self, query: VectorStoreQuery, **kwargs: Any) -> tuple[list[LabelledNode], list[float]]:
        """The closest nodes with the cosine of their embedding, under equality filters."""
        if query.query_embedding is None:
            return [], []
        wanted = query.similarity_top_k
        limit = 4 * wanted if query.filters else wanted
        while True:
            scores = dict(self._graph.nearest(query.query_embedding, limit))
            found = {node.id: _read(node) for node in self._graph.nodes(ids=list(scores))}
            kept = [found[id_] for id_ in scores if id_ in found and _passes(found[id_], query.filters)]
            # Nodes that the filter leaves out take places of the ranking.
            if len(kept) >= wanted or len(scores) < limit:
                return kept[:wanted], [scores[node.id] for node in kept[:wanted]]
            limit *= 4

    def get_schema(self, refresh: bool = False) -> str:
        """The schema of the branch, with all types of the graph."""
        return self.client.schema_text(self._graph.branch)

    def _triplets(self, relations: Sequence[labelled.Relation]) -> list[Triplet]:
        ends = {end for item in relations for end in (item.source, item.target)}
        nodes = {node.id: _read(node) for node in self._graph.nodes(ids=sorted(ends))}
        return [
            (
                nodes[item.source],
                Relation(
                    label=item.label,
                    source_id=item.source,
                    target_id=item.target,
                    properties=dict(item.properties),
                ),
                nodes[item.target],
            )
            for item in relations
            if item.source in nodes and item.target in nodes
        ]

    async def aget(self, properties: dict[str, Any] | None = None, ids: list[str] | None = None) -> list[LabelledNode]:
        """``get``, awaited."""
        return await asyncio.to_thread(self.get, properties, ids)

    async def aget_triplets(
        self,
        entity_names: list[str] | None = None,
        relation_names: list[str] | None = None,
        properties: dict[str, Any] | None = None,
        ids: list[str] | None = None,
    ) -> list[Triplet]:
        """``get_triplets``, awaited."""
        return await asyncio.to_thread(self.get_triplets, entity_names, relation_names, properties, ids)

    async def aget_rel_map(
        self,
        graph_nodes: list[LabelledNode],
        depth: int = 2,
        limit: int = 30,
        ignore_rels: list[str] | None = None,
    ) -> list[Triplet]:
        """``get_rel_map``, awaited."""
        return await asyncio.to_thread(self.get_rel_map, graph_nodes, depth, limit, ignore_rels)

    async def aupsert_nodes(self, nodes: list[LabelledNode]) -> None:
        """``upsert_nodes``, awaited."""
        await asyncio.to_thread(self.upsert_nodes, nodes)

    async def aupsert_relations(self, relations: list[Relation]) -> None:
        """``upsert_relations``, awaited."""
        await asyncio.to_thread(self.upsert_relations, relations)

    async def adelete(
        self,
        entity_names: list[str] | None = None,
        relation_names: list[str] | None = None,
        properties: dict[str, Any] | None = None,
        ids: list[str] | None = None,
    ) -> None:
        """``delete``, awaited."""
        await asyncio.to_thread(self.delete, entity_names, relation_names, properties, ids)

    async def astructured_query(self, query: str, param_map: dict[str, Any] | None = None) -> list[dict[str, Any]]:
        """``structured_query``, awaited."""
        return await asyncio.to_thread(self.structured_query, query, param_map)

    async def avector_query(self, query: VectorStoreQuery, **kwargs: Any) -> tuple[list[LabelledNode], list[float]]:
        """``vector_query``, awaited."""
        return await asyncio.to_thread(lambda: self.vector_query(query, **kwargs))


def _written(node: LabelledNode) -> labelled.Node:
    properties = dict(node.properties)
    text = None
    if isinstance(node, ChunkNode):
        properties[_IS_CHUNK], text = True, node.text
    return labelled.Node(node.id, node.label, properties, text, node.embedding)


def _read(node: labelled.Node) -> LabelledNode:
    properties = {name: value for name, value in node.properties.items() if name != _IS_CHUNK}
    if _IS_CHUNK in node.properties:
        return ChunkNode(id_=node.id, text=node.text or "", label=node.label, properties=properties)
    return EntityNode(name=node.id, label=node.label, properties=properties)


def _passes(node: LabelledNode, filters: Any) -> bool:
    """True if the filters of a query hold; only equality and membership are compared."""
    if filters is None:
        return True
    results = [
        _holds(node, item) if isinstance(item, MetadataFilter) else _passes(node, item) for item in filters.filters
    ]
    match filters.condition:
        case FilterCondition.OR:
            return any(results)
        case FilterCondition.NOT:
            return not any(results)
        case _:
            return all(results)


def _holds(node: LabelledNode, item: MetadataFilter) -> bool:
    value = node.properties.get(item.key)
    match item.operator:
        case FilterOperator.EQ:
            return bool(value == item.value)
        case FilterOperator.NE:
            return bool(value != item.value)
        case FilterOperator.IN:
            return value in (item.value or ())
        case FilterOperator.NIN:
            return value not in (item.value or ())
        case _:
            raise UsageError(f"filters by {item.operator.value!r} are not supported (expected ==, !=, in, nin)")
