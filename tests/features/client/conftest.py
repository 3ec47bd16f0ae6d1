"""One server for the tests of a module, and its graph seen twice: in this process, and over HTTP."""

from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

import omnigraph
from omnigraph import Graph, RemoteGraph
from omnigraph.server.agents import agent_tools
from tests.features.server.conftest import STORED, small_graph
from tests.features.server.live import BASE, Live, queries_of, running, serving_of

NUMBERS = count()


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Graph:
    """Three people who know each other, and a branch `dev` with one more."""
    return small_graph(Path(tmp_path_factory.mktemp("client")) / "kb.omni")


@pytest.fixture(scope="module")
def live(graph: Graph) -> Iterator[Live]:
    with running(serving_of(graph, queries=queries_of(graph, *STORED)), agents=agent_tools("read", "test")) as live:
        yield live


@pytest.fixture(scope="module")
def remote(live: Live) -> Iterator[RemoteGraph]:
    with omnigraph.open(f"{live.address}{BASE}", token=None) as remote:
        yield remote


@pytest.fixture
def branch(graph: Graph) -> str:
    """A new branch at the head of `main`, for a test that writes."""
    name = f"b{next(NUMBERS)}"
    graph.create_branch(name)
    return name
