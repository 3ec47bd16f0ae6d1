"""The graph of the mutation tests."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import omnigraph

SCHEMA = """
node Person {
  email: String @key
  name: String
  age: I32?
  visits: I64?
  score: F64?
  tags: [String]?
  bio: String?
  born: Date?
  level: enum(low, high)?
}
node City { name: String @key  size: I32? }
node Log { text: String }
edge Knows: Person -> Person { since: I32?  note: String? }
edge LivesIn: Person -> City @key(src, dst) { since: I32? }
"""

PEOPLE = """query q() {
  insert Person { email: "ann", name: "Ann", age: 30, visits: 1, tags: ["a", "b"], bio: "likes red boats" }
  insert Person { email: "bob", name: "Bob", age: 70, score: 1.5 }
  insert Person { email: "cy", name: "Cy", visits: 5, tags: [], level: "low" }
  insert City { name: "Oslo", size: 3 }
  insert City { name: "Rome" }
  insert Knows { from: "ann", to: "bob", since: 2000 }
  insert Knows { from: "bob", to: "cy", note: "old" }
  insert Knows { from: "cy", to: "ann", since: 2010 }
  insert LivesIn { from: "ann", to: "Oslo", since: 1999 }
}"""


def created(path: Path) -> omnigraph.Graph:
    """A graph with three people and their edges."""
    graph = omnigraph.create(str(path / "graph"), SCHEMA, durability="os")
    graph.mutate(PEOPLE)
    return graph


def returned(graph: omnigraph.Graph, body: str, params: dict[str, Any] | None = None, head: str = "") -> Any:
    """The rows of ``returning`` of a mutation, as tuples in the order of their first values."""
    result = graph.mutate(f"query q({head}) {{ {body} }}", params)
    assert result.returned is not None
    return sorted((tuple(row.values()) for row in result.returned.rows), key=repr)


def values(graph: omnigraph.Graph, type_key: str, *columns: str) -> list[tuple[Any, ...]]:
    """Columns of a table, sorted."""
    table = graph.snapshot().to_arrow(type_key)
    return sorted(zip(*(table[name].to_pylist() for name in columns), strict=True), key=repr)
