"""Answers that are errors, as the classes of the one tree.

Our servers name the class by the stable code of ``problem``. Others, such as Omnigraph 0.10, send no ``problem``: the
structured members, the code and the status decide then.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, NoReturn

from omnigraph import errors as tree
from omnigraph.errors import Hint, OmnigraphError
from omnigraph.lang.diagnostics import Diagnostic, Severity
from omnigraph.lang.source import Source, Span

_LOGIN: Final = Hint(
    'pass the token: omnigraph.open(uri, token="..."), or set OMNIGRAPH_TOKEN',
    "store the token with `omnigraph login`, or set OMNIGRAPH_TOKEN",
)
SHOWN_CHARS: Final = 200
"""Characters of an answer that cannot be read, in the message about it."""


def _classes(root: type[OmnigraphError]) -> Iterator[type[OmnigraphError]]:
    yield root
    for below in root.__subclasses__():
        yield from _classes(below)


_BY_CODE: Final = {kind.code: kind for kind in _classes(OmnigraphError)}
_BY_MEMBER: Final[Mapping[str, type[OmnigraphError]]] = {
    "merge_conflicts": tree.MergeConflicts,
    "key_conflict": tree.KeyConflictError,
    "read_set_conflict": tree.ReadSetConflict,
    "published_dataset_version_conflict": tree.ReadSetConflict,
    "change_feed_gap": tree.ChangeFeedGap,
    "precondition_failure": tree.PreconditionFailed,
    "resource_limit": tree.LimitExceeded,
    "blob_range": tree.BlobRangeError,
    "recovery_required": tree.OutcomeUnknown,
}
_BY_STATUS: Final[Mapping[int, type[OmnigraphError]]] = {
    400: tree.InputError,
    401: tree.NotAuthenticated,
    403: tree.PolicyDenied,
    404: tree.NotFoundError,
    405: tree.RemoteUnsupported,
    409: tree.ConflictError,
    410: tree.ChangeFeedGap,
    412: tree.PreconditionFailed,
    413: tree.LimitExceeded,
    415: tree.RemoteUnsupported,
    416: tree.BlobRangeError,
    422: tree.InputError,
    424: tree.InputError,
    429: tree.ServerUnavailable,
    502: tree.ServerUnavailable,
    503: tree.ServerUnavailable,
    504: tree.ServerUnavailable,
}


def raise_for(status: int, content_type: str, body: bytes, text: str | None, uri: str) -> NoReturn:
    """Raise the error that an answer stands for. ``text`` is the query or schema that was sent."""
    form = _envelope(content_type, body)
    if form is None:
        raise _bare(status, body, uri)
    raise error_of(form, status, text)


def error_of(form: Mapping[str, Any], status: int, text: str | None = None) -> OmnigraphError:
    """The error of an envelope."""
    problem: Mapping[str, Any] = form.get("problem") or {}
    kind = _kind(form, problem, status)
    message, hint = str(form["error"]), problem.get("hint")
    facts = {**(problem.get("facts") or {}), **_member_facts(form)}
    make = next((_MAKERS[base] for base in kind.__mro__ if base in _MAKERS), None)
    if make is not None:
        return make(kind, message, hint, form, text)
    if kind is tree.ServerError or kind is tree.ServerUnavailable:
        facts |= {"status": status, "request_id": problem.get("request_id")}
    if kind is tree.NotAuthenticated:
        hint = hint or _LOGIN
    return kind(message, hint=hint, **facts)


def _kind(form: Mapping[str, Any], problem: Mapping[str, Any], status: int) -> type[OmnigraphError]:
    code = problem.get("code")
    if status == 500 and code in (None, OmnigraphError.code):
        return tree.ServerError
    if code in _BY_CODE:
        return _BY_CODE[code]
    member = next((kind for name, kind in _BY_MEMBER.items() if form.get(name)), None)
    return member or _BY_STATUS.get(status, tree.ServerError)


def _member_facts(form: Mapping[str, Any]) -> dict[str, Any]:
    """The facts that a structured member of the envelope holds."""
    names = ("key_conflict", "precondition_failure", "blob_range", "change_feed_gap", "resource_limit")
    found: dict[str, Any] = {}
    for name in names:
        found |= form.get(name) or {}
    read_set = form.get("read_set_conflict")
    if read_set:
        found |= {**read_set, "member": str(read_set.get("member", "")).rpartition(":")[2]}
    return found


def _envelope(content_type: str, body: bytes) -> dict[str, Any] | None:
    if "json" not in content_type:
        return None
    try:
        form = json.loads(body)
    except ValueError:
        return None
    return form if isinstance(form, dict) and isinstance(form.get("error"), str) else None


def _bare(status: int, body: bytes, uri: str) -> OmnigraphError:
    """The error of an answer without the envelope: a rejected request, a proxy, or something that is no server."""
    if status in (301, 302, 303, 307, 308):
        return tree.ServerError(
            f"{uri} redirects to another address", hint="open that address: tokens are never sent on", status=status
        )
    shown = body[:SHOWN_CHARS].decode(errors="replace").strip()
    said = f": {shown}" if shown else ""
    if status == 404:
        return tree.RemoteUnsupported(
            f"{uri} does not have this operation{said}", hint="check the address, and the version of the server"
        )
    kind = _BY_STATUS.get(status, tree.ServerError)
    facts: dict[str, Any] = {"status": status} if issubclass(kind, tree.ServerError) else {}
    return kind(f"{uri} answered with status {status}{said}", **facts)


def unreadable(status: int, body: bytes) -> tree.ServerError:
    """The error for an answer that is not what the interface promises."""
    shown = body[:SHOWN_CHARS].decode(errors="replace")
    return tree.ServerError(
        f"the answer of the server cannot be read: {shown!r}",
        hint="check that the address is that of a graph: https://host/graphs/kb",
        status=status,
    )


def outcome_unknown(change: str, key: str | None, reason: str) -> tree.OutcomeUnknown:
    """The error for a write whose answer was lost. With a key, the same call may be repeated."""
    error = tree.OutcomeUnknown(None, reason, change=change)
    if key is not None:
        error.advise(f"repeat the call with idempotency_key={key!r}: it takes effect at most once")
        error.facts = {**error.facts, "idempotency_key": key}
    return error


def _compile_error(
    kind: type[OmnigraphError], message: str, hint: str | None, form: Mapping[str, Any], text: str | None
) -> OmnigraphError:
    found = (form.get("problem") or {}).get("diagnostics") or []
    if not found or text is None:
        return tree.InputError(message, hint=hint)
    return tree.CompileError([_diagnostic(item, text) for item in found])


def _diagnostic(form: Mapping[str, Any], text: str) -> Diagnostic:
    """A diagnostic in the text that was sent. Spans are bytes on the wire, characters here."""
    content = text.encode("utf-8", "surrogatepass")
    start, end = (len(content[: form["span"][name]].decode("utf-8", "replace")) for name in ("start", "end"))
    source = Source(text, form["source"])
    return Diagnostic(
        form["code"], form["message"], Span(start, end), source, Severity(form["severity"]), form.get("hint")
    )


def _violation_error(
    kind: type[OmnigraphError], message: str, hint: str | None, form: Mapping[str, Any], text: str | None
) -> OmnigraphError:
    from omnigraph.rows.violations import Place, Violation, ViolationCode

    found = (form.get("problem") or {}).get("violations") or {"total": 1, "counts": {}, "samples": []}
    samples = [
        Violation(
            ViolationCode(item["code"]),
            item["message"],
            item.get("table_key"),
            item.get("id"),
            item.get("property"),
            None if item.get("source") is None else Place(item["source"], item["line"]),
        )
        for item in found["samples"]
    ]
    return tree.ViolationError(message, total=found["total"], samples=samples, counts=found["counts"], hint=hint)


def _merge_conflicts(
    kind: type[OmnigraphError], message: str, hint: str | None, form: Mapping[str, Any], text: str | None
) -> OmnigraphError:
    from omnigraph.history.conflicts import ConflictKind, MergeConflict
    from omnigraph.write.merge.conflicts import conflicts_table

    conflicts = [
        MergeConflict(
            f"{item['entity_kind']}:{item['type_name']}",
            item.get("entity_id"),
            ConflictKind(item.get("exact_kind") or item["kind"]),
            item.get("property"),
            item.get("base"),
            item.get("source"),
            item.get("target"),
            item["message"],
        )
        for item in form.get("merge_conflicts") or ()
    ]
    return tree.MergeConflicts(message, conflicts=conflicts, table=conflicts_table(conflicts), hint=hint)


def _outcome(
    kind: type[OmnigraphError], message: str, hint: str | None, form: Mapping[str, Any], text: str | None
) -> OmnigraphError:
    commit = (form.get("recovery_required") or {}).get("operation_id")
    return tree.OutcomeUnknown(commit, message, change="the write was made")


def _schema_conflict(
    kind: type[OmnigraphError], message: str, hint: str | None, form: Mapping[str, Any], text: str | None
) -> OmnigraphError:
    from omnigraph.schema.merge import SchemaClash

    names = ("type", "property", "what", "base", "source", "target")
    found = (form.get("problem") or {}).get("schema_conflicts") or ()
    clashes = tuple(SchemaClash(*(item.get(name) for name in names)) for item in found)
    return tree.SchemaConflict(message, hint=hint, conflicts=clashes)


Make = Callable[[type[OmnigraphError], str, str | None, Mapping[str, Any], str | None], OmnigraphError]

_MAKERS: Final[Mapping[type[OmnigraphError], Make]] = {
    tree.CompileError: _compile_error,
    tree.ViolationError: _violation_error,
    tree.MergeConflicts: _merge_conflicts,
    tree.OutcomeUnknown: _outcome,
    tree.SchemaConflict: _schema_conflict,
}
"""Errors that carry more than facts."""


def unsupported(verb: str, why: str, hint: str | Hint | None = None) -> tree.RemoteUnsupported:
    """The error for a verb or option that a server does not have."""
    return tree.RemoteUnsupported(f"{verb} is not available on a remote graph: {why}", hint=hint, verb=verb)


def unwritable(body: object, error: Exception) -> OmnigraphError:
    """The error of a request with a value that JSON does not have, such as NaN; it names the parameter."""
    params = body.get("params") if isinstance(body, Mapping) else None
    for name, value in params.items() if isinstance(params, Mapping) else ():
        if not _is_json(value):
            return tree.ParameterError(f"param {name!r}: {value!r} cannot be sent as JSON", hint=_JSON_VALUES)
    return tree.UsageError(f"the request has a value that cannot be sent as JSON: {error}", hint=_JSON_VALUES)


_JSON_VALUES = "use texts without half surrogate pairs, finite numbers, truth values, dates, lists and dicts"


def _is_json(value: object) -> bool:
    try:
        json.dumps(value, allow_nan=False, ensure_ascii=False).encode()
    except (TypeError, ValueError):
        return False
    return True
