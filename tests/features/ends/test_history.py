"""Branches, merges, diffs, the feed and reverts of edges over several ends name nodes by type and id."""

from __future__ import annotations

from pathlib import Path

import pytest

import omnigraph
from omnigraph.errors import ConflictError, OmnigraphError
from tests.features.ends.graphs import LIKED, NODES, comment, edge, liked, made, post


def test_edges_of_both_sides_are_merged(graph: omnigraph.Graph) -> None:
    graph.create_branch("side")
    graph.load([edge("Likes", "bob", post("1"), id="l4")], "append", branch="side")
    graph.load([edge("Likes", "bob", comment("1"), id="l5")], "append")
    graph.merge("side")
    assert liked(graph) == [*LIKED, ("l4", "bob", "Post", "1"), ("l5", "bob", "Comment", "1")]
    assert graph.verify(deep=True).is_clean


def test_an_edge_to_a_node_that_the_other_side_deleted_is_a_conflict(graph: omnigraph.Graph) -> None:
    graph.create_branch("side")
    graph.load([edge("Likes", "bob", comment("1"), id="l4")], "append", branch="side")
    graph.mutate('query q() { delete Comment where slug = "1" }')
    with pytest.raises(ConflictError):
        graph.merge("side")
    assert [row[0] for row in liked(graph)] == ["l1", "l3"]


def test_the_post_of_the_same_id_does_not_conflict(graph: omnigraph.Graph) -> None:
    graph.create_branch("side")
    graph.load([edge("Likes", "bob", post("1"), id="l4")], "append", branch="side")
    graph.mutate('query q() { delete Comment where slug = "1" }')
    graph.merge("side")
    assert [row[0] for row in liked(graph)] == ["l1", "l3", "l4"]


def test_an_end_added_on_a_branch_is_merged_with_its_edges(tmp_path: Path) -> None:
    graph = made(tmp_path / "g", f"{NODES} edge Likes: Person -> Post", [])
    graph.mutate('query q() { insert Person { name: "ann" } insert Post { slug: "1" } insert Comment { slug: "1" } }')
    graph.create_branch("side")
    graph.apply_schema(f"{NODES} edge Likes: Person -> Message", branch="side")
    graph.load([edge("Likes", "ann", comment("1"), id="l2")], "append", branch="side")
    graph.load([edge("Likes", "ann", "1", id="l1")], "append")
    graph.merge("side")
    assert liked(graph) == LIKED[:2]
    assert graph.verify(deep=True).is_clean


def test_a_diff_and_the_feed_name_the_types_of_ends(graph: omnigraph.Graph) -> None:
    graph.load([edge("Likes", "bob", post("1"), id="l4")], "append")
    [change] = graph.diff("main~1", "main").changes()
    assert change.after is not None
    assert (change.after.source, change.after.target) == ("bob", post("1"))
    assert change.after.to_json()["endpoints"] == {"from": "bob", "to": post("1")}
    [block] = graph.changes("after:HEAD~1").blocks
    assert [item.after for item in block.changes] == [change.after]


def test_a_change_of_the_type_alone_is_a_change_of_the_end(graph: omnigraph.Graph) -> None:
    graph.load([edge("Likes", "ann", comment("1"), id="l1", at=1)], "merge")
    [change] = graph.diff("main~1", "main").changes()
    assert change.changed == ("dst",)
    assert liked(graph)[0] == ("l1", "ann", "Comment", "1")


def test_a_revert_brings_edges_back_to_their_nodes(graph: omnigraph.Graph) -> None:
    graph.mutate('query q() { delete Comment where slug = "1" }')
    graph.revert("HEAD")
    assert liked(graph) == LIKED


def test_both_sides_that_move_an_end_to_different_types_are_in_conflict(graph: omnigraph.Graph) -> None:
    graph.create_branch("side")
    graph.load([edge("Likes", "bob", post("1"), id="l3")], "merge", branch="side")
    graph.load([edge("Likes", "bob", comment("1"), id="l3")], "merge")
    with pytest.raises(OmnigraphError) as caught:
        graph.merge("side")
    assert "Post" in str(caught.value) or "conflict" in str(caught.value)
