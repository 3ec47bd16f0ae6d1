"""A graph for documents, and texts that mention its people."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import omnigraph
from omnigraph import Graph
from omnigraph.core.ports import EmbeddingRole
from omnigraph.embed import MockEmbedder

SCHEMA = """
node Document { path: String @key  title: String?  digest: String?  lang: String?  rank: F64? }
node Chunk { text: String @index  number: I32?  start: I32?  vector: Vector(4)? @embed(text) }
node Person { name: String @key  aliases: [String]? }
edge PartOf: Chunk -> Document
edge Mentions: Chunk -> Person { times: I32? }
edge Cites: Person -> Chunk
"""

PIPELINE: dict[str, Any] = {
    "documents": {"title": "title"},
    "chunks": {"number": "number", "start": "start", "size": 60, "overlap": 10},
    "mentions": [{"node": "Person", "edge": "Mentions", "names": ["name", "aliases"], "count": "times"}],
}

PEOPLE = [
    {"type": "Person", "data": {"name": "Ada Lovelace", "aliases": ["Ada"]}},
    {"type": "Person", "data": {"name": "Alan Turing"}},
]


@dataclass
class CountingEmbedder:
    """The offline embedder, which notes the texts that it gets."""

    texts: list[str] = field(default_factory=list)
    model: str = ""

    def embed(self, texts: Sequence[str], dimension: int, role: EmbeddingRole) -> Sequence[Sequence[float]]:
        self.texts += texts
        return MockEmbedder().embed(texts, dimension, role)


def graph_at(path: Path, embedder: Any = None) -> Graph:
    graph = omnigraph.create(path, SCHEMA, durability="os", embedder=embedder or MockEmbedder())
    graph.load(PEOPLE)
    return graph


def write_texts(directory: Path, count: int = 5) -> Path:
    directory.mkdir(exist_ok=True)
    for number in range(count):
        name = ("Ada", "Alan Turing", "nobody")[number % 3]
        sentences = " ".join(f"Sentence {place} of text {number}." for place in range(number + 1))
        (directory / f"text{number}.md").write_text(f"# Text {number}\n\nAbout {name}.\n\n{sentences}\n")
    return directory


def content(graph: Graph, branch: str | None = None) -> list[bytes]:
    return sorted(line for part in graph.export(branch) for line in part.splitlines())
