"""Patterns over interfaces, any type and any edge, and entities as values."""

from __future__ import annotations

from typing import Any

import pytest

from omnigraph.engine.graph import Graph, create
from omnigraph.errors import CompileError

SCHEMA = """
interface Message { text: String  likes: I32? }
node Person { name: String @key  age: I32? }
node Post implements Message { title: String?  photo: Blob? }
node Comment implements Message { mood: String? }
node Tag { name: String @key }
edge Wrote: Person -> Post
edge Said: Person -> Comment { at: Date? }
edge Replies: Comment -> Post
edge Knows: Person -> Person
edge Tagged: Post -> Tag
"""


def node(kind: str, **data: Any) -> dict[str, Any]:
    return {"type": kind, "data": data}


def edge(kind: str, source: str, target: str, **data: Any) -> dict[str, Any]:
    return {"edge": kind, "from": source, "to": target, "data": data}


# A post and a comment share the id 7.
RECORDS = [
    node("Person", name="Ann", age=30),
    node("Person", name="Bob"),
    node("Post", id="7", text="hello world", likes=3, title="A"),
    node("Post", id="8", text="a fox"),
    node("Comment", id="7", text="world fox", likes=5, mood="glad"),
    node("Comment", id="9", text="x"),
    node("Tag", name="t"),
    edge("Wrote", "Ann", "7", id="w1"),
    edge("Wrote", "Bob", "8", id="w2"),
    edge("Said", "Bob", "7", at="2020-01-01", id="s1"),
    edge("Said", "Ann", "9", id="s2"),
    edge("Replies", "7", "7", id="r1"),
    edge("Knows", "Ann", "Bob", id="k1"),
    edge("Tagged", "7", "t", id="t1"),
]


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Graph:
    made = create(tmp_path_factory.mktemp("types") / "g", SCHEMA, durability="os")
    made.load(RECORDS, "append")
    return made


def rows(graph: Graph, text: str) -> list[tuple[Any, ...]]:
    return [tuple(row.values()) for row in graph.query(text).to_dicts()]


def test_an_entity_has_id_type_and_all_properties_but_blobs(graph: Graph) -> None:
    [(post,)] = rows(graph, 'match { $p: Post { title: "A" } } return { $p.* }')
    assert post == {"id": "7", "type": "Post", "likes": 3, "text": "hello world", "title": "A"}


def test_an_edge_as_an_entity_has_its_ends(graph: Graph) -> None:
    [(said,)] = rows(graph, 'match { $p: Person { name: "Bob" } $p $e: said $c } return { $e.* }')
    assert said == {"id": "s1", "type": "Said", "from": "Bob", "to": "7", "at": said["at"]}


def test_an_entity_that_maybe_did_not_find_is_null(graph: Graph) -> None:
    text = "match { $p: Person maybe { $p knows $q } } return { $p.name, $q.* as q } order { $p.name }"
    assert [(name, q and q["id"]) for name, q in rows(graph, text)] == [("Ann", "Bob"), ("Bob", None)]


def test_entities_group_rows(graph: Graph) -> None:
    text = "match { $p: Person $p <$e> $other } return { $p.*, count(*) as n } order { n desc }"
    assert [(p["id"], n) for p, n in rows(graph, text)] == [("Ann", 3), ("Bob", 3)]


def test_an_interface_matches_every_type_that_implements_it(graph: Graph) -> None:
    text = "match { $m: Message } return { type($m), id($m) } order { $m.text }"
    assert rows(graph, text) == [("Post", "8"), ("Post", "7"), ("Comment", "7"), ("Comment", "9")]


def test_a_node_of_an_interface_is_returned_with_its_type(graph: Graph) -> None:
    text = "match { $m: Message { likes: 5 } } return { $m }"
    assert rows(graph, text) == [({"id": "7", "type": "Comment", "likes": 5, "text": "world fox"},)]


def test_equal_ids_of_different_types_are_different_nodes(graph: Graph) -> None:
    assert rows(graph, "match { $m: Message } return { count(distinct $m), count(*) as n }") == [(4, 4)]
    text = "match { $m: Message } return { $m, count(*) as n } having { n > 1 }"
    assert rows(graph, text) == []


def test_aggregates_order_and_limit_apply_to_all_types_together(graph: Graph) -> None:
    assert rows(graph, "match { $m: Message } return { sum($m.likes), max($m.text) }") == [(8.0, "x")]
    text = "match { $m: Message } return { id($m), $m.likes } order { $m.likes desc } limit 1 offset 1"
    assert rows(graph, text) == [("7", 3)]


def test_search_and_ranking_work_over_an_interface(graph: Graph) -> None:
    text = 'match { $m: Message search($m.text, "fox") } return { type($m) as t } order { t }'
    assert rows(graph, text) == [("Comment",), ("Post",)]
    ranked = 'match { $m: Message } return { type($m) } order { bm25($m.text, "fox") } limit 5'
    assert sorted(rows(graph, ranked)) == [("Comment",), ("Post",)]


def test_an_edge_reaches_the_types_that_are_its_ends(graph: Graph) -> None:
    assert rows(
        graph, "match { $p: Person $p said $m $m: Message } return { type($m) as t, id($m) as i } order { i }"
    ) == [
        ("Comment", "7"),
        ("Comment", "9"),
    ]
    # Followed as written: the message is replied to.
    assert rows(graph, "match { $m: Message $c replies $m } return { type($m) as m, type($c) as c }") == [
        ("Post", "Comment")
    ]


def test_any_edge_connects_in_either_direction(graph: Graph) -> None:
    text = "match { $x <$e> $y } return { type($e) as e, type($x) as x, count(*) as n } order { e, x }"
    assert rows(graph, text) == [
        ("Knows", "Person", 2),
        ("Replies", "Comment", 1),
        ("Replies", "Post", 1),
        ("Said", "Comment", 2),
        ("Said", "Person", 2),
        ("Tagged", "Post", 1),
        ("Tagged", "Tag", 1),
        ("Wrote", "Person", 2),
        ("Wrote", "Post", 2),
    ]


def test_an_edge_of_any_type_is_an_entity_with_the_types_of_its_ends(graph: Graph) -> None:
    text = 'match { $p: Person { name: "Ann" } $p <$e> $x } return { $e.* as e } order { e }'
    ends = {"from": "Ann", "from_type": "Person"}
    assert [edge for (edge,) in rows(graph, text)] == [
        {"id": "k1", "type": "Knows", **ends, "to": "Bob", "to_type": "Person"},
        {"id": "s2", "type": "Said", **ends, "to": "9", "to_type": "Comment"},
        {"id": "w1", "type": "Wrote", **ends, "to": "7", "to_type": "Post"},
    ]
    text = "match { $c: Comment $c <$e> $x } return { $e.*, count(*) as n } having { n > 1 }"
    assert rows(graph, text) == []


def test_a_variable_without_a_type_matches_every_node(graph: Graph) -> None:
    text = "match { $x } return { type($x) as t, count(*) as n } having { n > 1 } order { t }"
    assert rows(graph, text) == [("Comment", 2), ("Person", 2), ("Post", 2)]


def test_negation_means_that_no_type_matches(graph: Graph) -> None:
    text = "match { $p: Person not { $m: Message $p <$e> $m $m.likes > 3 } } return { $p.name }"
    assert rows(graph, text) == [("Ann",)]
    assert rows(graph, "match { $m: Message not { $m: Post } } return { count(*) }") == [(2,)]


def test_a_second_binding_narrows_an_interface(graph: Graph) -> None:
    assert rows(graph, "match { $m: Message $m: Post } return { type($m), count(*) as n }") == [("Post", 2)]


def test_a_binding_in_a_block_narrows_an_interface_there(graph: Graph) -> None:
    block = '{ $m: Comment $m.mood = "glad" }'
    for clause, wanted in ((f"exists {block}", [("7",)]), (f"not {block}", [("7",), ("8",), ("9",)])):
        assert rows(graph, f"match {{ $m: Message {clause} }} return {{ id($m) }} order {{ id($m) }}") == wanted
    text = "match { $m: Message maybe { $m: Comment $m.mood is not null $p said $m } } return { $m.text, $p.name }"
    assert rows(graph, f"{text} order {{ $m.text }}") == [
        ("a fox", None),
        ("hello world", None),
        ("world fox", "Bob"),
        ("x", None),
    ]


@pytest.mark.parametrize(
    ("clauses", "number"),
    [
        ("$m: Message $n: Message $m = $n", 4),
        ("$m: Message $n: Message $m != $n", 12),
        ("$m: Message $n: Message not $m = $n", 12),
        ("$m: Message $n: Message $m != $n id($m) = id($n)", 2),
        ("$m: Post $n: Message $m != $n", 6),
        ("$m: Message exists { $n: Message $n != $m id($n) = id($m) }", 2),
        ("$x $y $x = $y", 7),
        ("$m: Message $x $x != $m", 24),
        ("$c: Comment maybe { $m: Message $c replies $m } $n: Message $m != $n", 3),
        ("$c: Comment maybe { $m: Message $c replies $m } $n: Message ($m = $n) is null", 4),
        ("$c: Comment maybe { $c replies $m } $n: Message $m != $n", 3),
        ("$m: Message maybe { $m tagged $t } $x $t = $x", 1),
        ("$m: Message maybe { $m tagged $t maybe { $p wrote $m } } $x $p != $x", 6),
    ],
)
def test_nodes_of_several_types_are_compared_by_type_and_id(graph: Graph, clauses: str, number: int) -> None:
    assert rows(graph, f"match {{ {clauses} }} return {{ count(*) }}") == [(number,)]


def test_types_that_exclude_each_other_are_named(graph: Graph) -> None:
    with pytest.raises(CompileError, match=r"`\$m` is bound to Message and Tag, and no node type is all of these"):
        graph.query("match { $m: Message $m: Tag } return { $m }")


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("match { $m: Message } return { $m.title }", "T6"),
        ("match { $p: Person $t: Tag $m: Message $p = $t } return { $m }", "T7"),
        ("match { $p: Person $p <$e> $x } return { $e.at }", "T6"),
        ("match { $p: Person $p <$e> $x } return { $e }", "T23"),
        ("match { $m: Message exists { $m: Post $m.mood is null } } return { $m }", "T6"),
        ('match { $m: Message { mood: "glad" } } return { $m }', "T2"),
        ("match { $x } return { $x.name }", "T6"),
        ("match { $m: Message $t: Tag $m knows $t } return { $m }", "T5"),
        ('match { $m: Message } return { $m } order { rrf(bm25($m.text, "a"), bm25($m.text, "b")) } limit 1', "T21"),
        ("match { $p: Person $p.* = 1 } return { $p }", "T6"),
    ],
)
def test_what_has_no_meaning_over_several_types_is_refused(graph: Graph, text: str, code: str) -> None:
    with pytest.raises(CompileError) as raised:
        graph.query(text)
    assert {item.code for item in raised.value.diagnostics} == {code}  # type: ignore[attr-defined] # as above


def test_the_plan_shows_the_patterns(graph: Graph) -> None:
    text = str(graph.explain("match { $m: Message } return { count(*) }"))
    assert "Union of 2 patterns" in text
    assert "Scan $m@1: Comment" in text
    assert "Scan $m@2: Post" in text


def test_a_maybe_block_over_several_types_gives_all_matches_or_one_null_row(graph: Graph) -> None:
    text = "match { $c: Comment maybe { $m: Message $c replies $m } } return { $c.text, $m.text } order { $c.text }"
    assert rows(graph, text) == [("world fox", "hello world"), ("x", None)]
