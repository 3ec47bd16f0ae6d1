"""Neighbour lists right after a commit: only what the commit added is looked up."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any
from unittest.mock import patch

import pytest

from omnigraph.engine.graph import Graph, create
from omnigraph.exec.topology import cache, ends
from omnigraph.exec.topology.cache import Topologies, build
from omnigraph.exec.topology.neighbours import Topology
from omnigraph.storage.tables.array_cache import ArrayCache
from tests.features.exec.test_topology import assert_equal, view
from tests.support.sampling import sampled
from tests.support.tuning import retuned

SCHEMA = """
node Person { name: String @key age: I32? }
node City { name: String @key }
edge Knows: Person -> Person
edge Likes: Person -> Person | City
"""
PEOPLE = 40
ADD = "query a($from: String, $to: String) { insert Knows { from: $from, to: $to } }"
AGE = "query s($name: String) { update Person set { age: 1 } where name = $name }"
REMOVE = "query d($name: String) { delete Person where name = $name }"
PAIRS: list[tuple[str, tuple[str, str] | None]] = [
    ("Knows", None),
    ("Likes", ("Person", "Person")),
    ("Likes", ("Person", "City")),
]


def people(*numbers: int) -> list[dict[str, Any]]:
    return [{"type": "Person", "data": {"name": f"p{number}"}} for number in numbers]


@pytest.fixture
def graph(tmp_path: Path) -> Iterator[Graph]:
    graph = create(tmp_path / "g", SCHEMA, durability="os")
    cities = [{"type": "City", "data": {"name": f"c{number}"}} for number in range(3)]
    knows = [{"edge": "Knows", "from": f"p{number}", "to": f"p{(number + 1) % PEOPLE}"} for number in range(PEOPLE)]
    graph.load([*people(*range(PEOPLE)), *cities, *knows])
    # Any number of changes stays on top of the first base.
    with retuned(graph, changed_share=1e-9):
        yield graph


def found(graph: Graph, known: Topologies, edge: str = "Knows", pair: tuple[str, str] | None = None) -> Topology:
    topology = known.find(view(graph, known).pins(edge, pair))
    assert topology is not None
    return topology


def looked_up(graph: Graph, known: Topologies) -> int:
    """The number of edges whose ends the next look at the lists searches for."""
    with patch.object(ends, "_looked_up", wraps=ends._looked_up) as calls:
        found(graph, known)
    return sum(len(call.args[2]) for call in calls.call_args_list)


@pytest.fixture
def known(graph: Graph) -> Topologies:
    known = Topologies(ArrayCache(None))
    for edge, pair in PAIRS:
        known.get(view(graph, known).pins(edge, pair))
    return known


def test_an_added_edge_is_looked_up_once(graph: Graph, known: Topologies) -> None:
    found(graph, known)
    for number in range(5):
        graph.mutate(ADD, {"from": f"p{number}", "to": "p9"})
        assert looked_up(graph, known) == 1
        assert looked_up(graph, known) == 0


def test_edges_whose_node_was_rewritten_are_looked_up_again(graph: Graph, known: Topologies) -> None:
    for number in range(5):
        graph.mutate(ADD, {"from": f"p{number}", "to": "p9"})
    assert looked_up(graph, known) == 5
    graph.mutate(AGE, {"name": "p30"})
    assert looked_up(graph, known) == 0
    graph.mutate(AGE, {"name": "p3"})
    assert looked_up(graph, known) == 1
    graph.mutate(AGE, {"name": "p9"})
    assert looked_up(graph, known) == 5


def test_a_node_that_comes_back_has_its_edges(graph: Graph, known: Topologies) -> None:
    graph.mutate(REMOVE, {"name": "p7"})
    assert_equal(found(graph, known), view(graph, known), "Knows")
    graph.load([*people(7), {"edge": "Knows", "from": "p7", "to": "p8"}], "append")
    assert_equal(found(graph, known), view(graph, known), "Knows")


class Changes:
    """Random changes that mostly add, as those of a graph that grows."""

    def __init__(self, graph: Graph, seed: int) -> None:
        self.graph, self.rng, self.next = graph, Random(seed), PEOPLE

    def make(self) -> None:
        graph, rng = self.graph, self.rng
        some = [f"p{rng.randrange(PEOPLE, self.next + 1) - 1}", f"p{rng.randrange(PEOPLE)}"]
        alive = set(graph.snapshot().to_arrow("node:Person").column("id").to_pylist())
        pair = [name if name in alive else min(alive) for name in some]
        match rng.choice(("edge", "edge", "like", "node", "node with edge", "update", "unlink", "delete", "optimize")):
            case "edge":
                graph.mutate(ADD, {"from": pair[0], "to": pair[1]})
            case "like":
                likes = [(pair[1], {"type": "City", "id": f"c{rng.randrange(3)}"})]
                likes.append((pair[0], {"type": "Person", "id": pair[1]}))
                graph.load([{"edge": "Likes", "from": start, "to": end} for start, end in likes], "append")
            case "node":
                graph.load(people(self.next), "append")
                self.next += 1
            case "node with edge":
                edge = {"edge": "Knows", "from": f"p{self.next}", "to": pair[0]}
                graph.load([*people(self.next), edge], "append")
                self.next += 1
            case "update":
                graph.mutate(AGE, {"name": pair[0]})
            case "unlink":
                graph.mutate("query u($name: String) { delete Knows where from = $name }", {"name": pair[1]})
            case "delete":
                graph.mutate(REMOVE, {"name": pair[1]})
            case "optimize":
                graph.optimize()


@pytest.mark.parametrize("seed", sampled(range(6), 2))
def test_extended_lists_are_those_of_a_build(seed: int, graph: Graph, known: Topologies) -> None:
    changes = Changes(graph, seed)
    extend, extended = cache._Found.extended, []

    def counted(*arguments: Any) -> Topology | None:
        extended.append(extend(*arguments))
        return extended[-1]

    with patch.object(cache._Found, "extended", counted):
        for _ in range(25):
            changes.make()
            for edge, pair in PAIRS:
                three = view(graph, known).pins(edge, pair)
                lists = known.find(three) or known.get(three)
                assert sorted_edges(lists) == sorted_edges(cache._exact(build(three))), (edge, pair)
                if pair is None:
                    assert_equal(lists, view(graph, known), edge)
    assert sum(lists is not None for lists in extended) > 2, "some changes only add"


def sorted_edges(lists: Topology) -> list[tuple[int, int, int]]:
    """Every edge with the rows of both ends."""
    whole = lists.out.whole
    return sorted(zip(whole.origins().tolist(), whole.neighbours.tolist(), whole.edges.tolist(), strict=True))
