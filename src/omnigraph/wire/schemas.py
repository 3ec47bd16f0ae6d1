"""Schemas as JSON: migration plans with their steps, applied changes, and clashes of a merge."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, assert_never

from omnigraph.schema.ir import ConstraintIR, TypeKind, constrained_properties, constraint_word
from omnigraph.schema.json_form import property_type_json
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
from omnigraph.wire.commits import optional_commit_json

if TYPE_CHECKING:
    from omnigraph.engine.schema.result import SchemaResult
    from omnigraph.schema.merge import SchemaClash
    from omnigraph.schema.migration import MigrationPlan


def schema_text_json(text: str) -> dict[str, Any]:
    """The text of a schema."""
    return {"schema_source": text}


def schema_result_json(result: SchemaResult) -> dict[str, Any]:
    """An applied schema; ``commit`` is null if the branch already had this schema."""
    return {
        "uri": result.uri,
        "branch": result.branch,
        "applied": result.applied,
        "step_count": len(result.plan.steps),
        "graph_manifest_version": result.manifest_version,
        **migration_json(result.plan),
        **({"remarks": list(result.remarks)} if result.remarks else {}),
        "commit": optional_commit_json(result.commit),
    }


def schema_plan_json(subject: Mapping[str, object], plan: MigrationPlan) -> dict[str, Any]:
    """A plan that was not applied, after the members that say which schemas it leads between."""
    return {**subject, "step_count": len(plan.steps), **migration_json(plan)}


def migration_json(plan: MigrationPlan) -> dict[str, Any]:
    """The steps of a migration in the order in which they are applied."""
    return {"supported": plan.supported, "steps": [step_json(step) for step in plan.steps]}


def step_json(step: Step) -> dict[str, Any]:
    """A step, tagged by its kind."""
    return {**_step_fields(step), "safety": step.safety.value}


def _step_fields(step: Step) -> dict[str, Any]:
    match step:
        case AddType(kind, name):
            return {"kind": "add_type", "type_kind": kind.value, "name": name}
        case RenameType(kind, before, after):
            return {"kind": "rename_type", "type_kind": kind.value, "from": before, "to": after}
        case AddProperty(kind, type_name, name, type_, code):
            added = {"property_type": property_type_json(type_), **_code_json(code)}
            return {**_of_property("add_property", kind, type_name, name), **added}
        case ChangeNullability(kind, type_name, name, nullable, code):
            flag = {"nullable": nullable, **_code_json(code)}
            return {**_of_property("change_nullability", kind, type_name, name), **flag}
        case RenameProperty(kind, type_name, before, after):
            return {**_of_type("rename_property", kind, type_name), "from": before, "to": after}
        case AddConstraint(kind, type_name, constraint):
            return {**_of_type("add_constraint", kind, type_name), "constraint": _constraint_json(constraint)}
        case DropConstraint(kind, type_name, constraint):
            return {**_of_type("drop_constraint", kind, type_name), "constraint": _constraint_json(constraint)}
        case ChangeCardinality(type_name, before_bounds, after_bounds):
            bounds = {"from": list(before_bounds), "to": list(after_bounds)}
            return {**_of_type("change_cardinality", TypeKind.EDGE, type_name), **bounds}
        case ChangeEnds(type_name, ends, added_ends, dropped_ends, mode):
            pairs = {"ends": ends, "added": added_ends, "dropped": dropped_ends}
            listed = {name: [list(pair) for pair in some] for name, some in pairs.items()}
            return {**_of_type("change_ends", TypeKind.EDGE, type_name), **listed, "mode": mode.value}
        case ChangeInterfaces(type_name, more, fewer):
            changed = {"added": list(more), "dropped": list(fewer)}
            return {**_of_type("change_interfaces", TypeKind.NODE, type_name), **changed}
        case ExtendEnum(kind, type_name, name, values):
            return {**_of_property("extend_enum", kind, type_name, name), "added_values": list(values)}
        case ChangeEnum(kind, type_name, name, old_values, new_values):
            allowed = {"from": _values_json(old_values), "to": _values_json(new_values)}
            return {**_of_property("change_enum", kind, type_name, name), **allowed}
        case UpdateTypeMetadata(kind, name, annotations):
            described = {"annotations": _annotations_json(annotations)}
            return {"kind": "update_type_metadata", "type_kind": kind.value, "name": name, **described}
        case UpdatePropertyMetadata(kind, type_name, name, annotations):
            described = {"annotations": _annotations_json(annotations)}
            return {**_of_property("update_property_metadata", kind, type_name, name), **described}
        case DropType(kind, name, mode, code):
            dropped = {"kind": "drop_type", "type_kind": kind.value, "name": name, "mode": mode.value}
            return {**dropped, **_code_json(code)}
        case DropProperty(kind, type_name, name, mode, code):
            return {**_of_property("drop_property", kind, type_name, name), "mode": mode.value, **_code_json(code)}
        case ChangeSource(kind, type_name, prop, before, after):
            whose = {} if prop is None else {"property_name": prop}
            return {**_of_type("change_source", kind, type_name), **whose, "from": before, "to": after}
        case UnsupportedChange(entity, reason, code):
            return {"kind": "unsupported_change", "entity": entity, "reason": reason, **_code_json(code)}
        case _:
            assert_never(step)


def _of_type(step_kind: str, kind: TypeKind, type_name: str) -> dict[str, Any]:
    return {"kind": step_kind, "type_kind": kind.value, "type_name": type_name}


def _of_property(step_kind: str, kind: TypeKind, type_name: str, name: str) -> dict[str, Any]:
    return {**_of_type(step_kind, kind, type_name), "property_name": name}


def _values_json(values: tuple[str, ...] | None) -> list[str] | None:
    return None if values is None else list(values)


def _code_json(code: MigrationCode | None) -> dict[str, Any]:
    return {} if code is None else {"code": code.code}


def _annotations_json(annotations: tuple[tuple[str, str], ...]) -> list[dict[str, Any]]:
    return [{"name": name, "value": value} for name, value in annotations]


def _constraint_json(constraint: ConstraintIR) -> dict[str, Any]:
    return {constraint_word(constraint).capitalize(): list(constrained_properties(constraint))}


def schema_clash_json(clash: SchemaClash) -> dict[str, Any]:
    """One declaration that both sides of a merge changed differently, with each side's version as text."""
    return {"type": clash.type, "property": clash.property, "what": clash.what, **clash.sides()}
