"""A graph of persons with duplicates, for entity resolution."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import omnigraph
from omnigraph import Graph

SCHEMA = """
node Person {
  name: String
  email: String?
  city: String?
  age: I32?
  born: Date?
  tags: [String]? @merge(union)
  visits: I32? @merge(sum)
  best: F64? @merge(max)
  note: String? @merge(review)
}
node Company {
  name: String @key
}
edge Knows: Person -> Person {
  since: I32?
}
edge WorksAt: Person -> Company @card(0..1) {
  role: String?
}
edge Likes: Person -> Company {
  @key(src, dst)
  stars: I32? @merge(max)
}
"""

RULES: dict[str, Any] = {
    "blocks": ["email", ["prefix(name, 3)", "city"]],
    "compare": {"name": "jaro_winkler", "email": {"by": "exact", "weight": 2}, "city": "exact"},
    "threshold": 0.85,
}

FIRST = ("ada", "alan", "grace", "edsger", "barbara", "donald", "katherine", "john")
LAST = ("lovelace", "turing", "hopper", "dijkstra", "liskov", "knuth", "johnson", "backus")
CITIES = ("london", "paris", "zürich", None)


def person(id_: str, name: str, **values: Any) -> dict[str, Any]:
    return {"type": "Person", "data": {"id": id_, "name": name, **values}}


def edge(kind: str, source: str, target: str, **data: Any) -> dict[str, Any]:
    return {"edge": kind, "from": source, "to": target, "data": data}


def graph_of(path: Path, *records: dict[str, Any], schema: str = SCHEMA) -> Graph:
    graph = omnigraph.create(path, schema, durability="os")
    if records:
        graph.load(list(records))
    return graph


def company(name: str) -> dict[str, Any]:
    return {"type": "Company", "data": {"name": name}}


def random_records(seed: int, people: int = 120) -> list[dict[str, Any]]:
    """Persons, some of them misspelled copies of others, and edges between any of them."""
    draw = random.Random(seed)
    records = []
    for number in range(people):
        first, last = draw.choice(FIRST), draw.choice(LAST)
        name = f"{first} {last}"
        if draw.random() < 0.3:
            place = draw.randrange(len(name))
            name = name[:place] + draw.choice("xé ") + name[place + 1 :]
        email = f"{first}@{last}.org" if draw.random() < 0.5 else None
        optional = {
            "email": email,
            "city": draw.choice(CITIES),
            "age": draw.choice((None, 30, 40)),
            "tags": draw.choice((None, ["a"], ["a", "b"], ["c"])),
            "visits": draw.choice((None, 1, 2)),
        }
        given = {key: value for key, value in optional.items() if value is not None}
        records.append(person(f"p{number:03}", name.title() if draw.random() < 0.5 else name, **given))
    records += [company(name) for name in ("X", "Y", "Z")]
    ids = [record["data"]["id"] for record in records[:people]]
    records += [edge("Knows", draw.choice(ids), draw.choice(ids), since=number) for number in range(people)]
    seen: set[tuple[str, str]] = set()
    for _ in range(people):
        ends = (draw.choice(ids), draw.choice("XYZ"))
        if ends not in seen:
            seen.add(ends)
            records.append(edge("Likes", *ends, stars=draw.randrange(5)))
    return records
