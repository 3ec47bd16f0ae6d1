"""Ends of edge types can be added and dropped; edges of dropped ends go, and all others keep their nodes."""

from __future__ import annotations

from pathlib import Path

import pytest

import omnigraph
from omnigraph.errors import CompileError
from tests.features.ends.graphs import LIKED, NODES, RECORDS, SCHEMA, edge, liked, made, rows

NARROW = f"{NODES} edge Likes: Person -> Post {{ at: I32? }}"
WIDE = f"{NODES} edge Likes: Person -> Message {{ at: I32? }}"


def test_an_added_end_keeps_the_edges_and_takes_new_ones(tmp_path: Path) -> None:
    graph = made(tmp_path / "g", NARROW, [*RECORDS[:8], edge("Likes", "ann", "1", id="l1")])
    plan = graph.plan_schema(WIDE)
    assert [type(step).__name__ for step in plan.steps] == ["ChangeEnds"]
    graph.apply_schema(WIDE)
    assert liked(graph) == LIKED[:1]
    graph.load([edge("Likes", "ann", {"type": "Comment", "id": "1"}, id="l2")], "append")
    assert liked(graph) == LIKED[:2]
    assert graph.verify(deep=True).is_clean


def test_a_dropped_end_drops_its_edges_and_history_keeps_them(graph: omnigraph.Graph) -> None:
    before = graph.snapshot().commit_id
    graph.apply_schema(SCHEMA.replace("Person -> Message", "Person -> Post"))
    text = "match { $p $l: likes $m } return { id($l), type($m) }"
    assert rows(graph, text) == [("l1", "Post")]
    assert liked(graph, at=before) == LIKED
    assert graph.verify(deep=True).is_clean


def test_a_new_type_of_an_interface_is_a_new_end(graph: omnigraph.Graph) -> None:
    graph.apply_schema(f"{SCHEMA} node Photo implements Message {{ slug: String @key }}")
    graph.load([{"type": "Photo", "data": {"slug": "p"}}, edge("Likes", "bob", "p", id="l4")], "append")
    assert liked(graph) == [*LIKED, ("l4", "bob", "Photo", "p")]


def test_a_renamed_type_keeps_its_edges(graph: omnigraph.Graph) -> None:
    graph.apply_schema(
        SCHEMA.replace("node Post implements", 'node Article @rename_from("Post") implements')
        .replace("Post", "Article")
        .replace('"Article"', '"Post"')
    )
    assert liked(graph)[0] == ("l1", "ann", "Article", "1")
    graph.load([edge("Likes", "bob", {"type": "Article", "id": "2"}, id="l4")], "append")
    assert liked(graph)[3:] == [("l4", "bob", "Article", "2")]


def test_the_schema_text_is_kept_and_formatted(known: omnigraph.Graph) -> None:
    assert "edge HasTag: Post | Comment -> Tag" in known.schema_text()
    assert known.catalog().edges["Rel"].pairs == (("Person", "Tag"), ("Tag", "Post"))


@pytest.mark.parametrize(
    ("ends", "code"),
    [
        ("Person -> Nothing", "S106"),
        ("Person | Nothing -> Post", "S106"),
        ("Message -> ", ""),
        ("Person -> | Post", ""),
    ],
)
def test_an_end_that_is_no_type_is_refused(tmp_path: Path, ends: str, code: str) -> None:
    with pytest.raises(CompileError, match=code or None):
        omnigraph.create(tmp_path / "g", f"{NODES} edge E: {ends}")
