"""Workload of the engine benchmark: the schema, the questions in every system's language, and the goals.

Pure values and nothing but the standard library, so that a fresh process that is being measured can import it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

VECTOR = 256
Parameters = dict[str, Any]

SCHEMA = f"""
node Person {{
    key: String @key
    name: String
    age: I32
    city: String
    cohort: I32 @index
    about: String
}}
node Document {{
    slug: String @key
    body: String @index
    embedding: Vector({VECTOR}) @index
}}
edge Follows: Person -> Person {{
    since: I32
}}
"""

INSERT = "query add($from: String, $to: String) { insert Follows { from: $from, to: $to, since: 2025 } }"


@dataclass(frozen=True)
class Question:
    """One question in the language of each system that can answer it, with the goals."""

    name: str
    title: str
    goals: Mapping[str, float]
    """The largest ratio of our time to that of a system."""
    texts: Mapping[str, str]
    parameters: Callable[[Mapping[str, Any]], list[Parameters]] = field(default=lambda choices: [{}])
    """From the choices of the data: one run takes one of them, the next run the next."""
    ranked: bool = False
    """Search: systems may differ in some rows, and are judged by recall, by scores, by overlap."""
    graphs: tuple[str, ...] = ("tiny", "small", "large")


def _starts(choices: Mapping[str, Any]) -> list[Parameters]:
    return [{"key": key} for key in choices["starts"]]


def _lookups(choices: Mapping[str, Any]) -> list[Parameters]:
    return [{"key": key} for key in choices["lookups"]]


def _ages(_: Mapping[str, Any]) -> list[Parameters]:
    return [{"low": low, "high": low + 4} for low in range(20, 80, 4)]


def _cohorts(_: Mapping[str, Any]) -> list[Parameters]:
    return [{"cohort": number} for number in range(1, 5)]


def _searches(choices: Mapping[str, Any]) -> list[Parameters]:
    return list(choices["search"])


def _reach(hops: int) -> Question:
    return Question(
        f"reach{hops}",
        f"reach within {hops} hops of one person",
        {"ladybug": 0.5},
        {
            "omnigraph": "query q($key: String) { match { $p: Person { key: $key }  "
            f"$p follows{{1,{hops}}} $f }} return {{ count($f) as n }} }}",
            "ladybug": f"MATCH (p:Person {{key: $key}})-[:Follows* SHORTEST 1..{hops}]->(f:Person) RETURN count(f)",
        },
        _starts,
    )


def _sources(name: str, title: str, condition: str) -> Question:
    return Question(
        name,
        f"reach within 3 hops of {title} persons, each for itself",
        {"ladybug": 0.2},
        {
            "omnigraph": f"query q() {{ match {{ $p: Person  $p.{condition}  $p follows{{1,3}} $f }} "
            "return { count($f) as n } }",
            "ladybug": f"MATCH (p:Person)-[:Follows* SHORTEST 1..3]->(f:Person) WHERE p.{condition} RETURN count(f)",
        },
    )


def _paths(hops: int, filtered: bool) -> Question:
    variables = "abcd"[: hops + 1]
    last = variables[-1]
    walk = "  ".join(f"${one} follows ${two}" for one, two in pairwise(variables))
    conditions = f'$a.age < 30  ${last}.city = "city-003"' if filtered else ""
    chain = "-[:Follows]->".join(f"({name}:Person)" for name in variables)
    where = f"WHERE a.age < 30 AND {last}.city = 'city-003' " if filtered else ""
    return Question(
        f"paths{hops}" + ("_filtered" if filtered else ""),
        f"paths of {hops} hops, counted" + (", both ends filtered" if filtered else ""),
        {"ladybug": 0.7},
        {
            "omnigraph": f"query q() {{ match {{ $a: Person  {walk}  {conditions} }} "
            f"return {{ count(${last}) as n }} }}",
            "ladybug": f"MATCH {chain} {where}RETURN count(*)",
        },
    )


QUESTIONS = (
    Question(
        "point",
        "point lookup by key, warm",
        {"lance": 1.5, "ladybug": 1.0},
        {
            "omnigraph": "query q($key: String) { match { $p: Person { key: $key } } "
            "return { $p.key, $p.name, $p.age, $p.city } }",
            "lance": "key = '{key}' | key, name, age, city",
            "ladybug": "MATCH (p:Person {key: $key}) RETURN p.key, p.name, p.age, p.city",
        },
        _lookups,
    ),
    Question(
        "hop1",
        "one hop with properties from one person",
        {"ladybug": 1.0},
        {
            "omnigraph": "query q($key: String) { match { $p: Person { key: $key }  $p follows $f } "
            "return { $f.key, $f.name, $f.age, $f.city } }",
            "ladybug": "MATCH (p:Person {key: $key})-[:Follows]->(f:Person) RETURN f.key, f.name, f.age, f.city",
        },
        _starts,
    ),
    _reach(2),
    _reach(3),
    _sources("sources1k", "1,000", "cohort = 7"),
    _sources("sources10k", "10,000", "cohort < 10"),
    Question(
        "top_degree",
        "the ten most followed",
        {"ladybug": 0.3, "duckdb": 1.3, "duckdb_numbers": 1.3},
        {
            "omnigraph": "query q() { match { $a: Person  $a follows $b } return { $b.key, count($a) as n } "
            "order { n desc, $b.key } limit 10 }",
            "ladybug": "MATCH (a:Person)-[:Follows]->(b:Person) RETURN b.key, count(*) AS n "
            "ORDER BY n DESC, b.key LIMIT 10",
            "duckdb": 'SELECT "to", count(*) AS n FROM follows GROUP BY ALL ORDER BY n DESC, "to" LIMIT 10',
            "duckdb_numbers": "SELECT key, n FROM (SELECT target, count(*) AS n FROM follows_numbers GROUP BY ALL) f "
            "JOIN person p ON p.number = f.target ORDER BY n DESC, key LIMIT 10",
        },
    ),
    Question(
        "group_city",
        "followers by city of the followed",
        {"ladybug": 0.3, "duckdb": 1.3, "duckdb_numbers": 1.3},
        {
            "omnigraph": "query q() { match { $a: Person  $a follows $b } return { $b.city, count($a) as n } }",
            "ladybug": "MATCH (a:Person)-[:Follows]->(b:Person) RETURN b.city, count(*)",
            "duckdb": 'SELECT p.city, count(*) FROM follows f JOIN person p ON p.key = f."to" GROUP BY ALL',
            "duckdb_numbers": "SELECT p.city, count(*) FROM follows_numbers f JOIN person p ON p.number = f.target "
            "GROUP BY ALL",
        },
    ),
    _paths(2, filtered=False),
    _paths(2, filtered=True),
    _paths(3, filtered=False),
    _paths(3, filtered=True),
    Question(
        "triangles",
        "triangles from 1,000 persons",
        {"ladybug": 1.0},
        {
            "omnigraph": "query q() { match { $a: Person  $a.cohort = 7  $a follows $b  $b follows $c  $c follows $a } "
            "return { count($c) as n } }",
            "ladybug": "MATCH (a:Person)-[:Follows]->(b:Person)-[:Follows]->(c:Person)-[:Follows]->(a) "
            "WHERE a.cohort = 7 RETURN count(*)",
        },
    ),
    Question(
        "no_outgoing",
        "persons without outgoing edges",
        {"ladybug": 0.1},
        {
            "omnigraph": "query q() { match { $p: Person  not { $p follows $_ } } return { count($p) as n } }",
            "ladybug": "MATCH (p:Person) WHERE NOT EXISTS { MATCH (p)-[:Follows]->(:Person) } RETURN count(p)",
        },
    ),
    Question(
        "scan",
        "filtered scan returning 5 % of the persons",
        {"lance": 1.2},
        {
            "omnigraph": "query q($low: I32, $high: I32) { match { $p: Person  $p.age >= $low  $p.age < $high } "
            "return { $p.key, $p.name, $p.city, $p.about } }",
            "lance": "age >= {low} AND age < {high} | key, name, city, about",
        },
        _ages,
    ),
    Question(
        "scan_indexed",
        "filtered scan of 1,000 persons by an indexed property",
        {"lance": 1.2},
        {
            "omnigraph": "query q($cohort: I32) { match { $p: Person  $p.cohort = $cohort } "
            "return { $p.key, $p.name, $p.city, $p.about } }",
            "lance": "cohort = {cohort} | key, name, city, about",
        },
        _cohorts,
    ),
    Question(
        "vector",
        "the ten nearest of the documents",
        {"lancedb": 1.0},
        {
            "omnigraph": f"query q($vector: Vector({VECTOR})) {{ match {{ $d: Document }} "
            "return { $d.slug, nearest($d.embedding, $vector) as distance } "
            "order { nearest($d.embedding, $vector) } limit 10 }",
            "lancedb": "vector",
        },
        _searches,
        ranked=True,
    ),
    Question(
        "text",
        "the ten most relevant of the documents",
        {"lancedb": 1.0},
        {
            "omnigraph": "query q($words: String) { match { $d: Document } "
            "return { $d.slug, bm25($d.body, $words) as score } order { bm25($d.body, $words) } limit 10 }",
            "lancedb": "text",
        },
        _searches,
        ranked=True,
    ),
    Question(
        "hybrid",
        "both fused",
        {"lancedb": 1.0},
        {
            "omnigraph": f"query q($vector: Vector({VECTOR}), $words: String) {{ match {{ $d: Document }} "
            "return { $d.slug } order { rrf(nearest($d.embedding, $vector), bm25($d.body, $words)) } limit 10 }",
            "lancedb": "hybrid",
        },
        _searches,
        ranked=True,
    ),
)

BY_NAME = {question.name: question for question in QUESTIONS}
