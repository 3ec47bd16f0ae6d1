"""Completion at a cursor, written `|`: the candidates that stand there, and nothing inside texts and comments."""

import pytest

from omnigraph.core.scalars import Scalar
from omnigraph.lang.gq_calls import FUNCTIONS as CALLED
from omnigraph.query.completion.complete import Candidate, CandidateKind, complete
from tests.unit.query.fixture import catalog

PERSON = [
    "email",
    "age",
    "height",
    "score",
    "visits",
    "nick",
    "active",
    "born",
    "seen",
    "tags",
    "lucky",
    "level",
    "photo",
    "name",
]
NODES = ["Person", "Company", "Doc"]
BINDABLE = [*NODES, "Named"]
FUNCTIONS = [
    *("count(", "sum(", "avg(", "min(", "max(", "collect(", "stddev(", "percentile(", "first(", "last("),
    *(f"{name}(" for name in (*CALLED, "cast", "any", "all")),
    *("case", "not", "exists"),
]
CONDITIONS = ["contains", "starts_with", "ends_with", "in", "not in", "is null", "is not null"]
EDGES = ["knows", "follows", "worksAt", "wrote", "cites"]


def offered(marked: str, *parameters: str) -> list[str]:
    before, _, after = marked.partition("|")
    found = complete(before + after, len(before), catalog(), parameters)
    assert all(
        (before + after)[found.start : len(before)].lower() == item.text[: len(before) - found.start].lower()
        for item in found.candidates
    )
    return [item.text for item in found.candidates]


@pytest.mark.parametrize(
    ("marked", "expected"),
    [
        ("|", ["query", "match", "insert", "upsert", "update", "delete"]),
        ("ma|", ["match"]),
        ("query q() { |", ["match", "insert", "upsert", "update", "delete"]),
        ("query q($n: |", [scalar.value for scalar in Scalar]),
        ("query q($n: D|", ["DateTime", "Date", "Decimal", "Duration"]),
        ("match { $p: |", BINDABLE),
        ("match { $p: per|", ["Person"]),
        ("match { $p: Person { e|", ["email"]),
        ("match { $c: Company { |", ["name", "founded"]),
        ("match { $c: Company { name: \"x\", |", ["founded"]),
        ("match { $d: Doc\n $d |", ["wrote", "cites", "in", "is null", "is not null"]),
        ("match { $p: Person $p w|", ["worksAt", "wrote"]),
        ("match { $n: Na|", ["Named"]),
        ("match { $n: Named $n.|", ["name"]),
        ("match { $n: Named { |", ["name"]),
        ("match { $n: Named $n |", [*EDGES[:4], "in", "is null", "is not null"]),
        ("match { $n: Named } return { $n.|", ["name"]),
        ("match { $p: Person } update $p set { na|", ["name"]),
        ("match { $n: Named } update $n set { |", ["name"]),
        ("match { $p: Person $p $e: knows $f } update $e set { |", ["since", "strength", "note"]),
        ("match { $p: Person $p $e: |", EDGES),
        ("match { $p: Person $p knows $f $g: |", BINDABLE),
        ("match { $p: Person $p < |", EDGES),
        ("match { $p: Person $p worksAt $c $c.|", ["name", "founded"]),
        ("match { $c: Company $p worksAt $c $p.ag|", ["age"]),
        ("match { $p: Person $p knows {1,3} $f } return { $f.ni| }", ["nick"]),
        ("match { $p: Person $p $e: knows $f $e.|", ["since", "strength", "note"]),
        ("match { $a: Person $b: Person $a $w: shortest knows $b } return { $w.|", ["length", "nodes"]),
        ("match { $a: Person $b: Person $a $w: all shortest knows $b } return { $w.|", ["length", "nodes"]),
        ("match { $p: Person $p.age |", [*CONDITIONS, "and", "or"]),
        ("match { $p: Person not { $p |", ["knows", "follows", "worksAt", "wrote", "in", "is null", "is not null"]),
        ("match { $p: Person exists { $p |", ["knows", "follows", "worksAt", "wrote", "in", "is null", "is not null"]),
        ("match { $p: Person } return { exists { $p wor|", ["worksAt"]),
        ("match { $p: Person ex|", ["exists"]),
        ("match { $p: Person } |", ["return", "insert", "upsert", "update", "delete"]),
        ("match { $p: Person } return |", ["distinct"]),
        ("match { $p: Person } return { $p.name |", ["as"]),
        ("match { $p: Person } return { $p.name } |", ["having", "union", "order", "limit", "offset", "then"]),
        ("match { $p: Person } return { $p.name } order { $p.name } |", ["limit", "offset", "then"]),
        ("match { $p: Person } return { $p.name } limit 3 |", ["offset", "then"]),
        ("match { $p: Person } return { $p.name } limit 3 then |", ["match", "return"]),
        ("match { $p: Person } return { $p.name } then match { $p.name = 3 } |", ["return"]),
        ("match { $p: Person } return { $p } then return { $p } order { $p } |", ["limit", "offset", "then"]),
        ("match { $p: Person } return { $p, 1 as n } then return { $|", ["$p", "$n"]),
        ("match { $p: Person } return { 1 as m } then return { 1 as n } then return { case when $| then", ["$p", "$n"]),
        ("match { $p: Person } return { $p.name } order { $p.age |", ["asc", "desc"]),
        ("match { $p: Person } return { co|", ["count(", "collect(", "concat(", "contains(", "coalesce("]),
        ("match { $p: Person } return { $|", ["$p"]),
        ("match { $p: Person } return { |.name }", ["$p", *FUNCTIONS]),
        ("query q($n: String) { match { $p: Person { name: $| } }", ["$p", "$n"]),
        ("query q() { match { $p: Person } return { $p.name } } |", ["query"]),
        ("insert |", [*NODES, "Knows", "Follows", "WorksAt", "Wrote", "Cites"]),
        ("update |", [*NODES, "Knows", "Follows", "WorksAt", "Wrote", "Cites"]),
        ("update Person |", ["set"]),
        ("update Company set { |", ["name", "founded"]),
        ("update Company set { founded: 3 } |", ["where", "insert", "upsert", "update", "delete"]),
        ("delete Company where |", ["name", "founded"]),
        ("insert WorksAt { from: \"a\", |", ["to", "role", "scan"]),
        ("insert Company { name: tr|", ["true"]),
        ("upsert WorksAt { from: \"a\", |", ["to", "role", "scan"]),
        ("update Company set { founded: 3 } where true returning { |", ["name", "founded", "id", "as"]),
        ("match { $p: Person { |", PERSON),
    ],
)  # fmt: skip
def test_candidates_fit_the_place(marked: str, expected: list[str]) -> None:
    assert sorted(offered(marked)) == sorted(expected)


@pytest.mark.parametrize(
    "marked",
    [
        'match { $p: Person { name: "Pe|',
        "match { // Pe|",
        "match { /* Pe|",
        "match { $p knows {1|",
        "match { $p: Person } return { $p.name } limit 3|",
        "match { $p: Nothing $p.|",
        "match { $x.|",
        "query q(|",
        "match { $p: Person } return { $p.name as |",
    ],
)
def test_nothing_is_offered_where_no_name_can_stand(marked: str) -> None:
    assert offered(marked) == []


def test_parameters_that_need_no_declaration_are_offered_last() -> None:
    assert offered("match { $p: Person { name: $|", "who") == ["$p", "$who"]


def test_a_variable_bound_behind_the_cursor_is_known() -> None:
    assert offered("match { $p.ag| $p: Person }") == ["age"]


def test_candidates_carry_their_kind_and_a_remark() -> None:
    found = complete("match { $p: Person } return { $p.bo", 35, catalog()).candidates
    assert found == (Candidate("born", CandidateKind.PROPERTY, "Date?"),)
    assert complete("match { $p: Person } return { substr", 36, catalog()).candidates == (
        Candidate("substring(", CandidateKind.FUNCTION, "substring(text, start, length)"),
    )
    assert complete("insert Kn", 9, catalog()).candidates == (
        Candidate("Knows", CandidateKind.EDGE_TYPE, "Person -> Person"),
    )


def test_completion_answers_at_every_position_of_any_text() -> None:
    texts = [
        "query q($a: [I32]) { match { $p: Person { name: $a } not { $p <knows> $f } } return { count($p) as n } }",
        "}{)(",
        "$ $P ; ' \\",
        'update Person set { age: 1 } where name = "x" query',
    ]
    for text in texts:
        for position in range(len(text) + 1):
            assert complete(text, position, catalog()).start <= position
