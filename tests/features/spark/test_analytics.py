"""The algorithms on Spark give what they give in process, whatever the number of partitions."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest

from omnigraph.engine.analysis.result import AnalysisResult
from omnigraph.engine.graph import Graph
from omnigraph.engine.query import choice as query_engine
from omnigraph.errors import UsageError
from omnigraph.exec.analytics.local import LocalSteps
from omnigraph.spark.analytics import api, node_tables
from omnigraph.spark.analytics.driver_steps import DriverSteps
from omnigraph.spark.analytics.node_tables import NodeMap, salted_hashes
from tests.features.analytics import test_algorithms as in_process
from tests.features.analytics.graphalytics import NETWORKS, check_six
from tests.features.analytics.shapes import SHAPES, Shape, random_shape
from tests.features.analytics.test_documentation import programs
from tests.support.sampling import sampled
from tests.support.tuning import tuned

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

EVERY = ("Knows", "Likes", "Lives", "Hosts")
WEIGHED = ("Knows", "Likes", "Lives")
FIRST = [("Person", "0-p0-0"), ("Place", "16-q0-0")]

ALGORITHMS: dict[str, Callable[..., AnalysisResult]] = {
    "pagerank": lambda a, **how: a.pagerank(WEIGHED, weight="w", max_iterations=3, tolerance=0, **how),
    "pagerank without directions": lambda a, **how: a.pagerank(
        EVERY, directed=False, personalization={FIRST[0]: 2.0, FIRST[1]: 1.0}, max_iterations=2, tolerance=0, **how
    ),
    "components": lambda a, **how: a.components(EVERY, **how),
    "strong components": lambda a, **how: a.components("Knows", strong=True, **how),
    "label propagation": lambda a, **how: a.label_propagation("Knows", max_iterations=3, **how),
    "hops": lambda a, **how: a.shortest_paths(FIRST, EVERY, max_distance=2, **how),
    "distances": lambda a, **how: a.shortest_paths(FIRST[:1], WEIGHED, weight="w", max_distance=6, **how),
    "labels of a seed": lambda a, **how: a.label_propagation(
        "Knows", max_iterations=3, seed="group", directed=True, **how
    ),
    "louvain": lambda a, **how: a.louvain(["Knows", "Likes"], weight="w", **how),
    "k-core": lambda a, **how: a.k_core(EVERY, **how),
    "betweenness": lambda a, **how: a.betweenness("Knows", samples=4, **how),
    "clustering": lambda a, **how: a.local_clustering(["Knows", "Likes"], **how),
    "walks": lambda a, **how: a.random_walks(EVERY, walks=1, length=3, p=0.9, q=1.5, **how),
    "weighted walks": lambda a, **how: a.random_walks("Knows", walks=1, length=3, weight="w", **how),
    "triangles": lambda a, **how: a.triangles(["Knows", "Likes"], **how),
    "degrees": lambda a, **how: a.degrees(EVERY, **how),
}


def side_by_side() -> Shape:
    """Every shape once, as parts of one graph that are not connected."""
    several = random_shape(5, 60, 200, kinds=EVERY)
    shapes = [random_shape(4, 100, 220), *list(SHAPES.values())[:15], several]
    whole = Shape([], [], [f"16-{name}" for name in several.places])
    for number, shape in enumerate(shapes):
        whole.persons += [f"{number}-{name}" for name in shape.persons]
        whole.edges += [
            (kind, f"{number}-{source}", f"{number}-{target}", weight) for kind, source, target, weight in shape.edges
        ]
    return whole


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Graph:
    graph = side_by_side().graph(tmp_path_factory.mktemp("analytics") / "g")
    # Several fragments, and rows that are deleted.
    graph.mutate('query drop() { delete Person where name = "1-p0-0" }')
    graph.load(
        [
            {"type": "Person", "data": {"name": "late"}},
            {"edge": "Likes", "from": "late", "to": "0-p0-0", "data": {"w": 1}},
        ]
    )
    graph.analyze.degrees("Knows").write("group")
    return graph


@pytest.fixture(scope="module")
def expected(graph: Graph) -> dict[str, AnalysisResult]:
    return {name: run(graph.analyze, engine="embedded") for name, run in ALGORITHMS.items()}


@pytest.mark.parametrize(
    ("name", "partitions"),
    [
        *((name, 3) for name in ALGORITHMS),
        *sampled([(name, many) for many in (1, 16) for name in ("pagerank", "components", "triangles")], 4),
    ],
)
def test_results_are_those_of_one_process(
    spark: SparkSession, graph: Graph, expected: dict[str, AnalysisResult], name: str, partitions: int
) -> None:
    found = ALGORITHMS[name](graph.analyze, engine="spark", spark=spark, partitions=partitions)
    check_equal(found, expected[name])


def check_equal(found: AnalysisResult, expected: AnalysisResult) -> None:
    """Floats may differ in their last digits, because spans add up in another order."""
    ours, known = found.to_arrow(), expected.to_arrow()
    for name in known.column_names:
        if pa.types.is_floating(known.schema.field(name).type):
            mine, theirs = (side[name].to_numpy(zero_copy_only=False) for side in (ours, known))
            np.testing.assert_allclose(mine, theirs, rtol=1e-12, atol=1e-15)
        else:
            assert ours[name].equals(known[name])
    assert found.facts == pytest.approx(expected.facts, rel=1e-9)


def test_this_process_goes_on_with_rounds_of_a_cluster(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph, place = SHAPES["sparse"].graph(tmp_path / "g"), tmp_path / "rounds"
    expected = graph.analyze.pagerank("Knows", max_iterations=7, tolerance=0)
    step, left = DriverSteps.step, [6]

    def interrupted(steps: DriverSteps, *given: Any, **numbers: Any) -> Any:
        if not left[0]:
            raise KeyboardInterrupt
        left[0] -= 1
        return step(steps, *given, **numbers)

    monkeypatch.setattr(DriverSteps, "step", interrupted)
    with pytest.raises(KeyboardInterrupt):
        graph.analyze.pagerank(
            "Knows", max_iterations=7, tolerance=0, engine="spark", spark=spark, partitions=2, checkpoint=place
        )
    made, here = [0], LocalSteps.step

    def counted(steps: LocalSteps, *given: Any, **numbers: Any) -> Any:
        made[0] += 1
        return here(steps, *given, **numbers)

    monkeypatch.setattr(LocalSteps, "step", counted)
    found = graph.analyze.pagerank("Knows", max_iterations=7, tolerance=0, checkpoint=place)
    assert made == [2]
    np.testing.assert_allclose(found.to_arrow()["rank"].to_numpy(), expected.to_arrow()["rank"].to_numpy(), rtol=1e-12)


@pytest.mark.parametrize("name", ["empty", "one node", "no edges"])
def test_graphs_with_nothing_to_do_are_done(spark: SparkSession, tmp_path: Path, name: str) -> None:
    graph = SHAPES[name].graph(tmp_path / "g")
    how: dict[str, Any] = {"engine": "spark", "spark": spark}
    assert graph.analyze.degrees("Knows", **how).to_arrow() == graph.analyze.degrees("Knows").to_arrow()
    assert graph.analyze.triangles("Knows", **how).to_arrow() == graph.analyze.triangles("Knows").to_arrow()
    ranks = graph.analyze.pagerank("Knows", **how)
    assert ranks.to_arrow() == graph.analyze.pagerank("Knows").to_arrow()


def test_results_of_spark_are_written_back(spark: SparkSession, tmp_path: Path) -> None:
    graph = SHAPES["two parts"].graph(tmp_path / "g")
    found = graph.analyze.components("Knows", engine="spark", spark=spark)
    found.write("group")
    assert {row["id"]: row["group"] for row in graph.snapshot().to_arrow("node:Person").to_pylist()} == {
        row["id"]: row["component"] for row in found
    }


def test_what_is_wrong_with_a_weight_arrives_as_it_was_raised(spark: SparkSession, tmp_path: Path) -> None:
    graph = Shape(["a", "b"], [("Knows", "a", "b", -2.0), ("Knows", "b", "a", 1.0)]).graph(tmp_path / "g")
    with pytest.raises(UsageError, match=r"has w -2\.0, but weights must be finite"):
        graph.analyze.pagerank("Knows", weight="w", engine="spark", spark=spark)
    with pytest.raises(UsageError, match="2 edges of type Knows have no n"):
        graph.analyze.pagerank("Knows", weight="n", engine="spark", spark=spark)
    with pytest.raises(UsageError, match="invalid number of partitions: 0"):
        graph.analyze.degrees("Knows", engine="spark", spark=spark, partitions=0)


def test_auto_takes_spark_for_very_many_edges(
    spark: SparkSession, graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[int] = []
    original = api.spark_steps

    def spark_steps(*given: Any) -> Any:
        seen.append(1)
        return original(*given)

    monkeypatch.setattr(api, "spark_steps", spark_steps)
    few = graph.analyze.degrees("Knows", spark=spark)
    assert not seen
    monkeypatch.setenv(query_engine.VARIABLE, "100")
    many = graph.analyze.degrees("Knows", spark=spark)
    assert seen
    assert many.to_arrow() == few.to_arrow()


def test_nothing_is_kept_on_the_cluster_afterwards(spark: SparkSession, graph: Graph) -> None:
    before = set(spark.sparkContext._jsc.getPersistentRDDs())
    graph.analyze.degrees("Knows", engine="spark", spark=spark)
    assert set(spark.sparkContext._jsc.getPersistentRDDs()) <= before


def test_ids_with_one_hash_are_hashed_otherwise(
    spark: SparkSession, graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first two ways to hash are made to collide for one type; the third is taken."""
    original = node_tables._map_of
    refused: list[str] = []

    def map_of(name: str, pieces: Any, hashed: Any, first: int) -> NodeMap | None:
        if name == "Place" and len(refused) < 2:
            refused.append(name)
            return None
        return original(name, pieces, hashed, first)

    monkeypatch.setattr(node_tables, "_map_of", map_of)
    found = ALGORITHMS["degrees"](graph.analyze, engine="spark", spark=spark, partitions=2)
    assert refused == ["Place", "Place"]
    assert found.to_arrow() == ALGORITHMS["degrees"](graph.analyze).to_arrow()


def test_two_ids_with_one_hash_are_noticed() -> None:
    hashes, numbers = salted_hashes(pa.array(["a", "b", "c"]), ""), np.arange(5, 9)
    assert NodeMap.of(np.concatenate((hashes, hashes[:1])), numbers) is None
    assert set(salted_hashes(pa.array(["a", "b", "c"]), "1")).isdisjoint(hashes)
    found = NodeMap.of(hashes, numbers[:3])
    assert found is not None
    assert found.numbers_of(salted_hashes(pa.array(["c", "x", "a"]), "")).tolist() == [7, -1, 5]


def test_views_show_one_commit(spark: SparkSession, tmp_path: Path) -> None:
    graph = Shape(["a", "b"], [("Knows", "a", "b", 2.0)], ["home"]).graph(tmp_path / "g")
    made = graph.spark_views(prefix="then_", spark=spark)
    assert made == {
        "then_Hosts": "edge:Hosts",
        "then_Knows": "edge:Knows",
        "then_Likes": "edge:Likes",
        "then_Lives": "edge:Lives",
        "then_Person": "node:Person",
        "then_Place": "node:Place",
    }
    graph.mutate('query more() { insert Person { name: "c" } }')
    found = spark.sql("select p.name, k.w from then_Knows k join then_Person p on p.id = k.dst").collect()
    assert [tuple(row) for row in found] == [("b", 2.0)]
    assert spark.sql("select count(*) from then_Person").collect()[0][0] == 2
    graph.spark_views("main", prefix="now_", spark=spark)
    assert spark.sql("select count(*) from now_Person").collect()[0][0] == 3
    with pytest.raises(UsageError, match="invalid prefix of a view name"):
        graph.spark_views(prefix="a-b", spark=spark)


@pytest.mark.long
@pytest.mark.parametrize("name", list(SHAPES))
def test_every_algorithm_agrees_with_networkx_on_spark(spark: SparkSession, tmp_path: Path, name: str) -> None:
    shape = SHAPES[name]
    how: dict[str, Any] = {"engine": "spark", "spark": spark, "partitions": 3}
    graph = shape.graph(tmp_path / "g")
    in_process.check_ranks(graph, shape, ("Knows",), **how)
    in_process.check_components(graph, shape, ("Knows",), **how)
    in_process.check_counts(graph, shape, ("Knows",), **how)
    in_process.check_communities(graph, shape, ("Knows",), **how)
    in_process.check_distances(graph, shape, ("Knows",), **how)


def test_the_examples_of_the_page_run(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for program in programs():
        exec(compile(program, "analytics.md", "exec"), names)
    assert "|Edsger|" in capsys.readouterr().out


BLOCKS = 12
BOUNDED: dict[str, Callable[..., AnalysisResult]] = {
    "degrees": lambda a, **how: a.degrees("Knows", **how),
    "pagerank": lambda a, **how: a.pagerank("Knows", max_iterations=1, **how),
    "triangles": lambda a, **how: a.triangles("Knows", **how),
    "labels": lambda a, **how: a.label_propagation("Knows", max_iterations=1, directed=True, **how),
    "walks": lambda a, **how: a.random_walks("Knows", length=2, **how),
}


@pytest.fixture(scope="module")
def crowd(tmp_path_factory: pytest.TempPathFactory) -> Graph:
    """Ten edges a node, so that nearly every block has an edge from nearly every node."""
    return random_shape(9, 2_000, 20_000).graph(tmp_path_factory.mktemp("crowd") / "g")


@pytest.mark.parametrize("name", BOUNDED)
def test_no_job_brings_more_than_eight_bytes_a_node_to_the_driver(
    spark: SparkSession, crowd: Graph, arriving: list[int], name: str
) -> None:
    BOUNDED[name](crowd.analyze, engine="spark", spark=spark, partitions=BLOCKS)
    # A task adds some bytes of its own: the name of its block, and the form of its array.
    assert max(arriving) <= 8 * 2_000 + 400 * BLOCKS
    assert max(arriving) >= 8 * 2_000


@pytest.mark.parametrize("name", ["degrees", "pagerank"])
def test_nothing_that_grows_with_the_graph_comes_to_the_driver_from_divided_vectors(
    spark: SparkSession, crowd: Graph, arriving: list[int], name: str
) -> None:
    BOUNDED[name](tuned(crowd, divided_nodes_min=0).analyze, engine="spark", spark=spark, partitions=BLOCKS)
    # Of degrees, a tally of each kind arrives: the distinct values, and how often each occurs.
    assert max(arriving) <= BLOCKS * (1_000 if name == "pagerank" else 3_000)


@pytest.mark.parametrize("name", ["small directed", "small undirected"])
def test_the_six_algorithms_meet_the_definitions_of_graphalytics(
    spark: SparkSession, tmp_path: Path, name: str
) -> None:
    network = NETWORKS[name]
    check_six(network, network.graph(tmp_path / "g"), engine="spark", spark=spark, partitions=2)


@pytest.mark.long
@pytest.mark.parametrize("divided_nodes_min", [0, 10**9])
@pytest.mark.parametrize("name", NETWORKS)
def test_they_do_on_larger_graphs_and_with_divided_vectors(
    spark: SparkSession, tmp_path: Path, name: str, divided_nodes_min: int
) -> None:
    network = NETWORKS[name]
    graph = tuned(network.graph(tmp_path / "g"), divided_nodes_min=divided_nodes_min)
    check_six(network, graph, engine="spark", spark=spark, partitions=3)
