"""A graph for readers that the tests of a module share, one for each writer, and the namespace over REST."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import lance.namespace
import lance_namespace as ln
import pytest
import uvicorn

import omnigraph
from omnigraph import Graph
from omnigraph.namespace import OmnigraphNamespace
from omnigraph.server.namespace import namespace_app
from tests.support.tuning import EAGER

SCHEMA = """
node Person { name: String @key  age: I64?  bio: String? @index  taste: Vector(4)? @index }
node Note { text: String }
edge Knows: Person -> Person { since: I64? }
"""


def people(count: int, first: int = 0) -> list[dict[str, object]]:
    return [
        {
            "type": "Person",
            "data": {"name": f"p{n}", "age": n % 90, "bio": f"likes cats and number {n}", "taste": [n, 0.0, 1.0, 2.0]},
        }
        for n in range(first, first + count)
    ]


@contextmanager
def serving(namespace: OmnigraphNamespace) -> Iterator[str]:
    """The address of a namespace over REST."""
    server = uvicorn.Server(uvicorn.Config(namespace_app(namespace), port=0, log_level="error"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        assert thread.is_alive(), "the server did not start"
        time.sleep(0.01)
    yield "http://127.0.0.1:" + str(server.servers[0].sockets[0].getsockname()[1])
    server.should_exit = True
    thread.join()


@dataclass(frozen=True)
class Served:
    """A graph that no test changes: its first load, and what branches and later commits made of it."""

    graph: Graph
    namespace: OmnigraphNamespace
    address: str
    loaded: str
    """The commit with all 20 people and all indexes; ``main`` has lost one since, ``review/q1`` has one more."""


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    graph = omnigraph.create(tmp_path_factory.mktemp("served") / "graph", SCHEMA, tuning=EAGER)
    graph.load([*people(20), {"edge": "Knows", "from": "p1", "to": "p2"}], mode="merge")
    graph.optimize()
    loaded = graph.snapshot().commit_id
    graph.create_branch("review/q1")
    graph.mutate('query q() { insert Person { name: "new", age: 1 } }', branch="review/q1")
    graph.mutate('query q() { delete Person where name = "p0" }')
    namespace = OmnigraphNamespace(graph)
    with serving(namespace) as address:
        yield Served(graph, namespace, address, loaded)


@pytest.fixture(scope="module", params=["class", "rest"])
def client(request: pytest.FixtureRequest, served: Served) -> ln.LanceNamespace:
    """The namespace in process, and through pylance's own REST client."""
    return served.namespace if request.param == "class" else lance.namespace.RestNamespace(uri=served.address)


@pytest.fixture
def served_namespace(served: Served) -> OmnigraphNamespace:
    """The namespace of the shared graph, in process."""
    return served.namespace


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    graph = omnigraph.create(tmp_path / "graph", SCHEMA)
    graph.load([*people(20), {"edge": "Knows", "from": "p1", "to": "p2"}], mode="merge")
    return graph


@pytest.fixture
def namespace(graph: Graph) -> OmnigraphNamespace:
    return OmnigraphNamespace(graph)


@pytest.fixture
def address(namespace: OmnigraphNamespace) -> Iterator[str]:
    """The namespace of a writer over REST."""
    with serving(namespace) as address:
        yield address
