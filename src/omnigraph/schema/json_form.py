"""The stored JSON form of an accepted schema, and the two hashes of it.

``digest`` identifies a stored schema, ids included. ``shape_hash`` identifies its meaning: two texts that differ in
order, comments, rename hints or history have the same shape. Writers write the lowest version that has what a schema
needs, and readers refuse versions that they do not know.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import assert_never

from omnigraph.errors import InputError
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
    TypeIR,
    TypeKind,
    UniqueConstraint,
    external_types,
    types_of,
)
from omnigraph.schema.json_reader import ENDS_VERSION, EXTERNAL_VERSION, FORMAT, VERSION, from_json
from omnigraph.schema.types import PropertyType

__all__ = [
    "canonical",
    "digest",
    "from_json",
    "from_json_text",
    "property_type_json",
    "shape_hash",
    "to_json",
    "to_json_text",
]

JsonObject = dict[str, object]

_OF_HISTORY = ("id", "incarnation", "tag", "tagged")
"""Fields that follow from the history of a type, not from its declaration."""


def to_json(schema: SchemaIR) -> JsonObject:
    """The complete JSON form."""
    return {
        "format": FORMAT,
        "version": _version(schema),
        "domain": schema.domain,
        "next_id": schema.next_id,
        "interfaces": [_type_json(interface) for interface in schema.interfaces],
        "nodes": [_type_json(node) for node in schema.nodes],
        "edges": [_type_json(edge) for edge in schema.edges],
        **({"retired": list(schema.retired)} if schema.retired else {}),
        **({"retired_tags": list(schema.retired_tags)} if schema.retired_tags else {}),
    }


def _version(schema: SchemaIR) -> int:
    """The lowest version that has what a schema needs."""
    if not all(_is_simple(edge, schema) for edge in schema.edges):
        return ENDS_VERSION
    return EXTERNAL_VERSION if any(external_types(schema)) else VERSION


def _is_simple(edge: EdgeIR, schema: SchemaIR) -> bool:
    """True if an edge type connects one node type with one: the only form of the versions before."""
    nodes = {node.name for node in schema.nodes}
    return len(edge.ends) == 1 and nodes.issuperset(edge.ends[0]) and edge.tagged == (None, None)


def canonical(value: Mapping[str, object]) -> str:
    """The canonical text of a JSON object: sorted keys, no white space, ASCII."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


def to_json_text(schema: SchemaIR) -> str:
    """The stored text; its hash is the digest."""
    return canonical(to_json(schema))


def from_json_text(text: str) -> SchemaIR:
    """Parse a stored text. Raises InputError if it is damaged."""
    try:
        data = json.loads(text)
    except ValueError as error:
        raise InputError(f"the stored schema is damaged: it is not JSON ({error})") from error
    if not isinstance(data, dict):
        raise InputError("the stored schema is damaged: it is not a JSON object")
    return from_json(data)


def digest(schema: SchemaIR) -> str:
    """Identity of the stored schema, ids included."""
    return _sha256(to_json_text(schema))


def shape_hash(schema: SchemaIR) -> str:
    """Identity of the meaning: equal for schemas that differ only in ids and history."""
    types = [_shape(_type_json(type_)) for kind in TypeKind for type_ in types_of(schema, kind)]
    return _sha256(canonical({"shape": VERSION, "types": types}))


def _sha256(text: str) -> str:
    return f"sha256:{hashlib.sha256(text.encode('ascii')).hexdigest()}"


def _shape(type_json: JsonObject) -> JsonObject:
    """The JSON form without ids, and with the members of keys and unique tuples sorted by name instead of by id."""
    shape = {name: value for name, value in type_json.items() if name not in _OF_HISTORY}
    properties, constraints = type_json["properties"], type_json["constraints"]
    assert isinstance(properties, list) and isinstance(constraints, list)
    shape["properties"] = [{name: value for name, value in prop.items() if name != "id"} for prop in properties]
    shape["constraints"] = sorted((_unordered(constraint) for constraint in constraints), key=canonical)
    return shape


def _unordered(constraint: JsonObject) -> JsonObject:
    members = constraint.get("properties")
    if constraint["kind"] in ("key", "unique") and isinstance(members, list):
        return {**constraint, "properties": sorted(members)}
    return constraint


def property_type_json(type_: PropertyType) -> JsonObject:
    """A property type as in migration plans: a vector carries its dimension, a decimal its digits."""
    scalar: object = {type_.scalar.value: type_.dimension} if type_.is_vector else type_.scalar.value
    if type_.digits is not None:
        scalar = {type_.scalar.value: list(type_.digits)}
    values = None if type_.enum_values is None else list(type_.enum_values)
    return {"scalar": scalar, "nullable": type_.nullable, "list": type_.is_list, "enum_values": values}


def _type_json(type_: TypeIR) -> JsonObject:
    shared: JsonObject = {
        "id": type_.id,
        "name": type_.name,
        "properties": [_property_json(prop) for prop in type_.properties],
        "constraints": [_constraint_json(constraint) for constraint in type_.constraints],
    }
    match type_:
        case InterfaceIR():
            return {"kind": "interface", **shared}
        case NodeIR():
            tag = {} if type_.tag is None else {"tag": type_.tag}
            return {"kind": "node", **shared, **_notes_json(type_), "implements": list(type_.implements), **tag}
        case EdgeIR():
            card = {"card_min": type_.card_min, "card_max": type_.card_max}
            return {"kind": "edge", **shared, **_notes_json(type_), **_ends_json(type_), **card}
        case _:
            assert_never(type_)


def _ends_json(edge: EdgeIR) -> JsonObject:
    ends: JsonObject = {"ends": [list(pair) for pair in edge.ends]}
    if len(edge.ends) == 1:
        [(source, target)] = edge.ends
        ends = {"source": source, "target": target}
    return ends if edge.tagged == (None, None) else {**ends, "tagged": list(edge.tagged)}


def _notes_json(type_: NodeIR | EdgeIR) -> JsonObject:
    return {
        "incarnation": type_.incarnation,
        "description": type_.description,
        "instruction": type_.instruction,
        "annotations": [_annotation_json(annotation) for annotation in type_.annotations],
        **({} if type_.external is None else {"external": _external_json(type_.external)}),
    }


def _external_json(external: External) -> JsonObject:
    return {
        "address": external.address,
        "format": None if external.format is None else external.format.value,
        "id": external.id,
        "from": external.source,
        "to": external.target,
    }


def _property_json(prop: PropertyIR) -> JsonObject:
    embed = None if prop.embed is None else {"source": prop.embed.source, "model": prop.embed.model}
    return {
        "id": prop.id,
        "name": prop.name,
        "type": property_type_json(prop.type),
        "description": prop.description,
        "embed": embed,
        "merge": None if prop.merge is None else prop.merge.value,
        "injected_from": prop.injected_from,
        "annotations": [_annotation_json(annotation) for annotation in prop.annotations],
        **({} if prop.column is None else {"column": prop.column}),
    }


def _annotation_json(annotation: CustomAnnotation) -> JsonObject:
    arguments = [list(argument) for argument in annotation.arguments]
    return {"name": annotation.name, "value": annotation.value, "arguments": arguments}


def _constraint_json(constraint: ConstraintIR) -> JsonObject:
    match constraint:
        case KeyConstraint(properties=members, sugar=sugar):
            return {"kind": "key", "properties": list(members), "sugar": sugar}
        case UniqueConstraint(properties=members, sugar=sugar):
            return {"kind": "unique", "properties": list(members), "sugar": sugar}
        case IndexConstraint(properties=members, sugar=sugar):
            return {"kind": "index", "properties": list(members), "sugar": sugar}
        case RangeConstraint(property=name, low=low, high=high):
            return {"kind": "range", "property": name, "low": low, "high": high}
        case CheckConstraint(property=name, pattern=pattern):
            return {"kind": "check", "property": name, "pattern": pattern}
        case _:
            assert_never(constraint)
