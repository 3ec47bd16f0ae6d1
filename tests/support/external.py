"""Copies of graphs whose types are all external: the same rows, in Parquet files outside the graph."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from omnigraph.engine.graph import Graph, create
from omnigraph.engine.query.table_names import table_names
from omnigraph.schema.ir import EdgeIR, External, NodeIR, SchemaIR
from omnigraph.schema.print import to_pg


def external_schema(schema: SchemaIR, places: Mapping[str, str]) -> str:
    """A schema whose types read tables at some places, by table key."""

    def of(type_: NodeIR | EdgeIR) -> External:
        return External(places[f"{'node' if isinstance(type_, NodeIR) else 'edge'}:{type_.name}"])

    nodes = tuple(replace(node, external=of(node)) for node in schema.nodes)
    edges = tuple(replace(edge, external=of(edge)) for edge in schema.edges)
    return to_pg(replace(schema, nodes=nodes, edges=edges))


def external_copy(graph: Graph, directory: Path, format: str = "parquet", **options: Any) -> Graph:
    """A graph with the entities of the head of another one, and no rows of its own."""
    rows = directory / "rows"
    graph.export_files(rows, format)
    ending = ".parquet" if format == "parquet" else ""
    names = table_names(graph.snapshot().entities())
    places = {entity.table_key: str(rows / f"{name}{ending}") for name, entity in names.items()}
    text = external_schema(graph.catalog().schema, places)
    return create(directory / "external", text, durability="os", **options)
