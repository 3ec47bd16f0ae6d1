"""The page of a picture: data as JSON, our style and script, and tables for readers without a canvas."""

from __future__ import annotations

import html
import json
from collections import Counter
from functools import cache
from importlib.resources import files

from omnigraph.core.display import html_table
from omnigraph.engine.picture.scene import Scene

TABLE_ROWS_MAX = 500

_UNSAFE = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}


def page(scene: Scene, shown: str) -> str:
    """One HTML document that loads nothing from other hosts."""
    parts = {
        "TITLE": html.escape(scene.title),
        "SHOWN": html.escape(shown),
        "STYLE": _file("page.css"),
        "DATA": _json(_data(scene)),
        "TABLES": _tables(scene),
        "SCRIPT": _file("page.js"),
    }
    # One pass over the template, so that data which looks like a mark is not replaced.
    pieces = _file("page.html").split("%%")
    return "".join(parts[piece] if index % 2 else piece for index, piece in enumerate(pieces))


@cache
def _file(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


def _data(scene: Scene) -> dict[str, object]:
    node_types = sorted({node.type for node in scene.nodes})
    edge_types = sorted({edge.type for edge in scene.edges})
    node_counts = Counter(node.type for node in scene.nodes)
    edge_counts = Counter(edge.type for edge in scene.edges)
    return {
        "nodeTypes": [{"name": name, "count": node_counts[name]} for name in node_types],
        "edgeTypes": [{"name": name, "count": edge_counts[name]} for name in edge_types],
        "nodes": [
            [node.x, node.y, node_types.index(node.type), node.caption, node.id, list(node.properties.items())]
            for node in scene.nodes
        ],
        "edges": [
            [edge.source, edge.target, edge_types.index(edge.type), list(edge.properties.items())]
            for edge in scene.edges
        ],
    }


def _json(data: object) -> str:
    """JSON that may stand in a script element: no character of it can end the element."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    return "".join(_UNSAFE.get(char, char) for char in text)


def _tables(scene: Scene) -> str:
    nodes = [
        (node.type, node.caption, "; ".join(f"{name}: {value}" for name, value in node.properties.items()))
        for node in scene.nodes[:TABLE_ROWS_MAX]
    ]
    edges = [
        (scene.nodes[edge.source].caption, edge.type, scene.nodes[edge.target].caption)
        for edge in scene.edges[:TABLE_ROWS_MAX]
    ]
    return html_table("Nodes", ("type", "name", "properties"), nodes, len(scene.nodes) - len(nodes)) + html_table(
        "Edges", ("from", "edge", "to"), edges, len(scene.edges) - len(edges)
    )
