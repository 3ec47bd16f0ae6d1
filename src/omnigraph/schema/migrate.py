"""Migration planning: the ordered steps between two accepted schemas of one graph.

Pure: compares schemas, never data. Types and properties are matched by id, so a rename is one step and references to a
renamed thing are unchanged.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Final

from omnigraph.errors import UsageError
from omnigraph.lang.pg_parser import parse_schema
from omnigraph.lang.source import Source
from omnigraph.schema.compile import accept
from omnigraph.schema.ends.pairs import edge_pairs, end_types
from omnigraph.schema.identify import retired_ids
from omnigraph.schema.ir import (
    CheckConstraint,
    ConstraintIR,
    EdgeIR,
    External,
    IndexConstraint,
    InterfaceIR,
    KeyConstraint,
    NodeIR,
    Pair,
    PropertyIR,
    RangeConstraint,
    SchemaIR,
    TypeIR,
    TypeKind,
    constrained_properties,
    constraint_word,
    types_of,
)
from omnigraph.schema.migration import MigrationPlan
from omnigraph.schema.print import constraint_text, external_text
from omnigraph.schema.steps import (
    AddConstraint,
    AddProperty,
    AddType,
    ChangeCardinality,
    ChangeEnds,
    ChangeEnum,
    ChangeInterfaces,
    ChangeNullability,
    ChangeSource,
    DropConstraint,
    DropMode,
    DropProperty,
    DropType,
    ExtendEnum,
    MigrationCode,
    RenameProperty,
    RenameType,
    Step,
    UnsupportedChange,
    UpdatePropertyMetadata,
    UpdateTypeMetadata,
)

PLANNING_DOMAIN: Final = "0" * 26
"""The graph id used to compare two texts that belong to no graph."""


def plan(accepted: SchemaIR, desired: SchemaIR, *, allow_data_loss: bool = False) -> MigrationPlan:
    """The steps from ``accepted`` to ``desired``, which must have been accepted with it as ``previous``.

    ``allow_data_loss`` makes every drop in the plan a hard one.
    """
    if accepted.domain != desired.domain or desired.retired != retired_ids(accepted, desired):
        raise UsageError(
            "the desired schema does not continue the accepted one",
            hint="accept the desired text as the successor of the accepted schema",
        )
    return MigrationPlan(steps_between(accepted, desired, DropMode.HARD if allow_data_loss else DropMode.SOFT))


def steps_between(before: SchemaIR, after: SchemaIR, mode: DropMode = DropMode.SOFT) -> tuple[Step, ...]:
    """The differences of two schemas of one graph; neither has to continue the other."""
    comparison = _Comparison(before, after, mode)
    return tuple(step for kind in TypeKind for step in comparison.steps_of(kind))


def plan_texts(before: Source, after: Source, *, allow_data_loss: bool = False) -> MigrationPlan:
    """The plan between two schema texts, as if a graph had been created with the first."""
    accepted = accept(parse_schema(before), domain=PLANNING_DOMAIN)
    desired = accept(parse_schema(after), domain=PLANNING_DOMAIN, previous=accepted)
    return plan(accepted, desired, allow_data_loss=allow_data_loss)


def _type_ids(schema: SchemaIR) -> dict[tuple[TypeKind, str], int]:
    return {(kind, type_.name): type_.id for kind in TypeKind for type_ in types_of(schema, kind)}


@dataclass(frozen=True, slots=True)
class _Side:
    """One type of one schema, with the ids to compare its references by."""

    type_ir: TypeIR
    type_ids: dict[tuple[TypeKind, str], int]
    property_ids: dict[str, int]

    def constraint_key(self, constraint: ConstraintIR) -> tuple[object, ...]:
        """Identity of a constraint, with ids in place of names: equal exactly for equal constraints."""
        ids = self.property_ids
        members: tuple[object, ...] = tuple(ids.get(name, name) for name in constrained_properties(constraint))
        match constraint:
            case RangeConstraint(low=low, high=high):
                return ("range", members, low, high)
            case CheckConstraint(pattern=pattern):
                return ("check", members, pattern)
            case _:
                # Members of keys and unique tuples have no order of their own; those of an index do.
                is_ordered = isinstance(constraint, IndexConstraint)
                unordered = members if is_ordered else frozenset(members)
                return (constraint_word(constraint), unordered, constraint.sugar)


def _side(type_ir: TypeIR, type_ids: dict[tuple[TypeKind, str], int]) -> _Side:
    return _Side(type_ir, type_ids, {prop.name: prop.id for prop in type_ir.properties})


class _Comparison:
    """The comparison of two schemas, kind by kind."""

    def __init__(self, accepted: SchemaIR, desired: SchemaIR, mode: DropMode) -> None:
        self._accepted = accepted
        self._desired = desired
        self._mode = mode
        self._old_ids = _type_ids(accepted)
        self._new_ids = _type_ids(desired)
        self._old_pairs = edge_pairs(accepted)
        self._new_pairs = edge_pairs(desired)

    def steps_of(self, kind: TypeKind) -> Iterator[Step]:
        """Steps of the desired types by name, then of the dropped types."""
        before = {type_.id: type_ for type_ in types_of(self._accepted, kind)}
        for after in types_of(self._desired, kind):
            old = before.pop(after.id, None)
            if old is None:
                yield AddType(kind, after.name)
            else:
                yield from self._type_steps(kind, _side(old, self._old_ids), _side(after, self._new_ids))
        for gone in before.values():
            if isinstance(gone, InterfaceIR):
                yield UnsupportedChange(
                    f"interface:{gone.name}", f"removing or renaming interface {gone.name} is not supported"
                )
            else:
                yield DropType(kind, gone.name, self._mode, self._drop_type_code(kind))

    def _drop_type_code(self, kind: TypeKind) -> MigrationCode | None:
        if self._mode is DropMode.SOFT:
            return None
        return MigrationCode.DROP_NODE_TYPE if kind is TypeKind.NODE else MigrationCode.DROP_EDGE_TYPE

    def _type_steps(self, kind: TypeKind, old: _Side, new: _Side) -> Iterator[Step]:
        if old.type_ir.name != new.type_ir.name:
            yield RenameType(kind, old.type_ir.name, new.type_ir.name)
        entity = f"{kind.value}:{new.type_ir.name}"
        yield from _interfaces(old, new)
        yield from self._ends(old, new)
        yield from _source_steps(kind, entity, old.type_ir, new.type_ir)
        yield from _cardinality(old.type_ir, new.type_ir)
        yield from _type_metadata(kind, entity, old.type_ir, new.type_ir)
        before = {prop.id: prop for prop in old.type_ir.properties}
        for prop in new.type_ir.properties:
            previous = before.pop(prop.id, None)
            if previous is None:
                yield _new_property(kind, new.type_ir, prop)
            else:
                yield from _property_steps(kind, old, new, previous, prop)
        for gone in before.values():
            yield DropProperty(kind, new.type_ir.name, gone.name, self._mode, self._drop_property_code(gone))
        yield from _constraint_steps(kind, old, new, dropped=set(before))

    def _ends(self, old: _Side, new: _Side) -> Iterator[Step]:
        """A change of the ends of an edge type. Pairs of node types are compared by id."""
        before, after = old.type_ir, new.type_ir
        if not isinstance(before, EdgeIR) or not isinstance(after, EdgeIR):
            return
        was = _pair_ids(self._old_pairs[before.name], old.type_ids)
        becomes = _pair_ids(self._new_pairs[after.name], new.type_ids)
        if was and was.keys().isdisjoint(becomes):
            for role, side in (("source", 0), ("target", 1)):
                names = [" | ".join(end_types(pairs.values())[side]) for pairs in (was, becomes)]
                if {ids[side] for ids in was} != {ids[side] for ids in becomes}:
                    reason = f"changing the {role} of edge {after.name} from {names[0]} to {names[1]} is not supported"
                    yield UnsupportedChange(f"edge:{after.name}", reason)
            return
        declared = [_end_ids(item, ids) for item, ids in ((before, old.type_ids), (after, new.type_ids))]
        if was.keys() != becomes.keys() or declared[0] != declared[1]:
            added = tuple(pair for ids, pair in becomes.items() if ids not in was)
            dropped = tuple(pair for ids, pair in was.items() if ids not in becomes)
            yield ChangeEnds(after.name, after.ends, added, dropped, self._mode)

    def _drop_property_code(self, gone: PropertyIR) -> MigrationCode | None:
        if self._mode is DropMode.SOFT:
            return None
        return MigrationCode.DROP_VECTOR if gone.type.is_vector else MigrationCode.DROP_PROPERTY


def _interfaces(old: _Side, new: _Side) -> Iterator[Step]:
    match old.type_ir, new.type_ir:
        case NodeIR() as before, NodeIR() as after:
            was = {old.type_ids[TypeKind.INTERFACE, name]: name for name in before.implements}
            becomes = {new.type_ids[TypeKind.INTERFACE, name]: name for name in after.implements}
            added = tuple(name for id_, name in becomes.items() if id_ not in was)
            dropped = tuple(name for id_, name in was.items() if id_ not in becomes)
            if added or dropped:
                yield ChangeInterfaces(after.name, added, dropped)


def _pair_ids(pairs: Iterable[Pair], ids: dict[tuple[TypeKind, str], int]) -> dict[tuple[int, int], Pair]:
    return {(ids[TypeKind.NODE, source], ids[TypeKind.NODE, target]): (source, target) for source, target in pairs}


def _end_ids(edge: EdgeIR, ids: dict[tuple[TypeKind, str], int]) -> set[tuple[int, int]]:
    """The declared ends by id, interfaces included."""

    def number(name: str) -> int:
        return ids[TypeKind.NODE if (TypeKind.NODE, name) in ids else TypeKind.INTERFACE, name]

    return {(number(source), number(target)) for source, target in edge.ends}


def _source_steps(kind: TypeKind, entity: str, old: TypeIR, new: TypeIR) -> Iterator[Step]:
    """Changes of the table that an external type reads."""
    before, after = _external(old), _external(new)
    if before is None and after is None:
        return
    if before is None or after is None:
        was, becomes = ("stored", "external") if before is None else ("external", "stored")
        yield UnsupportedChange(
            entity,
            f"changing {kind.value} {new.name} from {was} to {becomes} is not supported: add it under a new name",
        )
    elif before != after:
        yield ChangeSource(kind, new.name, None, external_text(before), external_text(after))


def _external(type_ir: TypeIR) -> External | None:
    return None if isinstance(type_ir, InterfaceIR) else type_ir.external


def _cardinality(old: TypeIR, new: TypeIR) -> Iterator[Step]:
    if isinstance(old, EdgeIR) and isinstance(new, EdgeIR):
        before, after = (old.card_min, old.card_max), (new.card_min, new.card_max)
        if before != after:
            yield ChangeCardinality(new.name, before, after)


def _type_metadata(kind: TypeKind, entity: str, old: TypeIR, new: TypeIR) -> Iterator[Step]:
    if isinstance(old, InterfaceIR) or isinstance(new, InterfaceIR):
        return
    if old.annotations != new.annotations:
        yield UnsupportedChange(entity, f"changing the annotations of {kind.value} {new.name} is not supported")
    if (old.description, old.instruction) != (new.description, new.instruction):
        texts = _present(("description", new.description), ("instruction", new.instruction))
        yield UpdateTypeMetadata(kind, new.name, texts)


def _present(*texts: tuple[str, str | None]) -> tuple[tuple[str, str], ...]:
    return tuple((name, text) for name, text in texts if text is not None)


def _new_property(kind: TypeKind, owner: TypeIR, prop: PropertyIR) -> Step:
    code = None if prop.type.nullable else MigrationCode.ADD_REQUIRED
    return AddProperty(kind, owner.name, prop.name, prop.type, code)


def _property_steps(kind: TypeKind, old: _Side, new: _Side, before: PropertyIR, after: PropertyIR) -> Iterator[Step]:
    owner = new.type_ir.name
    entity = f"{kind.value}:{owner}.{after.name}"
    shown = f"property {after.name} of {kind.value} {owner}"
    if before.name != after.name:
        yield RenameProperty(kind, owner, before.name, after.name)
    is_read_again = _external(new.type_ir) is not None and _read_as(before) != _read_as(after)
    if is_read_again:
        yield ChangeSource(kind, owner, after.name, _read_as(before), _read_as(after))
    if before.type != after.type:
        yield from _type_change(kind, owner, before, after, is_read_again=is_read_again)
    if _origin(old, before) != _origin(new, after):
        reason = f"moving {shown} between the type and an interface is not supported"
        yield UnsupportedChange(entity, reason)
    if _embedding(old, before) != _embedding(new, after):
        yield UnsupportedChange(entity, f"changing @embed of {shown} is not supported")
    if before.annotations != after.annotations:
        yield UnsupportedChange(entity, f"changing the annotations of {shown} is not supported")
    if (before.description, before.merge) != (after.description, after.merge):
        policy = after.merge.value if after.merge else None
        texts = _present(("description", after.description), ("merge", policy))
        yield UpdatePropertyMetadata(kind, owner, after.name, texts)


def _read_as(prop: PropertyIR) -> str:
    """The form in which a property of an external type is read; nullability and enum values are steps of their own."""
    type_ = replace(prop.type, nullable=False, enum_values=None)
    return f"{type_} of column {prop.column}" if prop.column is not None else f"{type_}"


def _type_change(
    kind: TypeKind, owner: str, before: PropertyIR, after: PropertyIR, *, is_read_again: bool
) -> Iterator[Step]:
    """Stored values are never rewritten, so only nullability and enum values may change."""
    plain = [replace(prop.type, nullable=True, enum_values=None) for prop in (before, after)]
    if plain[0] != plain[1] and not is_read_again:
        entity = f"{kind.value}:{owner}.{after.name}"
        shown = f"property {after.name} of {kind.value} {owner}"
        change = f"changing the type of {shown} from {before.type} to {after.type}"
        yield UnsupportedChange(entity, f"{change} is not supported", MigrationCode.CHANGE_TYPE)
        return
    old, new = before.type.enum_values, after.type.enum_values
    if old is not None and new is not None and set(old) < set(new):
        yield ExtendEnum(kind, owner, after.name, tuple(sorted(set(new) - set(old))))
    elif old != new:
        yield ChangeEnum(kind, owner, after.name, old, new)
    if before.type.nullable != after.type.nullable:
        code = None if after.type.nullable else MigrationCode.TIGHTEN
        yield ChangeNullability(kind, owner, after.name, after.type.nullable, code)


def _origin(side: _Side, prop: PropertyIR) -> int | None:
    """The interface a property comes from, by id."""
    return None if prop.injected_from is None else side.type_ids[TypeKind.INTERFACE, prop.injected_from]


def _embedding(side: _Side, prop: PropertyIR) -> tuple[object, ...] | None:
    if prop.embed is None:
        return None
    # The source of an interface's embedding may exist only in the nodes that implement it.
    return (side.property_ids.get(prop.embed.source, prop.embed.source), prop.embed.model)


def _constraint_steps(kind: TypeKind, old: _Side, new: _Side, *, dropped: set[int]) -> Iterator[Step]:
    """Added constraints, then removed ones. A constraint is dropped with its properties if all of them are dropped."""
    before = {old.constraint_key(item): item for item in old.type_ir.constraints}
    after = {new.constraint_key(item): item for item in new.type_ir.constraints}
    owner = new.type_ir.name
    for key, constraint in after.items():
        if key in before:
            continue
        if isinstance(constraint, KeyConstraint):
            yield _unsupported_key(kind, owner, "adding", constraint)
        else:
            yield AddConstraint(kind, owner, constraint)
    for key, constraint in before.items():
        if key in after or _goes_with(constraint, old.property_ids, dropped):
            continue
        if isinstance(constraint, KeyConstraint):
            yield _unsupported_key(kind, owner, "removing", constraint)
        else:
            yield DropConstraint(kind, owner, constraint)


def _goes_with(constraint: ConstraintIR, ids: dict[str, int], dropped: set[int]) -> bool:
    members: Iterable[str] = constrained_properties(constraint)
    return not isinstance(constraint, KeyConstraint) and all(ids.get(name) in dropped for name in members)


def _unsupported_key(kind: TypeKind, owner: str, verb: str, constraint: KeyConstraint) -> UnsupportedChange:
    """Refuse a change of a key: ids are derived from keys, and edges store ids."""
    form = "property constraint" if constraint.sugar else "constraint"
    return UnsupportedChange(f"{kind.value}:{owner}", f"{verb} {form} {constraint_text(constraint)} is not supported")
