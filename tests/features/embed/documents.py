"""Documents with vectors of their texts, and the deterministic embedder with a memory."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import omnigraph
from omnigraph.core.ports import EmbeddingRole
from omnigraph.embed import MockEmbedder

SCHEMA = """
node Doc { slug: String @key
    text: String?
    year: I32?
    vec: Vector(3)? @embed(text)
    named: Vector(3)? @embed(text, model="model-a")
    wide: Vector(5)? @embed(text)
    @range(year, 0..3000) }
node Note { slug: String @key
    body: String?
    vec: Vector(3) @embed(body) }
edge About: Note -> Doc
"""
Record = dict[str, Any]


@dataclass
class Recording:
    """The deterministic embedder, with a memory."""

    model: str = "model-a"
    requests: list[tuple[list[str], int, str]] = field(default_factory=list)

    def embed(self, texts: Sequence[str], dimension: int, role: EmbeddingRole) -> Sequence[Sequence[float]]:
        self.requests.append((list(texts), dimension, role))
        return MockEmbedder().embed(texts, dimension, role)

    def texts(self, dimension: int = 3) -> list[str]:
        """Every text as often as it was embedded; forgets them."""
        found = [text for texts, wanted, _ in self.requests if wanted == dimension for text in texts]
        self.requests.clear()
        return sorted(found)


def vector(text: str, dimension: int = 3) -> list[float]:
    return list(MockEmbedder().embed([text], dimension, "document")[0])


def doc(slug: str, **data: Any) -> Record:
    return {"type": "Doc", "data": {"slug": slug, **data}}


def note(slug: str, **data: Any) -> Record:
    return {"type": "Note", "data": {"slug": slug, **data}}


def stored(graph: omnigraph.Graph, branch: str = "main") -> dict[str, Record]:
    """The data of all nodes by slug (or id), without what is null."""
    records = [json.loads(line) for line in b"".join(graph.export(branch)).splitlines()]
    nodes = [record["data"] for record in records if "type" in record]
    return {
        data.get("slug", data.get("id")): {name: _exact(value) for name, value in data.items() if value is not None}
        for data in nodes
    }


def _exact(value: Any) -> Any:
    """An export writes as few digits as tell 32-bit numbers apart."""
    return np.array(value, np.float32).tolist() if isinstance(value, list) else value
