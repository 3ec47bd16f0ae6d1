"""All mistakes of an input are counted together: one of them hides no other, in memory and through disk."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from omnigraph.engine.graph import Graph, create
from omnigraph.errors import KeyConflictError, ViolationError
from tests.features.bulk.loading import through_disk

SCHEMA = """
node Person {
    name: String @key
    age: I32?
    mail: String? @unique
    @range(age, 0..150)
}
edge Knows: Person -> Person {
    since: I32?
}
"""


def person(name: object, **data: Any) -> dict[str, Any]:
    return {"type": "Person", "data": {"name": name, **data}}


def knows(source: str, target: str, **data: Any) -> dict[str, Any]:
    return {"edge": "Knows", "from": source, "to": target, "data": data}


INPUTS: list[tuple[str, Any, dict[str, int]]] = [
    (
        "a node with a wrong value is an end of edges, and hides no dangling edge",
        [person("a", age="old"), person("b", age=200), knows("a", "b"), knows("a", "x")],
        {"type/node:Person/age": 1, "range/node:Person/age": 1, "endpoint/edge:Knows/dst": 1},
    ),
    (
        "a wrong value hides no duplicate and no unique value, and its row is compared too",
        [person("a", age="old"), person("a"), person("b", mail="m"), person("c", mail="m", zzz=1)],
        {
            "type/node:Person/age": 1,
            "unknown_property/node:Person/zzz": 1,
            "duplicate_id/node:Person": 1,
            "unique/node:Person/mail": 1,
        },
    ),
    (
        "an edge with a wrong value is checked for its ends",
        [person("a"), knows("a", "x", since="late")],
        {"type/edge:Knows/since": 1, "endpoint/edge:Knows/dst": 1},
    ),
    (
        "a row without an id is no end of an edge",
        [person(None), person(5), person("a"), knows("a", "5")],
        {"required/node:Person/name": 1, "type/node:Person/name": 1, "endpoint/edge:Knows/dst": 1},
    ),
    (
        "a line that is no record hides nothing",
        [{"tipe": "Person"}, person("a"), knows("a", "x")],
        {"malformed": 1, "endpoint/edge:Knows/dst": 1},
    ),
    (
        "an id that exists is a violation among others",
        [person("old"), person("a", age="x"), knows("old", "x")],
        {"duplicate_id/node:Person": 1, "type/node:Person/age": 1, "endpoint/edge:Knows/dst": 1},
    ),
    (
        "an unknown column and a column of the wrong kind hide no dangling edge and make none",
        {
            "Person": pa.table({"name": ["a", "b"], "agee": [1, 2], "mail": [[1], [2]]}),
            "Knows": pa.table({"from": ["a", "a"], "to": ["b", "x"]}),
        },
        {"unknown_property/node:Person/agee": 1, "type/node:Person/mail": 1, "endpoint/edge:Knows/dst": 1},
    ),
    (
        "without the column of a key no edge is judged by it",
        {"Person": pa.table({"nmae": ["a"]}), "Knows": pa.table({"from": ["a"], "to": ["b"]})},
        {"unknown_property/node:Person/nmae": 1, "required/node:Person/name": 1},
    ),
    (
        "without a readable key no edge is judged by it",
        {"Person": pa.table({"name": [[1]]}), "Knows": pa.table({"from": ["a"], "to": ["b"]})},
        {"type/node:Person/name": 1},
    ),
]


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Graph:
    made = create(Path(tmp_path_factory.mktemp("together")) / "graph", SCHEMA, durability="os")
    made.load([person("old")], "append")
    return made


@pytest.mark.parametrize("is_large", [False, True], ids=["memory", "disk"])
@pytest.mark.parametrize(("data", "counts"), [row[1:] for row in INPUTS], ids=[row[0] for row in INPUTS])
def test_every_mistake_is_counted(graph: Graph, data: Any, counts: dict[str, int], is_large: bool) -> None:
    head = graph.snapshot().commit_id
    for run in (graph.load, graph.load_preview):
        with through_disk(graph) if is_large else nullcontext(), pytest.raises(ViolationError) as refused:
            run(data, "append")
        assert dict(refused.value.counts) == counts
        assert refused.value.total == len(refused.value.samples) == sum(counts.values())
    assert graph.snapshot().commit_id == head


def test_ids_that_exist_are_a_conflict_if_nothing_else_is_wrong(graph: Graph) -> None:
    for around in (nullcontext(), through_disk(graph)):
        with around, pytest.raises(KeyConflictError, match="Person 'old' exists already"):
            graph.load([person("old"), person("fine")], "append")
