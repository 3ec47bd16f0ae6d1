"""Reverts and merges that others publish between: what they checked is checked again on what is there then."""

from pathlib import Path
from typing import Any

import pytest

import omnigraph
from omnigraph.errors import MergeConflicts
from omnigraph.write.merge import decide as merge
from omnigraph.write.merge import revert
from tests.promises.protocol.graphs import create, edge, insert, names, person, reopen, run


@pytest.fixture
def graph(tmp_path: Path) -> omnigraph.Graph:
    made = create(tmp_path)
    made.load([person("ann"), person("bo")])
    return made


def between(monkeypatch: pytest.MonkeyPatch, module: Any, name: str, act: Any) -> list[int]:
    """Let somebody act once, after something was decided and before it is published."""
    real = getattr(module, name)
    decided: list[int] = []

    def decide(*args: Any, **options: Any) -> Any:
        result = real(*args, **options)
        decided.append(1)
        if len(decided) == 1:
            act()
        return result

    monkeypatch.setattr(module, name, decide)
    return decided


def test_an_edge_that_is_added_while_its_node_is_reverted_is_a_conflict(
    graph: omnigraph.Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    undone = insert(graph, "cy").commit.id
    other = reopen(graph)
    between(monkeypatch, revert, "decide_sides", lambda: other.load([edge("Knows", "ann", "cy", "late")]))
    with pytest.raises(MergeConflicts, match="orphan_edge"):
        graph.revert(undone)
    assert names(graph) == ["ann", "bo", "cy"]


def test_a_node_that_is_deleted_while_its_edge_is_brought_back_is_a_conflict(
    graph: omnigraph.Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph.load([edge("Knows", "ann", "bo", "k")])
    run(graph, 'delete Knows where from = "ann"')
    undone = graph.snapshot().commit_id
    other = reopen(graph)
    between(monkeypatch, revert, "decide_sides", lambda: run(other, 'delete Person where name = "bo"'))
    with pytest.raises(MergeConflicts, match="orphan_edge"):
        graph.revert(undone)


@pytest.mark.parametrize("diverged", [False, True], ids=["fast forward", "three-way"])
def test_an_edge_that_is_added_while_its_node_is_merged_away_is_a_conflict(
    graph: omnigraph.Graph, monkeypatch: pytest.MonkeyPatch, diverged: bool
) -> None:
    graph.create_branch("b")
    run(graph, 'delete Person where name = "bo"', branch="b")
    if diverged:
        graph.load([{"type": "Note", "data": {"text": "meanwhile"}}])
    other = reopen(graph)
    between(monkeypatch, merge, "decide_sides", lambda: other.load([edge("Knows", "ann", "bo", "late")]))
    with pytest.raises(MergeConflicts, match="orphan_edge"):
        graph.merge("b")
    assert names(graph) == ["ann", "bo"]


def test_what_others_do_to_other_types_does_not_repeat_a_revert(
    graph: omnigraph.Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    undone = insert(graph, "cy").commit.id
    other = reopen(graph)
    meanwhile = [{"type": "Note", "data": {"text": "meanwhile"}}]
    decided = between(monkeypatch, revert, "decide_sides", lambda: other.load(meanwhile))
    graph.revert(undone)
    assert (names(graph), len(decided)) == (["ann", "bo"], 1)
    assert graph.snapshot().counts()["node:Note"] == 1


def test_several_stretches_are_decided_again_on_what_others_wrote(
    graph: omnigraph.Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    insert(graph, "x1", actor="bot")
    insert(graph, "cy", actor="ann")
    insert(graph, "x2", actor="bot")
    other = reopen(graph)
    decided = between(monkeypatch, revert, "decide_sides", lambda: insert(other, "dee"))
    graph.revert(actor="bot")
    assert names(graph) == ["ann", "bo", "cy", "dee"]
    assert len(decided) == 4
    assert graph.verify().is_clean
