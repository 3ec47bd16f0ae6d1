"""Copies of graphs whose types are all external: the same rows, in Parquet files outside the graph."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from omnigraph.engine.graph import Graph, create
from omnigraph.schema.ir import EdgeIR, External, NodeIR, SchemaIR
from omnigraph.schema.print import to_pg


def external_schema(schema: SchemaIR, rows: Path) -> str:
    """A schema whose types read the files that an export wrote below a directory."""

    def of(kind: NodeIR | EdgeIR) -> External:
        return External(str(rows / f"{kind.name}.parquet"))

    nodes = tuple(replace(node, external=of(node)) for node in schema.nodes)
    edges = tuple(replace(edge, external=of(edge)) for edge in schema.edges)
    return to_pg(replace(schema, nodes=nodes, edges=edges))


def external_copy(graph: Graph, directory: Path, **options: Any) -> Graph:
    """A graph with the entities of the head of another one, and no rows of its own."""
    rows = directory / "rows"
    graph.export_files(rows, "parquet")
    text = external_schema(graph.catalog().schema, rows)
    return create(directory / "external", text, durability="os", **options)
