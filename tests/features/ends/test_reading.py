"""Reads follow edges with several node types in both directions, over any number of hops and in every block."""

from __future__ import annotations

from pathlib import Path

import pytest

import omnigraph
from omnigraph.errors import CompileError
from tests.features.ends.graphs import LIKED, liked, made, rows

QUERIES = {
    "an end without a type": (
        "match { $p: Person $p likes $m } return { $p.name, type($m) as t, $m.content } order { t, $p.name }",
        [("ann", "Comment", "comment 1"), ("bob", "Comment", "comment 3"), ("ann", "Post", "post 1")],
    ),
    "one type of an end": ("match { $m: Post $p likes $m } return { $p.name, $m.slug }", [("ann", "1")]),
    "an interface at an end": (
        "match { $m: Message $p likes $m } return { $m.content } order { $m.content }",
        [("comment 1",), ("comment 3",), ("post 1",)],
    ),
    "written the other way round": (
        "match { $m: Comment $m likes $p } return { $m.slug, $p.name } order { $m.slug }",
        [("1", "ann"), ("3", "bob")],
    ),
    "pairs": ("match { $t: Tag $t rel $x } return { type($x), id($x) }", [("Post", "2")]),
    "the other pair": ("match { $p: Person $p rel $x } return { type($x), id($x) }", [("Tag", "t")]),
    "several hops": (
        'match { $c: Comment { slug: "4" } $c replyOf{1,5} $m } return { type($m) as t, id($m) as i } order { t, i }',
        [("Comment", "1"), ("Comment", "3"), ("Post", "1")],
    ),
    "exactly two hops": ('match { $c: Comment { slug: "4" } $c replyOf{2,2} $m } return { id($m) }', [("1",)]),
    "several hops to one type": (
        'match { $p: Post { slug: "1" } $c: Comment $c replyOf{1,9} $p } return { $c.slug } order { $c.slug }',
        [("1",), ("3",), ("4",)],
    ),
    "a shortest path": (
        'match { $p: Post { slug: "1" } $c: Comment { slug: "4" } $c $w: shortest replyOf $p } '
        "return { $w.length, $w.nodes }",
        [(3, ["4", "3", "1", "1"])],
    ),
    "both directions": (
        'match { $a: Comment { slug: "1" } $a <replyOf> $b } return { type($b) as t, id($b) } order { t }',
        [("Comment", "3"), ("Post", "1")],
    ),
    "not": ("match { $p: Person not { $m: Post $p likes $m } } return { $p.name }", [("bob",)]),
    "not any": ("match { $m: Message not { $m hasTag $t } } return { $m.content } order { $m.content }", None),
    "maybe": (
        "match { $m: Message maybe { $m replyOf $x } } return { $m.content, type($x) } order { $m.content }",
        [("comment 1", "Post"), ("comment 3", "Comment"), ("comment 4", "Comment"), ("post 1", None), ("post 2", None)],
    ),
    "groups": (
        "match { $p: Person $p $l: likes $m } return { type($m) as t, count(*) as n, sum($l.at) } order { t }",
        [("Comment", 2, 2.0), ("Post", 1, 1.0)],
    ),
    "distinct nodes": (
        "match { $p: Person $p likes $m } return { count(distinct $m), count(*) as n }",
        [(3, 3)],
    ),
    "two edges in a row": (
        "match { $p: Person $p likes $m $m hasTag $t } return { $p.name, $t.name, type($m) }",
        [("bob", "t", "Comment")],
    ),
    "any edge": (
        'match { $p: Person { name: "bob" } $p <$e> $x } return { type($e), type($x), id($x) }',
        [("Likes", "Comment", "3")],
    ),
}


@pytest.mark.parametrize("name", QUERIES)
def test_a_pattern_over_several_ends_has_the_rows_of_all_types(known: omnigraph.Graph, name: str) -> None:
    text, wanted = QUERIES[name]
    if wanted is None:
        wanted = [("comment 1",), ("comment 4",), ("post 1",)]
    # Run more than once: later runs are compiled.
    for _ in range(3):
        assert rows(known, text) == wanted


def test_an_edge_as_an_entity_names_the_type_of_its_node(known: omnigraph.Graph) -> None:
    [(found,)] = rows(known, 'match { $p: Person { name: "bob" } $p $l: likes $m } return { $l.* }')
    assert found == {"id": "l3", "type": "Likes", "from": "bob", "to": "3", "to_type": "Comment", "at": None}


def test_nodes_of_one_id_and_different_types_have_their_own_edges(known: omnigraph.Graph) -> None:
    assert liked(known) == LIKED
    for kind, count in (("Post", 1), ("Comment", 1)):
        text = f'match {{ $m: {kind} {{ slug: "1" }} $p likes $m }} return {{ count(*) }}'
        assert rows(known, text) == [(count,)]


def test_a_type_that_an_edge_does_not_have_is_refused_with_its_ends(known: omnigraph.Graph) -> None:
    with pytest.raises(CompileError, match=r"`\$t` is a `Tag`, but `Likes` is declared as `Person -> Message`"):
        known.query("match { $t: Tag $p likes $t } return { $p.name }")


def test_explain_shows_the_types_of_a_walk(known: omnigraph.Graph) -> None:
    assert "binds $m@1: Comment" in str(
        known.explain("match { $p: Person $p likes $m } return { $p.name, $m.content }")
    )


def test_answers_stay_after_optimize_and_a_new_process(tmp_path: Path) -> None:
    graph = made(tmp_path / "g")
    graph.optimize()
    again = omnigraph.open(tmp_path / "g")
    assert liked(again) == LIKED
    assert again.verify(deep=True).is_clean
    text, wanted = QUERIES["several hops"]
    assert rows(again, text) == wanted
