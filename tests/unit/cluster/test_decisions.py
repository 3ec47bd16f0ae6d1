"""Decisions about changes: one row for every combination of facts, and what must hold for all of them."""

from itertools import product

import pytest

from omnigraph.cluster.plan.changes import Operation
from omnigraph.cluster.plan.decisions import (
    ROWS,
    STATUSES,
    Approval,
    Disposition,
    Migration,
    Observation,
    Outcome,
    Parent,
    Risk,
    decide,
    risk_of,
)
from omnigraph.cluster.resources import Kind

COMBINATIONS = [Observation(*facts) for facts in product(Kind, Operation, Migration, Approval, Parent)]


def test_exactly_one_row_matches_any_observation() -> None:
    assert {sum(row.matches(seen) for row in ROWS) for seen in COMBINATIONS} == {1}


def test_every_row_decides_about_something() -> None:
    assert all(any(row.matches(seen) for seen in COMBINATIONS) for row in ROWS)


def test_a_change_that_waits_has_a_reason_and_one_that_is_applied_has_none() -> None:
    for seen in COMBINATIONS:
        decision = decide(seen)
        waits = decision.disposition in (Disposition.DEFERRED, Disposition.BLOCKED)
        assert (decision.reason is not None) is waits, seen


def test_a_graph_is_deleted_with_an_approval_only() -> None:
    for seen in COMBINATIONS:
        if (seen.kind, seen.operation) == (Kind.GRAPH, Operation.DELETE):
            wanted = Disposition.APPLIED if seen.approval is Approval.GRANTED else Disposition.DEFERRED
            assert decide(seen).disposition is wanted


def test_nothing_of_a_graph_is_applied_while_the_graph_waits() -> None:
    for seen in COMBINATIONS:
        if seen.parent is Parent.BLOCKED and seen.kind is not Kind.GRAPH:
            assert decide(seen).disposition is Disposition.BLOCKED


def test_destructive_changes_are_exactly_those_that_lose_a_graph() -> None:
    found = {
        (kind, operation)
        for kind, operation, migration in product(Kind, Operation, Migration)
        if risk_of(kind, operation, migration) is Risk.DESTRUCTIVE
    }
    assert found == {(Kind.GRAPH, Operation.DELETE), (Kind.SCHEMA, Operation.DELETE)}


@pytest.mark.parametrize("migration", Migration)
def test_a_schema_change_is_as_risky_as_its_steps(migration: Migration) -> None:
    is_safe = migration in (Migration.NONE, Migration.SAFE)
    assert risk_of(Kind.SCHEMA, Operation.UPDATE, migration) is (Risk.SAFE if is_safe else Risk.RISKY)


def test_every_outcome_leaves_a_status() -> None:
    assert set(STATUSES) == set(product(Disposition, Outcome))
    assert {status for (_, outcome), status in STATUSES.items() if outcome is Outcome.DONE} == {"applied"}
    assert {status for (_, outcome), status in STATUSES.items() if outcome is Outcome.FAILED} == {"error"}
