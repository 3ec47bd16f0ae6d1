"""Walks whose nodes are not read are counted over hashes of ids, with the same answers as over ids."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Any

import pytest

from omnigraph.engine.graph import create
from omnigraph.spark.query import hashed_ends, tables
from tests.promises.parity.both import BothEngines
from tests.support.tuning import retuned

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SCHEMA = """
node Person { name: String @key  age: I32? }
node Town { name: String @key }
edge Knows: Person -> Person { since: I32? }
edge Lives: Person -> Town @key(src, dst)
edge Likes: Person -> Person | Town
"""
KNOWS_TWICE = "$a: Person $a knows $b $b knows $c"
OVER_HASHES = [
    KNOWS_TWICE,
    "$a: Person $a knows $b",
    "$a: Person $a $e: knows $b $b $f: knows $c",
    "$a: Person $a $e: knows $b $e.since > 3 $b knows $c",
    "$a: Person $a <knows> $b $b <knows> $c",
    "$a: Person $a knows $b $b knows $c $c lives $t",
    "$t: Town $a lives $t $a knows $b",
]
OVER_IDS = [
    '$a: Person { name: "p1" } $a knows $b $b knows $c',
    "$a: Person $a knows $b $b.age > 3 $b knows $c",
    "$a: Person $a knows $b $b likes $c",
    "$a: Person $a knows $b $b knows $a",
]


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory, spark: SparkSession) -> BothEngines:
    chance = Random(5)
    plain = create(tmp_path_factory.mktemp("hashed") / "graph", SCHEMA, durability="os")
    persons = [f"p{number}" for number in range(30)]
    plain.load([{"type": "Person", "data": {"name": name, "age": chance.randrange(9)}} for name in persons])
    plain.load([{"type": "Town", "data": {"name": name}} for name in ("p1", "t1")])
    for _ in range(4):
        # Several fragments, parallel edges, and edges from a node to itself.
        edges: list[dict[str, Any]] = []
        for _ in range(40):
            ends = {"from": chance.choice(persons), "to": chance.choice(persons[:9])}
            edges.append({"edge": "Knows", **ends, "data": {"since": chance.randrange(9)}})
        plain.load(edges)
    plain.load([{"edge": "Lives", "from": name, "to": chance.choice(["p1", "t1"])} for name in persons])
    plain.load([{"edge": "Likes", "from": "p1", "to": {"type": "Town", "id": "p1"}}])
    both = BothEngines(plain._store)
    both.spark = spark
    return both


def counted(graph: BothEngines, pattern: str, monkeypatch: pytest.MonkeyPatch) -> list[str | None]:
    """Compare the engines; returns the salts that Spark chose."""
    salts: list[str | None] = []

    def noted(*given: Any) -> str | None:
        salts.append(hashed_ends.salt_of_walk(*given))
        return salts[-1]

    monkeypatch.setattr(tables, "salt_of_walk", noted)
    with retuned(graph, hashed_edges_min=0, partition_rows=50, broadcast_bytes=1):
        graph.query(f"query q() {{ match {{ {pattern} }} return {{ count(*) as walks }} }}")
    return salts


@pytest.mark.parametrize("pattern", OVER_HASHES)
def test_walks_over_hashes_have_the_same_count(
    graph: BothEngines, pattern: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert counted(graph, pattern, monkeypatch) == [""]


@pytest.mark.parametrize("pattern", OVER_IDS)
def test_other_walks_are_counted_over_ids(graph: BothEngines, pattern: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert set(counted(graph, pattern, monkeypatch)) <= {None}


def test_nodes_with_one_hash_get_another_salt(graph: BothEngines, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hashed_ends, "_are_distinct", lambda spark, table, salt: salt == "2")
    assert counted(graph, KNOWS_TWICE, monkeypatch) == ["2"]


def test_few_edges_are_counted_over_ids(graph: BothEngines, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hashed_ends, "_are_distinct", lambda *_: pytest.fail("a job for few edges"))
    graph.query(f"query q() {{ match {{ {KNOWS_TWICE} }} return {{ count(*) as walks }} }}")
