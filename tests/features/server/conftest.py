"""One graph with a branch, blobs and stored queries, and an open server for it, shared by the tests of a module."""

import base64
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import httpx2
import pytest

import omnigraph
from omnigraph import Graph
from tests.features.server.live import BASE, READ_ALL, Live, queries_of, running, serving_of

SCHEMA = """
node Person @description("Someone") {
  name: String @key
  age: I32?
  born: Date?
  photo: Blob?
  tags: [String]?
}
node Note { text: String }
edge Knows: Person -> Person { since: Date?  weight: F64? }
"""
PHOTO = bytes(range(256)) * 4
STORED = (
    READ_ALL,
    'query by_name($name: String) @description("One person.") @instruction("Use it.") '
    "{ match { $p: Person {name: $name} } return { $p.name, $p.age } }",
    "query add($name: String, $age: I32?) { insert Person {name: $name, age: $age} }",
)


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Graph:
    """Three people who know each other, and a branch `dev` with one more."""
    return small_graph(tmp_path_factory.mktemp("server") / "kb.omni")


def small_graph(path: Path) -> Graph:
    graph = omnigraph.create(path, SCHEMA, durability="os")
    photo = "base64:" + base64.b64encode(PHOTO).decode()
    people = [
        {"name": "ann", "age": 31, "born": "1990-01-31", "photo": photo, "tags": ["a", "b"]},
        {"name": "bo", "age": 27},
        {"name": "cy"},
    ]
    rows = [{"type": "Person", "data": person} for person in people]
    edges = [{"edge": "Knows", "from": "ann", "to": name, "data": {"id": f"k-{name}"}} for name in ("bo", "cy")]
    graph.load([*rows, *edges], "merge", actor="loader", message="the first people")
    graph.create_branch("dev")
    graph.mutate('query q() { insert Person {name: "dee", age: 5} }', branch="dev")
    return graph


@pytest.fixture(scope="module")
def live(graph: Graph) -> Iterator[Live]:
    """An open server."""
    with running(serving_of(graph, queries=queries_of(graph, *STORED))) as live:
        yield live


@pytest.fixture(scope="module")
def client(live: Live) -> Iterator[httpx2.Client]:
    with live.client() as client:
        yield client


NUMBERS = count()


@pytest.fixture
def branch(client: httpx2.Client) -> str:
    """A new branch at the head of `main`, for a test that writes."""
    name = f"b{next(NUMBERS)}"
    assert client.post(f"{BASE}/branches", json={"name": name}).status_code == 200
    return name
