"""The rebase table: every combination of facts has exactly one decision, and the strictest of a plan wins."""

from dataclasses import replace
from itertools import product

import pytest

from omnigraph.core.commit import CommitKind, TableChange
from omnigraph.history.plan import WriteMode
from omnigraph.history.rebase import Decision, Movement, Rebase, decide, decide_read, decide_write, movements
from tests.unit.history.states import commit, plan, state, write

WRITTEN, READ, OTHER = "node:Written", "node:Read", "node:Other"
STRICTNESS = [Decision.REPUBLISH, Decision.RESTAGE, Decision.RECHECK, Decision.CONFLICT]

# label, decision, mode of the write (None: the table was only read), what happened to the table
TABLE = [
    ("untouched", Decision.REPUBLISH, list(WriteMode), Movement.NONE),
    ("same content, other files", Decision.RESTAGE, list(WriteMode), Movement.MAINTENANCE),
    ("added beside others", Decision.RESTAGE, [WriteMode.APPEND, WriteMode.UPSERT], Movement.LOGICAL),
    ("maintenance goes after the writers", Decision.RESTAGE, [WriteMode.REWRITE], Movement.LOGICAL),
    ("other columns for what is there", Decision.RESTAGE, [WriteMode.ALTER], Movement.LOGICAL),
    ("merged again with what is there", Decision.RESTAGE, [WriteMode.MERGE], Movement.LOGICAL),
    ("computed from the entity alone", Decision.RESTAGE, [WriteMode.ADJUST], Movement.LOGICAL),
    ("sealed again from its source", Decision.RESTAGE, [WriteMode.SEAL], Movement.LOGICAL),
    ("decided from what it read", Decision.RECHECK, [WriteMode.MODIFY], Movement.LOGICAL),
    (
        "replaces what it never saw",
        Decision.CONFLICT,
        [WriteMode.OVERWRITE, WriteMode.CREATE, WriteMode.DROP],
        Movement.LOGICAL,
    ),
    ("read, untouched", Decision.REPUBLISH, [None], Movement.NONE),
    ("read, same content", Decision.REPUBLISH, [None], Movement.MAINTENANCE),
    ("read, changed", Decision.RESTAGE, [None], Movement.LOGICAL),
]
OBSERVATIONS = list(product([*WriteMode, None], Movement))


def _expected(mode: WriteMode | None, movement: Movement) -> Decision:
    rows = [decision for _, decision, modes, moved in TABLE if mode in modes and moved is movement]
    assert len(rows) == 1, "exactly one row matches any observation"
    return rows[0]


def _since(key: str, movement: Movement) -> list:
    kinds = {Movement.NONE: None, Movement.MAINTENANCE: CommitKind.MAINTENANCE, Movement.LOGICAL: CommitKind.LOAD}
    kind = kinds[movement]
    return [] if kind is None else [commit("moved", TableChange(key, "", (1, 1, 0), (2, 2, 0)), kind=kind)]


@pytest.mark.parametrize(("mode", "movement"), OBSERVATIONS)
def test_every_observation_has_exactly_one_decision(mode: WriteMode | None, movement: Movement) -> None:
    decided = decide_read(movement) if mode is None else decide_write(mode, movement)
    assert decided is _expected(mode, movement)


@pytest.mark.parametrize(
    ("mode", "written", "read", "schema_moved", "is_schema_text"),
    list(product(WriteMode, Movement, Movement, [False, True], [False, True])),
)
def test_the_strictest_decision_of_a_plan_wins(
    mode: WriteMode, written: Movement, read: Movement, schema_moved: bool, is_schema_text: bool
) -> None:
    base = state(WRITTEN, READ, OTHER)
    current = replace(base, schema_digest="sha256:b") if schema_moved else base
    since = [*_since(WRITTEN, written), *_since(READ, read), *_since(OTHER, Movement.LOGICAL)]
    proposed = plan(base, write(WRITTEN, mode), reads=frozenset({READ}), new_schema="sha256:c")
    if is_schema_text:
        proposed = replace(proposed, info=replace(proposed.info, kind=CommitKind.SCHEMA))
    rebase = decide(current, since, proposed)
    schema = Decision.REPUBLISH
    if schema_moved:
        schema = Decision.CONFLICT if is_schema_text else Decision.RESTAGE
    single = {"schema": schema, WRITTEN: _expected(mode, written), READ: _expected(None, read)}
    strictest = max(single.values(), key=STRICTNESS.index)
    assert rebase.decision is strictest
    if strictest is not Decision.REPUBLISH:
        assert rebase.table is not None
        assert single[rebase.table] is strictest


def test_the_strictest_of_several_written_tables_wins() -> None:
    base = state(WRITTEN, OTHER)
    since = [*_since(WRITTEN, Movement.LOGICAL), *_since(OTHER, Movement.LOGICAL)]
    writes = (write(WRITTEN, WriteMode.OVERWRITE), write(OTHER, WriteMode.APPEND))
    for order in (writes, writes[::-1]):
        assert decide(base, since, plan(base, *order)) == Rebase(Decision.CONFLICT, WRITTEN)


def test_nothing_moved_means_the_same_versions_are_published() -> None:
    base = state(WRITTEN)
    assert decide(base, [], plan(base, write(WRITTEN))) == Rebase(Decision.REPUBLISH)


@pytest.mark.parametrize("kind", CommitKind)
def test_movement_is_judged_by_the_kind_of_the_commit(kind: CommitKind) -> None:
    change = TableChange(WRITTEN, "", (1, 1, 0), (2, 2, 0))
    expected = Movement.MAINTENANCE if kind is CommitKind.MAINTENANCE else Movement.LOGICAL
    assert movements([commit("c", change, kind=kind)]) == {WRITTEN: expected}


@pytest.mark.parametrize("maintenance_first", [False, True])
def test_one_logical_commit_among_maintenance_counts(maintenance_first: bool) -> None:
    commits = [*_since(WRITTEN, Movement.MAINTENANCE), *_since(WRITTEN, Movement.LOGICAL)]
    assert movements(commits if maintenance_first else commits[::-1]) == {WRITTEN: Movement.LOGICAL}


@pytest.mark.parametrize("is_merge", [False, True])
@pytest.mark.parametrize("others_merged", [False, True])
def test_a_merge_is_decided_again_after_another_merge_because_its_base_may_be_another(
    is_merge: bool, others_merged: bool
) -> None:
    base = state(WRITTEN)
    proposed = plan(base, write(WRITTEN, WriteMode.MERGE))
    if is_merge:
        proposed = replace(proposed, info=replace(proposed.info, merged_parents=("elsewhere",)))
    other = replace(commit("other"), parents=("c1", "x") if others_merged else ("c1",))
    expected = Decision.RESTAGE if is_merge and others_merged else Decision.REPUBLISH
    assert decide(base, [other], proposed).decision is expected
