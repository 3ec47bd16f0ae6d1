"""Limits, cancellation, profiles, and values that try to break out."""

import threading
from typing import Any

import pytest

from omnigraph.engine.graph import create, open_graph
from omnigraph.errors import LimitExceeded, QueryCancelled
from omnigraph.exec.scan import scan_rows
from tests.features.exec.people import People, edge, person
from tests.support.tuning import tuned

HOSTILE = [
    "",
    "'",
    "''",
    '"',
    "\\",
    "\\'",
    "`name`",
    "x' OR '1'='1",
    "'; DROP TABLE x; --",
    "nul\x00nul",
    "line\nline\r\t",
    "%_*?",
    "\U0001f600é\u0301\u202e",
    "$p { } /* */ //",
    "x" * 200_000,
]


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> People:
    graph = create(
        tmp_path_factory.mktemp("graph") / "g",
        "node Person { name: String @key nick: String tags: [String] many: [U32] n: I64 } edge Knows: Person -> Person",
        durability="os",
    )
    graph.load(
        [person(f"k{text}", nick=text, tags=[text, "t"], many=[1], n=number) for number, text in enumerate(HOSTILE)]
        + [edge("Knows", f"k{text}", "k") for text in HOSTILE],
        "append",
    )
    return People(graph)


@pytest.mark.parametrize("pushed", [False, True])
@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_a_value_is_compared_and_never_interpreted(hostile: People, text: str, pushed: bool) -> None:
    if pushed:
        hostile = People(tuned(hostile.graph, pushed_rows_min=0))
    wanted = [(HOSTILE.index(text),)]
    for match in (
        "$p: Person { nick: $x }",
        "$p: Person { tags: $x }",
        "$p: Person $p.nick = $x",
        "$p: Person $p.nick in [$x]",
        "$p: Person $p.nick >= $x $p.nick <= $x",
    ):
        assert hostile.rows(match, "$p.n", "", "$x: String", x=text) == wanted, match
    assert hostile.rows("$p: Person { name: $x }", "$p.n", "", "$x: String", x=f"k{text}") == wanted
    assert hostile.rows("$p: Person { name: $x } $p knows $q", "$q.n", "", "$x: String", x=f"k{text}") == [(0,)]
    assert wanted[0] in hostile.rows("$p: Person $p.nick contains $x", "$p.n", "", "$x: String", x=text)
    hostile.rows("$p: Person search($p.nick, $x)", "$p.n", "", "$x: String", x=text)


def test_a_list_of_a_hundred_thousand_items(hostile: People) -> None:
    many = [f"no{number}" for number in range(100_000)]
    assert hostile.rows("$p: Person $p.nick in $x", "$p.n", "", "$x: [String]", x=[*many, "'"]) == [(1,)]
    assert hostile.rows("$p: Person $p.name in $x", "$p.n", "", "$x: [String]", x=[*many, "k'"]) == [(1,)]
    assert len(hostile.rows("$p: Person $p.n in $x", "$p.n", "", "$x: [F64]", x=[n / 2 for n in range(100_000)])) == 15


# --- limits ----------------------------------------------------------------------------------------------


def test_a_query_that_needs_too_many_rows_is_refused_before_they_are_made(people: People) -> None:
    variables = " ".join(f"$v{number}: Person" for number in range(12))
    with pytest.raises(LimitExceeded) as caught:
        people.ask(variables, "$v0", memory_limit=1_000_000)
    assert caught.value.facts["resource"] == "bytes"
    assert len(people.ask("$p: Person", "$p", memory_limit=1_000_000)) == 5


@pytest.mark.parametrize("walk", ["knows", "knows{1,3}", "$e: knows"])
def test_traversals_respect_the_memory_limit(people: People, walk: str) -> None:
    with pytest.raises(LimitExceeded):
        people.ask(f"$a: Person $b: Person $a {walk} $c", "$c", memory_limit=16)


def test_a_query_that_takes_too_long_is_stopped(people: People) -> None:
    with pytest.raises(LimitExceeded) as caught:
        people.ask("$p: Person $p knows{1,9} $q", "$q", timeout=0.0)
    assert caught.value.facts["resource"] == "seconds"
    assert len(people.ask("$p: Person", "$p", timeout=1000.0)) == 5


def test_a_cancelled_query_stops_at_its_next_step(people: People, monkeypatch: pytest.MonkeyPatch) -> None:
    cancel = threading.Event()
    assert len(people.ask("$p: Person", "$p", cancel=cancel)) == 5
    # Cancelled while the scan below the traversal runs.
    monkeypatch.setattr("omnigraph.exec.run.scan_rows", lambda *arguments: (cancel.set(), scan_rows(*arguments))[1])
    with pytest.raises(QueryCancelled):
        people.ask("$p: Person $p knows $q", "$q", cancel=cancel)


# --- profiles --------------------------------------------------------------------------------------------


def test_a_profile_names_every_operator_with_its_rows(people: People) -> None:
    match = "$p: Person $p.age > 1 $p knows $q not { $q worksAt $_ } maybe { $q wrote $d }"
    result = people.ask(match, "$q.name, count($p)", "order { $q.name } limit 3", stats=True)
    words = [operator.operator.split()[0].lower() for operator in result.operators]
    assert len(words) >= 8
    assert result.operators[0].rows == len(result)
    assert all(operator.seconds >= 0 for operator in result.operators)
    assert max(operator.depth for operator in result.operators) >= 4
    shown = [line for line in result.stats().splitlines()[1:] if not line.strip().startswith("(")]
    assert len(shown) == len(words)


def test_a_profile_tells_what_was_read_and_which_way_was_chosen(people: People) -> None:
    graph = open_graph(people.graph.uri)
    text = 'query q() { match { $p: Person { name: "Ann" } $p knows $q } return { $q.age } }'
    first, again = (graph.query(text, stats=True).operators for _ in range(2))
    assert first[0].bytes > 0
    assert first[0].requests > 0
    assert [item.requests for item in again] == [0] * len(again), "everything is remembered"
    (expand,) = [item for item in first if item.operator.startswith("Expand")]
    assert expand.remarks == ("Knows: neighbour lists of 6 edges",)
    (scan,) = [item for item in first if item.operator.startswith("Scan")]
    assert scan.remarks == ("Person: looked up by key",)
    assert not any(item.remarks for item in first if item not in (expand, scan))


def test_an_explanation_tells_what_tables_have_to_offer(people: People) -> None:
    graph = open_graph(people.graph.uri)
    text = "query q() { match { $p: Person $p knows{1,2} $q } return { count($q) as n } }"
    before = graph.explain(text)
    assert [facts.table for facts in before.tables] == ["edge Knows", "node Person"]
    assert [facts.rows for facts in before.tables] == [6, 5]
    assert before.tables[0].traversal == "no neighbour lists yet: the first traversal makes them"
    graph.query(text)
    after = graph.explain(text)
    assert after.tables[0].traversal == "neighbour lists are there, 0 changes on top of them"
    assert "Expand $p -[Knows{1,2}]-> $q" in str(after)
    assert after.tables[1].indexes == ()
    touched = graph.explain("query m() { delete Person where age = 1 }").tables
    assert {facts.table for facts in touched} >= {"node Person", "edge Knows"}


def test_without_asking_there_is_no_profile(people: People) -> None:
    assert people.ask("$p: Person", "$p").operators == ()


def test_inner_blocks_run_once_for_outer_rows_that_look_alike(people: People) -> None:
    result = people.ask("$c: Company $p: Person not { $p knows $f }", "$p, $c", stats=True)
    outer = [operator for operator in result.operators if operator.operator.lower().startswith("outer")]
    assert [operator.rows for operator in outer] == [5]
    assert len(result) == 3


def test_queries_run_side_by_side(people: People) -> None:
    wrong: list[Any] = []

    def ask() -> None:
        for _ in range(5):
            if len(people.ask("$p: Person $p knows{1,3} $q", "$p, $q")) != 13:
                wrong.append(1)

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
