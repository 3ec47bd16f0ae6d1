"""A migration plan: an ordered list of steps, with its text and JSON forms.

The plan is data: the same value is shown, sent as JSON and applied.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import assert_never

from omnigraph.core.display import Display, Displayed, counted
from omnigraph.schema.ends.pairs import ends_text
from omnigraph.schema.print import constraint_text
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


@dataclass(frozen=True, slots=True, repr=False)
class MigrationPlan(Displayed):
    """The steps from one accepted schema to another, in the order of their execution."""

    steps: tuple[Step, ...] = ()

    @property
    def refusals(self) -> tuple[UnsupportedChange, ...]:
        return tuple(step for step in self.steps if isinstance(step, UnsupportedChange))

    @property
    def supported(self) -> bool:
        """The plan can be applied, provided that the data checks of its steps pass."""
        return not self.refusals

    def _display(self) -> Display:
        state = (
            "" if self.supported else f", {counted(len(self.refusals), 'of them unsupported', 'of them unsupported')}"
        )
        title = (
            f"MigrationPlan: {counted(len(self.steps), 'step')}{state}" if self.steps else "MigrationPlan: no changes"
        )
        return steps_display(title, self.steps)

    def render(self) -> str:
        """One line per step."""
        if not self.steps:
            return "no schema changes"
        return "\n".join(f"- {step_text(step)}" for step in self.steps)


def steps_display(title: str, steps: Sequence[Step]) -> Display:
    """The steps of a migration, one line each."""
    rows = [(step_text(step), step.safety.value) for step in steps]
    return Display(title, ("step", "safety"), rows, lines=[f"- {text}" for text, _ in rows])


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
        case ChangeEnds(type_name, ends, added, dropped, mode):
            parts = [f"add {ends_text(added)}"] if added else []
            parts += [f"drop {ends_text(dropped)} ({mode.value})"] if dropped else []
            return f"change the ends of edge {type_name} to {ends_text(ends)}" + (
                f": {'; '.join(parts)}" if parts else ""
            )
        case ChangeInterfaces(type_name, added_names, dropped_names):
            parts = [f"now {', '.join(added_names)}"] if added_names else []
            parts += [f"no longer {', '.join(dropped_names)}"] if dropped_names else []
            return f"change the interfaces of node {type_name}: {'; '.join(parts)}"
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
        case ChangeSource(kind, type_name, None, was, becomes):
            return f"read {kind.value} {type_name} from {becomes} instead of {was}"
        case ChangeSource(kind, type_name, name, was, becomes):
            return f"read property {name} of {kind.value} {type_name} as {becomes} instead of {was}"
        case UnsupportedChange(entity, reason, code):
            return f"unsupported change on {entity}{_class(code)}: {reason}"
        case _:
            assert_never(step)


def _card(bounds: tuple[int, int | None]) -> str:
    low, high = bounds
    return f"{low}..{'' if high is None else high}"


def _class(code: MigrationCode | None) -> str:
    return "" if code is None else f" [{code.code}, {code.tier.value}]"
