"""Cores, betweenness, Louvain and random walks, held against networkx and their definitions."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import networkx
import numpy as np
import pytest

from omnigraph.engine.graph import Graph
from omnigraph.errors import UsageError
from omnigraph.exec.analytics.algorithms import centrality
from tests.features.analytics.shapes import SHAPES, Shape, knows, names, random_shape
from tests.features.analytics.test_algorithms import EVERY, groups, simple, undirected, values

CASES = [*SHAPES, "several types"]


def case(name: str) -> tuple[Shape, tuple[str, ...]]:
    if name == "several types":
        return random_shape(5, 50, 120, kinds=EVERY), EVERY
    return SHAPES[name], ("Knows",)


@pytest.fixture(scope="module")
def graphs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Graph]:
    place = tmp_path_factory.mktemp("more")
    return {name: case(name)[0].graph(place / name.replace(" ", "-")) for name in CASES}


@pytest.mark.parametrize("name", CASES)
def test_core_numbers_are_those_of_networkx(graphs: dict[str, Graph], name: str) -> None:
    shape, kinds = case(name)
    expected = networkx.core_number(simple(shape, kinds))
    found = graphs[name].analyze.k_core(kinds)
    assert values(found, "core") == expected
    assert found.facts == {"largest": max(expected.values(), default=0)}


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("name", CASES)
def test_clustering_coefficients_are_those_of_networkx(graphs: dict[str, Graph], name: str, directed: bool) -> None:
    shape, kinds = case(name)
    plain = simple(shape, kinds)
    arcs = set(networkx.DiGraph(shape.networkx(kinds)).edges)
    expected = networkx.clustering(plain)
    if directed:
        # Of networkx's own directed coefficients none is that of Graphalytics.
        expected = {
            node: sum((a, b) in arcs for a in near for b in near if a != b) / max(len(near) * (len(near) - 1), 1)
            for node in plain
            for near in [set(plain[node])]
        }
    found = graphs[name].analyze.local_clustering(kinds, directed=directed)
    assert values(found, "coefficient") == pytest.approx(expected)
    assert found.facts["mean"] == pytest.approx(np.mean([*expected.values()]) if expected else 0.0)


@pytest.mark.parametrize("name", CASES)
def test_betweenness_is_that_of_networkx(graphs: dict[str, Graph], name: str) -> None:
    shape, kinds = case(name)
    plain = shape.networkx(kinds)
    for directed in (True, False):
        seen = networkx.DiGraph(plain) if directed else networkx.Graph(undirected(plain))
        for normalized in (True, False):
            found = graphs[name].analyze.betweenness(kinds, directed=directed, normalized=normalized)
            expected = networkx.betweenness_centrality(seen, normalized=normalized)
            assert values(found, "betweenness") == pytest.approx(expected)
            assert found.facts["sources"] == len(plain)


def test_sources_are_searched_side_by_side_or_in_turn_with_one_result(
    graphs: dict[str, Graph], monkeypatch: pytest.MonkeyPatch
) -> None:
    together = graphs["middling"].analyze.betweenness("Knows")
    monkeypatch.setattr(centrality, "_together", lambda nodes, sources: 7)
    in_turn = graphs["middling"].analyze.betweenness("Knows")
    np.testing.assert_allclose(
        in_turn.to_arrow()["betweenness"].to_numpy(), together.to_arrow()["betweenness"].to_numpy(), rtol=1e-12
    )


def test_a_sample_of_sources_is_scaled_to_all(graphs: dict[str, Graph]) -> None:
    """Averaged over many samples the exact values come out."""
    ask = graphs["dense"].analyze
    exact = np.array(ask.betweenness("Knows")["betweenness"])
    drawn = [np.array(ask.betweenness("Knows", samples=10, seed=seed)["betweenness"]) for seed in range(16)]
    np.testing.assert_allclose(np.mean(drawn, axis=0), exact, atol=exact.max() / 4)
    assert not np.array_equal(drawn[0], drawn[1])
    assert ask.betweenness("Knows", samples=10_000).facts["sources"] == 40


@pytest.mark.parametrize("name", CASES)
def test_louvain_finds_communities_as_modular_as_those_of_networkx(graphs: dict[str, Graph], name: str) -> None:
    shape, kinds = case(name)
    plain = networkx.Graph()
    plain.add_nodes_from(shape.networkx(kinds))
    for source, target in shape.networkx(kinds).edges():
        weight = plain.get_edge_data(source, target, {"weight": 0})["weight"]
        plain.add_edge(source, target, weight=weight + 1)
    found = graphs[name].analyze.louvain(kinds)
    parts = groups(values(found, "community"))
    assert (found.facts["communities"], found.facts["largest"]) == (len(parts), max(map(len, parts), default=0))
    if not plain.number_of_edges():
        assert found.facts["modularity"] == 0
        return
    assert found.facts["modularity"] == pytest.approx(networkx.community.modularity(plain, parts))
    best = max(
        networkx.community.modularity(plain, networkx.community.louvain_communities(plain, seed=seed))
        for seed in range(3)
    )
    assert found.facts["modularity"] >= 0.93 * best


def cliques(count: int, size: int) -> Shape:
    """Complete graphs in a ring, each connected to the next by one edge."""
    pairs = [(c * size + a, c * size + b) for c in range(count) for a in range(size) for b in range(a)]
    ring = [(c * size, (c + 1) % count * size + 1) for c in range(count)]
    return knows(names(count * size), pairs + ring)


def test_louvain_finds_planted_communities(tmp_path: Path) -> None:
    shape = cliques(12, 6)
    found = shape.graph(tmp_path / "g").analyze.louvain("Knows")
    planted = {frozenset(("Person", name) for name in shape.persons[n : n + 6]) for n in range(0, 72, 6)}
    assert groups(values(found, "community")) == planted


def test_louvain_takes_weights_and_a_resolution(tmp_path: Path) -> None:
    ends = names(4)
    heavy = [("Knows", ends[0], ends[1], 10.0), ("Knows", ends[2], ends[3], 10.0), ("Knows", ends[1], ends[2], 1.0)]
    graph = Shape(ends, [*heavy, ("Knows", ends[0], ends[3], 1.0)]).graph(tmp_path / "g")
    found = graph.analyze.louvain("Knows", weight="w")
    assert {frozenset(group) for group in groups(values(found, "community"))} == {
        frozenset({("Person", ends[0]), ("Person", ends[1])}),
        frozenset({("Person", ends[2]), ("Person", ends[3])}),
    }
    assert graph.analyze.louvain("Knows", resolution=0).facts["communities"] == 1
    assert graph.analyze.louvain("Knows", resolution=50).facts["communities"] == 4


def test_labels_of_a_seed_are_the_result(tmp_path: Path) -> None:
    graph = knows(names(6), [(0, 1), (1, 2), (2, 0), (3, 4), (4, 5), (5, 3)]).graph(tmp_path / "g")
    group = {name: 2**60 if place < 3 else -7 for place, name in enumerate(names(6))}
    for name, label in group.items():
        graph.mutate(
            "query g($n: String, $g: I64) { update Person set { group: $g } where name = $n }", {"n": name, "g": label}
        )
    found = graph.analyze.label_propagation("Knows", seed="group")
    assert {row["id"]: row["community"] for row in found} == group
    assert found.facts == {"iterations": 1, "converged": True}
    with pytest.raises(UsageError, match="6 nodes of type Person have no tiny"):
        graph.analyze.label_propagation("Knows", seed="tiny")
    with pytest.raises(UsageError, match="Person has no integer property 'rank'"):
        graph.analyze.label_propagation("Knows", seed="rank")


def walked(graph: Graph, **how: Any) -> list[list[str]]:
    found = graph.analyze.random_walks("Knows", **how)
    return [row["walk"] for row in found]


def test_walks_follow_edges_to_their_end(graphs: dict[str, Graph]) -> None:
    shape, _ = case("sparse")
    out: dict[str, set[str]] = {name: set() for name in shape.persons}
    for _, source, target, _ in shape.edges:
        out[source].add(target)
    walks = walked(graphs["sparse"], walks=3, length=6, p=0.5, q=2.0)
    assert Counter(walk[0] for walk in walks) == dict.fromkeys(shape.persons, 3)
    for walk in walks:
        assert all(target in out[source] for source, target in pairwise(walk))
        assert len(walk) == 6 or not out[walk[-1]]
    assert walks == walked(graphs["sparse"], walks=3, length=6, p=0.5, q=2.0)
    assert walks != walked(graphs["sparse"], walks=3, length=6, p=0.5, q=2.0, seed=1)


def test_weights_and_parameters_set_the_odds_of_a_walk(tmp_path: Path) -> None:
    """A path t - v with two more neighbours of v: one next to t, one not. From t every walk goes to v first."""
    t, v, near, far = names(4)
    pairs = [(t, v, 1.0), (v, t, 1.0), (v, near, 1.0), (v, far, 3.0), (t, near, 0.0)]
    graph = Shape([t, v, near, far], [("Knows", a, b, w) for a, b, w in pairs]).graph(tmp_path / "g")
    odds = {t: 1 / 0.5, near: 1.0, far: 3.0 / 4.0}
    walks = [walk for walk in walked(graph, walks=8_000, length=3, p=0.5, q=4.0, weight="w") if walk[0] == t]
    seen = Counter(walk[2] for walk in walks)
    for node, odd in odds.items():
        assert seen[node] / len(walks) == pytest.approx(odd / sum(odds.values()), abs=0.02)


def test_pairs_are_nodes_within_the_window(tmp_path: Path) -> None:
    a, b, c = names(3)
    result = knows([a, b, c], [(0, 1), (1, 2)]).graph(tmp_path / "g").analyze.random_walks("Knows", length=3)
    found = [tuple(row.values()) for batch in result.pairs(window=1) for row in batch.to_pylist()]
    assert Counter(found) == {(a, b): 1, (b, a): 1, (b, c): 2, (c, b): 2}
    wide = [tuple(row.values()) for batch in result.pairs() for row in batch.to_pylist()]
    assert Counter(wide) - Counter(found) == {(a, c): 1, (c, a): 1}
    with pytest.raises(UsageError, match="window is 0"):
        next(result.pairs(window=0))
    with pytest.raises(UsageError, match="gives no value for every node"):
        result.top(3)
    with pytest.raises(UsageError, match="degrees gives no walks"):
        next(knows([a], []).graph(tmp_path / "h").analyze.degrees("Knows").pairs())


def test_nodes_of_several_types_are_named_with_their_type(tmp_path: Path) -> None:
    graph = Shape(["x"], [("Lives", "x", "home", 1.0)], ["home"]).graph(tmp_path / "g")
    assert [row["walk"] for row in graph.analyze.random_walks("Lives")] == [["Person:x", "Place:home"], ["Place:home"]]


def test_more_walks_of_a_node_are_rows_of_their_own(tmp_path: Path) -> None:
    found = SHAPES["complete"].graph(tmp_path / "g").analyze.random_walks("Knows", walks=4, length=3)
    assert len(found) == 40
    assert found.facts == {"walks": 40, "steps": 80}
    rows = [row for batch in found.batches(7) for row in batch.to_pylist()]
    assert rows == found.to_pylist()
    assert [row["id"] for row in rows[:5]] == [row["walk"][0] for row in rows[:5]]
