"""Questions of the engine benchmark about whole tables, and the shortest path between two persons."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from benchmarks.engine_queries import Parameters, Question


def _pairs(choices: Mapping[str, Any]) -> list[Parameters]:
    starts = choices["starts"]
    return [{"one": one, "other": other} for one, other in zip(starts, reversed(starts), strict=True) if one != other]


WIDE = (
    Question(
        "aggregates",
        "count, smallest and largest age by city",
        {"duckdb": 1.5, "ladybug": 1.0},
        {
            "omnigraph": "query q() { match { $p: Person } "
            "return { $p.city, count(*) as n, min($p.age) as low, max($p.age) as high } }",
            "duckdb": "SELECT city, count(*), min(age), max(age) FROM person GROUP BY ALL",
            "ladybug": "MATCH (p:Person) RETURN p.city, count(*), min(p.age), max(p.age)",
        },
    ),
    Question(
        "edge_groups",
        "edges counted by a property",
        {"duckdb": 2.0, "ladybug": 1.0},
        {
            "omnigraph": "query q() { match { $a: Person  $a $e: follows $b } return { $e.since, count(*) as n } }",
            "duckdb": "SELECT since, count(*) FROM follows GROUP BY ALL",
            "ladybug": "MATCH (:Person)-[e:Follows]->(:Person) RETURN e.since, count(*)",
        },
    ),
    Question(
        "half",
        "half of the persons filtered, count and largest age",
        {"duckdb": 2.0},
        {
            "omnigraph": "query q() { match { $p: Person  $p.age < 54 } "
            "return { count(*) as n, max($p.age) as high } }",
            "duckdb": "SELECT count(*), max(age) FROM person WHERE age < 54",
        },
    ),
    Question(
        "contains",
        "persons whose text contains a word",
        {"duckdb": 1.0},
        {
            "omnigraph": 'query q() { match { $p: Person  $p.about contains "babebex1" } return { count(*) as n } }',
            "duckdb": "SELECT count(*) FROM person WHERE contains(about, 'babebex1')",
        },
    ),
    Question(
        "distinct",
        "distinct pairs of city and age",
        {"duckdb": 1.0},
        {
            "omnigraph": "query q() { match { $p: Person } return distinct { $p.city, $p.age } }",
            "duckdb": "SELECT DISTINCT city, age FROM person",
        },
    ),
    Question(
        "shortest",
        "length of the shortest path of two persons",
        {"ladybug": 1.0},
        {
            "omnigraph": "query q($one: String, $other: String) { match { $a: Person { key: $one }  "
            "$b: Person { key: $other }  $a $path: shortest follows{1,6} $b } return { $path.length as n } }",
            "ladybug": "MATCH (a:Person {key: $one})-[e:Follows* SHORTEST 1..6]->(b:Person {key: $other}) "
            "RETURN length(e)",
        },
        _pairs,
    ),
)
