"""Questions of the engine benchmark in the shapes of LDBC SNB Interactive: one person, few hops, sorted, a few rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from benchmarks.engine_queries import Parameters, Question

CITY = "city-003"
"""A city of every graph of the benchmark."""


def _starts(choices: Mapping[str, Any]) -> list[Parameters]:
    return [{"key": key} for key in choices["starts"]]


INTERACTIVE = (
    Question(
        "recent",
        "neighbours of one person, newest edge first (IS3)",
        {"ladybug": 1.0},
        {
            "omnigraph": "query q($key: String) { match { $p: Person { key: $key }  $p $e: follows $f } "
            "return { $e.since, $f.key, $f.name } order { $e.since desc, $f.key } }",
            "ladybug": "MATCH (p:Person {key: $key})-[e:Follows]->(f:Person) RETURN e.since, f.key, f.name "
            "ORDER BY e.since DESC, f.key",
        },
        _starts,
    ),
    Question(
        "near",
        "twenty persons of a city within 3 hops of one person, nearest first (IC1)",
        {"ladybug": 1.0},
        {
            "omnigraph": "query q($key: String) { match { $p: Person { key: $key }  $f: Person  "
            f'$f.city = "{CITY}"  $p $path: shortest follows{{1,3}} $f }} '
            "return { $path.length as far, $f.key, $f.name } order { far, $f.key } limit 20 }",
            "ladybug": "MATCH (p:Person {key: $key})-[e:Follows* SHORTEST 1..3]->(f:Person) "
            f"WHERE f.city = '{CITY}' RETURN length(e) AS far, f.key, f.name ORDER BY far, f.key LIMIT 20",
        },
        _starts,
    ),
    Question(
        "recommended",
        "ten neighbours of neighbours who are no neighbours, by number of paths (IC10)",
        {"ladybug": 1.0},
        {
            "omnigraph": "query q($key: String) { match { $p: Person { key: $key }  $p follows $f  $f follows $g  "
            "$g.key != $key  not { $p follows $g } } "
            "return { $g.key, count($f) as n } order { n desc, $g.key } limit 10 }",
            "ladybug": "MATCH (p:Person {key: $key})-[:Follows]->(f:Person)-[:Follows]->(g:Person) "
            "WHERE g.key <> $key AND NOT EXISTS { MATCH (p)-[:Follows]->(g) } "
            "RETURN g.key, count(*) AS n ORDER BY n DESC, g.key LIMIT 10",
        },
        _starts,
    ),
    Question(
        "around",
        "persons within 2 hops of one person by city, the ten largest groups (IC3)",
        {"ladybug": 1.0},
        {
            "omnigraph": "query q($key: String) { match { $p: Person { key: $key }  $p follows{1,2} $f } "
            "return { $f.city, count($f) as n, max($f.age) as oldest } order { n desc, $f.city } limit 10 }",
            "ladybug": "MATCH (p:Person {key: $key})-[:Follows* SHORTEST 1..2]->(f:Person) "
            "RETURN f.city, count(*) AS n, max(f.age) AS oldest ORDER BY n DESC, f.city LIMIT 10",
        },
        _starts,
    ),
)
