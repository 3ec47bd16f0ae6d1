"""Compile time of queries: 1,000 typical ones against a schema of 50 types, from text to rewritten plan, on one core.

Deterministic: the same schema and the same queries every time. The goal is below 0.6 ms a query.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from omnigraph.lang.diagnostics import Diagnostics
from omnigraph.lang.gq_parser import ParsedQueries, parse_queries
from omnigraph.lang.pg_parser import parse_schema
from omnigraph.lang.source import Source
from omnigraph.query.compile import check_query
from omnigraph.schema.catalog import Catalog
from omnigraph.schema.compile import accept

NODE_TYPES = 30
EDGE_TYPES = 20
QUERIES = 1_000
ROUNDS = 5


def schema_text() -> str:
    """Thirty node types of ten properties, twenty edge types: every second one within a type."""
    nodes = [
        f"""node Type{i} {{
    key{i}: String @key
    name: String @index
    title: String?
    age: I32?
    count: I64?
    score: F64?
    born: Date?
    seen: DateTime?
    tags: [String]?
    embedding: Vector(8)?
}}"""
        for i in range(NODE_TYPES)
    ]
    edges = [
        f"edge Edge{i}: Type{i} -> Type{i if i % 2 else (i + 1) % NODE_TYPES} {{ since: Date? weight: F64? }}"
        for i in range(EDGE_TYPES)
    ]
    return "\n".join([*nodes, *edges])


SHAPES: tuple[Callable[[int, int], str], ...] = (
    lambda i, n: (
        f"""query by_key_{n}($key: String) {{
    match {{ $x: Type{i} {{ key{i}: $key }} }}
    return {{ $x.name, $x.age, $x.score }}
}}"""
    ),
    lambda i, n: (
        f"""query neighbours_{n}($name: String, $age: I32) {{
    match {{
        $x: Type{i} {{ name: $name }}
        $x edge{i} $y
        $y.age > $age
        $y.title is not null
    }}
    return {{ $x.name, $y.name as friend, $y.age }}
    order {{ $y.age desc, friend }}
    limit 20
}}"""
    ),
    lambda i, n: (
        f"""query counted_{n}() {{
    match {{
        $x: Type{i}
        $x $e: edge{i} $y
        $e.weight > 0.5
        not {{ $x.age < 18 }}
    }}
    return {{ $x.name, count(distinct $y) as n, avg($e.weight) as mean }}
    order {{ n desc }}
    limit 10
}}"""
    ),
    lambda i, n: (
        f"""query optional_{n}($tags: [String]) {{
    match {{
        $x: Type{i}
        maybe {{ $x edge{i} $y $y.born < date("2020-01-01") }}
        $x.name starts_with "A" or $x.title contains "b" and $x.count in [1, 2, 3]
        $x.name in $tags
    }}
    return distinct {{ $x.name, $y.name }}
}}"""
    ),
    lambda i, n: (
        f"""query ranked_{n}($text: String, $vector: Vector(8)) {{
    match {{
        $x: Type{i}
        search($x.name, $text)
        $x.seen < now()
    }}
    return {{ $x.name, bm25($x.name, $text) as score }}
    order {{ rrf(nearest($x.embedding, $vector), bm25($x.name, $text)) }}
    limit 10
}}"""
    ),
    lambda i, n: (
        f"""query added_{n}($key: String, $name: String, $other: String, $age: I32?) {{
    insert Type{i} {{ key{i}: $key, name: $name, age: $age, seen: now() }}
    insert Edge{i} {{ from: $key, to: $other, weight: 0.5 }}
    update Type{i} set {{ title: "x" }} where age > 30
}}"""
    ),
)


def query_text() -> str:
    """All queries as one file, the shapes in turn over all types that have an edge."""
    return "\n\n".join(SHAPES[n % len(SHAPES)](n % EDGE_TYPES, n) for n in range(QUERIES))


def check_all(parsed: ParsedQueries, catalog: Catalog) -> None:
    for query in parsed.file.queries:
        diagnostics = Diagnostics(parsed.source)
        plan = check_query(query, catalog, diagnostics)
        assert plan is not None, diagnostics.report()[0].render()


def main() -> None:
    catalog = Catalog(accept(parse_schema(Source(schema_text())), domain="B"))
    text = query_text()
    parsing: list[float] = []
    checking: list[float] = []
    for _ in range(ROUNDS):
        started = time.process_time()
        parsed = parse_queries(Source(text))
        parsed_at = time.process_time()
        assert not parsed.diagnostics
        assert len(parsed.file.queries) == QUERIES
        check_all(parsed, catalog)
        checking.append(time.process_time() - parsed_at)
        parsing.append(parsed_at - started)
    total = min(parse + check for parse, check in zip(parsing, checking, strict=True))
    print(f"{NODE_TYPES + EDGE_TYPES} types, {QUERIES} queries, {len(text.splitlines())} lines")
    print(f"  processor time, best of {ROUNDS} rounds")
    print(f"  parse                   {min(parsing):7.3f} s")
    print(f"  check, lower, rewrite   {min(checking):7.3f} s")
    print(f"  total                   {total:7.3f} s   {QUERIES / total:,.0f} queries/s")


if __name__ == "__main__":
    main()
