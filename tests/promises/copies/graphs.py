"""A graph with branches, merges, a schema change, deletes, indexes, vectors and blobs; and what a copy must equal."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

import omnigraph
from omnigraph.core.tuning import Tuning

SCHEMA = """node Person {
  name: String @key
  age: I32? @index
  about: Vector(4)?
  picture: Blob?
}

edge Knows: Person -> Person {
  since: Date?
}
"""

ADD = "query add($name: String) { insert Person { name: $name } }"
LARGE = base64.b64encode(bytes(range(256)) * 512).decode()
"""A blob that Lance stores in a file of its own."""

INDEXED = Tuning(index_rows_min=0, recent_commits_max=4)
"""Small tables get indexes, and the commit log spills early."""


def person(name: str, **data: Any) -> dict[str, Any]:
    return {"type": "Person", "data": {"name": name, **data}}


def insert(graph: omnigraph.Graph, name: str, branch: str = "main") -> None:
    graph.mutate(ADD, {"name": name}, branch=branch)


def grown(uri: str, storage_options: Mapping[str, str] | None = None) -> omnigraph.Graph:
    graph = omnigraph.create(uri, SCHEMA, storage_options=storage_options, durability="os", tuning=INDEXED)
    people = [person(f"p{number}", age=number, about=[number, 0, 0, 1]) for number in range(40)]
    graph.load([*people, person("painter", picture=f"base64:{LARGE}")], "append")
    graph.load([{"edge": "Knows", "from": "p1", "to": "p2", "data": {"since": "2020-01-15"}}], "append")
    graph.optimize()
    graph.create_branch("kept/branch")
    insert(graph, "on-branch", "kept/branch")
    graph.create_branch("merged")
    insert(graph, "from-merged", "merged")
    insert(graph, "meanwhile")
    graph.merge("merged")
    graph.delete_branch("merged")
    graph.mutate('query drop() { delete Person where name = "p7" }')
    graph.apply_schema(SCHEMA.replace("age: I32?", "nick: String?\n  age: I32?"))
    insert(graph, "after")
    return graph


def content(graph: omnigraph.Graph) -> dict[str, list[bytes]]:
    """Every branch as lines."""
    return {branch.name: list(graph.export(branch.name)) for branch in graph.branches()}


def history(graph: omnigraph.Graph) -> dict[str, tuple[Any, ...]]:
    """Every commit of every branch, with its whole state."""
    commits = {commit.id: commit for branch in graph.branches() for commit in graph.commits(branch.name)}
    return {
        id: (commit.parents, commit.kind, commit.message, commit.tables, list(graph.export(at=id)))
        for id, commit in commits.items()
    }
