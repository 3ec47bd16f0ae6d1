"""An accepted schema printed as ``.pg`` text, as ``schema show`` prints it.

The text omits ids and rename hints; everything else is in the canonical form of the formatter.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import assert_never

from omnigraph.lang.spelling import spell_number, spell_string
from omnigraph.schema.ends.pairs import ends_text
from omnigraph.schema.ir import (
    CheckConstraint,
    ConstraintIR,
    CustomAnnotation,
    EdgeIR,
    External,
    IndexConstraint,
    InterfaceIR,
    KeyConstraint,
    NodeIR,
    PropertyIR,
    RangeConstraint,
    SchemaIR,
    TupleConstraint,
    TypeIR,
    TypeKind,
    UniqueConstraint,
    constraint_word,
    types_of,
)


def to_pg(schema: SchemaIR, order: Mapping[str, Sequence[str]] | None = None) -> str:
    """The ``.pg`` text. Accepting it gives a schema of the same shape.

    ``order`` are the names of properties by table key, in the order in which they are printed.
    """
    types = [(kind, type_) for kind in TypeKind for type_ in types_of(schema, kind)]
    listed = order or {}
    return "\n".join(_type_text(type_, listed.get(f"{kind.value}:{type_.name}", ())) for kind, type_ in types)


def constraint_text(constraint: ConstraintIR) -> str:
    """A constraint as written in the body of a type."""
    match constraint:
        case (
            KeyConstraint(properties=members)
            | UniqueConstraint(properties=members)
            | IndexConstraint(properties=members)
        ):
            inside = ", ".join(members)
        case RangeConstraint(property=name, low=low, high=high):
            inside = f"{name}, {'' if low is None else spell_number(low)}..{'' if high is None else spell_number(high)}"
        case CheckConstraint(property=name, pattern=pattern):
            inside = f"{name}, {spell_string(pattern)}"
        case _:
            assert_never(constraint)
    return f"@{constraint_word(constraint)}({inside})"


def _type_text(type_: TypeIR, order: Sequence[str]) -> str:
    known = {prop.name: prop for prop in type_.properties if prop.injected_from is None}
    names = [name for name in dict.fromkeys([*order, *known]) if name in known]
    body = [_property_text(known[name], type_) for name in names]
    body += [constraint_text(item) for item in type_.constraints if not _is_sugar(item)]
    header = _header(type_)
    if not body:
        return f"{header}\n" if isinstance(type_, EdgeIR) else f"{header} {{}}\n"
    return "\n".join([f"{header} {{", *(f"  {line}" for line in body), "}\n"])


def _header(type_: TypeIR) -> str:
    match type_:
        case InterfaceIR():
            return f"interface {type_.name}"
        case NodeIR():
            implements = [f"implements {', '.join(type_.implements)}"] if type_.implements else []
            return " ".join([f"node {type_.name}", *_notes(type_), *implements])
        case EdgeIR():
            card = [f"@card({type_.card_min}..{'' if type_.card_max is None else type_.card_max})"]
            has_card = type_.card_min > 0 or type_.card_max is not None
            ends = f"edge {type_.name}: {ends_text(type_.ends)}"
            return " ".join([ends, *(card if has_card else []), *_notes(type_)])
        case _:
            assert_never(type_)


def _notes(type_: NodeIR | EdgeIR) -> list[str]:
    texts = [("description", type_.description), ("instruction", type_.instruction)]
    written = [f"@{name}({spell_string(text)})" for name, text in texts if text is not None]
    if type_.external is not None:
        written.append(external_text(type_.external))
    return [*written, *map(_annotation_text, type_.annotations)]


def external_text(external: External) -> str:
    """The annotation of an external type."""
    columns = (("id", external.id), ("from", external.source), ("to", external.target))
    given = [("format", external.format), *columns]
    arguments = [f", {name}={spell_string(text)}" for name, text in given if text is not None]
    return f"@external({spell_string(external.address)}{''.join(arguments)})"


def _property_text(prop: PropertyIR, owner: TypeIR) -> str:
    parts = [f"{prop.name}: {prop.type}"]
    sugar = [item for item in owner.constraints if isinstance(item, TupleConstraint) and item.sugar]
    parts += [f"@{constraint_word(item)}" for item in sugar if item.properties == (prop.name,)]
    if prop.embed is not None:
        model = "" if prop.embed.model is None else f", model={spell_string(prop.embed.model)}"
        parts.append(f"@embed({spell_string(prop.embed.source)}{model})")
    if prop.column is not None:
        parts.append(f"@column({spell_string(prop.column)})")
    if prop.merge is not None:
        parts.append(f"@merge({prop.merge.value})")
    if prop.description is not None:
        parts.append(f"@description({spell_string(prop.description)})")
    return " ".join([*parts, *map(_annotation_text, prop.annotations)])


def _annotation_text(annotation: CustomAnnotation) -> str:
    if annotation.value is None:
        return f"@{annotation.name}"
    arguments = [f"{name}={spell_string(value)}" for name, value in annotation.arguments]
    return f"@{annotation.name}({', '.join([spell_string(annotation.value), *arguments])})"


def _is_sugar(constraint: ConstraintIR) -> bool:
    return isinstance(constraint, TupleConstraint) and constraint.sugar
