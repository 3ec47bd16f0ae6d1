"""Filters and aggregates over whole columns: kept in memory, carried over commits, and equal to the other ways."""

from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any
from unittest.mock import patch

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from omnigraph.engine.graph import Graph, create
from omnigraph.exec.coded import codes, columns
from omnigraph.exec.functions.substrings import searched
from omnigraph.exec.whole.groups import WholeGroup
from tests.support.tuning import tuned

ROWS = 3_000
SCHEMA = """
node Person { key: String @key city: String? age: I32 about: String? visits: I32 }
edge Knows: Person -> Person { since: I32? }
"""
QUERIES = {
    "groups": "match { $p: Person } return { $p.city, count($p) as n, min($p.age) as a, max($p.about) as b }",
    "two keys": "match { $p: Person } return { $p.age, $p.city, count($p) as n } having { (n) > 2 }",
    "edges": "match { $p: Person $p $e: knows $f } return { $e.since, count(*) as n, avg($e.since) as m }",
    "some edges": "match { $p: Person $p $e: knows $f $e.since > 2003 } return { count(*) as n }",
    "filter": "match { $p: Person $p.age < 30 } return { count($p) as n, max($p.age) as a, min($p.city) as c }",
    "text": 'match { $p: Person $p.city = "city-3" $p.age >= 40 } return { $p.key }',
    "part": 'match { $p: Person $p.about contains "ab-7" } return { $p.key }',
    "distinct": "match { $p: Person } return distinct { $p.city, $p.age }",
    "no rows": "match { $p: Person $p.age > 1000 } return { count($p) as n, min($p.age) as a }",
    "no groups": "match { $p: Person $p.age > 1000 } return { $p.city, min($p.age) as a }",
}


def row(number: int) -> dict[str, Any]:
    city = None if number % 11 == 0 else f"city-{number % 7}"
    about = None if number % 13 == 0 else f"ab-{number % 50} text"
    return {"key": f"p{number}", "city": city, "age": number % 60, "about": about, "visits": 2**31 - 1}


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    made = create(tmp_path / "g", SCHEMA, durability="os")
    made.load([{"type": "Person", "data": row(number)} for number in range(ROWS)], "append")
    edges = [
        {"edge": "Knows", "from": f"p{n}", "to": f"p{n * 7 % ROWS}", "data": {"since": 2000 + n % 9 or None}}
        for n in range(ROWS)
    ]
    made.load(edges, "append")
    return made


def answers(graph: Graph) -> dict[str, list[tuple[Any, ...]]]:
    found = {name: graph.query(f"query q() {{ {text} }}").to_dicts() for name, text in QUERIES.items()}
    return {name: sorted((tuple(one.values()) for one in rows), key=repr) for name, rows in found.items()}


CHANGES: dict[str, Callable[[Graph], object]] = {
    "nothing": lambda graph: None,
    "new values": lambda graph: graph.load(
        [{"type": "Person", "data": {**row(ROWS + n), "city": f"new-{n}"}} for n in range(300)], "append"
    ),
    "updates": lambda graph: graph.mutate('query q() { update Person set { city: "moved", age: 59 } where age = 30 }'),
    "deletes": lambda graph: graph.mutate("query q() { delete Person where age = 31 }"),
    "deleted edges": lambda graph: graph.mutate("query q() { delete Knows where since = 2004 }"),
    "compaction": lambda graph: graph.optimize(),
}


@pytest.mark.parametrize("change", CHANGES)
def test_whole_columns_give_the_rows_that_single_values_give(graph: Graph, change: str) -> None:
    answers(graph)
    CHANGES[change](graph)
    one_by_one = tuned(graph, whole_rows_min=2**62)
    assert answers(graph) == answers(one_by_one)


def test_the_queries_of_this_file_are_grouped_by_whole_columns(graph: Graph) -> None:
    with patch.object(WholeGroup, "shaped", autospec=True, side_effect=WholeGroup.shaped) as shaped:
        answers(graph)
    made = [call.args[0] for call in shaped.call_args_list]
    assert {type(one.rows.table.entity).__name__ for one in made} == {"NodeType", "EdgeType"}
    assert len(made) >= 6


def test_a_commit_encodes_its_own_rows_only(graph: Graph) -> None:
    answers(graph)
    CHANGES["new values"](graph)
    with patch.object(columns, "extended", side_effect=codes.extended) as encoded:
        found = answers(graph)
    assert [len(call.args[1]) for call in encoded.call_args_list] == [300] * 3, "city, age and about"
    assert ("new-5", 1) in [(city, count) for city, count, *_ in found["groups"]]


def test_a_column_with_a_value_of_its_own_in_every_row_is_sampled_and_not_encoded() -> None:
    column = pa.array([f"text-{number}" for number in range(4 * codes.SAMPLE_ROWS)])
    assert not codes.has_codes(column)
    assert codes.has_codes(pa.array([f"text-{number % 100}" for number in range(4 * codes.SAMPLE_ROWS)]))


def test_more_values_than_codes_end_the_codes_of_a_column() -> None:
    values = pa.array([f"text-{number}" for number in range(codes.CODES_MAX)])
    assert codes.extended(values, pa.array(["text-7", "text-8"])) is not None
    assert codes.extended(values, pa.array(["text-7", "one more"])) is None


def test_codes_grow_to_two_bytes_when_a_commit_brings_the_257th_value(tmp_path: Path) -> None:
    graph = create(tmp_path / "g", "node P { key: String @key city: String }", durability="os")
    people = [{"type": "P", "data": {"key": f"p{n}", "city": f"c{n % 256}"}} for n in range(2_560)]
    graph.load(people, "append")
    text = "query q() { match { $p: P } return { $p.city, count($p) as n } }"
    assert len(graph.query(text)) == 256
    graph.load([{"type": "P", "data": {"key": "one", "city": "more"}}], "append")
    found = {one["p.city"]: one["n"] for one in graph.query(text)}
    assert found == {f"c{number}": 10 for number in range(256)} | {"more": 1}


def test_a_value_of_a_deleted_row_raises_no_error(graph: Graph) -> None:
    text = "query q() { match { $p: Person $p.visits + $p.age < 0 } return { count($p) as n } }"
    graph.mutate("query q() { update Person set { visits: 1 } where age > 0 }")
    graph.mutate("query q() { delete Person where visits > 1 and age > 0 }")
    graph.mutate("query q() { update Person set { visits: 1 } where age = 0 }")
    assert graph.query(text).to_dicts() == [{"n": 0}]


def test_a_substring_is_found_in_the_texts_that_arrow_finds() -> None:
    rng = Random(5)
    for _ in range(2_000):
        letters = rng.choice(["ab", "aé\U0001f600b"])

        def text(most: int, letters: str = letters) -> str:
            return "".join(rng.choice(letters) for _ in range(rng.randrange(most)))

        texts = [None if rng.random() < 0.1 else text(5) for _ in range(rng.randrange(1, 12))]
        part = rng.choice(letters) + text(3)
        column = pa.array(["before", *texts, "after"]).slice(1, len(texts))
        assert searched(column, part).equals(pc.match_substring(column, part)), (texts, part)
