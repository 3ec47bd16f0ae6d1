"""Data rules on Spark: the same rows as in this process, for scans, hops, walks, paths, negations and counts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import omnigraph
from tests.features.policy.teams import BUNDLE, KNOWS, PEOPLE, ROWS, SCHEMA, bundle

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

QUERIES = [
    "match { $p: Person } return { count($p) as n, sum($p.age) as s }",
    "match { $p: Person $p knows $q } return { $p.name, $q.name }",
    "match { $p: Person $p $e: knows $q } return { $q.name, $e.since }",
    "match { $p: Person $p knows $q $q knows $r } return { $p.name, count($r) as n }",
    "match { $p: Person $p knows{1,3} $q } return { $p.name, $q.name }",
    "match { $p: Person not { $p knows{2,3} $q } } return { $p.name }",
    "match { $p: Person not { $q knows $p } } return { $p.name }",
    "match { $a: Person $b: Person $a $path: shortest <knows>{1,4} $b } return { $a.name, $b.name, $path.length }",
]


@pytest.fixture(scope="module")
def ann(tmp_path_factory: pytest.TempPathFactory) -> omnigraph.Graph:
    place = tmp_path_factory.mktemp("rules")
    graph = omnigraph.create(place / "g.omni", SCHEMA)
    people = [{"name": name, "team": team, "age": age} for name, team, age in PEOPLE]
    edges = [{"src": source, "dst": target, "since": since} for source, target, since in [*KNOWS, ("bob", "ann", 5)]]
    graph.load({"Person": people, "Knows": edges})
    return omnigraph.open(graph.uri, policy=bundle(place / "policy", ROWS, BUNDLE), actor="ann")


def rows(frame_or_result: list[tuple[object, ...]]) -> list[tuple[object, ...]]:
    return sorted(frame_or_result, key=repr)


@pytest.mark.parametrize("number", range(len(QUERIES)))
def test_spark_stays_inside_the_scope_of_the_actor(number: int, ann: omnigraph.Graph, spark: SparkSession) -> None:
    text = f"query q() {{ {QUERIES[number]} }}"
    embedded = rows([tuple(row.values()) for row in ann.query(text).to_dicts()])
    frame = ann.query(text, engine="spark", spark=spark)
    assert rows([tuple(row) for row in frame.collect()]) == embedded
    assert embedded
