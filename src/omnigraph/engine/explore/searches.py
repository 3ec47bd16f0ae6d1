"""Search in nodes of any type: the properties that a search can use, and the query that ranks by them.

Each type is ranked by a query of its own. Ranks, not scores, are comparable between types, so callers interleave the
hits of several types by rank.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from omnigraph.core.scalars import Scalar
from omnigraph.schema.catalog import NodeType

TEXTS_MAX: Final = 8
"""Text properties of one type that are ranked; more would make every search slow."""

Hit = TypeVar("Hit")


@dataclass(frozen=True, slots=True)
class TypeSearch:
    """The properties of a type that a search uses."""

    type: NodeType
    texts: tuple[str, ...]
    vector: str | None

    @classmethod
    def of(cls, type_: NodeType, mode: str, *, has_vectors: bool) -> TypeSearch | None:
        """The search of a mode; None if the type has nothing to search. Without vectors only words are ranked."""
        texts = [
            name
            for name, item in type_.properties.items()
            if item.type.scalar is Scalar.STRING and not item.type.is_list and not item.type.is_vector
        ]
        vector = next((name for name, item in type_.properties.items() if item.type.is_vector), None)
        chosen = cls(
            type_,
            () if mode == "vector" else tuple(texts[:TEXTS_MAX]),
            vector if has_vectors and mode != "text" else None,
        )
        return chosen if chosen.texts or chosen.vector else None

    def query(self, limit: int, *, embeds: bool = True) -> str:
        """The query for the best hits, with the parameter ``$words``.

        If the graph does not embed the words itself, the parameter ``$vector`` holds their embedding.
        """
        wanted = "$words" if embeds else "$vector"
        parts = [f"bm25($n.{name}, $words)" for name in self.texts]
        if self.vector is not None:
            parts.append(f"nearest($n.{self.vector}, {wanted})")
        ranking = parts[0] if len(parts) == 1 else f"rrf({', '.join(parts)})"
        # A vector ranks every entity; words alone must occur.
        condition = "" if self.vector else " or ".join(f"search($n.{name}, $words)" for name in self.texts)
        declared = "$words: String" + ("" if embeds or self.vector is None else f", $vector: Vector({self.dimension})")
        shown = "".join(f", $n.{name} as {name}" for name in self.texts)
        return (
            f"query find({declared}) {{ match {{ $n: {self.type.name} {condition} }}"
            f" return {{ id($n) as id{shown} }} order {{ {ranking} }} limit {limit} }}"
        )

    @property
    def dimension(self) -> int:
        """The length of the vectors."""
        assert self.vector is not None, "the search has vectors"
        dimension = self.type.properties[self.vector].type.dimension
        assert dimension is not None, "a vector has a length"
        return dimension


def interleaved(rankings: Iterable[Sequence[Hit]]) -> list[Hit]:
    """The hits of several rankings: all first ones, then all second ones, and so on."""
    ranked: list[tuple[int, int, Any]] = [
        (rank, place, hit) for place, hits in enumerate(rankings) for rank, hit in enumerate(hits)
    ]
    return [hit for _, _, hit in sorted(ranked, key=lambda item: item[:2])]
