"""Merges that meet writers: exactly the captured source is merged, and no concurrent write is lost."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from typing import Any

import pytest

import omnigraph
from omnigraph.errors import MergeConflicts
from omnigraph.write.merge import guarded as merge_module
from tests.features.merge.graphs import fresh, kinds, people, put
from tests.promises.protocol.graphs import edge, insert, names, reopen, run


def between(monkeypatch: pytest.MonkeyPatch, action: Callable[[], Any]) -> list[str]:
    """Do something once, after a merge was decided and before it is published."""
    done: list[str] = []
    decide = merge_module.decide_merge

    def decide_and_act(*arguments: Any) -> Any:
        decision = decide(*arguments)
        done.append(decision.target.head)
        if len(done) == 1:
            action()
        return decision

    monkeypatch.setattr(merge_module, "decide_merge", decide_and_act)
    return done


@pytest.fixture
def graph(tmp_path: Path) -> omnigraph.Graph:
    graph = fresh(tmp_path)
    put(graph, "ann", "b", age=5)
    put(graph, "cy", city="Ulm")
    return graph


@pytest.mark.parametrize("is_other_process", [False, True])
def test_a_write_to_the_target_meanwhile_is_merged_with(
    graph: omnigraph.Graph, monkeypatch: pytest.MonkeyPatch, is_other_process: bool
) -> None:
    other = reopen(graph) if is_other_process else graph
    decided = between(monkeypatch, lambda: put(other, "ann", city="Rome"))
    result = graph.merge("b")
    assert len(decided) == 2
    assert people(graph)["ann"] == {"age": 5, "city": "Rome"}
    assert result.commit is not None
    written = next(commit for commit in graph.commits(kind="mutation") if commit.branch == "main")
    assert result.commit.parents[0] == written.id


def test_a_write_to_the_target_that_conflicts_meanwhile_is_a_conflict(
    graph: omnigraph.Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = reopen(graph)
    between(monkeypatch, lambda: put(other, "ann", age=77))
    with pytest.raises(MergeConflicts) as raised:
        graph.merge("b")
    assert kinds(raised.value.conflicts) == [("divergent_update", "ann", "age")]  # type: ignore[arg-type] # they are
    assert people(graph)["ann"] == {"age": 77}


def test_a_node_deleted_meanwhile_makes_an_orphan(graph: omnigraph.Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    graph.load([edge("Knows", "ann", "dan", "new")], branch="b")
    other = reopen(graph)
    between(monkeypatch, lambda: run(other, 'delete Person where name = "dan"'))
    with pytest.raises(MergeConflicts, match="orphan_edge"):
        graph.merge("b")


WIDER = ("age: I64?", "age: I64? more: I64?")
NARROWER = ("edge WorksAt: Person -> Firm @card(0..1)", "")


@pytest.mark.parametrize(
    "meanwhile",
    [
        lambda other: other.optimize(),
        lambda other: other.optimize("b"),
        lambda other: other.cleanup(keep=1),
        lambda other: other.delete_branch("b"),
        lambda other: other.rename_branch("b", "c"),
        lambda other: other.merge("main", "b"),
        lambda other: other.apply_schema(other.schema_text().replace(*WIDER)),
        lambda other: other.apply_schema(other.schema_text().replace(*NARROWER)),
        lambda other: other.apply_schema(other.schema_text().replace(*WIDER), branch="b"),
    ],
    ids=["optimize", "optimize source", "cleanup", "delete", "rename", "merge back", "widen", "drop", "widen source"],
)
def test_what_changes_no_entity_meanwhile_changes_no_merge(
    graph: omnigraph.Graph, monkeypatch: pytest.MonkeyPatch, meanwhile: Callable[[omnigraph.Graph], Any]
) -> None:
    other = reopen(graph)
    between(monkeypatch, lambda: meanwhile(other))
    graph.merge("b")
    assert (people(graph)["ann"], people(graph)["cy"]) == ({"age": 5}, {"age": 1, "city": "Ulm"})
    assert graph.verify(deep=True).is_clean


def test_a_write_elsewhere_meanwhile_costs_no_second_decision(
    graph: omnigraph.Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = reopen(graph)
    decided = between(monkeypatch, lambda: run(other, 'insert Firm {title: "globex"}'))
    graph.merge("b")
    assert len(decided) == 1
    assert graph.snapshot().counts()["node:Firm"] == 2


def test_a_write_to_the_source_meanwhile_is_left_for_the_next_merge(
    graph: omnigraph.Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    captured = graph.snapshot("b").commit_id
    other = reopen(graph)
    between(monkeypatch, lambda: put(other, "bo", "b", age=9))
    result = graph.merge("b")
    assert result.source_head == captured
    assert people(graph)["bo"] == {"age": 1}
    graph.merge("b")
    assert people(graph)["bo"] == {"age": 9}


def test_the_same_merge_made_by_another_meanwhile_is_found(
    graph: omnigraph.Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = reopen(graph)
    between(monkeypatch, lambda: other.merge("b"))
    graph.merge("b")
    ids = [commit.id for commit in graph.commits()]
    assert len(ids) == len(set(ids)), "the same commits were brought twice"
    assert people(graph)["ann"] == {"age": 5}


def test_merges_and_writers_at_once_lose_nothing(tmp_path: Path) -> None:
    graph = fresh(tmp_path)
    workers, rounds = 4, 4
    for number in range(workers):
        graph.create_branch(f"w{number}")
    barrier = Barrier(2 * workers)

    def merging(number: int) -> None:
        handle = reopen(graph) if number % 2 else graph
        barrier.wait(60)
        for turn in range(rounds):
            insert(handle, f"w{number}-{turn}", branch=f"w{number}")
            handle.merge(f"w{number}")

    def writing(number: int) -> None:
        handle = reopen(graph) if number % 2 else graph
        barrier.wait(60)
        for turn in range(rounds):
            insert(handle, f"m{number}-{turn}")

    with ThreadPoolExecutor(2 * workers) as pool:
        tasks = [pool.submit(work, number) for number in range(workers) for work in (merging, writing)]
        for task in tasks:
            task.result()
    again = reopen(graph)
    expected = {f"{kind}{n}-{turn}" for kind in "wm" for n in range(workers) for turn in range(rounds)}
    assert expected <= set(names(again))
    assert len(names(again)) == len(expected) + 4
    ids = [commit.id for commit in again.commits()]
    assert len(ids) == len(set(ids))
    assert again.verify(deep=True).is_clean
