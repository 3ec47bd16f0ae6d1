"""Every error of the tree has an HTTP answer, and nothing of the machine leaves with it."""

import json

import pytest

from omnigraph import errors
from omnigraph.errors import (
    BlobRangeError,
    ChangeFeedGap,
    KeyConflictError,
    LimitExceeded,
    MergeConflicts,
    OmnigraphError,
    OutcomeUnknown,
    PreconditionFailed,
    ReadSetConflict,
    StorageError,
    UsageError,
    ViolationError,
)
from omnigraph.history.conflicts import ConflictKind, MergeConflict
from omnigraph.wire.http.errors import ANSWERS, answer_to, error_output_json
from omnigraph.wire.http.models.errors import ErrorCode, ErrorOutput
from tests.unit.wire.test_errors import kinds, raised

TREE = [kind for kind in kinds() if kind.__module__ == errors.__name__]
FACTS: dict[type[OmnigraphError], dict[str, object]] = {
    BlobRangeError: {"start": 1, "end": 9, "length": 4},
    ChangeFeedGap: {"cursor": None, "first_unreadable_commit_id": "c"},
    KeyConflictError: {"entity_kind": "node", "type_name": "P", "entity_id": "a"},
    PreconditionFailed: {"expected": "a", "actual": "b"},
}
WITH_OWN_ARGUMENTS = (errors.CompileError, ViolationError, MergeConflicts, OutcomeUnknown)
STATUSES = {400, 401, 403, 404, 409, 410, 412, 413, 416, 500, 503}


def test_every_class_of_the_tree_has_a_row_of_its_own() -> None:
    assert ANSWERS.keys() == set(TREE)


@pytest.mark.parametrize("kind", TREE)
def test_every_body_fits_the_model_and_names_the_problem(kind: type[OmnigraphError]) -> None:
    error = kind("bad", **FACTS[kind]) if kind in FACTS else raised(kind)
    form = error_output_json(error)
    body = ErrorOutput.model_validate_json(json.dumps(form), extra="forbid")
    assert answer_to(error).status in STATUSES
    assert body.problem is not None
    assert (body.problem.code, body.problem.retryable) == (kind.code, kind.retryable)
    assert None not in form.values(), "members without a value are left out"
    assert body.code is None or body.code in ErrorCode


@pytest.mark.parametrize("kind", [kind for kind in TREE if kind not in WITH_OWN_ARGUMENTS])
def test_no_fact_leaves_that_its_row_does_not_name(kind: type[OmnigraphError]) -> None:
    secret = "s3://bucket/key"
    error = kind("bad", path=secret, root=secret, location=secret, url=secret, host=secret, version=secret)
    assert secret not in json.dumps(error_output_json(error))


@pytest.mark.parametrize("kind", [kind for kind in TREE if ANSWERS[kind].is_internal])
def test_an_internal_error_keeps_its_text_and_hint_for_the_log(kind: type[OmnigraphError]) -> None:
    form = error_output_json(kind("cannot read /srv/data", hint="look at /srv/data"), "01R")
    assert "/srv" not in json.dumps(form)
    assert form["problem"] == {"code": kind.code, "retryable": kind.retryable, "request_id": "01R"}


def test_the_structured_members_are_those_of_the_reference() -> None:
    cases: list[tuple[OmnigraphError, str, object]] = [
        (BlobRangeError("b", start=1, end=9, length=4), "blob_range", {"start": 1, "end": 9, "length": 4}),
        (ChangeFeedGap("g", cursor=None, first_unreadable_commit_id="c"), "change_feed_gap", "first_unreadable"),
        (
            KeyConflictError("k", entity_kind="node", type_name="P", entity_id="a", count=3),
            "key_conflict",
            {"entity_kind": "node", "type_name": "P", "entity_id": "a"},
        ),
        (
            ReadSetConflict("r", member="node:P", expected=3, actual=4),
            "read_set_conflict",
            {"member": "published_dataset_version:node:P", "expected": "3", "actual": "4"},
        ),
        (ReadSetConflict("r", member="schema"), "read_set_conflict", {"member": "schema_ir_hash"}),
        (PreconditionFailed("p", expected="a", actual="b"), "precondition_failure", {"expected": "a", "actual": "b"}),
        (
            LimitExceeded("l", resource="seconds", limit=0.5, actual=0.7001),
            "resource_limit",
            {"resource": "query_time_ms", "limit": 500, "actual": 701},
        ),
        (OutcomeUnknown("01C", "lost"), "recovery_required", {"operation_id": "01C"}),
    ]
    for error, member, wanted in cases:
        found = error_output_json(error)[member]
        assert found == wanted if isinstance(wanted, dict) else str(wanted) in str(found), member


def test_later_conditions_have_no_code_because_its_set_is_closed() -> None:
    without = {kind for kind, answer in ANSWERS.items() if answer.code is None}
    assert {ChangeFeedGap, PreconditionFailed, OutcomeUnknown} <= without
    assert {ANSWERS[kind].status for kind in without} == {410, 412, 503}


def test_an_unknown_outcome_without_a_commit_names_no_operation() -> None:
    form = error_output_json(OutcomeUnknown(None, "lost", change="branch a was created"))
    assert "recovery_required" not in form


def conflict(number: int, kind: ConflictKind = ConflictKind.DIVERGENT_UPDATE) -> MergeConflict:
    return MergeConflict("node:Person", f"p{number}", kind, "age", 1, 2, 3, "both changed it")


def test_merge_conflicts_are_all_listed_and_the_text_names_three() -> None:
    found = [conflict(number) for number in range(5)]
    form = error_output_json(MergeConflicts("bad", conflicts=found, table=object()))
    assert len(form["merge_conflicts"]) == 5
    assert form["error"] == (
        "merge conflicts: node type 'Person', entity id 'p0' (divergent_update); "
        "node type 'Person', entity id 'p1' (divergent_update); "
        "node type 'Person', entity id 'p2' (divergent_update); and 2 more"
    )


@pytest.mark.parametrize("kind", ConflictKind)
def test_every_kind_of_conflict_is_one_that_clients_of_the_reference_know(kind: ConflictKind) -> None:
    form = error_output_json(MergeConflicts("bad", conflicts=[conflict(1, kind)], table=object()))
    body = ErrorOutput.model_validate_json(json.dumps(form), extra="forbid")
    assert body.merge_conflicts[0].exact_kind == kind.value
    assert "node:" not in json.dumps(form)


def test_an_error_of_another_package_has_the_answer_of_its_base() -> None:
    class Special(UsageError):
        pass

    assert answer_to(Special("bad")).status == 400


def test_a_storage_error_is_a_fixed_text() -> None:
    assert error_output_json(StorageError("x"))["error"] == "internal error"
