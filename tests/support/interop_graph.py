"""One small graph with two node types that share an id, for tests of conversions and pictures."""

from __future__ import annotations

from pathlib import Path

import omnigraph

SCHEMA = """
node Person {
    name: String @key
    zip: String?
    age: I32?
    score: F32?
    vector: Vector(3)?
}
node City {
    name: String @key
}
edge Knows: Person -> Person {
    since: I32?
    weight: F64?
}
edge LivesIn: Person -> City
"""
RECORDS = [
    {"type": "Person", "data": {"name": "ann", "zip": "1", "age": 30, "score": 0.1, "vector": [0.1, 0.2, 0.3]}},
    {"type": "Person", "data": {"name": "bob", "age": 40}},
    {"type": "Person", "data": {"name": "paris", "age": 50, "score": 2.5, "vector": [1.0, 0.0, 0.0]}},
    {"type": "City", "data": {"name": "paris"}},
    {"type": "City", "data": {"name": "oslo"}},
    {"edge": "Knows", "from": "ann", "to": "bob", "data": {"id": "e1", "since": 2020, "weight": 2.0}},
    {"edge": "Knows", "from": "bob", "to": "ann", "data": {"id": "e2", "weight": 0.5}},
    {"edge": "Knows", "from": "ann", "to": "bob", "data": {"id": "e3"}},
    {"edge": "LivesIn", "from": "ann", "to": "paris", "data": {"id": "e1"}},
    {"edge": "LivesIn", "from": "paris", "to": "oslo", "data": {"id": "e4"}},
]


def interop_graph(directory: Path) -> omnigraph.Graph:
    """A new graph with these entities."""
    graph = omnigraph.create(directory / "graph", SCHEMA)
    graph.load(RECORDS, "append")
    return graph
