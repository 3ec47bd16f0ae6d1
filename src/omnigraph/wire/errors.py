"""Errors as JSON: the body that the command line prints and that a server sends.

``ErrorBody`` holds everything a caller may learn about an error, already in JSON values. The command line prints
``error_json``; a server chooses the status, and which ``facts`` of a code may leave it. Some errors carry more than
facts, such as the conflicts of a merge: ``_DETAILS`` names the member for each of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from omnigraph.errors import (
    ChangeFeedGap,
    CompileError,
    KeyConflictError,
    MergeConflicts,
    OmnigraphError,
    PreconditionFailed,
    SchemaConflict,
    ViolationError,
)
from omnigraph.lang.diagnostics import Diagnostic
from omnigraph.wire.diagnostics import diagnostic_json

if TYPE_CHECKING:
    from omnigraph.rows.violations import Violation


@dataclass(frozen=True, slots=True)
class ErrorBody:
    """An error in JSON values. ``details`` is at most one member, named by the kind of error."""

    code: str
    message: str
    retryable: bool = False
    hint: str | None = None
    facts: Mapping[str, str | int | float | bool | None] = field(default_factory=dict)
    diagnostics: tuple[Mapping[str, Any], ...] = ()
    details: Mapping[str, Any] = field(default_factory=dict)


def error_body(error: OmnigraphError) -> ErrorBody:
    """The body of an error. The message of a compile error is the headline of its first diagnostic."""
    found = located(error)
    member, detail = next((_DETAILS[kind] for kind in type(error).__mro__ if kind in _DETAILS), (None, None))
    return ErrorBody(
        code=error.code,
        message=found[0].headline() if found else error.message,
        retryable=error.retryable,
        hint=error.hint,
        # Facts that are no scalars are values of the engine, which details and diagnostics render.
        facts={
            name: value for name, value in error.facts.items() if isinstance(value, str | int | float | bool | None)
        },
        diagnostics=tuple(map(diagnostic_json, found)),
        details={} if member is None or detail is None else {member: detail(error)},
    )


def error_json(error: OmnigraphError) -> dict[str, Any]:
    """An error as the command line prints it."""
    body = error_body(error)
    diagnostics = {"diagnostics": list(body.diagnostics)} if body.diagnostics else {}
    return {**failure_json(body.message, code=body.code, hint=error.command_hint), **diagnostics, **body.details}


def failure_json(message: str, *, code: str, hint: str | None) -> dict[str, Any]:
    """A failure outside the tree of ``omnigraph.errors``: a wrong command line, or a bug."""
    return {"error": message, "code": code, "hint": hint}


def located(error: OmnigraphError) -> Sequence[Diagnostic]:
    """The diagnostics that an error of the compiler carries; none for other errors."""
    carried = error.diagnostics if isinstance(error, CompileError) else error.facts.get("diagnostics")
    return [item for item in carried if isinstance(item, Diagnostic)] if isinstance(carried, tuple) else []


def _violations(error: ViolationError) -> dict[str, Any]:
    from omnigraph.rows.violations import Violation

    samples = [_violation(sample) for sample in error.samples if isinstance(sample, Violation)]
    return {"total": error.total, "counts": error.counts, "samples": samples}


def _violation(sample: Violation) -> dict[str, Any]:
    place = sample.place
    return {
        "code": sample.code.value,
        "message": sample.message,
        "source": place.source if place else None,
        "line": place.line if place else None,
        "table_key": sample.table_key,
        "id": sample.entity_id,
        "property": sample.property,
    }


def _merge_conflicts(error: MergeConflicts) -> list[dict[str, Any]]:
    from omnigraph.history.conflicts import MergeConflict
    from omnigraph.wire.merges import conflict_json

    return [conflict_json(item) for item in error.conflicts if isinstance(item, MergeConflict)]


def _schema_conflicts(error: SchemaConflict) -> list[dict[str, Any]]:
    from omnigraph.schema.merge import SchemaClash
    from omnigraph.wire.schemas import schema_clash_json

    clashes = error.facts.get("conflicts")
    listed = clashes if isinstance(clashes, tuple) else ()
    return [schema_clash_json(clash) for clash in listed if isinstance(clash, SchemaClash)]


def _facts(error: OmnigraphError) -> dict[str, object]:
    return dict(error.facts)


# Rendering imports the package that made the error, and only then: a wrong option loads none of them.
_DETAILS: Mapping[type, tuple[str, Callable[[Any], object]]] = {
    ViolationError: ("violations", _violations),
    PreconditionFailed: ("precondition_failure", _facts),
    MergeConflicts: ("merge_conflicts", _merge_conflicts),
    SchemaConflict: ("schema_conflicts", _schema_conflicts),
    ChangeFeedGap: ("change_feed_gap", _facts),
    KeyConflictError: ("key_conflict", _facts),
}
