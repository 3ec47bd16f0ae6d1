"""Assignment of stable ids: continued types and properties keep theirs, new ones get ids never used before.

Invariant: an id identifies the same thing on all branches, although branches do not coordinate when they assign ids.

* The first schema of a graph counts from 1.
* Later ids are a hash of kind, owner, name and the number of earlier lives of that name. Two branches that add the same
  thing independently assign the same id, and different things get different ids; a merge relies on both.

Types and properties are matched with the accepted schema by exact name first and by ``@rename_from`` second. A hint
that does not resolve refuses the change, because a wrong guess would drop data. A hint that a property inherits from
an interface is ignored where it does not resolve: it was written about the interface.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from omnigraph.lang.diagnostics import Diagnostic
from omnigraph.lang.syntax import Name
from omnigraph.schema.codes import Rule
from omnigraph.schema.declared import (
    DeclaredEdge,
    DeclaredInterface,
    DeclaredNode,
    DeclaredProperty,
    DeclaredSchema,
    DeclaredType,
)
from omnigraph.schema.ends.tags import retired_tags, tagged_edges, tagged_nodes
from omnigraph.schema.findings import Findings
from omnigraph.schema.ir import (
    ConstraintIR,
    EdgeIR,
    InterfaceIR,
    KeyConstraint,
    NodeIR,
    PropertyIR,
    SchemaIR,
    TupleConstraint,
    TypeIR,
    TypeKind,
    UniqueConstraint,
    constrained_properties,
    constraint_word,
    types_of,
)

TypeKey = tuple[TypeKind, str]
PropertyKey = tuple[TypeKind, str, str]

DERIVED_BITS: Final = 52
"""Width of derived ids: far above every counted id, and exact in a JSON reader that stores numbers as doubles."""

_CONSTRAINT_ORDER = ("key", "unique", "index", "range", "check")


@dataclass(slots=True)
class _Matches:
    """Declared types and properties matched to accepted ones. ``inert`` are rename hints without effect."""

    types: dict[TypeKey, TypeIR] = field(default_factory=dict)
    properties: dict[PropertyKey, PropertyIR] = field(default_factory=dict)
    inert: list[Name] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Identified:
    """The accepted schema, the hints whose rename is already accepted, and errors for hints that do not resolve."""

    schema: SchemaIR
    inert_hints: tuple[Name, ...]
    diagnostics: tuple[Diagnostic, ...]


def identify(declared: DeclaredSchema, domain: str, previous: SchemaIR | None) -> Identified:
    """Match with ``previous`` and assign ids. If there are diagnostics the schema must not be used."""
    findings = Findings(declared.source)
    matches = _Matches()
    if previous is not None:
        _match_types(findings, matches, declared, previous)
        for type_ in declared.types:
            accepted = matches.types.get((type_.kind, type_.name.text))
            if accepted is None:
                _refuse_hints_in_new_type(findings, type_)
            else:
                _match_properties(findings, matches, type_, accepted, previous)
    schema = _numbered(declared, matches, domain, previous)
    return Identified(schema, tuple(matches.inert), findings.report())


def _match_types(findings: Findings, matches: _Matches, declared: DeclaredSchema, previous: SchemaIR) -> None:
    for kind in TypeKind:
        accepted = {type_.name: type_ for type_ in types_of(previous, kind)}
        wanted = [type_ for type_ in declared.types if type_.kind is kind]
        taken = {type_.name.text: type_.name.text for type_ in wanted if type_.name.text in accepted}
        for type_ in wanted:
            name, hint = type_.name.text, type_.rename_from
            if name in accepted:
                matches.types[kind, name] = accepted[name]
                matches.inert.extend([hint] if hint else [])
            elif hint is None:
                continue
            elif hint.text not in accepted:
                _report_unknown_type(findings, kind, type_, hint, previous)
            elif hint.text in taken:
                message = f"{kind.value} {name} cannot continue {hint.text}: {taken[hint.text]} does already"
                findings.error(Rule.RENAME_TWICE, message, hint.span)
            else:
                taken[hint.text] = name
                matches.types[kind, name] = accepted[hint.text]


def _report_unknown_type(
    findings: Findings, kind: TypeKind, type_: DeclaredType, hint: Name, previous: SchemaIR
) -> None:
    others = [other for other in TypeKind if hint.text in {item.name for item in types_of(previous, other)}]
    if others:
        message = (
            f"{kind.value} {type_.name.text} cannot continue {hint.text}, which is a type of kind {others[0].value}"
        )
        findings.error(Rule.RENAME_KIND, message, hint.span)
    else:
        message = f"{kind.value} {type_.name.text}: the accepted schema has no {kind.value} '{hint.text}' to rename"
        known = findings.suggest(hint.text, [item.name for item in types_of(previous, kind)])
        findings.error(Rule.RENAME_UNKNOWN, message, hint.span, known or "remove the hint to declare a new type")


def _refuse_hints_in_new_type(findings: Findings, type_: DeclaredType) -> None:
    for prop in type_.properties:
        if prop.rename_from is not None and prop.injected_from is None:
            message = (
                f"{type_.kind.value} {type_.name.text} is new, so its property '{prop.name.text}' "
                f"cannot continue '{prop.rename_from.text}'"
            )
            hint = "if the type was renamed, give it a `@rename_from` as well"
            findings.error(Rule.RENAME_IN_NEW_TYPE, message, prop.rename_from.span, hint)


def _match_properties(
    findings: Findings, matches: _Matches, type_: DeclaredType, accepted: TypeIR, previous: SchemaIR
) -> None:
    known = {prop.name: prop for prop in accepted.properties}
    taken = {prop.name.text: prop.name.text for prop in type_.properties if prop.name.text in known}
    for prop in type_.properties:
        name, hint = prop.name.text, prop.rename_from
        key = (type_.kind, type_.name.text, name)
        if name in known:
            matches.properties[key] = known[name]
            matches.inert.extend([hint] if hint and prop.injected_from is None else [])
        elif hint is None:
            continue
        elif hint.text in known and hint.text not in taken:
            taken[hint.text] = name
            matches.properties[key] = known[hint.text]
        elif prop.injected_from is not None:
            continue
        elif hint.text in taken:
            message = f"property {_shown(type_, prop)} cannot continue '{hint.text}': '{taken[hint.text]}' does already"
            findings.error(Rule.RENAME_TWICE, message, hint.span)
        else:
            _report_unknown_property(findings, type_, prop, hint, accepted, previous)


def _report_unknown_property(
    findings: Findings, type_: DeclaredType, prop: DeclaredProperty, hint: Name, accepted: TypeIR, previous: SchemaIR
) -> None:
    owners = [
        f"{kind.value} {other.name}"
        for kind in TypeKind
        for other in types_of(previous, kind)
        if hint.text in {item.name for item in other.properties}
    ]
    if owners:
        message = f"property {_shown(type_, prop)} cannot continue '{hint.text}', which is a property of {owners[0]}"
        findings.error(Rule.RENAME_OWNER, message, hint.span, "a property stays in its type")
    else:
        message = f"property {_shown(type_, prop)}: the accepted type has no property '{hint.text}' to rename"
        known = findings.suggest(hint.text, [item.name for item in accepted.properties])
        findings.error(Rule.RENAME_UNKNOWN, message, hint.span, known or "remove the hint to declare a new property")


def _shown(type_: DeclaredType, prop: DeclaredProperty) -> str:
    return f"{type_.name.text}.{prop.name.text}"


@dataclass(slots=True)
class _Ids:
    """Ids assigned so far. ``taken``: current and retired ids of the accepted schema; None for a first schema."""

    domain: str
    next_id: int
    taken: set[int] | None
    types: dict[TypeKey, int] = field(default_factory=dict)
    properties: dict[PropertyKey, int] = field(default_factory=dict)
    incarnations: dict[TypeKey, int] = field(default_factory=dict)

    def mint(self, *place: object) -> int:
        """A new id for the thing at ``place``: owner and name."""
        if self.taken is None:
            self.next_id += 1
            return self.next_id - 1
        # A name that was dropped and added again must not reuse its old id: older snapshots still refer to it.
        life = 0
        while (found := _derived(self.domain, *place, life)) in self.taken:
            life += 1
        self.taken.add(found)
        return found


def _derived(*place: object) -> int:
    """A hash of a place with exactly ``DERIVED_BITS`` bits, equal on every machine."""
    digest = hashlib.sha256("\n".join(map(str, place)).encode()).digest()
    highest = 1 << (DERIVED_BITS - 1)
    return highest | int.from_bytes(digest[:8]) % highest


def _numbered(declared: DeclaredSchema, matches: _Matches, domain: str, previous: SchemaIR | None) -> SchemaIR:
    used = None if previous is None else {*all_ids(previous), *previous.retired}
    ids = _Ids(domain, previous.next_id if previous else 1, used)
    for type_ in declared.types:
        key = (type_.kind, type_.name.text)
        ids.types[key] = matches.types[key].id if key in matches.types else ids.mint(type_.kind.value, key[1])
    by_id = sorted(declared.types, key=lambda type_: ids.types[type_.kind, type_.name.text])
    for type_ in by_id:
        owner = ids.types[type_.kind, type_.name.text]
        for prop in type_.properties:
            place = (type_.kind, type_.name.text, prop.name.text)
            known = matches.properties.get(place)
            ids.properties[place] = ids.mint(owner, prop.name.text) if known is None else known.id
    for type_ in by_id:
        key = (type_.kind, type_.name.text)
        match matches.types.get(key):
            case NodeIR(incarnation=incarnation) | EdgeIR(incarnation=incarnation):
                ids.incarnations[key] = incarnation
            case _ if type_.kind is not TypeKind.INTERFACE:
                ids.incarnations[key] = ids.mint(ids.types[key], "", "incarnation")
    nodes = tagged_nodes([_node_ir(node, ids) for node in declared.nodes], matches.types, previous)
    schema = SchemaIR(
        domain,
        ids.next_id,
        tuple(_interface_ir(interface, ids) for interface in declared.interfaces),
        nodes,
        tuple(_edge_ir(edge, ids) for edge in declared.edges),
    )
    schema = replace(schema, edges=tagged_edges(schema, matches.types, previous))
    if previous is None:
        return schema
    return replace(schema, retired=retired_ids(previous, schema), retired_tags=retired_tags(previous, schema))


def retired_ids(before: SchemaIR, after: SchemaIR) -> tuple[int, ...]:
    """Derived ids no longer in use. Counted ids need no record: a derived id never equals one."""
    gone = {id_ for id_ in all_ids(before) if id_ >> (DERIVED_BITS - 1)}.difference(all_ids(after))
    return tuple(sorted({*before.retired, *gone}))


def all_ids(schema: SchemaIR) -> Iterator[int]:
    """The ids of all types, properties and tables."""
    types: tuple[TypeIR, ...] = (*schema.interfaces, *schema.nodes, *schema.edges)
    for type_ in types:
        yield type_.id
        yield from (prop.id for prop in type_.properties)
        if not isinstance(type_, InterfaceIR):
            yield type_.incarnation


def _interface_ir(type_: DeclaredInterface, ids: _Ids) -> InterfaceIR:
    name = type_.name.text
    return InterfaceIR(ids.types[type_.kind, name], name, _properties_ir(type_, ids), _constraints_ir(type_, ids))


def _node_ir(type_: DeclaredNode, ids: _Ids) -> NodeIR:
    name = type_.name.text
    return NodeIR(
        ids.types[type_.kind, name],
        ids.incarnations[type_.kind, name],
        name,
        type_.implements,
        _properties_ir(type_, ids),
        _constraints_ir(type_, ids),
        type_.description,
        type_.instruction,
        type_.annotations,
        type_.external,
    )


def _edge_ir(type_: DeclaredEdge, ids: _Ids) -> EdgeIR:
    name = type_.name.text
    return EdgeIR(
        ids.types[type_.kind, name],
        ids.incarnations[type_.kind, name],
        name,
        type_.ends,
        type_.card_min,
        type_.card_max,
        _properties_ir(type_, ids),
        _constraints_ir(type_, ids),
        type_.description,
        type_.instruction,
        type_.annotations,
        type_.external,
    )


def _properties_ir(type_: DeclaredType, ids: _Ids) -> tuple[PropertyIR, ...]:
    return tuple(
        PropertyIR(
            ids.properties[type_.kind, type_.name.text, prop.name.text],
            prop.name.text,
            prop.type,
            prop.description,
            prop.embed,
            prop.merge,
            prop.injected_from,
            prop.annotations,
            None if prop.column is None else prop.column.text,
        )
        for prop in type_.properties
    )


def _constraints_ir(type_: DeclaredType, ids: _Ids) -> tuple[ConstraintIR, ...]:
    numbers = {prop.name.text: ids.properties[type_.kind, type_.name.text, prop.name.text] for prop in type_.properties}
    return ordered_constraints(type_.constraints, numbers)


def ordered_constraints(constraints: Iterable[ConstraintIR], numbers: Mapping[str, int]) -> tuple[ConstraintIR, ...]:
    """Constraints in canonical order without duplicates: their written order has no meaning.

    ``numbers`` are the ids of the properties by name.
    """

    def place(name: str) -> tuple[int, str]:
        # The endpoint columns of an edge have no id; `src` and `dst` come first.
        return numbers.get(name, -1 if name == "src" else 0), name

    found: set[ConstraintIR] = set()
    for constraint in constraints:
        match constraint:
            case KeyConstraint(properties=members, sugar=sugar):
                found.add(KeyConstraint(tuple(sorted(members, key=place)), sugar))
            case UniqueConstraint(properties=members, sugar=sugar):
                found.add(UniqueConstraint(tuple(sorted(members, key=place)), sugar))
            case _:
                found.add(constraint)
    return tuple(sorted(found, key=constraint_order))


def constraint_order(constraint: ConstraintIR) -> tuple[object, ...]:
    """Sort key of a constraint within its type."""
    kind = _CONSTRAINT_ORDER.index(constraint_word(constraint))
    members = constrained_properties(constraint)
    if isinstance(constraint, TupleConstraint):
        return (kind, members, not constraint.sugar)
    return (kind, members, repr(constraint))
