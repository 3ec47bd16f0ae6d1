"""Statements behind a match over several types change the entities of every type."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import omnigraph
from omnigraph.errors import CompileError, ViolationError
from tests.features.exec.test_several_types import RECORDS, SCHEMA


@pytest.fixture
def graph(tmp_path: Path) -> omnigraph.Graph:
    made = omnigraph.create(tmp_path / "g", SCHEMA, durability="os")
    made.load(RECORDS, "append")
    return made


def texts(graph: omnigraph.Graph) -> dict[tuple[str, str], str]:
    rows = graph.query("match { $m: Message } return { type($m) as t, id($m) as i, $m.text as x }").to_dicts()
    return {(row["t"], row["i"]): row["x"] for row in rows}


def changed(graph: omnigraph.Graph, text: str) -> list[tuple[Any, ...]]:
    """The returned rows of a mutation, which are those of its preview."""
    preview = graph.mutate_preview(text)
    result = graph.mutate(text)
    assert result.returned is not None
    assert preview.returned is not None
    assert preview.returned.rows == result.returned.rows
    return sorted(tuple(row.values()) for row in result.returned.rows)


def test_an_update_changes_nodes_of_every_type(graph: omnigraph.Graph) -> None:
    before = texts(graph)
    update = "update $m set { text: upper(text), likes: coalesce(likes, 0) + 1 } returning { id, text, likes }"
    assert changed(graph, f"match {{ $m: Message $m.likes > 0 }} {update}") == [
        ("7", "HELLO WORLD", 4),
        ("7", "WORLD FOX", 6),
    ]
    seven = {key: text.upper() for key, text in before.items() if key[1] == "7"}
    assert texts(graph) == {**before, **seven}


def test_a_condition_narrows_the_statement_of_every_type(graph: omnigraph.Graph) -> None:
    text = 'match { $m: Message } update $m set { text: "short" } where length(text) < 6 returning { id }'
    assert changed(graph, text) == [("8",), ("9",)]
    assert texts(graph)["Post", "8"] == texts(graph)["Comment", "9"] == "short"
    assert texts(graph)["Post", "7"] == "hello world"


def test_a_delete_takes_nodes_of_every_type_with_their_edges(graph: omnigraph.Graph) -> None:
    text = 'match { $m: Message $m.text contains "fox" } delete $m returning { id, text }'
    assert changed(graph, text) == [("7", "world fox"), ("8", "a fox")]
    assert set(texts(graph)) == {("Post", "7"), ("Comment", "9")}
    left = graph.query("match { $x <$e> $y } return { type($e) as e, count(distinct id($e)) as n } order { e }")
    assert [tuple(row.values()) for row in left.to_dicts()] == [("Knows", 1), ("Said", 1), ("Tagged", 1), ("Wrote", 1)]


def test_edges_of_any_type_are_deleted(graph: omnigraph.Graph) -> None:
    text = 'match { $p: Person { name: "Ann" } $p <$e> $x } delete $e returning { id }'
    assert changed(graph, text) == [("k1",), ("s2",), ("w1",)]
    assert graph.query("match { $x <$e> $y } return { count(distinct id($e)) as n }").to_dicts() == [{"n": 4}]


def test_several_statements_run_one_after_the_other(graph: omnigraph.Graph) -> None:
    text = """match { $p: Person $p <$e> $m $m: Message }
        update $m set { text: $p.name + type($m) }
        update $p set { age: coalesce(age, 0) + 1 } returning { name, age }
        delete $e"""
    assert changed(graph, text) == [("Ann", 31), ("Bob", 1)]
    assert texts(graph) == {
        ("Post", "7"): "AnnPost",
        ("Post", "8"): "BobPost",
        ("Comment", "7"): "BobComment",
        ("Comment", "9"): "AnnComment",
    }
    assert graph.query("match { $p: Person $p <$e> $m $m: Message } return { count(*) as n }").to_dicts() == [{"n": 0}]


def test_the_type_of_a_row_is_a_value_of_inserts(graph: omnigraph.Graph) -> None:
    text = "match { $m: Message } insert Tag { name: type($m) + id($m) } returning { name }"
    assert changed(graph, text) == [("Comment7",), ("Comment9",), ("Post7",), ("Post8",)]


def test_rows_of_two_types_that_disagree_are_a_violation(graph: omnigraph.Graph) -> None:
    with pytest.raises(ViolationError, match="by two rows"):
        graph.mutate('match { $c: Comment { mood: "glad" } $m: Message } update $c set { text: type($m) }')


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("match { $m: Message $m.title is null } delete $m", "T6"),
        ('match { $m: Message } update $m set { title: "x" }', "T11"),
        ('match { $m: Message } update $m set { text: "x", likes: "x" }', "T3"),
        ("match { $m: Message } insert Wrote { from: $m, to: $m }", "T5"),
    ],
)
def test_what_not_every_type_has_is_refused_once(graph: omnigraph.Graph, text: str, code: str) -> None:
    with pytest.raises(CompileError) as raised:
        graph.mutate(text)
    assert {item.code for item in raised.value.diagnostics} == {code}  # type: ignore[attr-defined] # of the compiler
