"""A migration plan: an ordered list of steps, with its text and JSON forms.

The plan is data: the same value is shown, sent as JSON and applied.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import assert_never

from omnigraph.schema.ir import ConstraintIR, TypeKind, constrained_properties, constraint_word
from omnigraph.schema.json_form import JsonObject, property_type_json
from omnigraph.schema.print import constraint_text
from omnigraph.schema.steps import (
    AddConstraint,
    AddProperty,
    AddType,
    ChangeCardinality,
    ChangeEnum,
    ChangeNullability,
    DropConstraint,
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


@dataclass(frozen=True, slots=True)
class MigrationPlan:
    """The steps from one accepted schema to another, in the order of their execution."""

    steps: tuple[Step, ...] = ()

    @property
    def refusals(self) -> tuple[UnsupportedChange, ...]:
        return tuple(step for step in self.steps if isinstance(step, UnsupportedChange))

    @property
    def supported(self) -> bool:
        """The plan can be applied, provided that the data checks of its steps pass."""
        return not self.refusals

    def to_json(self) -> JsonObject:
        return {"supported": self.supported, "steps": [step_json(step) for step in self.steps]}

    def render(self) -> str:
        """One line per step."""
        if not self.steps:
            return "no schema changes"
        return "\n".join(f"- {step_text(step)}" for step in self.steps)


def step_json(step: Step) -> JsonObject:
    """JSON form of a step, tagged by its kind."""
    return {**_step_fields(step), "safety": step.safety.value}


def _step_fields(step: Step) -> JsonObject:
    match step:
        case AddType(kind, name):
            return {"kind": "add_type", "type_kind": kind.value, "name": name}
        case RenameType(kind, before, after):
            return {"kind": "rename_type", "type_kind": kind.value, "from": before, "to": after}
        case AddProperty(kind, type_name, name, type_, code):
            added: JsonObject = {"property_type": property_type_json(type_), **_code_json(code)}
            return {**_of_property("add_property", kind, type_name, name), **added}
        case ChangeNullability(kind, type_name, name, nullable, code):
            flag: JsonObject = {"nullable": nullable, **_code_json(code)}
            return {**_of_property("change_nullability", kind, type_name, name), **flag}
        case RenameProperty(kind, type_name, before, after):
            return {**_of_type("rename_property", kind, type_name), "from": before, "to": after}
        case AddConstraint(kind, type_name, constraint):
            return {**_of_type("add_constraint", kind, type_name), "constraint": _constraint_json(constraint)}
        case DropConstraint(kind, type_name, constraint):
            return {**_of_type("drop_constraint", kind, type_name), "constraint": _constraint_json(constraint)}
        case ChangeCardinality(type_name, before_bounds, after_bounds):
            bounds: JsonObject = {"from": list(before_bounds), "to": list(after_bounds)}
            return {**_of_type("change_cardinality", TypeKind.EDGE, type_name), **bounds}
        case ExtendEnum(kind, type_name, name, values):
            return {**_of_property("extend_enum", kind, type_name, name), "added_values": list(values)}
        case ChangeEnum(kind, type_name, name, old_values, new_values):
            allowed: JsonObject = {"from": _values_json(old_values), "to": _values_json(new_values)}
            return {**_of_property("change_enum", kind, type_name, name), **allowed}
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


def _values_json(values: tuple[str, ...] | None) -> list[str] | None:
    return None if values is None else list(values)


def _code_json(code: MigrationCode | None) -> JsonObject:
    return {} if code is None else {"code": code.code}


def _annotations_json(annotations: tuple[tuple[str, str], ...]) -> list[JsonObject]:
    return [{"name": name, "value": value} for name, value in annotations]


def _constraint_json(constraint: ConstraintIR) -> JsonObject:
    return {constraint_word(constraint).capitalize(): list(constrained_properties(constraint))}


def step_text(step: Step) -> str:
    """One line of text for a step."""
    match step:
        case AddType(kind, name):
            return f"add {kind.value} type {name}"
        case RenameType(kind, before, after):
            return f"rename {kind.value} type {before} to {after}"
        case AddProperty(kind, type_name, name, type_, code):
            return f"add property {name}: {type_} to {kind.value} {type_name}{_class(code)}"
        case ChangeNullability(kind, type_name, name, nullable, code):
            becomes = "nullable" if nullable else "required"
            return f"make property {name} of {kind.value} {type_name} {becomes}{_class(code)}"
        case RenameProperty(kind, type_name, before, after):
            return f"rename property {before} to {after} in {kind.value} {type_name}"
        case AddConstraint(kind, type_name, constraint):
            return f"add constraint {constraint_text(constraint)} to {kind.value} {type_name}"
        case DropConstraint(kind, type_name, constraint):
            return f"drop constraint {constraint_text(constraint)} of {kind.value} {type_name}"
        case ChangeCardinality(type_name, before_bounds, after_bounds):
            return f"change the cardinality of edge {type_name} from {_card(before_bounds)} to {_card(after_bounds)}"
        case ChangeEnum(kind, type_name, name, _, new_values):
            allowed = "any text" if new_values is None else ", ".join(new_values)
            return f"allow {allowed} in property {name} of {kind.value} {type_name}"
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


def _card(bounds: tuple[int, int | None]) -> str:
    low, high = bounds
    return f"{low}..{'' if high is None else high}"


def _class(code: MigrationCode | None) -> str:
    return "" if code is None else f" [{code.code}, {code.tier.value}]"
