"""The schema of data rules, generated from a catalog: one entity type for each node and edge type.

Attributes are the properties that the policy language has a type for: texts, truth values, integers that fit 64 bits
with a sign, and lists of these. Others, such as floats and dates, cannot be tested by a rule.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Final

from omnigraph.core.scalars import Scalar
from omnigraph.policy.bundle import AttributeType
from omnigraph.policy.cedar_text import NAMESPACE, quoted
from omnigraph.rows.arrow_types import DST, ID, SRC, Entity
from omnigraph.schema.catalog import Catalog, EdgeType, all_types
from omnigraph.schema.types import PropertyType

DATA: Final = "Data"
"""The namespace of node and edge types."""

READ_ENTITY: Final = "read_entity"
CHANGE_ENTITY: Final = "change_entity"
READ_PROPERTY: Final = "read_property"
DATA_ACTIONS: Final = (READ_ENTITY, CHANGE_ENTITY, READ_PROPERTY)

_CONTEXTS: Final = {
    READ_ENTITY: "{branch: String}",
    CHANGE_ENTITY: "{branch: String}",
    READ_PROPERTY: "{branch: String, property: String}",
}

ATTRIBUTE_TYPES: Final[Mapping[Scalar, str | None]] = {
    Scalar.STRING: "String",
    Scalar.BOOL: "Bool",
    Scalar.I32: "Long",
    Scalar.I64: "Long",
    Scalar.U32: "Long",
    # A number of rules has 64 bits with a sign.
    Scalar.U64: None,
    Scalar.F32: None,
    Scalar.F64: None,
    Scalar.DATE: None,
    Scalar.DATETIME: None,
    Scalar.BLOB: None,
    Scalar.VECTOR: None,
    Scalar.UUID: "String",
    Scalar.DECIMAL: None,
    Scalar.TIME: None,
    Scalar.DURATION: None,
    Scalar.JSON: None,
}
"""The type of a property in rules; None for one that rules cannot test."""


def cedar_types(catalog: Catalog) -> dict[str, Entity]:
    """Types by their names in rules. A name that a node and an edge type share is ``node_Name`` and ``edge_Name``."""
    types: list[Entity] = list(all_types(catalog))
    shared = {name for name, count in Counter(entity.name for entity in types).items() if count > 1}
    return {f"{DATA}::{_name(entity, shared)}": entity for entity in types}


def _name(entity: Entity, shared: set[str]) -> str:
    return f"{entity.table_key.partition(':')[0]}_{entity.name}" if entity.name in shared else entity.name


def attribute_type(type_: PropertyType) -> str | None:
    """The type of a property in rules; None for one that rules cannot test."""
    name = ATTRIBUTE_TYPES[type_.scalar]
    return f"Set<{name}>" if name is not None and type_.is_list else name


def schema_text(catalog: Catalog, attributes: Mapping[str, AttributeType]) -> str:
    """The schema that data rules are validated against."""
    types = cedar_types(catalog)
    of_actor = ["id: String", *(f"{quoted(name)}?: {type_.value}" for name, type_ in attributes.items())]
    lines = [f"namespace {NAMESPACE} {{", "  entity Group;", f"  entity Actor in [Group] = {{{', '.join(of_actor)}}};"]
    for action in DATA_ACTIONS if types else ():
        applies = f"{{principal: [Actor], resource: [{', '.join(types)}], context: {_CONTEXTS[action]}}}"
        lines.append(f"  action {quoted(action)} appliesTo {applies};")
    lines += ["}", f"namespace {DATA} {{"]
    for name, entity in types.items():
        lines.append(f"  entity {name.removeprefix(DATA + '::')} = {{{', '.join(_attributes(entity))}}};")
    return "\n".join([*lines, "}"])


def _attributes(entity: Entity) -> list[str]:
    fixed = [ID, SRC, DST] if isinstance(entity, EdgeType) else [ID]
    found = [f"{name}: String" for name in fixed]
    for name, property_ in entity.properties.items():
        type_ = attribute_type(property_.type)
        if type_ is not None and name not in fixed:
            found.append(f"{quoted(name)}{'?' if property_.type.nullable else ''}: {type_}")
    return found
