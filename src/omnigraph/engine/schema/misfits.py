"""Differences between an inferred schema and that of a graph which prevent a load."""

from __future__ import annotations

from collections.abc import Iterator

from omnigraph.core.suggestions import did_you_mean
from omnigraph.ingest.infer.result import InferredSchema, InferredType
from omnigraph.rows.arrow_types import Entity
from omnigraph.schema.catalog import Catalog, EdgeType

_FIELDS = {"id", "from", "to"}


def misfits(inferred: InferredSchema, catalog: Catalog) -> list[str]:
    """Columns without a place in the graph, and required properties without a column. The load checks values."""
    return [line for type_ in inferred.types for line in _type_misfits(type_, catalog)]


def _type_misfits(type_: InferredType, catalog: Catalog) -> Iterator[str]:
    entity = catalog.nodes.get(type_.name) if type_.kind == "node" else catalog.edges.get(type_.name)
    if entity is None:
        known = catalog.nodes if type_.kind == "node" else catalog.edges
        guess = did_you_mean(type_.name, known) or f"its {type_.kind} types are {', '.join(known) or 'none'}"
        yield f"the graph has no {type_.kind} type {type_.name} (from {type_.source}): {guess}"
        return
    yield from _property_misfits(type_, entity)
    if isinstance(entity, EdgeType) and type_.ends is not None and type_.ends not in entity.pairs:
        ends = f"{type_.ends[0]} -> {type_.ends[1]}"
        yield f"{type_.name} connects {entity.ends_text} in the graph, and {ends} in {type_.source}"


def _property_misfits(type_: InferredType, entity: Entity) -> Iterator[str]:
    for name, column in type_.columns.items():
        if name not in entity.properties and name not in _FIELDS:
            guess = did_you_mean(name, entity.properties)
            yield f"{type_.name} has no property {name} (column {column!r} of {type_.source})" + (
                f": {guess}" if guess else ""
            )
    for name, declared in entity.properties.items():
        if not declared.type.nullable and name not in type_.columns:
            yield f"{type_.name}.{name} is required in the graph, and {type_.source} has no column for it"
