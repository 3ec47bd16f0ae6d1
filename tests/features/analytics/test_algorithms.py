"""The algorithms, held against networkx on graphs of many shapes."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import networkx
import numpy as np
import pytest

from omnigraph.engine.analysis.result import AnalysisResult
from omnigraph.engine.graph import Graph
from omnigraph.errors import NotFoundError, UsageError
from omnigraph.exec.analytics.algorithms import components
from omnigraph.exec.analytics.blocks import EdgeArrays
from omnigraph.exec.analytics.forms import Form
from omnigraph.exec.analytics.local import ArraySteps
from omnigraph.exec.analytics.steps import Round, Steps
from omnigraph.exec.analytics.triangles import triangles_among
from omnigraph.exec.analytics.vectors import Array, Made
from tests.features.analytics.shapes import SHAPES, Node, Shape, random_shape

EVERY = ("Knows", "Likes", "Lives", "Hosts")
CASES = [
    *(pytest.param(shape, ("Knows",), id=name) for name, shape in SHAPES.items()),
    pytest.param(random_shape(5, 50, 120, kinds=EVERY), EVERY, id="several types"),
    pytest.param(random_shape(6, 50, 120, kinds=EVERY), ("Lives",), id="two node types"),
    pytest.param(random_shape(7, 50, 120, kinds=EVERY), ("Knows", "Likes"), id="two edge types"),
]


class CountedSteps(ArraySteps):
    """Edges in memory, and how many steps were made over them in both directions."""

    made: ClassVar[int] = 0

    def step(self, round_: Round, *vectors: Array, **numbers: Any) -> Made:
        CountedSteps.made += 1
        return super().step(round_, *vectors, **numbers)

    def turned(self) -> Steps:
        return CountedSteps(self.size, self.given.turned, self.form)


def values(result: AnalysisResult, column: str) -> dict[Node, Any]:
    return {(row["type"], row["id"]): row[column] for row in result}


def groups(numbers: dict[Node, int]) -> set[frozenset[Node]]:
    found: dict[int, set[Node]] = {}
    for node, number in numbers.items():
        found.setdefault(number, set()).add(node)
    # Numbered from 0 in the order of the first node.
    assert [min(found[number]) for number in range(len(found))] == sorted(min(group) for group in found.values())
    return {frozenset(group) for group in found.values()}


def undirected(plain: networkx.MultiDiGraph) -> networkx.MultiGraph:
    """Every edge once, whatever its direction; networkx's own conversion merges edges there and back."""
    found = networkx.MultiGraph()
    found.add_nodes_from(plain)
    found.add_edges_from(plain.edges(data=True))
    return found


def simple(shape: Shape, kinds: tuple[str, ...]) -> networkx.Graph:
    plain = networkx.Graph(shape.networkx(kinds))
    plain.remove_edges_from(list(networkx.selfloop_edges(plain)))
    return plain


@pytest.mark.parametrize(("shape", "kinds"), CASES)
def test_every_algorithm_agrees_with_networkx(shape: Shape, kinds: tuple[str, ...], tmp_path: Path) -> None:
    graph = shape.graph(tmp_path / "g")
    check_ranks(graph, shape, kinds)
    check_components(graph, shape, kinds)
    check_counts(graph, shape, kinds)
    check_communities(graph, shape, kinds)
    check_distances(graph, shape, kinds)


@pytest.mark.parametrize(("shape", "kinds"), CASES[-3:])
def test_strong_components_by_steps_are_those_of_networkx(
    shape: Shape, kinds: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a cluster finds them: scipy is not asked."""
    graph = shape.graph(tmp_path / "g")
    monkeypatch.setattr(components, "InMemorySteps", type("NobodysSteps", (), {}))
    check_strong_components(graph, shape, kinds)


def check_ranks(graph: Graph, shape: Shape, kinds: tuple[str, ...], **how: Any) -> None:
    plain = shape.networkx(kinds)
    for_all = {"max_iter": 1000, "tol": 1e-12}
    ours = graph.analyze.pagerank(kinds, tolerance=1e-12, max_iterations=1000, **how)
    assert ours.facts["converged"]
    assert values(ours, "rank") == pytest.approx(networkx.pagerank(plain, weight=None, **for_all), abs=1e-9)
    if "Hosts" not in kinds:
        ours = graph.analyze.pagerank(kinds, weight="w", damping=0.5, tolerance=1e-12, max_iterations=1000, **how)
        expected = networkx.pagerank(plain, alpha=0.5, weight="weight", **for_all)
        assert values(ours, "rank") == pytest.approx(expected, abs=1e-9)
    both = graph.analyze.pagerank(kinds, directed=False, tolerance=1e-12, max_iterations=1000, **how)
    expected = networkx.pagerank(undirected(plain), weight=None, **for_all)
    assert values(both, "rank") == pytest.approx(expected, abs=1e-9)
    if len(plain) > 1:
        wanted = {node: 1.0 + number for number, node in enumerate(sorted(plain)[:3])}
        ours = graph.analyze.pagerank(kinds, personalization=wanted, tolerance=1e-12, max_iterations=1000, **how)
        expected = networkx.pagerank(plain, personalization=wanted, weight=None, **for_all)
        assert values(ours, "rank") == pytest.approx(expected, abs=1e-9)


def check_components(graph: Graph, shape: Shape, kinds: tuple[str, ...], **how: Any) -> None:
    plain = shape.networkx(kinds)
    weak = graph.analyze.components(kinds, **how)
    expected = {frozenset(group) for group in networkx.weakly_connected_components(plain)}
    assert groups(values(weak, "component")) == expected
    assert weak.facts == {"components": len(expected), "largest": max(map(len, expected), default=0)}
    check_strong_components(graph, shape, kinds, **how)


def check_strong_components(graph: Graph, shape: Shape, kinds: tuple[str, ...], **how: Any) -> None:
    plain = shape.networkx(kinds)
    strong = graph.analyze.components(kinds, strong=True, **how)
    assert groups(values(strong, "component")) == set(map(frozenset, networkx.strongly_connected_components(plain)))


def check_counts(graph: Graph, shape: Shape, kinds: tuple[str, ...], **how: Any) -> None:
    plain = shape.networkx(kinds)
    found = graph.analyze.triangles(kinds, **how)
    expected = networkx.triangles(simple(shape, kinds))
    assert values(found, "triangles") == expected
    assert found.facts == {"triangles": sum(expected.values()) // 3}
    degrees = graph.analyze.degrees(kinds, **how)
    for column, known in (("degree", plain.degree), ("in_degree", plain.in_degree), ("out_degree", plain.out_degree)):
        assert values(degrees, column) == dict(known)
        if len(plain):
            assert degrees.facts[f"{column}_max"] == max(dict(known).values())
    assert (degrees.facts["nodes"], degrees.facts["edges"]) == (len(plain), plain.number_of_edges())
    assert degrees.facts["isolated"] == len(list(networkx.isolates(plain)))


def check_communities(graph: Graph, shape: Shape, kinds: tuple[str, ...], **how: Any) -> None:
    plain = simple(shape, kinds)
    labels = {node: number for number, node in enumerate(sorted(plain))}
    for _ in range(7):
        votes = {node: Counter(labels[near] for near in plain[node]) for node in plain}
        labels = {
            node: min(vote, key=lambda label: (-vote[label], label)) if vote else labels[node]
            for node, vote in votes.items()
        }
    expected: dict[int, set[Node]] = {}
    for node, label in labels.items():
        expected.setdefault(label, set()).add(node)
    found = graph.analyze.label_propagation(kinds, max_iterations=7, **how)
    assert groups(values(found, "community")) == set(map(frozenset, expected.values()))


def check_distances(graph: Graph, shape: Shape, kinds: tuple[str, ...], **how: Any) -> None:
    plain = shape.networkx(kinds)
    for starts in (sorted(plain)[:1], sorted(plain)[1:4]):
        if not starts:
            continue
        for directed, bound in itertools.product((True, False), (None, 2)):
            seen = plain if directed else undirected(plain)
            hops = networkx.multi_source_dijkstra_path_length(seen, set(starts), cutoff=bound, weight=lambda *_: 1)
            found = graph.analyze.shortest_paths(starts, kinds, directed=directed, max_distance=bound, **how)
            assert values(found, "distance") == {node: hops.get(node) for node in plain}
            assert found.facts == {"reached": len(hops), "farthest": max(hops.values())}
            if "Hosts" in kinds:
                continue
            lengths = networkx.multi_source_dijkstra_path_length(seen, set(starts), cutoff=bound)
            found = graph.analyze.shortest_paths(
                starts, kinds, directed=directed, max_distance=bound, weight="w", **how
            )
            assert values(found, "distance") == {node: lengths.get(node) for node in plain}


def test_deleted_nodes_and_edges_take_no_part(tmp_path: Path) -> None:
    shape = random_shape(8, 40, 90)
    graph = shape.graph(tmp_path / "g")
    graph.analyze.degrees("Knows")
    gone = set(shape.persons[::5])
    for name in sorted(gone):
        graph.mutate("query drop($n: String) { delete Person where name = $n }", {"n": name})
    left = Shape(
        [name for name in shape.persons if name not in gone],
        [edge for edge in shape.edges if not gone & {edge[1], edge[2]}],
    )
    added = left.persons[3], left.persons[4]
    graph.load([{"edge": "Knows", "from": added[0], "to": added[1], "data": {"w": 2.0}}])
    left.edges.append(("Knows", *added, 2.0))
    check_ranks(graph, left, ("Knows",))
    check_counts(graph, left, ("Knows",))
    check_distances(graph, left, ("Knows",))


def test_an_earlier_commit_is_analysed_as_it_was(tmp_path: Path) -> None:
    graph = SHAPES["ring"].graph(tmp_path / "g")
    before = graph.snapshot().commit_id
    graph.mutate('query more() { insert Person { name: "alone" } }')
    assert graph.analyze.components("Knows").facts["components"] == 2
    then = graph.analyze.components("Knows", at=before)
    assert (then.facts["components"], then.commit_id, then.branch) == (1, before, None)


@pytest.mark.parametrize("wedges_max", [1, 5, 100])
def test_triangles_are_found_however_many_wedges_are_checked_together(wedges_max: int) -> None:
    drawn = networkx.gnp_random_graph(20, 0.5, seed=3)
    sources, targets = np.array(sorted(drawn.to_directed().edges)).T
    parts = list(triangles_among(sources, targets, wedges_max=wedges_max))
    found = [
        frozenset(corners) for part in parts for corners in zip(*map(np.ndarray.tolist, part.corners), strict=True)
    ]
    assert len(parts) > 1
    assert len(set(found)) == len(found)
    assert {*found} == {frozenset(clique) for clique in networkx.enumerate_all_cliques(drawn) if len(clique) == 3}


def test_too_few_iterations_are_told(tmp_path: Path) -> None:
    graph = SHAPES["sparse"].graph(tmp_path / "g")
    found = graph.analyze.pagerank("Knows", tolerance=0, max_iterations=3)
    assert found.facts["converged"] is False
    assert found.facts["iterations"] == 3


def test_the_top_is_ordered_by_value_then_by_node(tmp_path: Path) -> None:
    graph = SHAPES["star in"].graph(tmp_path / "g")
    ranked = graph.analyze.degrees("Knows")
    top = ranked.top(3)
    others = sorted(SHAPES["star in"].persons[1:])
    assert [(row["id"], row["degree"]) for row in top] == [
        (SHAPES["star in"].persons[0], 9),
        *((name, 1) for name in others[:2]),
    ]
    assert len(ranked.top(100)) == 10
    assert [row["out_degree"] for row in ranked.top(1, "out_degree")] == [1]
    with pytest.raises(UsageError, match="degrees gives no 'rank'"):
        ranked.top(3, "rank")


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda a: a.pagerank([]), "no edge type is selected"),
        (lambda a: a.pagerank("Knows", weight="since"), "Knows has no property 'since'"),
        (lambda a: a.pagerank("Knows", weight="n"), "40 edges of type Knows have no n"),
        (lambda a: a.pagerank("Knows", damping=1.5), "damping is 1.5"),
        (lambda a: a.pagerank("Knows", max_iterations=0), "max_iterations is 0"),
        (lambda a: a.pagerank("Knows", tolerance=float("nan")), "tolerance is nan"),
        (lambda a: a.pagerank("Knows", personalization={}), "all node weights are zero"),
        (lambda a: a.pagerank("Knows", personalization={"p0-0": -1.0}), "invalid node weight -1.0"),
        (lambda a: a.shortest_paths([("Place", "x")], "Knows"), "node type 'Place' is not part"),
        (lambda a: a.shortest_paths("p0-0", "Lives"), "it may be a Person or a Place"),
        (lambda a: a.shortest_paths("p0-0", "Knows", max_distance=-1), "max_distance is -1"),
        (lambda a: a.components("Knows", engine="dask"), "unknown engine: 'dask'"),
    ],
)
def test_what_makes_no_sense_is_refused(tmp_path: Path, call: Any, said: str) -> None:
    graph = SHAPES["sparse"].graph(tmp_path / "g")
    with pytest.raises(UsageError, match=said):
        call(graph.analyze)


def test_strong_components_of_many_small_graphs() -> None:
    drawn = np.random.default_rng(0)
    for _ in range(200):
        nodes = int(drawn.integers(1, 40))
        ends = drawn.integers(0, nodes, (2, int(drawn.integers(0, 3 * nodes))))
        steps = CountedSteps(nodes, EdgeArrays(*ends), Form.DIRECTED)
        plain = networkx.DiGraph(zip(*ends.tolist(), strict=True))
        plain.add_nodes_from(range(nodes))
        labels = components.mutual(steps).tolist()
        assert labels == [min(group) for _, group in sorted(_members(plain))]


def test_long_ways_are_cut_short() -> None:
    ring = np.random.default_rng(0).permutation(3_000)
    CountedSteps.made = 0
    assert not components.mutual(CountedSteps(3_000, EdgeArrays(ring, np.roll(ring, -1)), Form.DIRECTED)).any()
    assert CountedSteps.made < 60


def _members(plain: networkx.DiGraph) -> Iterator[tuple[int, set[int]]]:
    """Every node with its strong component."""
    for group in networkx.strongly_connected_components(plain):
        yield from ((node, group) for node in group)


def test_names_that_mean_nothing_are_not_found(tmp_path: Path) -> None:
    graph = SHAPES["sparse"].graph(tmp_path / "g")
    with pytest.raises(NotFoundError, match="there is no edge type 'Knos'") as raised:
        graph.analyze.pagerank("Knos")
    assert raised.value.hint == "did you mean `Knows`?"
    with pytest.raises(NotFoundError, match="there is no Person 'nobody'"):
        graph.analyze.shortest_paths("nobody", "Knows")


def test_a_negative_weight_is_refused(tmp_path: Path) -> None:
    graph = Shape(["a", "b"], [("Knows", "a", "b", -2.0)]).graph(tmp_path / "g")
    with pytest.raises(UsageError, match=r"has w -2\.0, but weights must be finite"):
        graph.analyze.shortest_paths("a", "Knows", weight="w")


def test_without_scipy_the_error_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = SHAPES["ring"].graph(tmp_path / "g")
    monkeypatch.setitem(__import__("sys").modules, "scipy.sparse", None)
    with pytest.raises(UsageError, match="need scipy") as raised:
        graph.analyze.pagerank("Knows")
    assert raised.value.hint == 'pip install "omnigraph[analytics]"'
