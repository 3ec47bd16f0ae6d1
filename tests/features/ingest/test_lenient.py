"""Lenient JSON: everything that Omnigraph 0.10's compatible reader takes, and the same errors for the rest."""

import io
import json
from datetime import UTC, date, datetime
from itertools import count
from pathlib import Path
from typing import Any

import pytest

import omnigraph
from omnigraph import Graph
from omnigraph.errors import InputError, ViolationError

SCHEMA = """
node Person { name: String @key
  age: I32?
  tags: [I32]?
  score: F64? }
node Day { day: Date @key
  note: String? }
node Pair { a: I32
  b: String
  @key(a, b) }
node Loose { text: String }
edge Knows: Person -> Person { since: Date? }
edge On: Person -> Day
edge At: Person -> Pair
"""


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("lenient") / "g.omni"
    omnigraph.create(path, SCHEMA, durability="os")
    return path


@pytest.fixture(scope="module")
def graph(root: Path) -> Graph:
    return omnigraph.open(root, durability="os")


NUMBERS = count()


@pytest.fixture
def branch(graph: Graph) -> str:
    return graph.create_branch(f"b{next(NUMBERS)}").name


def load(graph: Graph, branch: str, text: str, mode: str = "merge") -> Any:
    return graph.load(io.BytesIO(text.encode()), mode, branch=branch, format="lenient")


def stored(graph: Graph, branch: str, type_name: str) -> list[dict[str, Any]]:
    return graph.snapshot(branch).to_arrow(type_name).to_pylist()


def test_values_follow_each_other_in_any_layout_with_comments(graph: Graph, branch: str) -> None:
    text = """
    // two people
    {"type": "Person",
     "data": {"name": "ann", "age": 3}}   {"type":"Person","data":{"name":"bo"}}
    {"edge":"knows","from":"ann","to":"bo","data":{"since":"2020-01-31"}} // the end"""
    result = load(graph, branch, text)
    assert (dict(result.nodes), dict(result.edges)) == ({"Person": 2}, {"Knows": 1})
    assert stored(graph, branch, "Knows")[0]["since"] == date(2020, 1, 31)


def test_mistakes_that_are_harmless_are_ignored(graph: Graph, branch: str) -> None:
    person = {
        "type": "Person",
        "edge": "Knows",
        "extra": 1,
        "data": {"name": "ann", "age": "three", "tags": [1, "x", 2], "score": True, "unknown": 5, "_rowid": 1},
    }
    edge = {"edge": "Knows", "from": "ann", "to": "ann", "data": {"src": "x", "dst": "y", "since": 1.5}}
    load(graph, branch, json.dumps(person) + json.dumps(edge))
    assert stored(graph, branch, "Person") == [
        {"id": "ann", "age": None, "name": "ann", "score": None, "tags": [1, None, 2]}
    ]
    assert stored(graph, branch, "Knows")[0]["since"] is None


def test_the_last_of_equal_members_counts_and_data_that_is_no_object_is_empty(graph: Graph, branch: str) -> None:
    load(graph, branch, '{"type":"Person","data":{"name":"a","name":"b"}}{"edge":"Knows","from":"b","to":"b","data":7}')
    assert [row["name"] for row in stored(graph, branch, "Person")] == ["b"]


def test_an_id_in_another_form_is_the_derived_one_also_for_edges(graph: Graph, branch: str) -> None:
    records = [
        {"type": "Person", "data": {"name": "ann"}},
        {"edge": "On", "from": "ann", "to": "2020-01-31"},
        {"type": "Day", "data": {"id": "2020-01-31", "day": "2020-01-31"}},
        {"type": "Pair", "data": {"id": "7", "a": 7, "b": "x"}},
        {"edge": "At", "from": "ann", "to": "7"},
    ]
    load(graph, branch, "\n".join(map(json.dumps, records)))
    days = (datetime(2020, 1, 31, tzinfo=UTC) - datetime(1970, 1, 1, tzinfo=UTC)).days
    assert [row["id"] for row in stored(graph, branch, "Day")] == [str(days)]
    assert [row["dst"] for row in stored(graph, branch, "On")] == [str(days)]
    assert [row["dst"] for row in stored(graph, branch, "At")] == ['["7","x"]']


def test_an_id_that_means_two_keys_is_refused(graph: Graph, branch: str) -> None:
    pairs = [{"type": "Pair", "data": {"id": "7", "a": 7, "b": name}} for name in "xy"]
    with pytest.raises(InputError, match=r"record 2: the id '7' of Pair means"):
        load(graph, branch, "".join(map(json.dumps, pairs)))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('{"type":"Person","data":{"age":3}}', "missing required property Person.name"),
        ('{"type":"Person","data":{"name":5}}', "wrong value for Person.name"),
        ('{"type":"Nobody","data":{}}', "unknown node type"),
        ('{"edge":"Knows","from":"ann","data":{}}', 'missing "to"'),
        ('{"type":"Person","data":{"name":"ann","id":"bo"}}', "differs from"),
        ("[1]", "expected an object"),
        ('{"other":1}', "this one has neither"),
        ('{"type":"Loose","data":{"id":5,"text":"t"}}', '"id" of Loose'),
    ],
)
def test_what_cannot_be_meant_is_a_violation_with_its_record(graph: Graph, branch: str, text: str, reason: str) -> None:
    with pytest.raises(ViolationError, match=reason) as caught:
        load(graph, branch, '{"type":"Loose","data":{"text":"t"}}' + text)
    assert [sample.place.line for sample in caught.value.samples] == [2]  # type: ignore[attr-defined] # violations
    assert not stored(graph, branch, "Loose"), "nothing was written"


@pytest.mark.parametrize(
    "text", ['{"type":', "{} {", "NaN", "[" * 100_000, "1" * 5_000, "\ufeff{", '{"a":"\x01"}', "/* no */ {}"]
)
def test_what_is_no_json_is_refused_with_the_number_of_the_record(graph: Graph, branch: str, text: str) -> None:
    with pytest.raises(InputError, match=r"record [12] is not JSON"):
        load(graph, branch, text)


def test_bytes_that_are_no_text_are_refused(graph: Graph, branch: str) -> None:
    with pytest.raises(InputError, match="not valid UTF-8 at byte 1"):
        graph.load(io.BytesIO(b"{\xff"), "merge", branch=branch, format="lenient")


def test_an_empty_input_is_an_empty_load(graph: Graph, branch: str) -> None:
    assert load(graph, branch, " // nothing\n").total == 0
