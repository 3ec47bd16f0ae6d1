"""The six algorithms of LDBC Graphalytics, written down from the definitions of its specification and nothing else.

They are slow and share no code or library with the ones under test.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import Any

from omnigraph.engine.analysis.result import AnalysisResult
from omnigraph.engine.graph import Graph, create

SCHEMA = "node V { vid: I64 @key }\nedge E: V -> V { weight: F64 }"
ITERATIONS = 4

Edge = tuple[int, int]


@dataclass(frozen=True)
class Network:
    """A graph as the standard has it: no loops and no parallel edges; an undirected edge is listed once."""

    nodes: tuple[int, ...]
    edges: dict[Edge, float]
    directed: bool

    def graph(self, place: Path) -> Graph:
        graph = create(place, SCHEMA, durability="os")
        graph.load(
            [
                *({"type": "V", "data": {"vid": node}} for node in self.nodes),
                *(
                    {"edge": "E", "from": str(source), "to": str(target), "data": {"weight": weight}}
                    for (source, target), weight in self.edges.items()
                ),
            ],
            "append",
        )
        return graph

    @property
    def arcs(self) -> dict[Edge, float]:
        """The set E of the definitions: an undirected edge is in it in both directions."""
        turned = {} if self.directed else {(target, source): weight for (source, target), weight in self.edges.items()}
        return {**self.edges, **turned}

    def out(self, node: int) -> set[int]:
        return {target for source, target in self.arcs if source == node}

    def into(self, node: int) -> set[int]:
        return {source for source, target in self.arcs if target == node}


def bfs(network: Network, source: int) -> dict[int, float]:
    depth: dict[int, float] = dict.fromkeys(network.nodes, inf)
    depth[source], queue = 0, [source]
    for node in queue:
        for near in sorted(network.out(node)):
            if depth[near] == inf:
                depth[near] = depth[node] + 1
                queue.append(near)
    return depth


def pagerank(network: Network, damping: float = 0.85) -> dict[int, float]:
    size = len(network.nodes)
    ranks = dict.fromkeys(network.nodes, 1 / size)
    for _ in range(ITERATIONS):
        dangling = sum(ranks[node] for node in network.nodes if not network.out(node))
        ranks = {
            node: (1 - damping) / size
            + damping * sum(ranks[near] / len(network.out(near)) for near in network.into(node))
            + damping / size * dangling
            for node in network.nodes
        }
    return ranks


def wcc(network: Network) -> dict[int, int]:
    """Every node with the smallest node of its component."""
    labels = {node: node for node in network.nodes}
    while True:
        lowered = {
            node: min([labels[node], *(labels[near] for near in network.out(node) | network.into(node))])
            for node in network.nodes
        }
        if lowered == labels:
            return labels
        labels = lowered


def cdlp(network: Network) -> dict[int, int]:
    labels = {node: node for node in network.nodes}
    for _ in range(ITERATIONS):
        following = {}
        for node in network.nodes:
            votes = Counter(labels[near] for near in network.into(node))
            if network.directed:
                votes.update(labels[near] for near in network.out(node))
            most = max(votes.values(), default=0)
            following[node] = min((label for label, count in votes.items() if count == most), default=labels[node])
        labels = following
    return labels


def lcc(network: Network) -> dict[int, float]:
    found = {}
    for node in network.nodes:
        near = network.into(node) | network.out(node)
        among = sum(1 for source, target in network.arcs if source in near and target in near)
        found[node] = among / (len(near) * (len(near) - 1)) if len(near) > 1 else 0.0
    return found


def sssp(network: Network, source: int) -> dict[int, float]:
    distance: dict[int, float] = dict.fromkeys(network.nodes, inf)
    distance[source] = 0.0
    for _ in network.nodes:
        for (start, end), weight in network.arcs.items():
            distance[end] = min(distance[end], distance[start] + weight)
    return distance


def random_network(seed: int, size: int, edges: int, *, directed: bool) -> Network:
    """Nodes whose order by number is not that by text, and edges in both directions between some of them."""
    chance = random.Random(seed)
    nodes = tuple(chance.sample(range(1, 200), size))
    found: dict[Edge, float] = {}
    while len(found) < edges:
        source, target = chance.sample(nodes, 2)
        if directed or (target, source) not in found:
            found[source, target] = chance.choice([0.25, 0.5, 1.0, 3.0])
            if directed and chance.random() < 0.3 and len(found) < edges:
                found[target, source] = 1.5
    return Network(nodes, found, directed)


NETWORKS = {
    # A triangle in one direction, a pair in both, a tail and a lonely node.
    "small directed": Network(
        (1, 2, 3, 10, 20, 21, 30),
        {
            (1, 2): 1.0,
            (2, 3): 0.5,
            (3, 1): 2.0,
            (10, 20): 1.0,
            (20, 10): 1.0,
            (3, 10): 4.0,
            (1, 3): 0.25,
            (20, 21): 1.0,
        },
        directed=True,
    ),
    "small undirected": Network(
        (9, 10, 2, 33, 4, 5),
        {(9, 10): 1.0, (10, 2): 0.5, (9, 2): 2.0, (2, 33): 1.0, (33, 4): 0.25},
        directed=False,
    ),
    "directed": random_network(1, 24, 90, directed=True),
    "undirected": random_network(2, 24, 60, directed=False),
    "sparse": random_network(3, 20, 14, directed=True),
}

Check = Callable[[Network, Any], None]


def check_six(network: Network, graph: Graph, **how: Any) -> None:
    """Compare all six on one graph."""
    ask, source, directed = graph.analyze, network.nodes[0], network.directed
    start = {"sources": str(source), "directed": directed, **how}
    assert distances(ask.shortest_paths(edges="E", **start)) == bfs(network, source)
    assert distances(ask.shortest_paths(edges="E", weight="weight", **start)) == sssp(network, source)
    ranks = column(ask.pagerank("E", max_iterations=ITERATIONS, tolerance=0, directed=directed, **how), "rank")
    expected = pagerank(network)
    assert all(abs(ranks[node] - expected[node]) < 1e-12 for node in network.nodes)
    groups = column(ask.components("E", **how), "component")
    known = wcc(network)
    assert {(groups[a] == groups[b]) == (known[a] == known[b]) for a in groups for b in groups} == {True}
    labels = ask.label_propagation("E", max_iterations=ITERATIONS, seed="vid", directed=directed, **how)
    assert column(labels, "community") == cdlp(network)
    shares, shares_expected = column(ask.local_clustering("E", directed=directed, **how), "coefficient"), lcc(network)
    assert all(abs(shares[node] - shares_expected[node]) < 1e-12 for node in network.nodes)


def column(result: AnalysisResult, name: str) -> dict[int, Any]:
    return {int(row["id"]): row[name] for row in result}


def distances(result: AnalysisResult) -> dict[int, float]:
    """The standard has infinity where we have null."""
    return {node: inf if value is None else value for node, value in column(result, "distance").items()}
