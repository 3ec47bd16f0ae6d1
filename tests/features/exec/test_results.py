"""Sections 4.6 to 4.9 and 8: columns, aggregates, order, `now()`, and what a result looks like."""

import json
from datetime import UTC, date, datetime
from typing import Any

import pytest

from omnigraph.errors import InputError, NotFoundError, ParameterError, UsageError
from omnigraph.wire.results import result_json
from tests.features.exec.people import NOW_MS, People, person

# --- 4.6 projections -------------------------------------------------------------------------------------


def test_columns_are_called_after_what_they_show(people: People) -> None:
    returns = '$p, $p.name, $x, "a", [1, 2], now(), $p.age + 1, $p.age as years'
    result = people.ask('$p: Person { name: "Ann" }', returns, "", "$x: I32", {"x": 7})
    assert result.columns == ["p", "p.name", "x", "literal", "literal", "now", "expression", "years"]
    assert people.ask("$p: Person", "count($p), sum($p.age)").columns == ["p", "p.age"]
    assert people.ask("$p: Person", "count($p), sum($p.age)", "limit 0").columns == ["p", "p.age"]


def test_a_node_is_shown_as_its_id(people: People) -> None:
    assert people.rows("$c: Company", "$c") == [("Acme",), ("Void",), ("Zeta",)]


def test_expressions_are_values(people: People) -> None:
    match = '$p: Person { name: "Ann" }'
    returns = (
        '$p.age / 4, $p.age % 4, -$p.age, $p.age * 2 - 1, $p.nick is null, $p.age > 3 and $p.active, $p.nick = "a"'
    )
    assert people.rows(match, returns) == [(7.5, 2, -30, 59, True, True, None)]


def test_remainders_have_the_sign_of_the_dividend(people: People) -> None:
    match = '$p: Person { name: "Ann" }'
    assert people.rows(match, "(0 - $p.age) % 7, $p.age % (0 - 7), $p.score % 0.4, $p.age % 0") == [
        (-2, 2, 1.5 % 0.4, None)
    ]


def test_arithmetic_that_does_not_fit_is_an_error(people: People) -> None:
    for expression in ("$p.visits + 1", "$p.big * $p.big * $p.big", "0 - $p.visits"):
        with pytest.raises(InputError, match="does not fit I64"):
            people.ask('$p: Person { name: "Ann" }', expression)


def test_distinct_keeps_one_of_equal_rows(people: People) -> None:
    assert people.rows("$p: Person", "$p.age", "distinct") == [(20,), (25,), (30,), (None,)]
    assert len(people.rows("$p: Person", "$p.score", "distinct")) == 4, "zero has one sign"
    assert people.rows("$p: Person", "$p.tags", "distinct") == [(None,), (["x", "y"],), (["x"],), ([],)]


# --- 4.7 aggregates --------------------------------------------------------------------------------------


def test_aggregates_leave_nulls_out(people: People) -> None:
    returns = "count($p), count($p.age), sum($p.age), avg($p.age), min($p.nick), max($p.age), collect($p.nick)"
    (row,) = people.rows("$p: Person", returns)
    assert row[:6] == (5, 4, 105.0, 26.25, "", 30)
    assert sorted(row[6]) == ["", "O'Dan", "bb"]


def test_aggregates_over_nothing_give_one_row_without_keys_and_none_with(people: People) -> None:
    returns = "count($p), sum($p.age), avg($p.age), min($p.age), max($p.name), collect($p.name)"
    assert people.rows("$p: Person { age: 99 }", returns) == [(0, None, None, None, None, [])]
    assert people.rows("$p: Person { age: 99 }", "$p.age, count($p)") == []


def test_null_is_a_group_like_any_other(people: People) -> None:
    assert people.rows("$p: Person", "$p.age, count($p)") == [(20, 1), (25, 1), (30, 2), (None, 1)]


def test_distinct_aggregates_look_at_different_values(people: People) -> None:
    assert people.rows("$p: Person", "count(distinct $p.age), sum(distinct $p.age)") == [(3, 75.0)]


def test_groups_of_nodes_are_by_id(people: People) -> None:
    found = people.rows("$c: Company maybe { $p worksAt $c }", "$c, count($p)")
    assert found == [("Acme", 2), ("Void", 0), ("Zeta", 1)]


def test_sums_are_floats_and_extremes_keep_their_type(people: People) -> None:
    schema = people.ask("$p: Person", "sum($p.age), max($p.visits), min($p.height)").table.schema
    assert [str(field.type) for field in schema] == ["double", "uint64", "float"]


# --- 4.8 order -------------------------------------------------------------------------------------------


def test_null_is_smallest_and_ties_are_broken_by_id(people: People) -> None:
    assert [name for (name,) in people.rows("$p: Person", "$p", "order { $p.age }")] == [
        "Dan",
        "Bob",
        "Eve",
        "Ann",
        "Cid",
    ]
    assert [name for (name,) in people.rows("$p: Person", "$p", "order { $p.age desc }")] == [
        "Ann",
        "Cid",
        "Eve",
        "Bob",
        "Dan",
    ]


def test_ties_are_broken_by_all_variables_in_the_order_of_their_names(people: People) -> None:
    found = people.rows("$z: Company $a: Person $a.age = 30", "$a, $z", "order { $a.age }")
    assert found == [(a, z) for a in ("Ann", "Cid") for z in ("Acme", "Void", "Zeta")]


def test_bound_edges_break_ties_by_their_ids(people: People) -> None:
    found = people.rows('$a: Person { name: "Ann" } $a $e: knows $b', "$e.note", "order { $a.age }")
    assert found == [(None,), ("again",)]


def test_two_zeros_are_a_tie(people: People) -> None:
    found = people.rows("$p: Person $p.score = 0", "$p", "order { $p.score desc }")
    assert found == [("Bob",), ("Cid",)]


def test_groups_are_ordered_by_what_is_returned_and_ties_by_their_keys(people: People) -> None:
    found = people.rows("$p: Person", "$p.age, count($p) as n", "order { n desc }")
    assert found == [(30, 2), (None, 1), (20, 1), (25, 1)]


def test_limit_and_offset(people: People) -> None:
    def found(rest: str) -> list[Any]:
        return [name for (name,) in people.rows("$p: Person", "$p", f"order {{ $p.name }} {rest}")]

    assert found("limit 2") == ["Ann", "Bob"]
    assert found("limit 2 offset 4") == ["Eve"]
    assert found("offset 3") == ["Dan", "Eve"]
    assert found("limit 0") == found("offset 5") == found("limit 1 offset 18446744073709551615") == []
    assert len(found("limit 18446744073709551615")) == 5
    assert len(people.rows("$p: Person", "$p.age, count($p)", "limit 18446744073709551615 offset 1")) == 3


def test_order_by_an_alias_and_by_an_expression(people: People) -> None:
    by_alias = people.rows("$p: Person", "$p.age * -1 as back, $p", "order { back desc }")
    assert by_alias == people.rows("$p: Person", "$p.age * -1 as back, $p", "order { $p.age * -1 desc }")
    assert by_alias[0] == (-20, "Bob")


# --- 4.9 now() -------------------------------------------------------------------------------------------


def test_now_is_one_value_for_the_whole_query(people: People) -> None:
    moment = datetime.fromtimestamp(NOW_MS / 1000, UTC)
    assert people.rows("$p: Person now() = now()", "now()") == [(moment,)] * 5


# --- 8.1 envelope ----------------------------------------------------------------------------------------


def test_the_envelope_of_a_read(people: People) -> None:
    result = people.ask('$p: Person { name: "Ann" }', "$p.name, $p.age as age")
    assert result_json(result) == {
        "query_name": "q",
        "target": {"branch": "main", "snapshot": None},
        "row_count": 1,
        "columns": ["p.name", "age"],
        "rows": [{"p.name": "Ann", "age": 30}],
        "graph_commit_id": people.graph.snapshot().commit_id,
    }


def test_the_envelope_of_a_read_in_the_past_names_the_commit(people: People) -> None:
    commit = people.graph.snapshot().commit_id
    assert result_json(people.ask("$p: Person", "$p", at=commit))["target"] == {"branch": None, "snapshot": commit}


def test_unknown_branches_and_commits_are_not_found(people: People) -> None:
    with pytest.raises(NotFoundError):
        people.ask("$p: Person", "$p", branch="nowhere")
    with pytest.raises(NotFoundError):
        people.ask("$p: Person", "$p", at="01ARZ3NDEKTSV4RRFFQ69G5FAV")


# --- 8.2 cells -------------------------------------------------------------------------------------------


def test_cells_as_json(people: People) -> None:
    returns = (
        "$a.visits, $a.big, $a.height, $a.active, $a.nick, $a.level, $b.born, $b.tags, $c.seen, "
        "$c.age * 10000000000.0 * $p.score, $d.vec, $a"
    )
    match = (
        '$a: Person { name: "Ann" } $b: Person { name: "Bob" } $c: Person { name: "Cid" } $p: Person { name: "Eve" } '
        '$d: Doc { title: "d2" }'
    )
    (row,) = result_json(people.ask(match, returns))["rows"]
    assert json.loads(json.dumps(row)) == {
        "a.visits": 2**64 - 1,
        "a.big": 2**53 + 1,
        "a.height": 0.10000000149011612,
        "a.active": True,
        "a.nick": None,
        "a.level": "high",
        "b.born": "1999-05-01",
        "b.tags": ["x", "y"],
        "c.seen": "2019-12-31T23:59:59.999Z",
        "expression": 6e11,
        "d.vec": [3.0, 4.0],
        "a": "Ann",
    }


def test_numbers_that_json_lacks_are_texts_and_sort_last(made: Any) -> None:
    graph = made(
        "node N { k: String @key x: F64 y: F64 }",
        [
            {"type": "N", "data": {"k": "a", "x": 1e308, "y": 10.0}},
            {"type": "N", "data": {"k": "b", "x": -1e308, "y": 10.0}},
            {"type": "N", "data": {"k": "c", "x": 1.0, "y": 1.0}},
        ],
    )
    ask = People(graph).ask
    rows = result_json(ask("$n: N", "$n.x * $n.y as v", "order { v }"))["rows"]
    assert [row["v"] for row in rows] == ["-Infinity", 1.0, "Infinity"]
    match = "$n: N"
    rows = result_json(ask(match, "$n, $n.x * $n.y - $n.x * $n.y as v", "order { v }"))["rows"]
    assert [row["v"] for row in rows] == [0.0, "NaN", "NaN"]
    assert [row["n"] for row in rows] == ["c", "a", "b"]
    assert len(ask(match, "$n.x * $n.y - $n.x * $n.y as v", "distinct")) == 2
    assert len(ask("$n: N $n.x * $n.y - $n.x * $n.y = 0", "$n")) == 1


def test_results_convert(people: People) -> None:
    result = people.ask('$p: Person { name: "Bob" }', "$p.name, $p.born")
    assert result.to_pylist() == list(result) == [{"p.name": "Bob", "p.born": date(1999, 5, 1)}]
    assert result.to_arrow().num_rows == len(result) == 1
    assert result.to_pandas().shape == (1, 2)
    assert result.to_polars().shape == (1, 2)
    assert [batch.num_rows for batch in people.ask("$p: Person", "$p").to_batches(2)] == [2, 2, 1]
    assert "Bob" in repr(result)


# --- parameters, names, cache ----------------------------------------------------------------------------


def test_parameters_of_every_type(people: People) -> None:
    params = (
        "$s: String, $b: Bool, $i: I32, $u: U64, $f: F32, $d: Date, $t: DateTime, $l: [I64], $v: Vector(2), $n: I32?"
    )
    values = {
        "s": "a'\"\0é", "b": True, "i": -1, "u": str(2**64 - 1), "f": 0.1, "d": "2020-02-29",
        "t": "2020-01-01T00:00:00.5+01:00", "l": [1, 2], "v": [0.5, 1],
    }  # fmt: skip
    returns = "$s, $b, $i, $u, $f, $d, $t, $l, $v, $n"
    found = people.ask('$p: Person { name: "Ann" }', returns, "", params, values)
    (row,) = result_json(found)["rows"]
    assert row == {
        "s": "a'\"\0é", "b": True, "i": -1, "u": 2**64 - 1, "f": 0.10000000149011612, "d": "2020-02-29",
        "t": "2019-12-31T23:00:00.500Z", "l": [1, 2], "v": [0.5, 1.0], "n": None,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("declared", "value"), [("I32", 2**31), ("F64", float("nan")), ("Vector(2)", [1.0]), ("Date", "x")]
)
def test_a_parameter_that_does_not_fit_is_an_error(people: People, declared: str, value: object) -> None:
    with pytest.raises(ParameterError):
        people.ask("$p: Person", "$x", "", f"$x: {declared}", {"x": value})
    with pytest.raises(ParameterError):
        people.ask("$p: Person", "$x", "", f"$x: {declared}", {})


def test_an_integer_is_never_rounded_to_stand_in_a_list_of_floats(people: People) -> None:
    match, params = "$p: Person $p.big in [$x, 0.5]", "$x: I64"
    assert people.rows(match, "$p", "", params, x=-1) == [("Eve",)]
    with pytest.raises(ParameterError, match="9007199254740993"):
        people.rows(match, "$p", "", params, x=2**53 + 1)


def test_one_of_several_queries_is_chosen_by_name(people: People) -> None:
    text = "query a() { match { $p: Person } return { $p } } query b() { match { $c: Company } return { $c } }"
    assert people.graph.query(text, name="b").columns == ["c"]
    with pytest.raises(InputError):
        people.graph.query(text)


def test_a_mutation_is_not_run_as_a_query(people: People) -> None:
    with pytest.raises(UsageError):
        people.graph.query('query q() { delete Person where name = "Ann" }')


def test_a_text_is_compiled_once(people: People, monkeypatch: pytest.MonkeyPatch) -> None:
    people.ask("$p: Person", "$p.name as once")
    monkeypatch.setattr("omnigraph.engine.query.run.compile_text", lambda *_, **__: pytest.fail("compiled again"))
    assert len(people.ask("$p: Person", "$p.name as once")) == 5


def test_queries_see_the_head_they_are_asked_at(made: Any) -> None:
    graph = made("node Person { name: String @key }", [person("a")])
    first = graph.snapshot().commit_id
    graph.create_branch("side")
    graph.load([person("b")], "append", branch="side")
    graph.load([person("c")], "append")
    text = "query q() { match { $p: Person } return { $p } order { $p } }"
    assert [row["p"] for row in graph.query(text)] == ["a", "c"]
    assert [row["p"] for row in graph.query(text, branch="side")] == ["a", "b"]
    assert [row["p"] for row in graph.query(text, at=first)] == ["a"]
