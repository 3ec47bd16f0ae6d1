"""The catalog: the types of an accepted schema, indexed by name and endpoint.

Built once per accepted schema and shared; every method is a lookup. Every place that takes the name of a type or of its
table resolves it here: ``Person`` where it is unique, ``node:Person`` always.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field
from functools import cached_property
from typing import TypeVar

from omnigraph.core.classes.dataclass import dataclass
from omnigraph.core.display import Display, Displayed, counted
from omnigraph.core.suggestions import did_you_mean
from omnigraph.errors import NotFoundError, UsageError
from omnigraph.schema.ends.pairs import edge_pairs, end_types, ends_text
from omnigraph.schema.ir import (
    CheckConstraint,
    EdgeIR,
    IndexConstraint,
    InterfaceIR,
    KeyConstraint,
    NodeIR,
    Pair,
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
class EdgeEnd:
    """One end of an edge type: the column with the ids of its nodes, and the node types that they belong to.

    ``tags`` are the words for these types in the table; ``untagged`` is the one of edges that have none.
    """

    column: str
    types: tuple[str, ...]
    tags: tuple[str, ...] = field(repr=False)
    untagged: str | None = field(repr=False)

    @property
    def word(self) -> str:
        """The name of the end in queries and data."""
        return "from" if self.column == "src" else "to"

    @property
    def type_word(self) -> str:
        """The name of its type in data."""
        return f"{self.word}_type"

    @property
    def is_typed(self) -> bool:
        """True if an id alone does not tell the node."""
        return len(self.types) > 1

    @property
    def type_column(self) -> str | None:
        """The column with the tags; None if the table has none."""
        return None if self.untagged is None else f"{self.column}_type"

    def stored_tag(self, type_name: str) -> str | None:
        """The value of the type column for a type; None for the type of edges that have none."""
        tag = self.tags[self.types.index(type_name)]
        return None if tag == self.untagged or self.untagged is None else tag

    def type_of(self, tag: str | None) -> str | None:
        """The type that a value of the type column stands for; None if it is no type of this end."""
        if self.untagged is None:
            return self.types[0]
        wanted = self.untagged if tag is None else tag
        return self.types[self.tags.index(wanted)] if wanted in self.tags else None


@dataclass(frozen=True)
class EdgeType(EntityType):
    """An edge type, the pairs of node types that it connects, and its two ends."""

    ir: EdgeIR = field(repr=False)
    pairs: tuple[Pair, ...]
    source: EdgeEnd
    target: EdgeEnd

    @property
    def table_key(self) -> str:
        return f"edge:{self.name}"

    @property
    def ends(self) -> tuple[EdgeEnd, EdgeEnd]:
        return self.source, self.target

    @cached_property
    def node_types(self) -> tuple[str, ...]:
        """The types at either end, by name."""
        return tuple(sorted({*self.source.types, *self.target.types}))

    @property
    def ends_text(self) -> str:
        """The ends as declared: ``Person -> Message``."""
        return ends_text(self.ir.ends)

    @property
    def is_single(self) -> bool:
        """True if all edges connect one node type with one."""
        return len(self.pairs) == 1

    @property
    def has_types(self) -> bool:
        """True if the table has a column for the types of an end, so that a walk must name them."""
        return any(end.type_column is not None for end in self.ends)

    @property
    def is_homogeneous(self) -> bool:
        """True if both ends have the same type, so that paths of any length can follow this edge type."""
        return self.is_single and self.pairs[0][0] == self.pairs[0][1]

    @property
    def chains(self) -> bool:
        """True if an edge of this type can follow another one."""
        return not set(self.source.types).isdisjoint(self.target.types)

    def end(self, column: str) -> EdgeEnd:
        """The end of a column: ``src`` or ``dst``."""
        return self.source if column == self.source.column else self.target


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
        pairs, tags = edge_pairs(self.schema), {node.name: node.stored_tag for node in self.schema.nodes}
        return {
            edge.name: _edge_type(edge, pairs[edge.name], tags, self.order.get(f"edge:{edge.name}", ()))
            for edge in self.schema.edges
        }

    @cached_property
    def interfaces(self) -> dict[str, InterfaceIR]:
        return {interface.name: interface for interface in self.schema.interfaces}

    def implementers(self, interface: str) -> tuple[str, ...]:
        """The node types that implement an interface."""
        return tuple(name for name, node in self.nodes.items() if interface in node.ir.implements)

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
        return tuple(edge for edge in self.edges.values() if node_name in edge.node_types)


def _heading(item: EntityType) -> str:
    return f"{item.name}: {item.ends_text}" if isinstance(item, EdgeType) else item.name


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


def _edge_type(ir: EdgeIR, pairs: tuple[Pair, ...], tags: Mapping[str, str], order: tuple[str, ...]) -> EdgeType:
    source, target = (
        EdgeEnd(column, types, tuple(tags[name] for name in types), untagged)
        for column, types, untagged in zip(("src", "dst"), end_types(pairs), ir.tagged, strict=True)
    )
    return EdgeType(
        name=ir.name,
        properties=_properties(ir, order),
        uniques=tuple(item for item in ir.constraints if isinstance(item, UniqueConstraint)),
        indexes=tuple(item for item in ir.constraints if isinstance(item, IndexConstraint)),
        key=_key(ir),
        ir=ir,
        pairs=pairs,
        source=source,
        target=target,
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
