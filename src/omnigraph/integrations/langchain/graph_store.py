"""``OmnigraphGraph``: the graph store of LangChain, for graphs that models extract and for chains that query them.

It has the methods of ``langchain_community.graphs.graph_store.GraphStore``, and needs no class of that package: nodes,
relationships and documents are read by their attributes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any, Final, Protocol

from langchain_core.documents import Document

from omnigraph.integrations.graphs import AnyGraph, GraphOrAddress, opened
from omnigraph.integrations.labelled import LabelledGraph, Names, Node, Relation
from omnigraph.manifest.layout import MAIN

DOCUMENT_LABEL: Final = "Document"
MENTIONS: Final = "MENTIONS"
"""The relation from a document to the nodes that were found in it, as other graph stores name it."""


class GraphNode(Protocol):
    """A node that was extracted from a text."""

    id: str | int
    type: str
    properties: dict[str, Any]


class GraphDocument(Protocol):
    """The nodes of one text and what relates them: source, target, type and properties."""

    nodes: list[Any]
    relationships: list[Any]
    source: Any


class OmnigraphGraph:
    """A graph store: ``OmnigraphGraph("kb.omni").add_graph_documents(documents, include_source=True)``.

    ``graph`` is an open graph, also a remote one, or an address; a graph that does not exist is created. Queries are
    texts in ``.gq``, over all types of the graph.
    """

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
        self._labelled = LabelledGraph(
            opened(graph, names.declarations(), options, branch), branch, names, "LangChain graph documents"
        )
        self._schema: str | None = None

    @property
    def graph(self) -> AnyGraph:
        """The graph itself."""
        return self._labelled.graph

    @property
    def get_schema(self) -> str:
        """The schema of the branch, with all types of the graph."""
        if self._schema is None:
            self.refresh_schema()
        return self._schema or ""

    @property
    def get_structured_schema(self) -> dict[str, Any]:
        """Types with their properties, and the edges between them, in the form of other graph stores."""
        catalog = self.graph.catalog(self._labelled.branch)
        return {
            "node_props": {name: _properties(item) for name, item in catalog.nodes.items()},
            "rel_props": {name: _properties(item) for name, item in catalog.edges.items()},
            "relationships": [
                {"start": source, "type": name, "end": target}
                for name, item in catalog.edges.items()
                for source, target in item.pairs
            ],
        }

    def refresh_schema(self) -> None:
        """Read the schema again."""
        self._schema = self.graph.schema_text(self._labelled.branch)

    def query(self, query: str, params: Mapping[str, Any] | None = None) -> list[dict[str, Any]]:
        """The rows of a read in ``.gq``."""
        return self.graph.query(query, params or None, branch=self._labelled.branch).to_dicts()

    def add_graph_documents(self, graph_documents: Sequence[GraphDocument], include_source: bool = False) -> None:
        """Write the nodes and relationships of documents, as one commit.

        Properties of nodes that exist are kept unless they are named. With ``include_source``, the texts become nodes
        too, which mention the nodes that were found in them.
        """
        nodes: list[Node] = []
        relations: list[Relation] = []
        for document in graph_documents:
            found = [_node(item) for item in document.nodes]
            nodes += found
            for item in document.relationships:
                source, target = _node(item.source), _node(item.target)
                nodes += [source, target]
                relations.append(Relation(source.id, target.id, item.type, item.properties or {}))
            if include_source:
                text = _source(document.source)
                nodes.append(text)
                relations += [Relation(text.id, node.id, MENTIONS) for node in found]
        self._labelled.upsert(_combined(nodes), relations, merges=True)


def _properties(item: Any) -> list[dict[str, str]]:
    return [{"property": name, "type": str(known.type)} for name, known in item.properties.items()]


def _node(item: GraphNode) -> Node:
    return Node(str(item.id), item.type, dict(item.properties or {}))


def _combined(nodes: Sequence[Node]) -> list[Node]:
    """Each node once, with the properties of all its mentions."""
    found: dict[str, Node] = {}
    for node in nodes:
        known = found.get(node.id)
        properties = {**(known.properties if known else {}), **node.properties}
        found[node.id] = Node(node.id, node.label, properties, node.text or (known.text if known else None))
    return list(found.values())


def _source(document: Document) -> Node:
    """The text of a document as a node; without an id, its content names it."""
    name = document.id or document.metadata.get("id")
    digest = hashlib.sha256(document.page_content.encode()).hexdigest()[:32]
    return Node(str(name or digest), DOCUMENT_LABEL, dict(document.metadata), document.page_content)
