"""``OmnigraphAdapter``: cognee's graph, with history and branches. Every write is a commit, every answer one moment."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from typing import Any, Final, Protocol, runtime_checkable
from uuid import UUID

from cognee.infrastructure.databases.graph.bounded_neighborhood import (
    DEFAULT_NEIGHBORHOOD_CHUNK_SIZE,
    project_properties,
    unique_node_ids,
    validate_bounded_neighborhood_args,
)
from cognee.infrastructure.databases.graph.graph_db_interface import GraphDBInterface, timestamp_overlaps

from omnigraph.client.addresses import is_remote
from omnigraph.integrations.cognee import subgraphs
from omnigraph.integrations.cognee.owners import Owners
from omnigraph.integrations.cognee.provenance import ProvenanceMethods
from omnigraph.integrations.cognee.rows import Entity, node_rows, relation_rows
from omnigraph.integrations.cognee.tables import (
    DECLARATIONS,
    Members,
    NodeData,
    Record,
    RelationData,
    RelationKey,
    Tables,
    View,
)
from omnigraph.integrations.cognee.weights import WeightMethods
from omnigraph.integrations.graphs import GraphOrAddress, opened
from omnigraph.manifest.layout import MAIN

MESSAGE: Final = "cognee"


@runtime_checkable
class Closing(Protocol):
    """A graph that holds connections. Its class needs the extra `client`."""

    def close(self) -> None: ...


class OmnigraphAdapter(ProvenanceMethods, WeightMethods, GraphDBInterface):
    """A graph of cognee. ``graph_database_url`` is a path, a bucket or the address of a server.

    The names of the first arguments are those that cognee passes. ``graph`` takes a graph that is open, and ``branch``
    another branch than ``main``.
    """

    supports_cypher_queries = False
    supports_per_row_source_refs = False
    supports_incremental_chunk_updates = True

    def __init__(
        self,
        graph_database_url: str = "",
        graph_database_username: str | None = None,
        graph_database_password: str | None = None,
        graph_database_port: str | int | None = None,
        graph_database_key: str | None = None,
        database_name: str | None = None,
        *,
        graph: GraphOrAddress | None = None,
        branch: str = MAIN,
        **options: Any,
    ) -> None:
        address = graph_database_url if graph is None else graph
        if isinstance(address, str) and is_remote(address):
            options.setdefault("token", graph_database_key or None)
        found = opened(address, DECLARATIONS, options, branch)
        self._is_own = found is not graph
        self.tables = Tables(found, branch, {"message": MESSAGE})
        self.owners = Owners(self.tables)

    @property
    def graph(self) -> Any:
        """The graph."""
        return self.tables.graph

    async def initialize(self) -> None:
        """Nothing: the types are there when the adapter is."""

    async def close(self) -> None:
        """Close the connections to a server, if this adapter opened them."""
        if self._is_own and isinstance(self.graph, Closing):
            await asyncio.to_thread(self.graph.close)

    async def query(self, query: str, params: Mapping[str, Any] | None = None) -> list[Any]:
        """The rows of a read in ``.gq``."""
        branch = self.tables.branch
        return await asyncio.to_thread(lambda: self.graph.query(query, params, branch=branch).to_dicts())

    async def is_empty(self) -> bool:
        return not await self._view(lambda view: view.nodes("", "limit 1"))

    # Writes

    async def add_node(self, node: Entity | str, properties: Members | None = None) -> None:
        await self.add_nodes([(node, properties or {}) if isinstance(node, str) else node])

    async def add_nodes(
        self, nodes: Sequence[Entity], source_ref_key: str | None = None, pipeline_run_id: str | None = None
    ) -> None:
        rows = node_rows(nodes)

        def records(view: View) -> list[Record]:
            found: list[Record] = [{"type": "CogneeNode", "data": row} for row in rows.values()]
            if source_ref_key is not None:
                found += self.owners.node_records(view, rows, [source_ref_key], pipeline_run_id, is_new=True)
            return found

        await asyncio.to_thread(self.tables.load, records)

    async def delete_node(self, node_id: str) -> None:
        await self.delete_nodes([node_id])

    async def delete_nodes(self, node_ids: Sequence[str]) -> None:
        await asyncio.to_thread(self.tables.delete_nodes, [str(id_) for id_ in node_ids])

    async def add_edge(
        self, source_id: str, target_id: str, relationship_name: str, properties: Members | None = None
    ) -> None:
        await self.add_edges([(source_id, target_id, relationship_name, properties)])

    async def add_edges(
        self,
        edges: Sequence[tuple[str, str, str, Members | None]],
        source_ref_key: str | None = None,
        pipeline_run_id: str | None = None,
    ) -> None:
        rows = relation_rows(edges)

        def records(view: View) -> list[Record]:
            known = view.known(end for key in rows for end in key[:2])
            kept = {key: data for key, data in rows.items() if key[0] in known and key[1] in known}
            found: list[Record] = [
                {"edge": "CogneeRelation", "from": key[0], "to": key[1], "data": data} for key, data in kept.items()
            ]
            if source_ref_key is not None:
                found += self.owners.relation_records(view, kept, [source_ref_key], pipeline_run_id, is_new=True)
            return found

        await asyncio.to_thread(self.tables.load, records)

    async def delete_graph(self) -> None:
        """Delete all nodes and relations. The history of the graph keeps them until it is cleaned."""
        await asyncio.to_thread(self.tables.clear)

    # Reads

    async def get_node(self, node_id: str) -> Members | None:
        found = await self.get_nodes([node_id])
        return found[0] if found else None

    async def get_nodes(self, node_ids: Sequence[str]) -> list[Members]:
        return _flat(await self._view(lambda view: view.nodes_of(map(str, node_ids))))

    async def has_node(self, node_id: str) -> bool:
        return bool(await self._view(lambda view: view.known([str(node_id)])))

    async def has_edge(self, source_id: str, target_id: str, relationship_name: str) -> bool:
        return bool(await self.has_edges([(source_id, target_id, relationship_name)]))

    async def has_edges(self, edges: Iterable[Sequence[Any]]) -> list[RelationKey]:
        keys = [_key(edge) for edge in edges]
        present = await self._view(lambda view: view.relations_of(keys))
        return [key for key in keys if key in present]

    async def get_edges(self, node_id: str) -> list[tuple[Members, str, Members]]:
        return [(start, edge["relationship_name"], end) for start, edge, end in await self.get_connections(node_id)]

    async def get_neighbors(self, node_id: str) -> list[Members]:
        def read(view: View) -> list[NodeData]:
            pairs = view.neighbours([str(node_id)], None, subgraphs.PAIRS_MAX)
            return view.nodes_of(far for _, far in pairs)

        return _flat(await self._view(read))

    async def get_connections(self, node_id: str | UUID) -> list[tuple[Members, Members, Members]]:
        return await self._view(lambda view: _connections(view, view.relations_around([str(node_id)])))

    async def get_triplets_batch(self, offset: int, limit: int) -> list[Members]:
        for name, value in (("Offset", offset), ("Limit", limit)):
            if value < 0:
                raise ValueError(f"{name} must be non-negative, got {value}")

        def read(view: View) -> list[tuple[Members, Members, Members]]:
            found = view.relations("", "limit $limit offset $offset", limit=limit, offset=offset) if limit else []
            return _connections(view, found)

        return [
            {"start_node": start, "relationship_properties": edge, "end_node": end}
            for start, edge, end in await self._view(read)
        ]

    async def get_graph_data(self) -> subgraphs.Part:
        return await self._view(subgraphs.everything)

    async def get_id_filtered_graph_data(self, target_ids: Sequence[str]) -> subgraphs.Part:
        """The relations that touch some nodes, and their ends."""

        def read(view: View) -> subgraphs.Part:
            found = view.relations_around(map(str, target_ids))
            return view.nodes_of(end for item in found for end in item[:2]), found

        return await self._view(read)

    async def get_neighborhood(
        self, node_ids: Sequence[str], depth: int = 1, edge_types: Sequence[str] | None = None
    ) -> subgraphs.Part:
        ids = unique_node_ids(node_ids)
        return await self._view(lambda view: subgraphs.around(view, ids, depth, edge_types or None))

    async def iter_bounded_neighborhood(
        self,
        node_ids: Sequence[str],
        depth: int,
        max_nodes: int,
        chunk_size: int = DEFAULT_NEIGHBORHOOD_CHUNK_SIZE,
        property_keys: list[str] | None = None,
    ) -> AsyncIterator[subgraphs.Part]:
        validate_bounded_neighborhood_args(depth, max_nodes, chunk_size)
        ids = unique_node_ids(node_ids)
        members = await self._view(lambda view: subgraphs.members(view, ids, depth, max_nodes)) if ids else []
        for start in range(0, len(members), chunk_size):
            # Each chunk is as of now: the interface leaves out nodes that were deleted after they became members.
            nodes, relations = await asyncio.to_thread(_chunk, self.tables.view(), members, start, chunk_size)
            if nodes:
                yield [(id_, project_properties(data, property_keys)) for id_, data in nodes], relations

    async def get_top_degree_node_ids(self, top_k: int) -> list[str]:
        if top_k < 1:
            raise ValueError("top_k must be >= 1")
        return await self._view(lambda view: subgraphs.busiest(view, top_k))

    async def get_entity_type_names(self, entity_ids: Sequence[str]) -> dict[str, str]:
        def read(view: View) -> list[dict[str, str]]:
            return view.rows(
                'match { $a: CogneeNode $a $r: cogneeRelation $b ($a.node_id in $ids) $r.label = "is_a"'
                ' $b.kind = "EntityType" } return { $a.node_id as id, $b.name as name }',
                ids=[str(id_) for id_ in entity_ids],
            )

        return {row["id"]: row["name"] for row in await self._view(read) if row["name"]} if entity_ids else {}

    async def get_nodeset_subgraph(
        self, node_type: type[Any], node_name: Sequence[str], node_name_filter_operator: str = "OR"
    ) -> subgraphs.Part:
        if node_name_filter_operator not in ("OR", "AND"):
            raise ValueError(f"node_name_filter_operator must be 'OR' or 'AND', got {node_name_filter_operator!r}")
        every = node_name_filter_operator == "AND"
        return await self._view(lambda view: subgraphs.named(view, node_type.__name__, node_name, every=every))

    async def get_filtered_graph_data(self, attribute_filters: Sequence[Mapping[str, Sequence[Any]]]) -> subgraphs.Part:
        return await self._view(lambda view: subgraphs.filtered(view, attribute_filters))

    async def get_graph_counts(self) -> tuple[int, int]:
        return await self._view(subgraphs.counts)

    async def get_graph_metrics(self, include_optional: bool = False) -> Members:
        return await self._view(lambda view: subgraphs.measures(view, is_complete=include_optional))

    async def get_timestamps_in_range(self, start: int | None, end: int | None) -> list[Members]:
        found = await self._view(lambda view: view.nodes('$n.kind = "Timestamp"'))
        return [node for node in _flat(found) if timestamp_overlaps(node, start, end)]


def _flat(nodes: Iterable[NodeData]) -> list[Members]:
    return [{"id": id_, **data} for id_, data in nodes]


def _key(edge: Sequence[Any]) -> RelationKey:
    return str(edge[0]), str(edge[1]), str(edge[2])


def _connections(view: View, relations: Sequence[RelationData]) -> list[tuple[Members, Members, Members]]:
    """Relations with the members of their ends."""
    nodes = {node["id"]: node for node in _flat(view.nodes_of(end for item in relations for end in item[:2]))}
    return [
        (dict(nodes[source]), {"relationship_name": label, **data}, dict(nodes[target]))
        for source, target, label, data in relations
    ]


def _chunk(view: View, members: Sequence[str], start: int, size: int) -> subgraphs.Part:
    """Some members in their order, and the relations from them to themselves and to earlier members."""
    chunk, earlier = members[start : start + size], set(members[: start + size])
    nodes = dict(view.nodes_of(chunk))
    relations = [item for item in view.relations_around(chunk) if item[0] in earlier and item[1] in earlier]
    return [(id_, nodes[id_]) for id_ in chunk if id_ in nodes], relations
