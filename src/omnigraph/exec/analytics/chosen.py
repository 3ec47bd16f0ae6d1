"""Which part of a graph an algorithm looks at: edge types, the node types at their ends, and the weight of an edge."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from omnigraph.core.suggestions import did_you_mean
from omnigraph.errors import NotFoundError, UsageError
from omnigraph.schema.catalog import Catalog, EdgeType


@dataclass(frozen=True, slots=True)
class ChosenEdges:
    """Edge types by name. Every node at one of their ends takes part, whether it has an edge or not."""

    edges: tuple[EdgeType, ...]
    weight: str | None = None

    @property
    def node_types(self) -> tuple[str, ...]:
        """The node types at the ends, by name."""
        return tuple(sorted({name for edge in self.edges for name in (edge.source, edge.target)}))


def choose_edges(catalog: Catalog, names: Sequence[str] | str | None, weight: str | None = None) -> ChosenEdges:
    """The named edge types, or all of them; raises for names that mean nothing and weights that are no numbers."""
    if isinstance(names, str):
        names = [names]
    wanted = list(catalog.edges) if names is None else list(names)
    found: dict[str, EdgeType] = {}
    for name in wanted:
        edge = catalog.edge(name)
        if edge is None:
            raise NotFoundError(
                f"there is no edge type {name!r}",
                hint=did_you_mean(name, catalog.edges) or f"edge types are {', '.join(catalog.edges) or 'none'}",
                type=name,
            )
        found[edge.name] = edge
    if not found:
        raise UsageError("no edge type is chosen", hint="name one, or declare one in the schema")
    chosen = tuple(edge for _, edge in sorted(found.items()))
    if weight is not None:
        for edge in chosen:
            _check_weight(edge, weight)
    return ChosenEdges(chosen, weight)


def _check_weight(edge: EdgeType, weight: str) -> None:
    prop = edge.properties.get(weight)
    numbers = [name for name, known in edge.properties.items() if known.type.is_number]
    if prop is None:
        hint = did_you_mean(weight, numbers) or f"its numbers are {', '.join(numbers) or 'none'}"
        raise UsageError(f"edge type {edge.name} has no property {weight!r} to weigh by", hint=hint, type=edge.name)
    if not prop.type.is_number:
        raise UsageError(
            f"{edge.name}.{weight} is {prop.type}, and a weight is a number",
            hint=f"its numbers are {', '.join(numbers) or 'none'}",
            type=edge.name,
        )
