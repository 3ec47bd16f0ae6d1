"""Graphs with a property of every type, and short ways to look at their files and indexes."""

import os
from typing import Any

import lance

import omnigraph
from omnigraph.rows.arrow_types import Entity
from omnigraph.storage.index.indexes import Coverage, IndexKind, coverage_of
from omnigraph.write.upkeep.index_choice import wanted_indexes
from tests.support.tuning import EAGER

SCHEMA = """
node Person {
  name: String @key
  bio: String? @index
  age: I32? @index
  score: F64? @index
  size: U32? @index
  huge: U64? @index
  born: Date? @index
  seen: DateTime? @index
  active: Bool? @index
  mood: enum(calm, angry)? @index
  look: Vector(4)? @index
  tags: [String]?
}
node Doc { title: String @index
  photo: Blob? }
edge Knows: Person -> Person { since: I64? @index }
"""

QUERIES = {
    "key": 'query q() { match { $p: Person {name: "p0042"} } return { $p.name, $p.age, $p.bio } }',
    "number": "query q() { match { $p: Person $p.age = 7 } return { $p.name } order { $p.name } }",
    "range": "query q() { match { $p: Person $p.score >= 10.0 $p.score < 20.0 } return { $p.name } order { $p.name } }",
    "flag": 'query q() { match { $p: Person $p.active = true $p.mood = "calm" } return { count($p) as n } }',
    "words": 'query q() { match { $p: Person search($p.bio, "word7 special") } return { $p.name } order { $p.name } }',
    "fuzzy": 'query q() { match { $p: Person fuzzy($p.bio, "wrod8", 2) } return { $p.name } order { $p.name } }',
    "ranked": 'query q() { match { $p: Person } return { $p.name, bm25($p.bio, "word7 word3") as s } '
    'order { bm25($p.bio, "word7 word3") } limit 12 }',
    "nearest": "query q() { match { $p: Person } return { $p.name, nearest($p.look, [5.0, 5.0, 5.0, 5.0]) as d } "
    "order { nearest($p.look, [5.0, 5.0, 5.0, 5.0]) } limit 9 }",
    "hop": 'query q() { match { $p: Person {name: "p0003"} $p knows $f } return { $f.name } order { $f.name } }',
    "two hops": "query q() { match { $p: Person $p knows $f $f knows $g } return { count($g) as n } }",
}


def create(uri: str | os.PathLike[str], **options: Any) -> omnigraph.Graph:
    options.setdefault("durability", "os")
    options.setdefault("tuning", EAGER)
    return omnigraph.create(uri, SCHEMA, **options)


def person(number: int, **changes: Any) -> dict[str, Any]:
    """A person; one in eleven has no property but the name."""
    data: dict[str, Any] = {"name": f"p{number:04}"}
    if number % 11:
        data |= {
            "bio": f"word{number % 10} common number{number}",
            "age": number % 90,
            "score": number / 4,
            "size": number,
            "huge": 2**63 + number,
            "born": f"19{number % 90 + 10}-01-02",
            "seen": f"2024-01-01T00:00:{number % 60:02}Z",
            "active": number % 2 == 0,
            "mood": "calm" if number % 3 else "angry",
            "look": [float(number % 50)] * 4,
            "tags": [f"t{number % 4}"],
        }
    return {"type": "Person", "data": {**data, **changes}}


def knows(number: int, other: int) -> dict[str, Any]:
    data = {"id": f"k{number:04}-{other:04}", "since": number}
    return {"edge": "Knows", "from": f"p{number:04}", "to": f"p{other:04}", "data": data}


def load_people(graph: omnigraph.Graph, start: int, stop: int, **options: Any) -> None:
    people = [person(number) for number in range(start, stop)]
    graph.load([*people, *(knows(number, number // 2) for number in range(start, stop))], "merge", **options)


def answers(graph: omnigraph.Graph, **options: Any) -> dict[str, Any]:
    """What the queries say."""
    return {name: graph.query(text, **options).to_arrow().to_pylist() for name, text in QUERIES.items()}


def exported(graph: omnigraph.Graph, **options: Any) -> bytes:
    return b"".join(graph.export(**options))


def table(graph: omnigraph.Graph, key: str = "node:Person", branch: str = "main") -> lance.LanceDataset:
    """The current version of a table, as Lance sees it."""
    pin = graph.snapshot(branch).state.tables[key]
    return graph._store.open(pin.location, pin.lance_version)


def fragments(graph: omnigraph.Graph, key: str = "node:Person") -> int:
    return len(table(graph, key).get_fragments())


def indexes(graph: omnigraph.Graph, key: str = "node:Person", branch: str = "main") -> dict[str, Coverage]:
    """Every index that a table shall have, by name; n-grams only if there are some, because small tables have none."""
    catalog = graph.catalog(branch)
    every: list[Entity] = [*catalog.nodes.values(), *catalog.edges.values()]
    entity = next(entity for entity in every if entity.table_key == key)
    found = coverage_of(table(graph, key, branch), wanted_indexes(entity))
    return {str(item.spec): item for item in found if item.segments or item.spec.kind is not IndexKind.NGRAM}


def uncovered(graph: omnigraph.Graph, key: str = "node:Person") -> dict[str, int]:
    """Rows that an index does not cover, where there are some."""
    found = indexes(graph, key)
    return {name: item.rows - item.covered_rows for name, item in found.items() if item.rows > item.covered_rows}
