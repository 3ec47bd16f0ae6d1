"""The catalog: the types of an accepted schema, indexed by name and endpoint.

Built once per accepted schema and shared; every method is a lookup.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

from omnigraph.core.html import html_table
from omnigraph.schema.ir import (
    CheckConstraint,
    EdgeIR,
    IndexConstraint,
    KeyConstraint,
    NodeIR,
    PropertyIR,
    RangeConstraint,
    SchemaIR,
    UniqueConstraint,
)


@dataclass(frozen=True)
class EntityType:
    """Fields that node types and edge types share."""

    name: str
    properties: dict[str, PropertyIR] = field(repr=False)
    uniques: tuple[UniqueConstraint, ...] = field(repr=False)
    indexes: tuple[IndexConstraint, ...] = field(repr=False)


@dataclass(frozen=True)
class NodeType(EntityType):
    """A node type; ``key`` holds the key properties, none for types whose ids are minted."""

    ir: NodeIR = field(repr=False)
    key: tuple[str, ...]
    ranges: tuple[RangeConstraint, ...] = field(repr=False)
    checks: tuple[CheckConstraint, ...] = field(repr=False)

    @property
    def table_key(self) -> str:
        return f"node:{self.name}"


@dataclass(frozen=True)
class EdgeType(EntityType):
    """An edge type and the names of its endpoint types."""

    ir: EdgeIR = field(repr=False)
    source: str
    target: str

    @property
    def table_key(self) -> str:
        return f"edge:{self.name}"

    @property
    def is_homogeneous(self) -> bool:
        """Both ends have the same type, so paths of any length can follow this edge type."""
        return self.source == self.target


@dataclass(frozen=True, repr=False)
class Catalog:
    """All types of one accepted schema. Node names are case-sensitive, edge names are not."""

    schema: SchemaIR = field(repr=False)

    @cached_property
    def nodes(self) -> dict[str, NodeType]:
        return {node.name: _node_type(node) for node in self.schema.nodes}

    @cached_property
    def edges(self) -> dict[str, EdgeType]:
        return {edge.name: _edge_type(edge) for edge in self.schema.edges}

    @cached_property
    def _edges_folded(self) -> dict[str, EdgeType]:
        return {name.lower(): edge for name, edge in self.edges.items()}

    def __repr__(self) -> str:
        return f"<Catalog: {len(self.nodes)} node types, {len(self.edges)} edge types>"

    def _repr_html_(self) -> str:
        types: list[EntityType] = [*self.nodes.values(), *self.edges.values()]
        rows = [
            (_heading(item), ", ".join(f"{name}: {prop.type}" for name, prop in item.properties.items()))
            for item in types
        ]
        caption = f"{len(self.nodes)} node types, {len(self.edges)} edge types"
        return html_table(caption, ("type", "properties"), rows)

    def node(self, name: str) -> NodeType | None:
        return self.nodes.get(name)

    def edge(self, name: str) -> EdgeType | None:
        return self.edges.get(name) or self._edges_folded.get(name.lower())

    def edges_of(self, node_name: str) -> tuple[EdgeType, ...]:
        """Every edge type that has this node type at one of its ends, by name."""
        return tuple(edge for edge in self.edges.values() if node_name in (edge.source, edge.target))


def _heading(item: EntityType) -> str:
    return f"{item.name}: {item.source} -> {item.target}" if isinstance(item, EdgeType) else item.name


def _node_type(ir: NodeIR) -> NodeType:
    keys = [constraint for constraint in ir.constraints if isinstance(constraint, KeyConstraint)]
    return NodeType(
        name=ir.name,
        properties={prop.name: prop for prop in ir.properties},
        uniques=tuple(item for item in ir.constraints if isinstance(item, UniqueConstraint)),
        indexes=tuple(item for item in ir.constraints if isinstance(item, IndexConstraint)),
        ir=ir,
        key=keys[0].properties if keys else (),
        ranges=tuple(item for item in ir.constraints if isinstance(item, RangeConstraint)),
        checks=tuple(item for item in ir.constraints if isinstance(item, CheckConstraint)),
    )


def _edge_type(ir: EdgeIR) -> EdgeType:
    return EdgeType(
        name=ir.name,
        properties={prop.name: prop for prop in ir.properties},
        uniques=tuple(item for item in ir.constraints if isinstance(item, UniqueConstraint)),
        indexes=tuple(item for item in ir.constraints if isinstance(item, IndexConstraint)),
        ir=ir,
        source=ir.source,
        target=ir.target,
    )
