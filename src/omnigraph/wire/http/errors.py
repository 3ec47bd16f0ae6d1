"""Errors as HTTP answers, from one table: status, code and structured member of every class of the error tree.

The first members of a body are those of Omnigraph 0.10; ``problem`` is ours. A class has a row of its own, also where
its base has the same one, so a new error without a decision about it fails a test. Facts leave the server by name only:
paths, addresses, versions and settings of the machine stay in its log.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from omnigraph import errors as tree
from omnigraph.errors import OmnigraphError
from omnigraph.wire.errors import ErrorBody, error_body

INTERNAL_TEXT: Final = "internal error"
CONFLICTS_SHOWN: Final = 3
"""Conflicts of a merge that the text of its error names; the body lists all of them."""

Members = Callable[[Any, ErrorBody], Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Answer:
    """A row of the table. ``code`` is None where 0.10 leaves it out; ``members`` makes the structured member."""

    status: int
    code: str | None = None
    members: Members | None = None
    facts: tuple[str, ...] = ()
    is_internal: bool = False
    """The text and hint stay in the log: they may name files, hosts or settings."""


def _no_nulls(form: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in form.items() if value is not None}


def _facts_as(member: str, *names: str) -> Members:
    def members(error: OmnigraphError, body: ErrorBody) -> Mapping[str, Any]:
        return {member: _no_nulls({name: error.facts.get(name) for name in names})}

    return members


def _read_set(error: OmnigraphError, body: ErrorBody) -> Mapping[str, Any]:
    changed = str(error.facts.get("member", "schema"))
    member = "schema_ir_hash" if changed == "schema" else f"published_dataset_version:{changed}"
    seen = {name: str(error.facts[name]) for name in ("expected", "actual") if error.facts.get(name) is not None}
    return {"read_set_conflict": {"member": member, **seen}}


_RESOURCES: Final = {
    "seconds": ("query_time_ms", 1000),
    "bytes": ("query_memory_bytes", 1),
    "rows": ("query_rows", 1),
}
"""Limits of a query: name and factor on the wire, where numbers are whole."""


def _resource_limit(error: OmnigraphError, body: ErrorBody) -> Mapping[str, Any]:
    resource = str(error.facts.get("resource", "unknown"))
    name, factor = _RESOURCES.get(resource, (resource, 1))
    limit = error.facts.get("limit")
    actual = error.facts.get("actual", limit)
    return {"resource_limit": {"resource": name, "limit": _whole(limit, factor), "actual": _whole(actual, factor)}}


def _whole(value: object, factor: int) -> int:
    return math.ceil(value * factor) if isinstance(value, int | float) else 0


def _merge_conflicts(error: tree.MergeConflicts, body: ErrorBody) -> Mapping[str, Any]:
    found = body.details["merge_conflicts"]
    shown = [_conflict_text(form) for form in found[:CONFLICTS_SHOWN]]
    more = [f"and {len(found) - CONFLICTS_SHOWN} more"] if len(found) > CONFLICTS_SHOWN else []
    text = "; ".join([*shown, *more])
    return {"error": f"merge conflicts: {text}", "merge_conflicts": [_conflict(form) for form in found]}


def _conflict_text(form: Mapping[str, Any]) -> str:
    whose = f", entity id '{form['entity_id']}'" if form["entity_id"] is not None else ""
    return f"{form['entity_kind']} type '{form['type_name']}'{whose} ({form['kind']})"


def _conflict(form: Mapping[str, Any]) -> dict[str, Any]:
    """A conflict with a kind that clients of 0.10 know, whose enum is closed."""
    kind = _KNOWN_KINDS.get(form["kind"], form["kind"])
    shown = {name: value for name, value in form.items() if name != "table_key"}
    return {**shown, "kind": kind, "exact_kind": form["kind"]}


_KNOWN_KINDS: Final = {"update_vs_delete": "delete_vs_update", "divergent_source": "divergent_update"}
"""Kinds that clients of 0.10 do not know, and those that they handle alike."""


def _recovery(error: OmnigraphError, body: ErrorBody) -> Mapping[str, Any]:
    commit = error.facts.get("commit")
    return {} if commit is None else {"recovery_required": {"operation_id": commit}}


_BAD: Final = "bad_request"
_ENTITY: Final = ("type", "id", "property", "column")

ANSWERS: Final[Mapping[type[OmnigraphError], Answer]] = {
    OmnigraphError: Answer(500, "internal", is_internal=True),
    tree.InputError: Answer(400, _BAD, facts=("statement", "pattern", "line", "column", "property", "entity_id")),
    tree.CompileError: Answer(400, _BAD),
    tree.ParameterError: Answer(400, _BAD, facts=("parameter",)),
    tree.MigrationRefused: Answer(400, _BAD),
    tree.ViolationError: Answer(400, _BAD, facts=("total",)),
    tree.ExternalTypeError: Answer(400, _BAD, facts=("type",)),
    tree.BlobRangeError: Answer(416, _BAD, _facts_as("blob_range", "start", "end", "length")),
    tree.CursorRejected: Answer(400, _BAD, facts=("reason", "commit")),
    tree.PolicyInvalid: Answer(500, "internal", is_internal=True),
    tree.ClusterInvalid: Answer(500, "internal", is_internal=True),
    tree.UsageError: Answer(400, _BAD, facts=(*_ENTITY, "moment", "time", "option", "attribute")),
    tree.ArgumentError: Answer(400, _BAD, facts=("argument",)),
    tree.RemoteUnsupported: Answer(400, _BAD, facts=("verb",)),
    tree.NotFoundError: Answer(
        404, "not_found", facts=(*_ENTITY, "branch", "commit", "moment", "at", "name", "range", "query")
    ),
    tree.HistoryCleaned: Answer(404, "not_found", facts=("commit", "report_gone")),
    tree.ChangeFeedGap: Answer(410, None, _facts_as("change_feed_gap", "cursor", "first_unreadable_commit_id")),
    tree.ConflictError: Answer(409, "conflict", facts=("job",)),
    tree.AlreadyExistsError: Answer(409, "conflict", facts=("branch",)),
    tree.KeyConflictError: Answer(
        409, "conflict", _facts_as("key_conflict", "entity_kind", "type_name", "entity_id"), facts=("count",)
    ),
    tree.ReadSetConflict: Answer(409, "conflict", _read_set, facts=("type_name",)),
    tree.MergeConflicts: Answer(409, "conflict", _merge_conflicts, facts=("total",)),
    tree.SchemaConflict: Answer(409, "conflict"),
    tree.PreconditionFailed: Answer(412, None, _facts_as("precondition_failure", "expected", "actual", "branch")),
    tree.ContentionError: Answer(409, "conflict", facts=("attempts",)),
    tree.WriteExpired: Answer(409, "conflict"),
    tree.PolicyDenied: Answer(403, "forbidden", facts=("actor", "action", "branch", "target_branch")),
    tree.PolicyFailure: Answer(500, "internal"),
    tree.LimitExceeded: Answer(413, _BAD, _resource_limit),
    tree.QueryCancelled: Answer(503),
    tree.EmbeddingError: Answer(500, "internal", is_internal=True),
    tree.EmbeddingUnavailable: Answer(503, is_internal=True),
    tree.SparkError: Answer(500, "internal", is_internal=True),
    tree.SparkUnavailable: Answer(503, is_internal=True),
    tree.StorageError: Answer(500, "internal", is_internal=True),
    tree.NotAGraphError: Answer(500, "internal", is_internal=True),
    tree.FormatError: Answer(500, "internal", is_internal=True),
    tree.SourceChanged: Answer(500, "internal", is_internal=True),
    tree.CorruptionError: Answer(500, "internal", is_internal=True),
    tree.NotAuthenticated: Answer(500, "internal", is_internal=True),
    tree.ServerError: Answer(500, "internal", is_internal=True),
    tree.ServerUnavailable: Answer(503, is_internal=True),
    tree.OutcomeUnknown: Answer(503, None, _recovery, facts=("commit",)),
}


def answer_to(error: OmnigraphError) -> Answer:
    """The row of an error; a class of another package has the row of its base."""
    return next(ANSWERS[kind] for kind in type(error).__mro__ if kind in ANSWERS)


def error_output_json(error: OmnigraphError, request_id: str | None = None) -> dict[str, Any]:
    """The body of an error. ``request_id`` finds the details of an internal one in the log."""
    answer = answer_to(error)
    body = error_body(error)
    form: dict[str, Any] = {"error": _internal_text(answer) if answer.is_internal else body.message}
    if answer.code is not None:
        form["code"] = answer.code
    if answer.members is not None:
        form.update(answer.members(error, body))
    return {**form, "problem": _problem(answer, body, request_id)}


def refusal_json(text: str, code: str | None, problem: str, *, retryable: bool = False) -> dict[str, Any]:
    """The body of a refusal that no error of the tree stands for, such as a missing token."""
    named = {} if code is None else {"code": code}
    return {"error": text, **named, "problem": {"code": problem, "retryable": retryable}}


def _internal_text(answer: Answer) -> str:
    return INTERNAL_TEXT if answer.status == 500 else "a service that the request needs is not available"


def _problem(answer: Answer, body: ErrorBody, request_id: str | None) -> dict[str, Any]:
    form: dict[str, Any] = {"code": body.code, "retryable": body.retryable}
    if answer.is_internal:
        return {**form, **({} if request_id is None else {"request_id": request_id})}
    facts = _no_nulls({name: body.facts.get(name) for name in answer.facts})
    parts = {
        "hint": body.hint,
        "facts": facts or None,
        "diagnostics": list(body.diagnostics) or None,
        "violations": body.details.get("violations"),
        "schema_conflicts": body.details.get("schema_conflicts"),
    }
    return {**form, **_no_nulls(parts)}
