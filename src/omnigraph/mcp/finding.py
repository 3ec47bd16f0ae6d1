"""The search of agents: words, vectors or both over several node types, as one ranking of hits.

Each type is ranked by a query of its own. Ranks, not scores, are comparable between types, so the hits are interleaved
by rank.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from omnigraph.core.scalars import Scalar
from omnigraph.engine.snapshot import Snapshot
from omnigraph.errors import EmbeddingUnavailable, UsageError
from omnigraph.mcp import models
from omnigraph.mcp.answers import Answer
from omnigraph.mcp.budget import fit, shorten
from omnigraph.mcp.reading import snapshot_of
from omnigraph.mcp.session import Session
from omnigraph.rows.results import result_rows
from omnigraph.schema.catalog import NodeType, type_named

FIND_TOKENS = 3_000
TEXTS_MAX = 8
"""Text properties of one type that are ranked; more would make every search slow."""


@dataclass(frozen=True, slots=True)
class Searched:
    """The properties of a type that a search uses."""

    type: NodeType
    texts: tuple[str, ...]
    vector: str | None

    def ranking(self) -> str:
        """The expression that orders the hits."""
        parts = [f"bm25($n.{name}, $words)" for name in self.texts]
        if self.vector is not None:
            parts.append(f"nearest($n.{self.vector}, $words)")
        return parts[0] if len(parts) == 1 else f"rrf({', '.join(parts)})"

    def text(self, limit: int) -> str:
        """The query for the hits of the type."""
        words = " or ".join(f"search($n.{name}, $words)" for name in self.texts)
        # A vector ranks every entity; words alone must occur.
        condition = "" if self.vector is not None else words
        shown = "".join(f", $n.{name}" for name in self.texts)
        return (
            f"query find($words: String) {{ match {{ $n: {self.type.name} {condition} }}"
            f" return {{ id($n) as id{shown} }} order {{ {self.ranking()} }} limit {limit} }}"
        )

    def hit(self, row: dict[str, Any]) -> dict[str, Any]:
        """A row as a hit: columns are called ``n.name`` in the result."""
        values = {name.removeprefix("n."): value for name, value in row.items()}
        return {"type": self.type.name, **shorten(values)}


def find(session: Session, given: models.Find) -> Answer:
    """The best hits over the chosen types."""
    snapshot = snapshot_of(session, given.at)
    chosen = _types(snapshot, given.types)
    has_embedder = session.graph.embedder is not None
    searched = [found for type_ in chosen if (found := _searched(type_, given.mode, has_embedder)) is not None]
    if not searched:
        raise _nothing_to_search(given, has_embedder)
    hits: list[tuple[int, int, dict[str, Any]]] = []
    for place, item in enumerate(searched):
        result = session.graph.query(
            item.text(given.limit),
            {"words": given.text},
            at=snapshot.commit_id,
            timeout=session.settings.query_seconds_max,
        )
        for rank, row in enumerate(result_rows(result.table)):
            hits.append((rank, place, item.hit(row)))
    hits.sort(key=lambda hit: hit[:2])
    kept = fit([form for _, _, form in hits], FIND_TOKENS, given.limit)
    cut = ["more hits exist; raise `limit`, or search fewer `types`"] if kept.left_out else []
    content = {"hits": kept.items, "searched": [item.type.name for item in searched]}
    return Answer(content, snapshot.commit_id, cut)


def _types(snapshot: Snapshot, names: list[str] | None) -> list[NodeType]:
    nodes = list(snapshot.catalog.nodes.values())
    return nodes if names is None else [type_named(nodes, name, "node type") for name in names]


def _searched(type_: NodeType, mode: str, has_embedder: bool) -> Searched | None:
    """The properties of a type that the mode uses; None if it has none of them."""
    texts = [
        name
        for name, item in type_.properties.items()
        if item.type.scalar is Scalar.STRING and not item.type.is_list and not item.type.is_vector
    ]
    vector = next((name for name, item in type_.properties.items() if item.type.is_vector), None)
    wants_vector = has_embedder and mode in ("auto", "vector", "hybrid")
    chosen = Searched(
        type_,
        () if mode == "vector" else tuple(texts[:TEXTS_MAX]),
        vector if wants_vector else None,
    )
    return chosen if chosen.texts or chosen.vector else None


def _nothing_to_search(given: models.Find, has_embedder: bool) -> Exception:
    if given.mode == "vector" and not has_embedder:
        return EmbeddingUnavailable("no embedder is configured, so meaning cannot be searched", hint="use mode `text`")
    return UsageError("none of the types has properties to search", hint="call describe_graph for the properties")
