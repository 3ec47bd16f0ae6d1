"""Maintenance that is put on a table which others changed while it was worked on."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest

import omnigraph
from omnigraph.core.tables import TablePin
from omnigraph.storage.index.indexes import IndexKind, IndexSpec
from omnigraph.storage.tables.store import Store
from omnigraph.storage.upkeep.maintenance import StagedWork, TableWork, stage_work, work_on
from omnigraph.write import limits
from omnigraph.write.upkeep import optimize
from omnigraph.write.upkeep.index_choice import wanted_indexes
from tests.features.maintenance.graphs import load_people, person, table, uncovered
from tests.support.tuning import tuned

Change = Callable[[omnigraph.Graph], object]


def pin_of(graph: omnigraph.Graph) -> TablePin:
    return graph.snapshot().state.tables["node:Person"]


def late(graph: omnigraph.Graph, change: Change, *, compact: bool = True) -> StagedWork | None:
    """Work on the people, let others change them, and put the work on what is there then."""
    specs = wanted_indexes(graph.catalog().nodes["Person"])
    work = work_on(graph._store, pin_of(graph), specs, compact=compact)
    assert not work.is_empty
    change(graph)
    return stage_work(graph._store, pin_of(graph), work)


def check(graph: omnigraph.Graph, staged: StagedWork) -> None:
    """The staged version holds the same rows, and every index gives the answer that a scan gives."""
    current = table(graph)
    dataset = graph._store.open(staged.version.location, staged.version.version)
    rows = {row["id"]: row for row in current.to_table().to_pylist()}
    assert {row["id"]: row for row in dataset.to_table().to_pylist()} == rows
    for value in (7, 42, 43, 150):
        condition = f"age = {value}"
        is_used = "ScalarIndexQuery" in dataset.scanner(filter=condition).explain_plan()
        assert is_used is any(item.segments for item in staged.coverage if item.spec.column == "age")
        found = dataset.to_table(filter=condition)["id"].to_pylist()
        assert sorted(found) == sorted(id_ for id_, row in rows.items() if row["age"] == value)
    for word in ("word7", "number42", "common", "fresh"):
        found = dataset.to_table(full_text_query=word, columns=["id"])["id"].to_pylist()
        assert sorted(found) == sorted(id_ for id_, row in rows.items() if word in (row["bio"] or "").split())
    for part in ("word7", "ber42", "resh"):
        condition = f"contains(bio, '{part}')"
        is_used = "ScalarIndexQuery" in dataset.scanner(filter=condition).explain_plan()
        assert is_used is any(item.segments for item in staged.coverage if item.spec.kind is IndexKind.NGRAM)
        found = dataset.to_table(filter=condition)["id"].to_pylist()
        assert sorted(found) == sorted(id_ for id_, row in rows.items() if part in (row["bio"] or ""))
    nearest = {"column": "look", "q": [7.0] * 4, "k": 10, "refine_factor": 10}
    indexed = dataset.to_table(nearest=nearest, columns=["id"])["_distance"].to_pylist()
    exact = dataset.to_table(nearest={**nearest, "use_index": False}, columns=["id"])["_distance"].to_pylist()
    assert indexed == exact


FOLD_NOTHING = ((0, 0),)
"""The fragments of these tests are so small that a writer would fold them, and nothing were left of the work."""


def nothing(graph: omnigraph.Graph) -> None:
    pass


def append(graph: omnigraph.Graph) -> None:
    graph.load([person(number, bio="fresh") for number in range(900, 920)], "append")


def update(graph: omnigraph.Graph) -> None:
    graph.load([person(42, age=150, bio="fresh", look=[7.0] * 4)], "merge")


def delete(graph: omnigraph.Graph) -> None:
    graph.mutate('query q() { delete Person where name = "p0142" }')


def delete_most(graph: omnigraph.Graph) -> None:
    graph.mutate('query q() { delete Person where name < "p0150" }')


@pytest.mark.parametrize("is_indexed", [False, True], ids=["unindexed", "indexed"])
@pytest.mark.parametrize("change", [nothing, append, update, delete, delete_most])
def test_what_others_left_alone_is_kept_and_answers_stay_right(
    graph: omnigraph.Graph, change: Change, is_indexed: bool
) -> None:
    graph = tuned(graph, ngram_index_rows_min=0, fold_tiers=FOLD_NOTHING)
    if is_indexed:
        graph.optimize(compact=False)
        load_people(graph, 300, 500)
        load_people(graph, 500, 620)
    staged = late(graph, change)
    assert staged is not None
    check(graph, staged)
    assert staged.built
    assert staged.is_whole is (change in (nothing, append))
    if staged.is_whole:
        assert staged.groups
        assert all(item.covered_rows >= 300 for item in staged.coverage)


def test_a_group_with_a_changed_fragment_is_dropped_and_what_names_rows_by_id_is_kept(graph: omnigraph.Graph) -> None:
    staged = late(graph, update)
    assert staged is not None
    assert staged.groups == ()
    for item in staged.coverage:
        # All but the row that was written anew; what names rows by address is lost with the new fragments.
        tail = item.rows if item.spec.kind is IndexKind.BTREE else 1
        assert item.rows - item.covered_rows == tail


def test_indexing_alone_survives_changes_of_its_fragments(graph: omnigraph.Graph) -> None:
    staged = late(graph, update, compact=False)
    assert staged is not None
    assert staged.is_whole
    assert {item.rows - item.covered_rows for item in staged.coverage} == {1}
    check(graph, staged)


def test_numbers_that_others_took_meanwhile_are_not_used(graph: omnigraph.Graph) -> None:
    graph = tuned(graph, fragment_numbers_ahead=1, fold_tiers=FOLD_NOTHING)
    staged = late(graph, append)
    assert staged is not None
    assert staged.groups == ()
    check(graph, staged)


def test_work_on_fragments_that_a_writer_folded_is_dropped(graph: omnigraph.Graph) -> None:
    assert late(graph, append) is None


def test_work_on_a_table_that_others_maintained_is_dropped(graph: omnigraph.Graph) -> None:
    assert late(graph, lambda graph: graph.optimize()) is None


def test_work_on_a_table_that_was_overwritten_is_dropped(graph: omnigraph.Graph) -> None:
    people = [person(number, bio="fresh") for number in range(300)]
    assert late(graph, lambda graph: graph.load(people, "overwrite")) is None


def test_compaction_alone_is_dropped_when_its_fragments_changed(graph: omnigraph.Graph) -> None:
    work = work_on(graph._store, pin_of(graph), [], compact=True)
    assert work.groups
    update(graph)
    assert stage_work(graph._store, pin_of(graph), work) is None


def test_a_table_that_others_never_leave_alone_is_skipped_with_the_reason(
    graph: omnigraph.Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    attempts = []

    def disturbed(store: Store, pin: TablePin, specs: Sequence[IndexSpec], **options: Any) -> TableWork:
        work = work_on(store, pin, specs, **options)
        if pin.key == "node:Person":
            attempts.append(pin.table_version)
            graph.load([person(len(attempts), age=100)], "merge")
        return work

    monkeypatch.setattr(optimize, "work_on", disturbed)
    result = graph.optimize(index=False)
    outcome = next(item for item in result.tables if item.key == "node:Person")
    assert len(attempts) == len(set(attempts)) == limits.OPTIMIZE_ATTEMPTS_MAX
    assert outcome.skipped == ("changed concurrently 3 times during maintenance; try again later",)
    assert (outcome.rows_rewritten, outcome.fragments_after) == (0, outcome.fragments_before)
    # The other table was not disturbed, and is done.
    assert [[change.key for change in commit.tables] for commit in result.commits] == [["edge:Knows"]]
    assert table(graph).to_table(filter="age = 100").num_rows == 3


def test_what_is_lost_to_a_writer_is_done_again(graph: omnigraph.Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    attempts = []

    def disturbed(store: Store, pin: TablePin, specs: Sequence[IndexSpec], **options: Any) -> TableWork:
        work = work_on(store, pin, specs, **options)
        if pin.key == "node:Person":
            attempts.append(pin.table_version)
            if len(attempts) == 1:
                update(graph)
        return work

    monkeypatch.setattr(optimize, "work_on", disturbed)
    result = graph.optimize()
    assert len(attempts) == 2
    assert len(result.commits) == 2
    assert uncovered(graph) == {}
    assert not any("changed concurrently" in repr(outcome.skipped) for outcome in result.tables)
