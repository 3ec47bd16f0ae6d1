"""Error bodies: complete for callers of any kind, and JSON through and through."""

import json
from collections.abc import Callable, Iterator

import pytest

from omnigraph import errors
from omnigraph.errors import (
    CompileError,
    KeyConflictError,
    MergeConflicts,
    OmnigraphError,
    OutcomeUnknown,
    ReadSetConflict,
    SchemaConflict,
    ViolationError,
)
from omnigraph.history.conflicts import ConflictKind, MergeConflict
from omnigraph.lang.diagnostics import Diagnostic
from omnigraph.lang.source import Source, Span
from omnigraph.schema.merge import SchemaClash
from omnigraph.wire.errors import ErrorBody, error_body, error_json, failure_json


def kinds(root: type[OmnigraphError] = OmnigraphError) -> Iterator[type[OmnigraphError]]:
    yield root
    for below in root.__subclasses__():
        yield from kinds(below)


DIAGNOSTIC = Diagnostic("T1", "unknown type", Span(0, 1), Source("x", "q.gq"), hint="declare it")
CONFLICT = MergeConflict("node:Person", "ann", ConflictKind.DIVERGENT_UPDATE, "age", 1, 2, 3, "both changed it")
SPECIAL: dict[type[OmnigraphError], Callable[[], OmnigraphError]] = {
    CompileError: lambda: CompileError([DIAGNOSTIC]),
    ViolationError: lambda: ViolationError("bad", total=2, samples=(), counts={"type": 2}),
    MergeConflicts: lambda: MergeConflicts("bad", conflicts=[CONFLICT], table=object()),
    SchemaConflict: lambda: SchemaConflict("bad", conflicts=(SchemaClash("A", None, "type", None, 1, 2),)),
    OutcomeUnknown: lambda: OutcomeUnknown("01A", "lost"),
}


def raised(kind: type[OmnigraphError]) -> OmnigraphError:
    return SPECIAL[kind]() if kind in SPECIAL else kind("bad", hint="do this", path="p", count=1, held=object())


@pytest.mark.parametrize("kind", [kind for kind in kinds() if kind.__module__ == errors.__name__])
def test_every_error_has_a_body_of_json_values(kind: type[OmnigraphError]) -> None:
    error = raised(kind)
    body = error_body(error)
    assert (body.code, body.retryable, body.hint) == (kind.code, kind.retryable, error.hint)
    assert json.loads(json.dumps(dict(body.facts))) == dict(body.facts)
    assert json.loads(json.dumps(list(body.diagnostics))) == list(body.diagnostics)


def test_facts_keep_scalars_and_leave_values_of_the_engine_out() -> None:
    body = error_body(ReadSetConflict("changed", branch="main", rows=3, exact=None, table=object()))
    assert body == ErrorBody("read_set_conflict", "changed", True, facts={"branch": "main", "rows": 3, "exact": None})


def test_a_compile_error_is_its_first_headline_and_all_diagnostics() -> None:
    form = error_json(CompileError([DIAGNOSTIC, DIAGNOSTIC]))
    assert (form["error"], form["code"]) == ("q.gq:1:1: error[T1]: unknown type", "compile_error")
    assert [item["hint"] for item in form["diagnostics"]] == ["declare it"] * 2


def test_conflicts_are_listed_with_the_values_of_all_sides() -> None:
    (merged,) = error_json(raised(MergeConflicts))["merge_conflicts"]
    assert (merged["base"], merged["source"], merged["target"]) == (1, 2, 3)
    (clash,) = error_json(raised(SchemaConflict))["schema_conflicts"]
    assert (clash["base"], clash["source"], clash["target"]) == (None, "1", "2")


def test_an_error_without_details_has_three_members() -> None:
    assert error_json(OmnigraphError("bad")) == failure_json("bad", code="error", hint=None)
    assert list(error_json(KeyConflictError("bad", id="a"))) == ["error", "code", "hint", "key_conflict"]
