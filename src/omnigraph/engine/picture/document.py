"""The document of a picture: data as JSON, style and script of the drawing, and tables for readers without a canvas."""

from __future__ import annotations

import base64
import hashlib
import html
import json
from collections import Counter
from typing import Any, Final

from omnigraph.core.display import html_table
from omnigraph.engine.picture.scene import Scene
from omnigraph.engine.picture.scripts import file_text, script

TABLE_ROWS_MAX: Final = 500

_UNSAFE = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}
_KEY: Final = (
    '<p><b class="plus">+</b> inserted (square) &middot; <b class="tilde">~</b> updated (diamond) &middot; '
    '<b class="minus">&minus;</b> deleted (dashed) &middot; <b class="minus">!</b> conflict (triangle) &middot; '
    "grey: unchanged neighbours</p>"
)


def document(scene: Scene, shown: str) -> str:
    """One HTML document that loads nothing and runs no script but ours."""
    program = script("standalone.js")
    parts = {
        "POLICY": f"default-src 'none'; style-src 'unsafe-inline'; script-src '{_digest(program)}'",
        "TITLE": html.escape(scene.title),
        "SHOWN": html.escape(shown),
        "KEY": _KEY if scene.is_change else "",
        "STYLE": file_text("standalone.css") + file_text("drawing/drawing.css"),
        "DATA": _json(_data(scene)),
        "TABLES": _tables(scene),
        "SCRIPT": program,
    }
    # One pass over the template, so that data which looks like a mark is not replaced.
    pieces = file_text("standalone.html").split("%%")
    return "".join(parts[piece] if index % 2 else piece for index, piece in enumerate(pieces))


def _digest(program: str) -> str:
    """The source expression of a content security policy that allows this script only."""
    return "sha256-" + base64.b64encode(hashlib.sha256(program.encode()).digest()).decode()


def _data(scene: Scene) -> dict[str, object]:
    node_types = sorted({node.type for node in scene.nodes})
    edge_types = sorted({edge.type for edge in scene.edges})
    node_counts = Counter(node.type for node in scene.nodes)
    edge_counts = Counter(edge.type for edge in scene.edges)
    return {
        "nodeTypes": [{"name": name, "count": node_counts[name]} for name in node_types],
        "edgeTypes": [{"name": name, "count": edge_counts[name]} for name in edge_types],
        "nodes": [
            [node.x, node.y, node_types.index(node.type), node.caption, node.id, _facts(node), node.sign, node.size]
            for node in scene.nodes
        ],
        "edges": [
            [edge.source, edge.target, edge_types.index(edge.type), _facts(edge), edge.sign] for edge in scene.edges
        ],
    }


def _facts(thing: Any) -> list[tuple[str, str]]:
    return list(thing.properties.items())


def _json(data: object) -> str:
    """JSON that may stand in a script element: no character of it can end the element."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    return "".join(_UNSAFE.get(char, char) for char in text)


def _tables(scene: Scene) -> str:
    sign = ("sign",) if scene.is_change else ()
    nodes = [
        (
            *((node.sign,) if sign else ()),
            node.type,
            node.caption,
            "; ".join(f"{name}: {value}" for name, value in node.properties.items()),
        )
        for node in scene.nodes[:TABLE_ROWS_MAX]
    ]
    edges = [
        (
            *((edge.sign,) if sign else ()),
            scene.nodes[edge.source].caption,
            edge.type,
            scene.nodes[edge.target].caption,
        )
        for edge in scene.edges[:TABLE_ROWS_MAX]
    ]
    return html_table("Nodes", (*sign, "type", "name", "properties"), nodes, len(scene.nodes) - len(nodes)) + (
        html_table("Edges", (*sign, "from", "edge", "to"), edges, len(scene.edges) - len(edges))
    )
