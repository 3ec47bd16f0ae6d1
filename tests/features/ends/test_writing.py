"""Mutations over several ends: inserts find the type of a node or demand it, deletions take the right edges along."""

from __future__ import annotations

from pathlib import Path

import pytest

import omnigraph
from omnigraph.errors import CompileError, ViolationError
from tests.features.ends.graphs import LIKED, NODES, edge, liked, made, post, rows


def mutate(graph: omnigraph.Graph, statements: str) -> omnigraph.MutationResult:
    return graph.mutate(f"query q() {{ {statements} }}")


def test_an_end_is_named_by_type_and_id_or_by_an_id_that_one_type_has(graph: omnigraph.Graph) -> None:
    mutate(graph, 'insert Likes { from: "bob", to: { type: "Post", id: "1" } }')
    mutate(graph, 'insert Likes { from: "bob", to: "2" }')
    assert {row[1:] for row in liked(graph)} - {row[1:] for row in LIKED} == {
        ("bob", "Post", "1"),
        ("bob", "Post", "2"),
    }


REFUSED = {
    "an id of two types": (
        'insert Likes { from: "bob", to: "1" }',
        ViolationError,
        "dst '1' is the id of a Comment and of a Post: name the type",
    ),
    "an id of no type": ('insert Likes { from: "bob", to: "77" }', ViolationError, "'77' not found in Comment or Post"),
    "a missing node of a type": (
        'insert Likes { from: "bob", to: { type: "Post", id: "3" } }',
        ViolationError,
        "'3' not found in Post",
    ),
    "a type of another edge": (
        'insert Likes { from: "bob", to: { type: "Tag", id: "t" } }',
        CompileError,
        "`Tag` is no type at `to` of `Likes`",
    ),
    "a pair that is not connected": (
        'insert Rel { from: { type: "Person", id: "bob" }, to: { type: "Post", id: "1" } }',
        ViolationError,
        "Rel does not connect Person -> Post: its ends are Person -> Tag, Tag -> Post",
    ),
    "more edges than @card allows": (
        'insert ReplyOf { from: "3", to: { type: "Post", id: "1" } }',
        ViolationError,
        "source '3' has 2 edges",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_wrong_end_is_refused_and_nothing_is_written(known: omnigraph.Graph, name: str) -> None:
    statement, error, message = REFUSED[name]
    before = known.snapshot().commit_id
    with pytest.raises(error) as caught:
        mutate(known, statement)
    assert message in str(caught.value)
    assert known.snapshot().commit_id == before


def test_a_match_gives_nodes_of_several_types_to_an_insert(graph: omnigraph.Graph) -> None:
    mutate(graph, 'match { $c: Comment $c replyOf $m } insert Likes { from: "bob", to: $m, at: 9 }')
    text = "match { $p $l: likes $m $l.at = 9 } return { type($m) as t, id($m) as i } order { t, i }"
    assert rows(graph, text) == [("Comment", "1"), ("Comment", "3"), ("Post", "1")]


def test_a_deleted_node_takes_the_edges_of_its_type_alone(graph: omnigraph.Graph) -> None:
    result = mutate(graph, 'delete Comment where slug = "1"')
    assert (result.affected_nodes, result.affected_edges) == (1, 3)
    assert liked(graph) == [("l1", "ann", "Post", "1"), ("l3", "bob", "Comment", "3")]
    assert rows(graph, "match { $a replyOf $b } return { id($a), id($b) }") == [("4", "3")]


def test_where_reads_the_type_of_an_end(graph: omnigraph.Graph) -> None:
    mutate(graph, 'delete Likes where to_type = "Comment" and from = "ann"')
    assert [row[0] for row in liked(graph)] == ["l1", "l3"]


def test_an_update_of_edges_keeps_their_ends(graph: omnigraph.Graph) -> None:
    mutate(graph, 'match { $p: Person { name: "ann" } $p $l: likes $m } update $l set { at: 5 }')
    assert liked(graph)[:2] == [("l1", "ann", "Post", "1"), ("l2", "ann", "Comment", "1")]
    assert rows(graph, "match { $p $l: likes $m $l.at = 5 } return { count(*) }") == [(2,)]


def test_statements_of_one_mutation_see_nodes_of_earlier_ones(graph: omnigraph.Graph) -> None:
    mutate(graph, 'insert Comment { slug: "9" } insert Likes { from: "bob", to: "9" }')
    assert ("bob", "Comment", "9") in {row[1:] for row in liked(graph)}


def test_equal_ids_of_two_types_are_two_values_of_a_unique_end(tmp_path: Path) -> None:
    schema = f"{NODES} edge Pins: Person -> Message {{ @unique(src, dst) }}"
    graph = made(tmp_path / "g", schema, [{"type": "Person", "data": {"name": "ann"}}])
    mutate(graph, 'insert Post { slug: "1" } insert Comment { slug: "1" }')
    for kind in ("Post", "Comment"):
        mutate(graph, f'insert Pins {{ from: "ann", to: {{ type: "{kind}", id: "1" }} }}')
    with pytest.raises(ViolationError, match="unique"):
        mutate(graph, 'insert Pins { from: "ann", to: { type: "Post", id: "1" } }')
    with pytest.raises(ViolationError, match="unique"):
        graph.load([edge("Pins", "ann", post("1"))], "append")


def test_ends_with_types_are_a_key(tmp_path: Path) -> None:
    schema = f"{NODES} edge Rates: Person -> Message {{ stars: I32  @key(src, dst) }}"
    graph = made(tmp_path / "g", schema, [{"type": "Person", "data": {"name": "ann"}}])
    mutate(graph, 'insert Post { slug: "1" } insert Comment { slug: "1" }')
    for kind, stars in (("Post", 1), ("Comment", 2), ("Post", 3)):
        mutate(graph, f'insert Rates {{ from: "ann", to: {{ type: "{kind}", id: "1" }}, stars: {stars} }}')
    text = "match { $p $r: rates $m } return { type($m) as t, $r.stars } order { t }"
    assert rows(graph, text) == [("Comment", 2), ("Post", 3)]
