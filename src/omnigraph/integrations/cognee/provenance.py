"""The methods of cognee's interface about owners, and the deletion that follows them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from cognee.infrastructure.databases.provenance import EdgeDeleteData, EdgeIdentity, NodeDeleteData

from omnigraph.integrations.cognee.owners import Owners, columns
from omnigraph.integrations.cognee.tables import Members, Record, RelationKey, Tables, View, written

Answer = TypeVar("Answer")


class ProvenanceMethods:
    """Source refs of nodes and edges, metadata of the graph, and narrow changes of stored members."""

    tables: Tables
    owners: Owners

    async def _view(self, work: Callable[[View], Answer]) -> Answer:
        return await asyncio.to_thread(lambda: work(self.tables.view()))

    async def attach_node_source_refs(
        self, node_ids: Sequence[str], source_ref_keys: Sequence[str], pipeline_run_id: str | None = None
    ) -> None:
        ids = [str(id_) for id_ in node_ids]
        await asyncio.to_thread(
            self.tables.load,
            lambda view: self.owners.node_records(view, ids, source_ref_keys, pipeline_run_id),
        )

    async def attach_edge_source_refs(
        self, edges: Sequence[EdgeIdentity], source_ref_keys: Sequence[str], pipeline_run_id: str | None = None
    ) -> None:
        await asyncio.to_thread(
            self.tables.load,
            lambda view: self.owners.relation_records(view, _keys(edges), source_ref_keys, pipeline_run_id),
        )

    async def remove_node_source_refs(self, node_ids: Sequence[str], source_ref_keys: Sequence[str]) -> None:
        if node_ids and source_ref_keys:
            ids = [str(id_) for id_ in node_ids]
            await asyncio.to_thread(self.owners.remove_from_nodes, ids, source_ref_keys)

    async def remove_edge_source_refs(self, edges: Sequence[EdgeIdentity], source_ref_keys: Sequence[str]) -> None:
        if edges and source_ref_keys:
            await asyncio.to_thread(self.owners.remove_from_relations, _keys(edges), source_ref_keys)

    async def delete_edge_triples(self, edges: Sequence[EdgeIdentity]) -> None:
        if edges:
            await asyncio.to_thread(self._delete_relations, _keys(edges))

    def _delete_relations(self, keys: Sequence[RelationKey]) -> None:
        view = self.tables.view()
        relations, owners = view.relation_ids(keys), self.owners.relation_owner_ids(view, keys)
        if relations or owners:
            self.tables.mutate(
                "query remove($relations: [String], $owners: [String]) {"
                " delete CogneeRelation where id in $relations delete CogneeRelationOwner where id in $owners }",
                {"relations": relations, "owners": owners},
            )

    async def get_node_delete_data(self, node_ids: Sequence[str]) -> dict[str, NodeDeleteData]:
        def read(view: View) -> dict[str, NodeDeleteData]:
            found = view.nodes_of(map(str, node_ids))
            owners = self.owners.of_nodes(view, [id_ for id_, _ in found])
            return {id_: _node_data(id_, data, owners[id_]) for id_, data in found}

        return await self._view(read)

    async def get_edge_delete_data(self, edges: Sequence[EdgeIdentity]) -> dict[EdgeIdentity, EdgeDeleteData]:
        def read(view: View) -> dict[EdgeIdentity, EdgeDeleteData]:
            found = view.relations_of(_keys(edges))
            owners = self.owners.of_relations(view, found)
            return {EdgeIdentity(*key): _edge_data(key, data, owners[key]) for key, data in found.items()}

        return await self._view(read)

    async def find_nodes_by_source_ref(self, source_ref_key: str) -> list[str]:
        return list(await self._view(lambda view: self.owners.nodes_by(view, "$s.ref = $value", source_ref_key)))

    async def find_edges_by_source_ref(self, source_ref_key: str) -> list[EdgeIdentity]:
        found = await self._view(lambda view: self.owners.relations_by(view, "$s.ref = $value", source_ref_key))
        return [EdgeIdentity(*key) for key in found]

    async def find_node_source_refs_by_dataset(self, dataset_id: str) -> dict[str, list[str]]:
        return await self._view(lambda view: self.owners.nodes_by(view, "$s.dataset = $value", str(dataset_id)))

    async def find_edge_source_refs_by_dataset(self, dataset_id: str) -> dict[EdgeIdentity, list[str]]:
        found = await self._view(lambda view: self.owners.relations_by(view, "$s.dataset = $value", str(dataset_id)))
        return {EdgeIdentity(*key): refs for key, refs in found.items()}

    async def find_node_source_refs_by_pipeline_run(self, pipeline_run_id: str) -> dict[str, list[str]]:
        return await self._view(lambda view: self.owners.nodes_by(view, "$o.run = $value", str(pipeline_run_id)))

    async def find_edge_source_refs_by_pipeline_run(self, pipeline_run_id: str) -> dict[EdgeIdentity, list[str]]:
        found = await self._view(lambda view: self.owners.relations_by(view, "$o.run = $value", str(pipeline_run_id)))
        return {EdgeIdentity(*key): refs for key, refs in found.items()}

    async def set_graph_metadata(self, metadata: Mapping[str, str]) -> None:
        records: list[Record] = [
            {"type": "CogneeMetadata", "data": {"name": str(name), "value": str(value)}}
            for name, value in metadata.items()
        ]
        await asyncio.to_thread(self.tables.load, lambda _: records)

    async def get_graph_metadata(self) -> dict[str, str]:
        body = "match { $m: CogneeMetadata } return { $m.name as name, $m.value as value }"
        return {row["name"]: row["value"] for row in await self._view(lambda view: view.rows(body))}

    async def remove_belongs_to_set_tags(self, tags: Sequence[str], node_ids: Sequence[str] | None = None) -> None:
        removed = set(tags)

        def change(data: Members) -> Members | None:
            current = data.get("belongs_to_set")
            if not isinstance(current, list) or removed.isdisjoint(_tags(current)):
                return None
            return {**data, "belongs_to_set": [tag for tag in current if tag not in removed]}

        if removed:
            await self._change(node_ids, lambda _, data: change(data))

    async def update_chunk_index(self, chunk_indexes: Mapping[str, int]) -> None:
        await self._change(list(chunk_indexes), lambda id_, data: {**data, "chunk_index": int(chunk_indexes[id_])})

    async def update_node(self, node_id: str, values: Members) -> bool:
        return bool(values and await self._change([node_id], lambda _, data: {**data, **values}))

    async def _change(
        self, node_ids: Sequence[str] | None, change: Callable[[str, Members], Members | None]
    ) -> set[str]:
        """Replace members of nodes, of all of them without ``node_ids``; the ids of those that were changed."""

        def rows(view: View) -> list[dict[str, Any]]:
            found = view.nodes() if node_ids is None else view.nodes_of(map(str, node_ids))
            changed = ((id_, change(id_, _without_columns(data))) for id_, data in found)
            return [{"node_id": id_, "properties": written(data)} for id_, data in changed if data is not None]

        return {row["node_id"] for row in await asyncio.to_thread(self.tables.rewrite, "CogneeNode", rows)}


def _keys(edges: Sequence[EdgeIdentity]) -> list[RelationKey]:
    return [(str(edge.source_id), str(edge.target_id), str(edge.relationship_name)) for edge in edges]


def _tags(values: Sequence[Any]) -> list[str]:
    return [value for value in values if isinstance(value, str)]


def _without_columns(data: Members) -> Members:
    return {name: value for name, value in data.items() if name not in ("name", "type")}


def _node_data(id_: str, data: Members, owners: Sequence[tuple[str, str | None]]) -> NodeDeleteData:
    metadata = data.get("metadata")
    fields = list(metadata.get("index_fields") or []) if isinstance(metadata, dict) else []
    return NodeDeleteData(id_, data["type"], fields, {"id": id_, **data}, *columns(owners))


def _edge_data(key: RelationKey, data: Members, owners: Sequence[tuple[str, str | None]]) -> EdgeDeleteData:
    # The package of this function imports the adapters.
    from cognee.modules.graph.utils.prepare_edges_for_storage import get_edge_retrieval_text

    text = get_edge_retrieval_text(data.get("edge_text"), key[2])
    return EdgeDeleteData(EdgeIdentity(*key), text, data, *columns(owners))
