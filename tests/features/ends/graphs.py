"""A small graph whose edges lead from and to several node types; a post and a comment share the id 1."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import omnigraph

NODES = """
interface Message { content: String? }
node Person { name: String @key }
node Post implements Message { slug: String @key  title: String? }
node Comment implements Message { slug: String @key }
node Tag { name: String @key }
"""
SCHEMA = f"""{NODES}
edge Likes: Person -> Message {{ at: I32? }}
edge HasTag: Post | Comment -> Tag
edge ReplyOf: Comment -> Message @card(0..1)
edge Rel: Person -> Tag, Tag -> Post
"""


def node(kind: str, **data: Any) -> dict[str, Any]:
    return {"type": kind, "data": data}


def edge(kind: str, source: Any, target: Any, **data: Any) -> dict[str, Any]:
    return {"edge": kind, "from": source, "to": target, "data": data}


def post(id_: str) -> dict[str, str]:
    return {"type": "Post", "id": id_}


def comment(id_: str) -> dict[str, str]:
    return {"type": "Comment", "id": id_}


RECORDS = [
    *(node("Person", name=name) for name in ("ann", "bob")),
    *(node("Post", slug=slug, content=f"post {slug}") for slug in "12"),
    *(node("Comment", slug=slug, content=f"comment {slug}") for slug in "134"),
    node("Tag", name="t"),
    edge("Likes", "ann", post("1"), id="l1", at=1),
    edge("Likes", "ann", comment("1"), id="l2", at=2),
    edge("Likes", "bob", comment("3"), id="l3"),
    edge("HasTag", post("2"), "t", id="h1"),
    edge("HasTag", comment("3"), "t", id="h2"),
    edge("ReplyOf", "3", comment("1"), id="r1"),
    edge("ReplyOf", "1", post("1"), id="r2"),
    edge("ReplyOf", "4", comment("3"), id="r3"),
    edge("Rel", {"type": "Person", "id": "ann"}, {"type": "Tag", "id": "t"}, id="x1"),
    edge("Rel", {"type": "Tag", "id": "t"}, post("2"), id="x2"),
]


def made(place: Path, schema: str = SCHEMA, records: list[dict[str, Any]] | None = None) -> omnigraph.Graph:
    graph = omnigraph.create(place, schema, durability="os")
    graph.load(RECORDS if records is None else records, "append")
    return graph


def rows(graph: omnigraph.Graph, text: str, **where: Any) -> list[tuple[Any, ...]]:
    table = graph.query(text, **where).table
    return list(zip(*(column.to_pylist() for column in table.columns), strict=True))


def liked(graph: omnigraph.Graph, **where: Any) -> list[tuple[Any, ...]]:
    """Who likes which message, by the ids of the edges."""
    text = "match { $p $l: likes $m } return { id($l) as l, id($p), type($m), id($m) } order { l }"
    return rows(graph, text, **where)


LIKED = [("l1", "ann", "Post", "1"), ("l2", "ann", "Comment", "1"), ("l3", "bob", "Comment", "3")]
