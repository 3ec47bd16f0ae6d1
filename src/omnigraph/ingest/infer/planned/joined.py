"""Tables of one edge type between different node types: one declaration with several ends."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from omnigraph.ingest.infer.planned.types import PlannedProperty, PlannedType


def can_join(first: PlannedType, second: PlannedType) -> bool:
    """True if the properties that both edge types have are of one type."""
    known = {item.name: item.guess.type for item in first.properties}
    return all(
        replace(known[item.name], nullable=True) == replace(item.guess.type, nullable=True)
        for item in second.properties
        if item.name in known
    )


def joined_edges(edges: Sequence[PlannedType]) -> list[PlannedType]:
    """The edge types; those of one name have the same properties, nullable where a table lacks one."""
    return [_joined(edge, [other for other in edges if other.name == edge.name]) for edge in edges]


def _joined(edge: PlannedType, same: Sequence[PlannedType]) -> PlannedType:
    if not all(can_join(edge, other) for other in same):
        return edge
    return replace(edge, properties=tuple(_shared(item, same) for item in edge.properties))


def _shared(item: PlannedProperty, same: Sequence[PlannedType]) -> PlannedProperty:
    found = [next((other for other in edge.properties if other.name == item.name), None) for edge in same]
    if all(other is not None and not other.guess.type.nullable for other in found) or item.guess.type.nullable:
        return item
    reason = f"{item.guess.reason}; not every table has it"
    return replace(item, guess=replace(item.guess, type=replace(item.guess.type, nullable=True), reason=reason))


def with_shared_keys(types: Sequence[PlannedType]) -> list[PlannedType]:
    """The types; both ends are the key of an edge type only if that holds for all of its tables."""

    def is_unique(edge: PlannedType) -> bool:
        return all(other.has_unique_pairs for other in types if other.is_edge and other.name == edge.name)

    return [replace(item, has_unique_pairs=item.has_unique_pairs and is_unique(item)) for item in types]


def declared_properties(same: Sequence[PlannedType]) -> tuple[PlannedProperty, ...]:
    """The properties of all tables of one edge type, each once."""
    found: dict[str, PlannedProperty] = {}
    for edge in same:
        for item in edge.properties:
            found.setdefault(item.name, item)
    return tuple(found.values())
