"""Section 5: search functions on scanned and on traversed variables, always after all other conditions."""

import math
from typing import Any

import pytest

from omnigraph.errors import InputError
from tests.features.exec.people import People


def found(people: People, match: str, params: str = "", **values: Any) -> str:
    return people.names(match, "$d", params, **values)


@pytest.mark.parametrize("function", ["search", "match_text"])
@pytest.mark.parametrize(
    ("query", "titles"),
    [
        ("fox", "d1 d2"),
        ("FOXES", "d1 d2"),  # lower case, stemmed
        ("dog graph", "d3 d4"),  # any of the words
        ("quick", "d1 d4"),
        ("the", ""),  # a word that says nothing
        ("", ""),
        ("nothing", ""),
        ("fo", ""),  # whole words
    ],
)
def test_search_finds_texts_with_one_of_the_words(people: People, function: str, query: str, titles: str) -> None:
    assert found(people, f"$d: Doc {function}($d.body, $q)", "$q: String", q=query) == titles


def test_a_text_that_is_null_neither_matches_nor_fails_to(people: People) -> None:
    assert found(people, '$d: Doc search($d.body, "fox") = false') == "d3 d4"
    assert found(people, '$d: Doc (search($d.body, "fox")) is null') == "d5"
    assert found(people, "$d: Doc search($d.body, $q)", "$q: String?") == ""
    assert found(people, "$d: Doc search($d.body, $q) = false", "$q: String?") == ""


def test_several_searches_must_all_hold(people: People) -> None:
    assert found(people, '$d: Doc search($d.body, "fox") search($d.body, "quick")') == "d1"
    assert found(people, '$d: Doc search($d.body, "dog") or search($d.body, "graph")') == "d3 d4"


def test_search_on_a_reached_variable(people: People) -> None:
    match = '$p: Person { name: "Bob" } $p wrote $d search($d.body, "fox")'
    assert people.rows(match, "$p, $d") == [("Bob", "d2")]
    assert people.names('$p: Person not { $p wrote $d search($d.body, "fox") }') == "Cid Dan Eve"
    assert people.rows('$p: Person { name: "Bob" } maybe { $p wrote $d search($d.body, "quick") }', "$p, $d") == [
        ("Bob", None)
    ]


@pytest.mark.parametrize(
    ("query", "edits", "titles"),
    [("fix", 1, "d1 d2"), ("fix", 0, ""), ("gaph", 1, "d4"), ("gaph", None, ""), ("fox", 10, "d1 d2 d3 d4")],
)
def test_fuzzy_allows_edits_in_each_word(people: People, query: str, edits: int | None, titles: str) -> None:
    assert found(people, "$d: Doc fuzzy($d.body, $q, $n)", "$q: String, $n: I32?", q=query, n=edits) == titles


def test_fuzzy_compares_words_in_lower_case_and_by_their_stem_as_search_does(made: Any) -> None:
    titles = ["Introduction to Machine Learning", "learning", "Stones", "the end"]
    graph = made("node D { t: String @key }", [{"type": "D", "data": {"t": title}} for title in titles])

    def titled(query: str, edits: int) -> list[str]:
        rows = People(graph).rows("$d: D fuzzy($d.t, $q, $n)", "$d.t", "", "$q: String, $n: I32", q=query, n=edits)
        return [title for (title,) in rows]

    assert titled("Introduction", 1) == ["Introduction to Machine Learning"]
    assert titled("lerning", 2) == ["Introduction to Machine Learning", "learning"]
    assert titled("STOMES", 1) == ["Stones"]
    assert titled("The", 2) == [], "a word that every text has is not looked for"
    for query in ("Introduction", "LEARNING", "stoned end", "the"):
        searched = People(graph).rows("$d: D search($d.t, $q)", "$d.t", "", "$q: String", q=query)
        assert titled(query, 0) == [title for (title,) in searched]


def test_fuzzy_allows_two_edits_unless_told(people: People) -> None:
    assert found(people, '$d: Doc fuzzy($d.body, "quack")') == found(people, '$d: Doc fuzzy($d.body, "quack", 2)')


@pytest.mark.parametrize("edits", [-1, 11, 2**62])
def test_edits_out_of_bounds_are_an_error(people: People, edits: int) -> None:
    with pytest.raises(InputError):
        found(people, "$d: Doc fuzzy($d.body, $q, $n)", "$q: String, $n: I64", q="fox", n=edits)


def test_fuzzy_finds_every_similar_word(made: Any) -> None:
    words = [f"quer{first}{second}" for first in "bcdfghjklm" for second in "bcdfghjklm"]
    graph = made("node D { t: String @key }", [{"type": "D", "data": {"t": word}} for word in words])
    assert len(People(graph).rows('$d: D fuzzy($d.t, "querxx", 2)', "$d")) == 100


# --- rankings --------------------------------------------------------------------------------------------


def test_bm25_orders_by_relevance_and_keeps_what_matches(people: People) -> None:
    found = people.rows("$d: Doc", '$d, bm25($d.body, "fox") as s', 'order { bm25($d.body, "fox") asc }')
    assert [title for title, _ in found] == ["d2", "d1"]
    assert found[0][1] > found[1][1] > 0


def test_a_score_that_only_is_shown_keeps_all_rows(people: People) -> None:
    found = people.rows("$d: Doc", '$d, bm25($d.body, "fox"), nearest($d.vec, [0.0, 0.0])')
    assert [(title, score is None, distance) for title, score, distance in found] == [
        ("d1", False, 0.0),
        ("d2", False, 5.0),
        ("d3", True, 1.0),
        ("d4", True, None),
        ("d5", True, 1.0),
    ]


def test_nearest_orders_by_distance_without_rows_that_have_no_vector(people: People) -> None:
    found = people.rows("$d: Doc", "$d", "order { nearest($d.vec, [0.0, 0.0]) } limit 9")
    assert found == [("d1",), ("d3",), ("d5",), ("d2",)], "ties by id"
    assert people.rows("$d: Doc", "$d", "order { nearest($d.vec, $v) } limit 1", "$v: Vector(2)", v=[3, 3]) == [("d2",)]


def test_conditions_come_before_the_nearest_are_chosen(people: People) -> None:
    found = people.rows('$d: Doc $d.title > "d1"', "$d", "order { nearest($d.vec, [0.0, 0.0]) } limit 1")
    assert found == [("d3",)]
    match = '$p: Person { name: "Bob" } $p wrote $d'
    assert people.rows(match, "$d", "order { nearest($d.vec, [0.0, 0.0]) } limit 1") == [("d5",)]


def test_a_null_vector_ranks_nothing(people: People) -> None:
    assert people.rows("$d: Doc", "$d", "order { nearest($d.vec, $v) } limit 9", "$v: Vector(2)?") == []


def test_rankings_on_a_reached_variable_keep_the_fan_out(people: People) -> None:
    found = people.rows("$p: Person $p wrote $d", "$p, $d", "order { nearest($d.vec, [3.0, 4.0]) } limit 3")
    assert found == [("Ann", "d2"), ("Bob", "d2"), ("Bob", "d5")]


def test_rrf_adds_reciprocal_ranks(people: People) -> None:
    fused = 'rrf(bm25($d.body, "fox"), nearest($d.vec, [0.0, 0.0]))'
    found = people.rows("$d: Doc", f"$d, {fused} as s", f"order {{ {fused} }} limit 9")
    # bm25: d2, d1; nearest: d1, d3, d5, d2. d4 is in neither.
    wanted = {"d1": 1 / 62 + 1 / 61, "d2": 1 / 61 + 1 / 64, "d3": 1 / 62, "d5": 1 / 63}
    assert [title for title, _ in found] == sorted(wanted, key=lambda title: -wanted[title])
    assert all(math.isclose(score, wanted[title]) for title, score in found)


def test_rrf_ranks_entities_not_rows(people: People) -> None:
    fused = 'rrf(nearest($d.vec, [3.0, 4.0]), bm25($d.body, "fox"), 1)'
    found = people.rows("$p: Person $p wrote $d", f"$p, $d, {fused}", f"order {{ {fused} }} limit 9")
    scores = {title: score for _, title, score in found}
    # nearest: d2, d5, d1 (d2 has two rows and one rank); bm25: d2, d1.
    assert scores == {"d2": 1 / 2 + 1 / 2, "d1": 1 / 4 + 1 / 3, "d5": 1 / 3}
    assert [(name, title) for name, title, _ in found][:2] == [("Ann", "d2"), ("Bob", "d2")]


def test_rrf_fuses_three_rankings(people: People) -> None:
    fused = 'rrf(bm25($d.body, "fox"), bm25($d.title, "d3"), nearest($d.vec, [0.0, 1.0]), 1)'
    assert people.rows("$d: Doc", "$d", f"order {{ {fused} }} limit 1") == [("d3",)]


def test_an_empty_table_has_nothing_to_find(made: Any) -> None:
    ask = People(made("node D { t: String @key v: Vector(2)? }", [])).rows
    assert ask('$d: D search($d.t, "x")', "$d") == []
    assert ask("$d: D", "$d", 'order { bm25($d.t, "x") }') == []
    assert ask("$d: D", "$d", "order { nearest($d.v, [1.0, 2.0]) } limit 1") == []
    assert ask("$d: D", "$d", 'order { rrf(bm25($d.t, "x"), nearest($d.v, [1.0, 2.0])) } limit 1') == []


def test_a_column_of_nulls_has_nothing_to_find(made: Any) -> None:
    ask = People(made("node D { k: String @key t: String? v: Vector(2)? }", [{"type": "D", "data": {"k": "a"}}])).rows
    assert ask('$d: D fuzzy($d.t, "x")', "$d") == []
    assert ask("$d: D", '$d, bm25($d.t, "x"), nearest($d.v, [1.0, 2.0])') == [("a", None, None)]


def test_searches_see_the_rows_of_their_commit(made: Any) -> None:
    graph = made("node D { k: String @key t: String? }", [{"type": "D", "data": {"k": "a", "t": "old words"}}])
    before = graph.snapshot().commit_id
    text = "query q($q: String) { match { $d: D search($d.t, $q) } return { $d } }"
    assert len(graph.query(text, {"q": "old"})) == 1
    graph.mutate('query q() { update D set { t: "fresh text" } where k = "a" }')
    for where, hits in (({}, (0, 1)), ({"at": before}, (1, 0))):
        assert tuple(len(graph.query(text, {"q": word}, **where)) for word in ("old", "fresh")) == hits
