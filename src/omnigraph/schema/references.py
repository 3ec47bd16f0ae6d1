"""A normalised form of accepted schemas: references are ids instead of names, so that two schemas can be compared.

``schema_of`` is the inverse; it resolves ids with the names that hold after a merge.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeVar

from omnigraph.schema.ends.pairs import edge_pairs, end_types
from omnigraph.schema.identify import ordered_constraints
from omnigraph.schema.ir import (
    CheckConstraint,
    ConstraintIR,
    CustomAnnotation,
    EdgeIR,
    Embed,
    External,
    IndexConstraint,
    InterfaceIR,
    KeyConstraint,
    MergePolicy,
    NodeIR,
    Pair,
    PropertyIR,
    RangeConstraint,
    SchemaIR,
    TypeIR,
    TypeKind,
    UniqueConstraint,
    constrained_properties,
    constraint_word,
    types_of,
)
from omnigraph.schema.types import PropertyType

Reference = int | str
"""The id of a property, or a name without id: an end of an edge, or a property that only implementing nodes have."""

TypeKey = tuple[TypeKind, int]

Tagged = tuple[bool, str]
"""True if the table has a column for the types at an end, and the tag of edges without a value in it."""


@dataclass(frozen=True, slots=True)
class PropertyParts:
    """A property. Nullability and enum values, which may change, are separate from the type."""

    name: str
    type: PropertyType
    nullable: bool
    enum_values: frozenset[str] | None
    description: str | None
    embedding: tuple[Reference, str | None] | None
    merge_policy: MergePolicy | None
    origin: int | None
    annotations: tuple[CustomAnnotation, ...]
    column: str | None


@dataclass(frozen=True, slots=True)
class ConstraintParts:
    """A constraint over references; members of keys and unique tuples are unordered."""

    word: str
    members: tuple[Reference, ...]
    rest: tuple[object, ...]

    @property
    def slot(self) -> tuple[object, ...] | None:
        """Constraints with equal slots exclude each other; None for those that exclude none."""
        if self.word == "key":
            return ("key",)
        return ("range", self.members) if self.word == "range" else None


@dataclass(frozen=True, slots=True)
class TypeParts:
    """A type of any kind. Edges have ``ends`` and ``cardinality``, nodes have ``implements``."""

    kind: TypeKind
    id: int
    name: str
    constraints: frozenset[ConstraintParts]
    properties: Mapping[int, PropertyParts] = field(hash=False)
    incarnation: int | None = None
    implements: frozenset[int] = frozenset()
    ends: frozenset[tuple[TypeKey, TypeKey]] | None = None
    tagged: tuple[Tagged, Tagged] | None = None
    tag: str | None = None
    cardinality: tuple[int, int | None] | None = None
    description: str | None = None
    instruction: str | None = None
    annotations: tuple[CustomAnnotation, ...] = ()
    external: External | None = None

    @property
    def needs(self) -> Iterator[TypeKey]:
        """The types that this type refers to."""
        yield from ((TypeKind.INTERFACE, id_) for id_ in sorted(self.implements))
        yield from sorted({key for pair in self.ends or () for key in pair})

    @property
    def constrained(self) -> Iterator[tuple[str, tuple[Reference, ...]]]:
        """Name and members of every constraint."""
        yield from sorted(((item.word, item.members) for item in self.constraints), key=str)


Parts = TypeVar("Parts", TypeParts, PropertyParts)


def type_parts(schema: SchemaIR) -> dict[TypeKey, TypeParts]:
    """The types of a schema, by kind and id."""
    ids = {(kind, type_.name): type_.id for kind in TypeKind for type_ in types_of(schema, kind)}
    found = {(kind, type_.id): _parts(kind, type_, ids) for kind in TypeKind for type_ in types_of(schema, kind)}
    tags = {node.name: node.stored_tag for node in schema.nodes}
    for edge in schema.edges:
        source, target = (
            (known is not None, tags[types[0]] if known is None else known)
            for known, types in zip(edge.tagged, end_types(edge_pairs(schema)[edge.name]), strict=True)
        )
        key = (TypeKind.EDGE, edge.id)
        found[key] = replace(found[key], tagged=(source, target))
    return found


def _parts(kind: TypeKind, type_: TypeIR, ids: Mapping[tuple[TypeKind, str], int]) -> TypeParts:
    members = {prop.name: prop.id for prop in type_.properties}
    constraints = frozenset(_constraint_parts(item, members) for item in type_.constraints)
    properties = {prop.id: _property_parts(prop, members, ids) for prop in type_.properties}
    plain = TypeParts(kind, type_.id, type_.name, constraints, properties)
    if isinstance(type_, InterfaceIR):
        return plain
    plain = replace(
        plain,
        incarnation=type_.incarnation,
        description=type_.description,
        instruction=type_.instruction,
        annotations=type_.annotations,
        external=type_.external,
    )
    if isinstance(type_, NodeIR):
        interfaces = frozenset(ids[TypeKind.INTERFACE, name] for name in type_.implements)
        return replace(plain, implements=interfaces, tag=type_.stored_tag)
    ends = frozenset((_end(source, ids), _end(target, ids)) for source, target in type_.ends)
    return replace(plain, ends=ends, cardinality=(type_.card_min, type_.card_max))


def _end(name: str, ids: Mapping[tuple[TypeKind, str], int]) -> TypeKey:
    kind = TypeKind.NODE if (TypeKind.NODE, name) in ids else TypeKind.INTERFACE
    return kind, ids[kind, name]


def _property_parts(
    prop: PropertyIR, members: Mapping[str, int], ids: Mapping[tuple[TypeKind, str], int]
) -> PropertyParts:
    values = prop.type.enum_values
    return PropertyParts(
        prop.name,
        replace(prop.type, nullable=True, enum_values=None),
        prop.type.nullable,
        None if values is None else frozenset(values),
        prop.description,
        None if prop.embed is None else (members.get(prop.embed.source, prop.embed.source), prop.embed.model),
        prop.merge,
        None if prop.injected_from is None else ids[TypeKind.INTERFACE, prop.injected_from],
        prop.annotations,
        prop.column,
    )


def _constraint_parts(constraint: ConstraintIR, ids: Mapping[str, int]) -> ConstraintParts:
    members: tuple[Reference, ...] = tuple(ids.get(name, name) for name in constrained_properties(constraint))
    word = constraint_word(constraint)
    match constraint:
        case RangeConstraint(low=low, high=high):
            return ConstraintParts(word, members, (low, high))
        case CheckConstraint(pattern=pattern):
            return ConstraintParts(word, members, (pattern,))
        case IndexConstraint(sugar=sugar):
            return ConstraintParts(word, members, (sugar,))
        case KeyConstraint(sugar=sugar) | UniqueConstraint(sugar=sugar):
            return ConstraintParts(word, tuple(sorted(members, key=str)), (sugar,))


def schema_of(like: SchemaIR, types: Mapping[TypeKey, TypeParts]) -> SchemaIR:
    """A schema of these types for the graph of ``like``. Every referenced type must be among them."""
    names = {key: type_.name for key, type_ in types.items()}
    found = [_type(type_, names) for type_ in sorted(types.values(), key=lambda type_: type_.name)]
    schema = SchemaIR(
        like.domain,
        like.next_id,
        tuple(type_ for type_ in found if isinstance(type_, InterfaceIR)),
        tuple(type_ for type_ in found if isinstance(type_, NodeIR)),
        tuple(type_ for type_ in found if isinstance(type_, EdgeIR)),
    )
    pairs = edge_pairs(schema)
    edges = tuple(_with_tags(edge, types[TypeKind.EDGE, edge.id], pairs[edge.name]) for edge in schema.edges)
    return replace(schema, edges=edges)


def _with_tags(edge: EdgeIR, parts: TypeParts, pairs: tuple[Pair, ...]) -> EdgeIR:
    """An edge type with the columns for the types of its ends; an end may have several only since the merge."""
    assert parts.tagged is not None
    source, target = (
        tag if has_column or len(names) > 1 else None
        for (has_column, tag), names in zip(parts.tagged, end_types(pairs), strict=True)
    )
    return replace(edge, tagged=(source, target))


def _type(type_: TypeParts, names: Mapping[TypeKey, str]) -> TypeIR:
    called = {id_: prop.name for id_, prop in type_.properties.items()}
    properties = tuple(
        sorted(
            (_property(id_, prop, called, names) for id_, prop in type_.properties.items()), key=lambda prop: prop.name
        )
    )
    numbers = {name: id_ for id_, name in called.items()}
    constraints = ordered_constraints((_constraint(item, called) for item in type_.constraints), numbers)
    notes = (type_.description, type_.instruction, type_.annotations, type_.external)
    if type_.incarnation is None:
        return InterfaceIR(type_.id, type_.name, properties, constraints)
    if type_.ends is None or type_.cardinality is None:
        implements = tuple(sorted(names[TypeKind.INTERFACE, id_] for id_ in type_.implements))
        tag = None if type_.tag == type_.name else type_.tag
        return NodeIR(type_.id, type_.incarnation, type_.name, implements, properties, constraints, *notes, tag)
    ends = tuple(sorted((names[source], names[target]) for source, target in type_.ends))
    low, high = type_.cardinality
    return EdgeIR(type_.id, type_.incarnation, type_.name, ends, low, high, properties, constraints, *notes)


def _property(id_: int, prop: PropertyParts, called: Mapping[int, str], names: Mapping[TypeKey, str]) -> PropertyIR:
    values = None if prop.enum_values is None else tuple(sorted(prop.enum_values))
    embed: Embed | None = None
    if prop.embedding is not None:
        source, model = prop.embedding
        embed = Embed(_name(source, called), model)
    return PropertyIR(
        id_,
        prop.name,
        replace(prop.type, nullable=prop.nullable, enum_values=values),
        prop.description,
        embed,
        prop.merge_policy,
        None if prop.origin is None else names[TypeKind.INTERFACE, prop.origin],
        prop.annotations,
        prop.column,
    )


def _name(reference: Reference, called: Mapping[int, str]) -> str:
    # The id of a dropped property stays a number, which no schema declares: compiling reports what is missing.
    return reference if isinstance(reference, str) else called.get(reference, str(reference))


def _constraint(parts: ConstraintParts, called: Mapping[int, str]) -> ConstraintIR:
    members = tuple(_name(member, called) for member in parts.members)
    match parts.word, parts.rest:
        case "range", (low, high):
            assert isinstance(low, int | float | None) and isinstance(high, int | float | None)
            return RangeConstraint(members[0], low, high)
        case "check", (str(pattern),):
            return CheckConstraint(members[0], pattern)
        case "key", (bool(sugar),):
            return KeyConstraint(members, sugar)
        case "unique", (bool(sugar),):
            return UniqueConstraint(members, sugar)
        case "index", (bool(sugar),):
            return IndexConstraint(members, sugar)
        case _:
            raise AssertionError(f"not a constraint: {parts}")
