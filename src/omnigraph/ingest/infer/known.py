"""Facts that the schema of an existing graph states about tables to import: their types, keys and ends."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from omnigraph.ingest.infer.ends import named_ends
from omnigraph.ingest.infer.facts import Declared
from omnigraph.ingest.infer.keys import key_rank
from omnigraph.ingest.infer.names import type_name
from omnigraph.ingest.infer.plans import ID
from omnigraph.ingest.infer.sources import TableSource
from omnigraph.schema.catalog import Catalog, EdgeType, NodeType


def with_known_types(sources: Sequence[TableSource], catalog: Catalog) -> list[TableSource]:
    """The sources; those whose name is that of a type of the graph have its key or its ends."""
    return [_stated(source, catalog) for source in sources]


def _stated(source: TableSource, catalog: Catalog) -> TableSource:
    if source.declared != Declared():
        return source
    node = _named(source, catalog.nodes, is_edge=False)
    edge = _named(source, catalog.edges, is_edge=True)
    with source.open() as table:
        columns = table.schema.names
    if node is not None and edge is None:
        return replace(source, given_type=node, declared=_node_facts(catalog.nodes[node], columns))
    if edge is not None and node is None:
        return replace(source, given_type=edge, declared=_edge_facts(catalog.edges[edge], columns))
    return source


def _named(source: TableSource, known: Iterable[str], *, is_edge: bool) -> str | None:
    wanted = {source.given_type or source.stem, source.given_type or type_name(source.stem, is_edge=is_edge)}
    alike = [name for name in known if name.lower() in {word.lower() for word in wanted}]
    return alike[0] if len(alike) == 1 else None


def _node_facts(node: NodeType, columns: Sequence[str]) -> Declared:
    """The column of the key: that of its own name, or ``id``, because the id of a node is its key.

    Nodes without a key have the ids of a column ``id``, as in a load.
    """
    if not node.key:
        return Declared(is_edge=False, is_keyless=True, ids=ID if ID in columns else None)
    if len(node.key) != 1:
        return Declared(is_edge=False)
    [key] = node.key
    if key in columns:
        return Declared(is_edge=False, key=key)
    column = next((column for column in columns if key_rank(column, node.name) == 0), None)
    return Declared(is_edge=False, key=column, names={} if column is None else {column: key})


def _edge_facts(edge: EdgeType, columns: Sequence[str]) -> Declared:
    ends = named_ends(columns, list(edge.node_types))
    # Of an end with several types the values tell which one a file has.
    source, target = (None if end.is_typed else end.types[0] for end in edge.ends)
    return Declared(is_edge=True, ends=ends, end_types=(source, target)) if ends else Declared()
