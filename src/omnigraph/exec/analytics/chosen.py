"""Edge selection of an analysis: edge types, their endpoint types, and the weight property."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from omnigraph.core.suggestions import did_you_mean
from omnigraph.errors import UsageError
from omnigraph.schema.catalog import Catalog, EdgeType, type_named


@dataclass(frozen=True, slots=True)
class ChosenEdges:
    """Edge types in the order of their names. Every node of their endpoint types takes part, even without edges."""

    edges: tuple[EdgeType, ...]
    weight: str | None = None

    @property
    def node_types(self) -> tuple[str, ...]:
        """The endpoint types, sorted by name."""
        return tuple(sorted({name for edge in self.edges for name in edge.node_types}))


def choose_edges(catalog: Catalog, names: Sequence[str] | str | None, weight: str | None = None) -> ChosenEdges:
    """The named edge types, or all; raises for unknown names and for weights that are not numeric."""
    if isinstance(names, str):
        names = [names]
    wanted = list(catalog.edges) if names is None else list(names)
    found: dict[str, EdgeType] = {}
    for name in wanted:
        edge = type_named(catalog.edges.values(), name, "edge type")
        found[edge.name] = edge
    if not found:
        raise UsageError("no edge type is selected", hint="name one, or declare one in the schema")
    chosen = tuple(edge for _, edge in sorted(found.items()))
    if weight is not None:
        for edge in chosen:
            _check_weight(edge, weight)
    return ChosenEdges(chosen, weight)


def _check_weight(edge: EdgeType, weight: str) -> None:
    prop = edge.properties.get(weight)
    numbers = [name for name, known in edge.properties.items() if known.type.is_number]
    if prop is None:
        hint = did_you_mean(weight, numbers) or f"numeric properties: {', '.join(numbers) or 'none'}"
        raise UsageError(
            f"edge type {edge.name} has no property {weight!r} to use as weight", hint=hint, type=edge.name
        )
    if not prop.type.is_number:
        raise UsageError(
            f"{edge.name}.{weight} is {prop.type}, but a weight must be a number",
            hint=f"numeric properties: {', '.join(numbers) or 'none'}",
            type=edge.name,
        )
