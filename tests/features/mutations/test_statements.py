"""Statements of mutations: conditions, computed values, edges, upserts, returned rows, patterns and lists."""

from pathlib import Path
from typing import Any

import pytest

import omnigraph
from omnigraph.errors import CompileError, ParameterError, UsageError, ViolationError
from tests.features.mutations.graphs import created, returned, values


@pytest.fixture
def graph(tmp_path: Path) -> omnigraph.Graph:
    return created(tmp_path)


CONDITIONS = [
    ('age > 20 and name = "Ann"', {"ann"}),
    ('age > 60 or tags contains "a"', {"ann", "bob"}),
    ("not age > 60", {"ann"}),
    ("age is null", {"cy"}),
    ("not age is null and score is not null", {"bob"}),
    ('email in ["ann", "cy", "zed"]', {"ann", "cy"}),
    ('name starts_with "A" or name ends_with "y"', {"ann", "cy"}),
    ('bio contains "red"', {"ann"}),
    ('search(bio, "boats")', {"ann"}),
    ('lower(name) = "bob"', {"bob"}),
    ("visits * 2 > age - 60 + size(tags)", {"ann"}),
    ("coalesce(visits, 0) = 0 and length(name) = 3", {"bob"}),
    ('any($t in tags where $t = "b")', {"ann"}),
    ('case when age > 50 then "old" else "young" end = "young"', {"ann", "cy"}),
    ('id = "cy"', {"cy"}),
    ('level = "low"', {"cy"}),
    ("true", {"ann", "bob", "cy"}),
    ("false", set()),
    ("age / 0 = 1", set()),
    ("30 = age", {"ann"}),
    ("cast(email as I32) is null", {"ann", "bob", "cy"}),
]


@pytest.mark.parametrize(("condition", "expected"), CONDITIONS, ids=[condition for condition, _ in CONDITIONS])
def test_a_condition_selects_what_the_filter_of_a_query_selects(
    shared: omnigraph.Graph, condition: str, expected: set[str]
) -> None:
    text = f"query q() {{ update Person set {{ bio: name }} where {condition} returning {{ email }} }}"
    seen = shared.mutate_preview(text).returned
    assert seen is not None
    assert {row["email"] for row in seen.rows} == expected
    pending = f'insert Person {{ email: "ann2", name: "Ann2" }} update Person set {{ bio: name }} where {condition}'
    with_pending = shared.mutate_preview(f"query q() {{ {pending} returning {{ email }} }}").returned
    assert with_pending is not None
    assert {row["email"] for row in with_pending.rows} - {"ann2"} == expected


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> omnigraph.Graph:
    return created(tmp_path_factory.mktemp("shared"))


def test_an_expression_reads_the_values_from_before_the_statement(graph: omnigraph.Graph) -> None:
    body = 'update Person set { bio: name, name: coalesce(bio, "none") } where email = "ann"'
    assert returned(graph, f"{body} returning {{ name, bio }}") == [("likes red boats", "Ann")]


def test_values_are_computed_for_every_entity(graph: omnigraph.Graph) -> None:
    body = "update Person set { visits: coalesce(visits, 0) + $by, tags: [name, upper(email)] } where true"
    found = returned(graph, f"{body} returning {{ email, visits, tags }}", {"by": 2}, "$by: I64")
    assert found == [("ann", 3, ["Ann", "ANN"]), ("bob", 2, ["Bob", "BOB"]), ("cy", 7, ["Cy", "CY"])]


def test_an_insert_computes_its_values(graph: omnigraph.Graph) -> None:
    body = (
        'insert Person { email: lower("DEE"), name: $n + "!", age: 2 * 3, born: date("2020-01-31") + duration("P1M") }'
    )
    found = returned(graph, f"{body} returning {{ id, name, age, born }}", {"n": "Dee"}, "$n: String")
    assert found == [("dee", "Dee!", 6, "2020-02-29")]


@pytest.mark.parametrize(
    ("assignment", "property_"),
    [
        ("age: age * 100000000", "age"),
        ("visits: visits * 9223372036854775807 * 2", "visits"),
        ("score: score * pow(10.0, 308.0) * 10.0", "score"),
        ('level: name + "x"', "level"),
        ('name: nullif(name, "Bob")', "name"),
    ],
)
def test_a_value_that_does_not_fit_is_a_violation_of_its_entity(
    shared: omnigraph.Graph, assignment: str, property_: str
) -> None:
    with pytest.raises(ViolationError) as caught:
        shared.mutate(f"query q() {{ update Person set {{ {assignment} }} where age is not null or visits > 1 }}")
    sample = caught.value.facts["samples"][0] if "samples" in caught.value.facts else caught.value.samples[0]
    assert sample.entity_id in {"ann", "bob", "cy"}
    assert sample.property == property_


def test_an_edge_is_updated_by_its_ends_its_id_and_its_properties(graph: omnigraph.Graph) -> None:
    [(first, _)] = returned(
        graph, 'update Knows set { since: since + 1, note: from + "-" + to } where from = "ann" returning { id, note }'
    )
    assert returned(
        graph, "update Knows set { note: null } where id = $id returning { since }", {"id": first}, "$id: String"
    ) == [(2001,)]
    assert returned(graph, 'update Knows set { since: 1 } where note = "old" returning { from, to }') == [("bob", "cy")]
    assert values(graph, "edge:Knows", "src", "dst", "since", "note") == [
        ("ann", "bob", 2001, None),
        ("bob", "cy", 1, "old"),
        ("cy", "ann", 2010, None),
    ]


def test_an_upsert_keeps_what_it_does_not_name(graph: omnigraph.Graph) -> None:
    body = 'upsert Person { email: "ann", visits: coalesce(visits, 0) + 1 } returning { name, age, visits }'
    assert returned(graph, body) == [("Ann", 30, 2)]
    created_ = 'upsert Person { email: "new", name: "New", visits: coalesce(visits, 0) + 1 } returning { id, visits }'
    assert returned(graph, created_) == [("new", 1)]
    edge = 'upsert LivesIn { from: "ann", to: "Oslo" } returning { since }'
    assert returned(graph, edge) == [(1999,)]
    with pytest.raises(ViolationError, match="missing required property Person"):
        graph.mutate('query q() { upsert Person { email: "other" } }')


def test_deleted_entities_are_returned_as_they_were(graph: omnigraph.Graph) -> None:
    assert returned(graph, 'delete Person where email = "cy" returning { name, visits }') == [("Cy", 5)]
    assert [row[0] for row in values(graph, "edge:Knows", "src")] == ["ann"]


def test_a_dry_run_shows_the_rows_that_the_mutation_returns(graph: omnigraph.Graph) -> None:
    text = "query q() { update Person set { visits: age } where age > 1 returning { email, visits as seen } }"
    preview = graph.mutate_preview(text)
    assert preview.returned is not None
    before = values(graph, "node:Person", "visits")
    result = graph.mutate(text)
    assert result.returned is not None
    assert preview.returned.rows == result.returned.rows
    assert result.returned.arrow().schema.names == ["email", "seen"]
    assert before != values(graph, "node:Person", "visits")


def test_a_statement_without_entities_returns_no_rows(graph: omnigraph.Graph) -> None:
    assert returned(graph, 'delete Person where email = "zed" returning { name }') == []
    assert graph.mutate('query q() { delete Log where text = "x" }').returned is None


def test_statements_run_for_the_rows_of_a_pattern(graph: omnigraph.Graph) -> None:
    body = 'match { $a: Person $a knows $b } update $b set { bio: "known by " + $a.name } returning { email, bio }'
    assert returned(graph, body) == [
        ("ann", "known by Cy"),
        ("bob", "known by Ann"),
        ("cy", "known by Bob"),
    ]
    body = (
        'match { $a: Person { email: "ann" } $b: Person $b.age > 60 } insert Knows { from: $b, to: $a, since: $a.age }'
    )
    assert returned(graph, f"{body} returning {{ from, to, since }}") == [("bob", "ann", 30)]
    body = "match { $a: Person $a $e: knows $b $e.since is null } delete $e returning { from, note }"
    assert returned(graph, body) == [("bob", "old")]
    body = """match { $p: Person not { $p livesIn $_ } }
      insert LivesIn { from: $p, to: "Rome", since: 1 }
      update $p set { visits: 9 }
      update City set { size: $p.visits } where name = "Rome" and $p.visits > 1 returning { size }"""
    assert returned(graph, body) == [(5,)]
    assert values(graph, "edge:LivesIn", "src", "dst") == [("ann", "Oslo"), ("bob", "Rome"), ("cy", "Rome")]
    assert values(graph, "node:Person", "email", "visits") == [("ann", 1), ("bob", 9), ("cy", 9)]


def test_statements_behind_a_match_test_and_store_whether_a_pattern_exists(graph: omnigraph.Graph) -> None:
    match = "match { $p: Person exists { $q knows $p $q.age > 60 } or $p.age = 30 }"
    update = "update $p set { bio: name } where exists { $p livesIn $_ } or visits > 4"
    assert returned(graph, f"{match} {update} returning {{ email }}") == [("ann",), ("cy",)]
    body = "match { $p: Person } update $p set { visits: if(exists { $p livesIn $c $c.size > 2 }, 100, 0) }"
    assert returned(graph, f"{body} returning {{ email, visits }}") == [("ann", 100), ("bob", 0), ("cy", 0)]


def test_a_pattern_reads_what_earlier_statements_wrote(graph: omnigraph.Graph) -> None:
    body = """insert Person { email: "dee", name: "Dee", age: 99 }
      insert Knows { from: "dee", to: "ann" }
      delete Knows where from = "cy"
      update Person set { name: "Annie" } where email = "ann"
      match { $p: Person $p knows $q $q.name = "Annie" }
      update $p set { bio: "knows " + $q.name } returning { email, bio, age }"""
    assert returned(graph, body) == [("dee", "knows Annie", 99)]
    assert graph.verify(deep=True).is_clean


def test_rows_of_a_pattern_that_disagree_are_a_violation(graph: omnigraph.Graph) -> None:
    graph.mutate('query q() { insert Knows { from: "bob", to: "ann" } }')
    with pytest.raises(ViolationError, match="by two rows of the match") as caught:
        graph.mutate("query q() { match { $a: Person $a knows $b } update $b set { bio: $a.name } }")
    assert caught.value.samples[0].entity_id == "ann"


def _for(statement: str) -> str:
    return f"query q({ROWS}) {{ for $r in $rows {{ {statement} }} }}"


ROWS = "$rows: [{ email: String, by: I64?, name: String? }]"


def test_statements_run_for_the_records_of_a_list(graph: omnigraph.Graph) -> None:
    rows = [{"email": f"p{number}", "by": number, "name": f"N{number}"} for number in range(3000)]
    text = _for("insert Person { email: $r.email, name: $r.name, visits: $r.by }")
    result = graph.mutate(text, {"rows": rows})
    assert (result.affected_nodes, len(list(graph.commits()))) == (3000, 3)
    text = _for("update Person set { visits: visits + $r.by } where email = $r.email")
    graph.mutate(text, {"rows": [{"email": "p7", "by": 1}, {"email": "p8", "by": 2}, {"email": "p7", "by": 10}]})
    found = dict(values(graph, "node:Person", "email", "visits"))
    assert (found["p7"], found["p8"], found["p9"]) == (18, 10, 9), "a later record starts from the earlier one"
    text = _for("delete Person where email = $r.email and visits < 100")
    assert graph.mutate(text, {"rows": rows}).affected_nodes == 100


@pytest.mark.parametrize(
    "condition",
    [
        "email = $r.email",
        "name = $r.name",
        "visits = $r.by + 1",
        "age = $r.by + 30",
        "30 + $r.by = age and not false",
        "visits > $r.by",
        "id = $r.email and age > 1",
        "true",
    ],
)
def test_a_condition_about_a_record_selects_the_same_entities_however_it_is_joined(
    shared: omnigraph.Graph, condition: str
) -> None:
    rows = [{"email": "ann", "by": 0, "name": "Ann"}, {"email": "bob", "by": 4, "name": "Cy"}, {"email": "zed"}]
    body = f"for $r in $rows {{ update Person set {{ bio: $r.email }} where {condition} returning {{ email, bio }} }}"
    together = shared.mutate_preview(f"query q({ROWS}) {{ {body} }}", {"rows": rows}).returned
    assert together is not None
    alone: dict[str, Any] = {}
    for row in rows:
        seen = shared.mutate_preview(f"query q({ROWS}) {{ {body} }}", {"rows": [row]}).returned
        assert seen is not None
        alone |= {found["email"]: found["bio"] for found in seen.rows}
    assert {row["email"]: row["bio"] for row in together.rows} == alone


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (None, "not provided"),
        ({"email": "x"}, "expected array of objects"),
        (["x"], r"rows\[0\].*expected object"),
        ([{"email": "a"}, {"email": 3}], r"rows\[1\].email.*expected string"),
        ([{}], r"rows\[0\].email.*got null"),
        ([{"email": "a", "nmae": "x"}], "unknown field 'nmae'"),
    ],
)
def test_a_record_that_does_not_fit_its_declaration_is_refused(
    shared: omnigraph.Graph, rows: Any, message: str
) -> None:
    text = _for("delete Person where email = $r.email")
    with pytest.raises(ParameterError, match=message):
        shared.mutate(text, {} if rows is None else {"rows": rows})


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("update $p set { age: 1 }", "no node or edge of a match"),
        ("match { $p: Person } insert LivesIn { from: $p, to: $p }", "is a City"),
        ("insert Log { text: text }", "no value yet"),
        ('upsert Log { text: "x" }', "finds an entity by its key"),
        ("upsert Person { email: name }", "no value yet"),
        ("for $r in $rows { delete Log where text = $r.x }", "takes a list of records"),
        ("delete Log where true returning { text, text }", "two columns"),
        ("delete Log where true returning { text } delete City where true returning { name }", "one statement"),
        ("match { $p: Person } delete $q", "no node or edge of a match"),
        ("match { $p: Person } delete $p delete City where true", "uses none of its variables"),
    ],
)
def test_a_mistake_is_found_before_anything_runs(shared: omnigraph.Graph, body: str, message: str) -> None:
    with pytest.raises(CompileError, match=message):
        shared.mutate(f"query q() {{ {body} }}")


def test_a_pattern_with_statements_is_no_query(shared: omnigraph.Graph) -> None:
    with pytest.raises(UsageError, match="writes"):
        shared.query("query q() { match { $p: Person } delete $p }")
