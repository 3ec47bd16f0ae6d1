"""A migration plan: an ordered list of typed steps, each with how safe it is.

The plan is data: it is shown, sent as JSON and applied from the same value. What a step does to stored data is the
business of whoever applies it; deciding which steps there are is ``migrate``.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import assert_never

from omnigraph.schema.ir import (
    ConstraintIR,
    TypeKind,
    constrained_properties,
    constraint_word,
)
from omnigraph.schema.json_form import JsonObject, property_type_json
from omnigraph.schema.print import constraint_text
from omnigraph.schema.types import PropertyType


class Safety(Enum):
    """What has to happen before a step may be taken."""

    SAFE = "safe"
    NEEDS_DATA_CHECK = "needs_data_check"
    REFUSED = "refused"


class Tier(Enum):
    """How a migration code is classed."""

    VALIDATED = "validated"
    DESTRUCTIVE = "destructive"


class MigrationCode(Enum):
    """The codes of migration steps: code, tier, meaning. Not every one is emitted; none ever changes its meaning."""

    DROP_GRAPH_TYPE = ("OG-DS-101", Tier.DESTRUCTIVE, "drop a populated graph type")
    DROP_NODE_TYPE = ("OG-DS-102", Tier.DESTRUCTIVE, "drop a populated node type")
    DROP_EDGE_TYPE = ("OG-DS-103", Tier.DESTRUCTIVE, "drop a populated edge type")
    DROP_PROPERTY = ("OG-DS-104", Tier.DESTRUCTIVE, "drop a property of a populated type")
    DROP_VECTOR = ("OG-DS-105", Tier.DESTRUCTIVE, "drop a populated vector property")
    ADD_REQUIRED = ("OG-MF-103", Tier.VALIDATED, "add a required property")
    TIGHTEN = ("OG-MF-104", Tier.VALIDATED, "make a nullable property required")
    CHANGE_TYPE = ("OG-MF-106", Tier.DESTRUCTIVE, "change the type of a property")

    def __init__(self, code: str, tier: Tier, meaning: str) -> None:
        self.code = code
        self.tier = tier
        self.meaning = meaning


class DropMode(Enum):
    """Soft: older snapshots still show the data until cleanup. Hard: old versions are purged right after publishing."""

    SOFT = "soft"
    HARD = "hard"


class _SafeStep:
    """Steps that no data can prevent and that lose nothing."""

    __slots__ = ()

    @property
    def safety(self) -> Safety:
        return Safety.SAFE


def _drop_safety(mode: DropMode) -> Safety:
    # Only a hard drop cannot be taken back, so somebody looks first whether there is data to lose.
    return Safety.NEEDS_DATA_CHECK if mode is DropMode.HARD else Safety.SAFE


@dataclass(frozen=True, slots=True)
class AddType(_SafeStep):
    """A new, empty type."""

    type_kind: TypeKind
    name: str


@dataclass(frozen=True, slots=True)
class RenameType(_SafeStep):
    """A node or edge type gets another name; data, ids and history stay."""

    type_kind: TypeKind
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class AddProperty(_SafeStep):
    """A new nullable property; entities that exist have null."""

    type_kind: TypeKind
    type_name: str
    property_name: str
    property_type: PropertyType


@dataclass(frozen=True, slots=True)
class RenameProperty(_SafeStep):
    """A property gets another name; values stay."""

    type_kind: TypeKind
    type_name: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class AddConstraint(_SafeStep):
    """A new ``@index``; no other constraint can be added."""

    type_kind: TypeKind
    type_name: str
    constraint: ConstraintIR


@dataclass(frozen=True, slots=True)
class ExtendEnum(_SafeStep):
    """An enum allows more values than before."""

    type_kind: TypeKind
    type_name: str
    property_name: str
    added_values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class UpdateTypeMetadata(_SafeStep):
    """Description or instruction of a type differ; ``annotations`` are those that hold from here on."""

    type_kind: TypeKind
    name: str
    annotations: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class UpdatePropertyMetadata(_SafeStep):
    """Description or merge policy of a property differ; ``annotations`` are those that hold from here on."""

    type_kind: TypeKind
    type_name: str
    property_name: str
    annotations: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class DropType:
    """A node or edge type disappears."""

    type_kind: TypeKind
    name: str
    mode: DropMode
    code: MigrationCode | None = None

    @property
    def safety(self) -> Safety:
        return _drop_safety(self.mode)


@dataclass(frozen=True, slots=True)
class DropProperty:
    """A property disappears."""

    type_kind: TypeKind
    type_name: str
    property_name: str
    mode: DropMode
    code: MigrationCode | None = None

    @property
    def safety(self) -> Safety:
        return _drop_safety(self.mode)


@dataclass(frozen=True, slots=True)
class UnsupportedChange:
    """A difference that no migration can bridge; the plan is refused."""

    entity: str
    reason: str
    code: MigrationCode | None = None

    @property
    def safety(self) -> Safety:
        return Safety.REFUSED

    @property
    def text(self) -> str:
        """The error text of a refused plan."""
        return self.reason if self.code is None else f"[{self.code.code}] {self.reason}"


Step = (
    AddType
    | RenameType
    | AddProperty
    | RenameProperty
    | AddConstraint
    | ExtendEnum
    | UpdateTypeMetadata
    | UpdatePropertyMetadata
    | DropType
    | DropProperty
    | UnsupportedChange
)


@dataclass(frozen=True, slots=True)
class MigrationPlan:
    """The steps from one accepted schema to another, in the order in which they are taken."""

    steps: tuple[Step, ...] = ()

    @property
    def refusals(self) -> tuple[UnsupportedChange, ...]:
        return tuple(step for step in self.steps if isinstance(step, UnsupportedChange))

    @property
    def supported(self) -> bool:
        """Whether the plan may be applied, after the checks its steps ask for."""
        return not self.refusals

    def to_json(self) -> JsonObject:
        return {"supported": self.supported, "steps": [step_json(step) for step in self.steps]}

    def render(self) -> str:
        """One line per step."""
        if not self.steps:
            return "no schema changes"
        return "\n".join(f"- {step_text(step)}" for step in self.steps)


def step_json(step: Step) -> JsonObject:
    """A step as clients get it, tagged by its kind."""
    return {**_step_fields(step), "safety": step.safety.value}


def _step_fields(step: Step) -> JsonObject:
    match step:
        case AddType(kind, name):
            return {"kind": "add_type", "type_kind": kind.value, "name": name}
        case RenameType(kind, before, after):
            return {"kind": "rename_type", "type_kind": kind.value, "from": before, "to": after}
        case AddProperty(kind, type_name, name, type_):
            return {**_of_property("add_property", kind, type_name, name), "property_type": property_type_json(type_)}
        case RenameProperty(kind, type_name, before, after):
            return {**_of_type("rename_property", kind, type_name), "from": before, "to": after}
        case AddConstraint(kind, type_name, constraint):
            return {**_of_type("add_constraint", kind, type_name), "constraint": _constraint_json(constraint)}
        case ExtendEnum(kind, type_name, name, added):
            return {**_of_property("extend_enum", kind, type_name, name), "added_values": list(added)}
        case UpdateTypeMetadata(kind, name, annotations):
            described: JsonObject = {"annotations": _annotations_json(annotations)}
            return {"kind": "update_type_metadata", "type_kind": kind.value, "name": name, **described}
        case UpdatePropertyMetadata(kind, type_name, name, annotations):
            described = {"annotations": _annotations_json(annotations)}
            return {**_of_property("update_property_metadata", kind, type_name, name), **described}
        case DropType(kind, name, mode, code):
            dropped: JsonObject = {"kind": "drop_type", "type_kind": kind.value, "name": name, "mode": mode.value}
            return {**dropped, **_code_json(code)}
        case DropProperty(kind, type_name, name, mode, code):
            return {**_of_property("drop_property", kind, type_name, name), "mode": mode.value, **_code_json(code)}
        case UnsupportedChange(entity, reason, code):
            return {"kind": "unsupported_change", "entity": entity, "reason": reason, **_code_json(code)}
        case _:
            assert_never(step)


def _of_type(step_kind: str, kind: TypeKind, type_name: str) -> JsonObject:
    return {"kind": step_kind, "type_kind": kind.value, "type_name": type_name}


def _of_property(step_kind: str, kind: TypeKind, type_name: str, name: str) -> JsonObject:
    return {**_of_type(step_kind, kind, type_name), "property_name": name}


def _code_json(code: MigrationCode | None) -> JsonObject:
    return {} if code is None else {"code": code.code}


def _annotations_json(annotations: tuple[tuple[str, str], ...]) -> list[JsonObject]:
    return [{"name": name, "value": value} for name, value in annotations]


def _constraint_json(constraint: ConstraintIR) -> JsonObject:
    return {constraint_word(constraint).capitalize(): list(constrained_properties(constraint))}


def step_text(step: Step) -> str:
    """A step as people read it."""
    match step:
        case AddType(kind, name):
            return f"add {kind.value} type {name}"
        case RenameType(kind, before, after):
            return f"rename {kind.value} type {before} to {after}"
        case AddProperty(kind, type_name, name, type_):
            return f"add property {name}: {type_} to {kind.value} {type_name}"
        case RenameProperty(kind, type_name, before, after):
            return f"rename property {before} to {after} in {kind.value} {type_name}"
        case AddConstraint(kind, type_name, constraint):
            return f"add constraint {constraint_text(constraint)} to {kind.value} {type_name}"
        case ExtendEnum(kind, type_name, name, added):
            return f"extend enum {name} of {kind.value} {type_name} with {', '.join(added)}"
        case UpdateTypeMetadata(kind, name, _):
            return f"update metadata of {kind.value} {name}"
        case UpdatePropertyMetadata(kind, type_name, name, _):
            return f"update metadata of property {name} of {kind.value} {type_name}"
        case DropType(kind, name, mode, code):
            return f"drop {kind.value} type {name} ({mode.value}){_class(code)}"
        case DropProperty(kind, type_name, name, mode, code):
            return f"drop property {name} of {kind.value} {type_name} ({mode.value}){_class(code)}"
        case UnsupportedChange(entity, reason, code):
            return f"unsupported change on {entity}{_class(code)}: {reason}"
        case _:
            assert_never(step)


def _class(code: MigrationCode | None) -> str:
    return "" if code is None else f" [{code.code}, {code.tier.value}]"
