"""The accepted schema: every type and property with its stable id.

This form is stored, hashed and migrated. An id never identifies two things, on any branch: a rename keeps the id, a
drop followed by a re-add does not. Properties are sorted by name.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from typing import assert_never

from omnigraph.core.classes.dataclass import dataclass
from omnigraph.schema.types import PropertyType

Pair = tuple[str, str]
"""The source and the target of an edge, as names of types."""


class TypeKind(StrEnum):
    """The three kinds of declared types, in the order in which ids are assigned."""

    INTERFACE = "interface"
    NODE = "node"
    EDGE = "edge"


class MergePolicy(StrEnum):
    """Resolution of concurrent changes of one property when branches merge."""

    SOURCE = "source"
    TARGET = "target"
    NEWEST = "newest"
    MAX = "max"
    MIN = "min"
    SUM = "sum"
    UNION = "union"
    KEYS = "keys"
    """Members of JSON objects are merged one by one."""
    REVIEW = "review"


@dataclass(frozen=True, slots=True)
class CustomAnnotation:
    """An annotation that the schema language does not define, kept verbatim; its value is text."""

    name: str
    value: str | None
    arguments: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Embed:
    """``@embed``: the property a vector is computed from, and the model."""

    source: str
    model: str | None = None


class ExternalFormat(StrEnum):
    """Formats of the tables that external types read."""

    PARQUET = "parquet"
    ICEBERG = "iceberg"
    DELTA = "delta"


@dataclass(frozen=True, slots=True)
class External:
    """``@external``: the table that holds the rows of a type, and its columns that are no properties.

    ``format`` is None if the table itself shows it. ``source`` and ``target`` hold the ends of edges. A column that is
    None has the name of its field.
    """

    address: str
    format: ExternalFormat | None = None
    id: str | None = None
    source: str | None = None
    target: str | None = None


@dataclass(frozen=True, slots=True)
class PropertyIR:
    """One property of one type. ``injected_from`` names the interface it comes from; None if declared directly.

    ``column`` is the column of an external table that holds it, if that has another name.
    """

    id: int
    name: str
    type: PropertyType
    description: str | None = None
    embed: Embed | None = None
    merge: MergePolicy | None = None
    injected_from: str | None = None
    annotations: tuple[CustomAnnotation, ...] = ()
    column: str | None = None


@dataclass(frozen=True, slots=True)
class KeyConstraint:
    """The key that an id is derived from, in stable property-id order, which at creation is the order of the names.

    The key of an edge may hold ``src`` and ``dst``, which come first.
    """

    properties: tuple[str, ...]
    sugar: bool


@dataclass(frozen=True, slots=True)
class UniqueConstraint:
    """A tuple of properties (edges: also ``src`` and ``dst``) that no two entities share."""

    properties: tuple[str, ...]
    sugar: bool


@dataclass(frozen=True, slots=True)
class IndexConstraint:
    """A request for an index."""

    properties: tuple[str, ...]
    sugar: bool


@dataclass(frozen=True, slots=True)
class RangeConstraint:
    """Inclusive numeric bounds."""

    property: str
    low: int | float | None
    high: int | float | None


@dataclass(frozen=True, slots=True)
class CheckConstraint:
    """A pattern that must match somewhere in the text."""

    property: str
    pattern: str


TupleConstraint = KeyConstraint | UniqueConstraint | IndexConstraint
ConstraintIR = KeyConstraint | UniqueConstraint | IndexConstraint | RangeConstraint | CheckConstraint


@dataclass(frozen=True, slots=True)
class InterfaceIR:
    """An interface: has no table; gives its properties, and the constraints on them, to the types that implement it."""

    id: int
    name: str
    properties: tuple[PropertyIR, ...]
    constraints: tuple[ConstraintIR, ...] = ()


@dataclass(frozen=True, slots=True)
class NodeIR:
    """A node type. ``incarnation`` changes when a type of that name is dropped and added again.

    ``external`` names the table of another format that holds its rows; None if the graph stores them.
    """

    id: int
    incarnation: int
    name: str
    implements: tuple[str, ...]
    properties: tuple[PropertyIR, ...]
    constraints: tuple[ConstraintIR, ...]
    description: str | None = None
    instruction: str | None = None
    annotations: tuple[CustomAnnotation, ...] = ()
    external: External | None = None
    tag: str | None = None
    """The word for this type in edge tables (``schema.ends``); None if it is the name."""

    @property
    def stored_tag(self) -> str:
        return self.name if self.tag is None else self.tag


@dataclass(frozen=True, slots=True)
class EdgeIR:
    """An edge type; ``card_min`` and ``card_max`` count edges per source node.

    ``ends`` are the declared pairs, sorted; a name is that of a node type, or of an interface for all types that
    implement it. ``tagged`` has an item for the sources and one for the targets: None if the table has no column for
    their types, else the tag of the edges without a value there. An end that had one type at first and then several
    has such edges; ``ALWAYS_TAGGED`` if there are none.
    """

    id: int
    incarnation: int
    name: str
    ends: tuple[Pair, ...]
    card_min: int
    card_max: int | None
    properties: tuple[PropertyIR, ...]
    constraints: tuple[ConstraintIR, ...]
    description: str | None = None
    instruction: str | None = None
    annotations: tuple[CustomAnnotation, ...] = ()
    external: External | None = None
    tagged: tuple[str | None, str | None] = (None, None)


@dataclass(frozen=True, slots=True)
class SchemaIR:
    """An accepted schema. Types are sorted by name.

    The first schema of the graph counted its ids up to ``next_id``; ``retired`` are ids that were given later and are
    no longer in use. ``retired_tags`` are those of dropped node types that tables of edges may hold.
    """

    domain: str
    next_id: int
    interfaces: tuple[InterfaceIR, ...]
    nodes: tuple[NodeIR, ...]
    edges: tuple[EdgeIR, ...]
    retired: tuple[int, ...] = ()
    retired_tags: tuple[str, ...] = ()


TypeIR = InterfaceIR | NodeIR | EdgeIR


def types_of(schema: SchemaIR, kind: TypeKind) -> tuple[TypeIR, ...]:
    """The types of one kind, by name."""
    match kind:
        case TypeKind.INTERFACE:
            return schema.interfaces
        case TypeKind.NODE:
            return schema.nodes
        case TypeKind.EDGE:
            return schema.edges
        case _:
            assert_never(kind)


def external_types(schema: SchemaIR) -> Iterator[tuple[NodeIR | EdgeIR, External]]:
    """The types whose rows are outside the graph, with the tables that hold them."""
    types: list[NodeIR | EdgeIR] = [*schema.nodes, *schema.edges]
    return ((type_, type_.external) for type_ in types if type_.external is not None)


def constraint_word(constraint: ConstraintIR) -> str:
    """The constraint's name as written, without the at sign."""
    match constraint:
        case KeyConstraint():
            return "key"
        case UniqueConstraint():
            return "unique"
        case IndexConstraint():
            return "index"
        case RangeConstraint():
            return "range"
        case CheckConstraint():
            return "check"
        case _:
            assert_never(constraint)


def constrained_properties(constraint: ConstraintIR) -> tuple[str, ...]:
    """The properties of a constraint."""
    match constraint:
        case KeyConstraint() | UniqueConstraint() | IndexConstraint():
            return constraint.properties
        case RangeConstraint() | CheckConstraint():
            return (constraint.property,)
        case _:
            assert_never(constraint)
