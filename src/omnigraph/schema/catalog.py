"""The catalog: the types of an accepted schema, indexed by name and endpoint.

Built once per accepted schema and shared; every method is a lookup. Every place that takes the name of a type or of its
table resolves it here: ``Person`` where it is unique, ``node:Person`` always.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeVar

from omnigraph.core.display import Display, Displayed, counted
from omnigraph.core.suggestions import did_you_mean
from omnigraph.errors import NotFoundError, UsageError
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

PropertyOrder = Mapping[str, tuple[str, ...]]
"""Names of properties by table key, in the order of a schema text."""


@dataclass(frozen=True)
class EntityType:
    """Fields that node types and edge types share."""

    name: str
    properties: dict[str, PropertyIR] = field(repr=False)
    uniques: tuple[UniqueConstraint, ...] = field(repr=False)
    indexes: tuple[IndexConstraint, ...] = field(repr=False)
    key: tuple[str, ...]
    """The columns that ids are derived from: properties, and the ends of an edge. None if ids are minted."""


@dataclass(frozen=True)
class NodeType(EntityType):
    """A node type."""

    ir: NodeIR = field(repr=False)
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


Type = TypeVar("Type", NodeType, EdgeType, NodeType | EdgeType)


@dataclass(frozen=True, repr=False)
class Catalog(Displayed):
    """All types of one accepted schema. Node names are case-sensitive, edge names are not."""

    schema: SchemaIR = field(repr=False)
    order: PropertyOrder = field(default_factory=dict, repr=False, compare=False)
    """The order to list properties in; those of types without one are by name."""

    @cached_property
    def nodes(self) -> dict[str, NodeType]:
        return {node.name: _node_type(node, self.order.get(f"node:{node.name}", ())) for node in self.schema.nodes}

    @cached_property
    def edges(self) -> dict[str, EdgeType]:
        return {edge.name: _edge_type(edge, self.order.get(f"edge:{edge.name}", ())) for edge in self.schema.edges}

    @cached_property
    def _edges_folded(self) -> dict[str, EdgeType]:
        return {name.lower(): edge for name, edge in self.edges.items()}

    def _display(self) -> Display:
        types: list[EntityType] = [*self.nodes.values(), *self.edges.values()]
        rows = [
            (_heading(item), ", ".join(f"{name}: {prop.type}" for name, prop in item.properties.items()))
            for item in types
        ]
        title = f"Catalog: {counted(len(self.nodes), 'node type')}, {counted(len(self.edges), 'edge type')}"
        return Display(title, ("type", "properties"), rows)

    def node(self, name: str) -> NodeType | None:
        return self.nodes.get(name)

    def edge(self, name: str) -> EdgeType | None:
        return self.edges.get(name) or self._edges_folded.get(name.lower())

    def edges_of(self, node_name: str) -> tuple[EdgeType, ...]:
        """Every edge type that has this node type at one of its ends, by name."""
        return tuple(edge for edge in self.edges.values() if node_name in (edge.source, edge.target))


def _heading(item: EntityType) -> str:
    return f"{item.name}: {item.source} -> {item.target}" if isinstance(item, EdgeType) else item.name


def _properties(ir: NodeIR | EdgeIR, order: tuple[str, ...]) -> dict[str, PropertyIR]:
    known = {prop.name: prop for prop in ir.properties}
    return {name: known[name] for name in dict.fromkeys([*order, *known]) if name in known}


def _node_type(ir: NodeIR, order: tuple[str, ...]) -> NodeType:
    return NodeType(
        name=ir.name,
        properties=_properties(ir, order),
        uniques=tuple(item for item in ir.constraints if isinstance(item, UniqueConstraint)),
        indexes=tuple(item for item in ir.constraints if isinstance(item, IndexConstraint)),
        key=_key(ir),
        ir=ir,
        ranges=tuple(item for item in ir.constraints if isinstance(item, RangeConstraint)),
        checks=tuple(item for item in ir.constraints if isinstance(item, CheckConstraint)),
    )


def _edge_type(ir: EdgeIR, order: tuple[str, ...]) -> EdgeType:
    return EdgeType(
        name=ir.name,
        properties=_properties(ir, order),
        uniques=tuple(item for item in ir.constraints if isinstance(item, UniqueConstraint)),
        indexes=tuple(item for item in ir.constraints if isinstance(item, IndexConstraint)),
        key=_key(ir),
        ir=ir,
        source=ir.source,
        target=ir.target,
    )


def _key(ir: NodeIR | EdgeIR) -> tuple[str, ...]:
    return next((item.properties for item in ir.constraints if isinstance(item, KeyConstraint)), ())


def all_types(catalog: Catalog) -> list[NodeType | EdgeType]:
    """The node types, then the edge types, each by name."""
    return [*catalog.nodes.values(), *catalog.edges.values()]


def is_named(type_: NodeType | EdgeType, name: str) -> bool:
    """True if a type has that name or that table key. Edge names ignore case, as in queries."""
    if name in (type_.name, type_.table_key):
        return True
    kind, _, rest = name.rpartition(":")
    return isinstance(type_, EdgeType) and kind in ("", "edge") and rest.lower() == type_.name.lower()


def types_named(types: Iterable[Type], name: str, what: str = "type") -> list[Type]:
    """The types of a name: one, or a node type and an edge type. Raises NotFoundError if there is none."""
    known = list(types)
    found = [type_ for type_ in known if name in (type_.name, type_.table_key)]
    found = found or [type_ for type_ in known if is_named(type_, name)]
    if found:
        return found
    spelled = [type_.table_key if ":" in name else type_.name for type_ in known]
    hint = did_you_mean(name, spelled) or f"known types: {', '.join(dict.fromkeys(spelled)) or 'none'}"
    raise NotFoundError(f"there is no {what} {name!r}", hint=hint, type=name)


def type_named(types: Iterable[Type], name: str, what: str = "type") -> Type:
    """The one type of a name. A name that a node type and an edge type share raises UsageError."""
    found = types_named(types, name, what)
    if len(found) > 1:
        keys = " or ".join(repr(type_.table_key) for type_ in found)
        raise UsageError(f"{name!r} is a node type and an edge type", hint=f"write {keys}", type=name)
    return found[0]
