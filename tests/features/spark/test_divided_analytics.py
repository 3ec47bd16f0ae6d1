"""Vectors that no process holds: the same results, from blocks that executors exchange through files."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest

from omnigraph.engine.analysis import checkpoints
from omnigraph.engine.analysis.result import AnalysisResult
from omnigraph.engine.graph import Graph
from omnigraph.errors import StorageError, UsageError
from omnigraph.exec.analytics.rounds import KeptRounds
from omnigraph.spark.analytics import divided_edges, node_tables
from omnigraph.spark.analytics.divided_steps import DividedSteps
from omnigraph.spark.analytics.node_tables import NodeMap
from omnigraph.storage.upkeep.sweep import Fate
from omnigraph.write import limits
from tests.features.analytics.shapes import SHAPES, Shape
from tests.features.spark.test_analytics import ALGORITHMS, check_equal, side_by_side
from tests.support.tuning import tuned

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

QUICK = ("pagerank", "labels of a seed", "weighted walks", "clustering", "degrees")
"""Algorithms that use every operation in few jobs; the others are in the long run."""


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Graph:
    graph = side_by_side().graph(tmp_path_factory.mktemp("divided") / "g")
    graph.mutate('query drop() { delete Person where name = "1-p0-0" }')
    graph.analyze.degrees("Knows").write("group")
    return tuned(graph, divided_nodes_min=0)


def check(spark: SparkSession, graph: Graph, name: str, partitions: int = 3) -> None:
    expected = ALGORITHMS[name](graph.analyze, engine="embedded")
    found = ALGORITHMS[name](graph.analyze, engine="spark", spark=spark, partitions=partitions)
    check_equal(found, expected)
    assert scratch(graph) == []


def scratch(graph: Graph) -> list[Path]:
    return [path for path in (Path(graph.uri) / "scratch").rglob("*") if path.is_file()]


@pytest.mark.parametrize("name", QUICK)
def test_results_are_those_of_one_process(spark: SparkSession, graph: Graph, name: str) -> None:
    check(spark, graph, name)


@pytest.mark.long
@pytest.mark.part("analytics")
@pytest.mark.parametrize("name", [name for name in ALGORITHMS if name not in QUICK])
def test_results_of_all_others_are_too(spark: SparkSession, graph: Graph, name: str) -> None:
    check(spark, graph, name)


@pytest.mark.long
@pytest.mark.part("analytics")
@pytest.mark.parametrize("partitions", [1, 17])
@pytest.mark.parametrize("name", ["pagerank", "components", "clustering"])
def test_the_number_of_blocks_does_not_matter(spark: SparkSession, graph: Graph, name: str, partitions: int) -> None:
    check(spark, graph, name, partitions)


@pytest.mark.parametrize("name", ["empty", "no edges"])
def test_graphs_with_nothing_to_do_are_done(spark: SparkSession, tmp_path: Path, name: str) -> None:
    graph = tuned(SHAPES[name].graph(tmp_path / "g"), divided_nodes_min=0)
    found = graph.analyze.degrees("Knows", engine="spark", spark=spark)
    check_equal(found, graph.analyze.degrees("Knows"))


def test_errors_of_tasks_arrive_as_they_were_raised(spark: SparkSession, tmp_path: Path) -> None:
    graph = tuned(Shape(["a", "b"], [("Knows", "a", "b", -2.0)]).graph(tmp_path / "g"), divided_nodes_min=0)
    with pytest.raises(UsageError, match=r"has w -2\.0, but weights must be finite"):
        graph.analyze.pagerank("Knows", weight="w", engine="spark", spark=spark)
    assert scratch(graph) == []


def test_ids_with_one_hash_are_hashed_otherwise(
    spark: SparkSession, graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tasks run in other processes, so the collision is made where the driver builds the plan of the first attempt."""
    original, salts = divided_edges._encoded, list[str]()

    def encoded(origin: Any, division: Any, order: Any, salt: str) -> Any:
        salts.append(salt)
        if not salt:
            raise divided_edges._Collision
        return original(origin, division, order, salt)

    monkeypatch.setattr(divided_edges, "_encoded", encoded)
    check(spark, graph, "degrees", 2)
    assert salts == ["", "1"]


def test_a_bucket_with_two_equal_hashes_is_noticed() -> None:
    hashed = node_tables.salted_hashes(pa.array(["a", "b"]), "")
    nodes = divided_edges._Nodes("Person", np.concatenate((hashed, hashed[:1])), np.arange(3))
    messages = list(divided_edges._join_sources(1, 0, [divided_edges.Message(0, 0, nodes)]))
    assert [type(message.content) for message in messages] == [divided_edges._Collision]
    assert NodeMap.of(hashed, np.arange(2)) is not None


def test_an_interrupted_analysis_goes_on_from_its_vectors(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = tuned(SHAPES["sparse"].graph(tmp_path / "g"), divided_nodes_min=0, checkpoint_rounds=2)
    place, step, left, made = tmp_path / "rounds", DividedSteps.step, [3], [0]
    how: dict[str, Any] = {"max_iterations": 4, "tolerance": 0, "engine": "spark", "spark": spark, "partitions": 2}

    def interrupted(steps: DividedSteps, *given: Any, **numbers: Any) -> Any:
        if not left[0]:
            raise KeyboardInterrupt
        left[0] -= 1
        made[0] += 1
        return step(steps, *given, **numbers)

    monkeypatch.setattr(DividedSteps, "step", interrupted)
    with pytest.raises(KeyboardInterrupt):
        graph.analyze.pagerank("Knows", checkpoint=place, **how)
    # The checkpoint and the one vector that it names, in two blocks.
    kept = sorted(path for path in place.rglob("*") if path.is_file())
    assert len(kept) == 3
    left[0], made[0] = 100, 0
    found = graph.analyze.pagerank("Knows", checkpoint=place, **how)
    assert made == [2]
    check_equal(found, graph.analyze.pagerank("Knows", max_iterations=4, tolerance=0))
    assert [path for path in place.rglob("*") if path.is_file()] == []


def test_a_checkpoint_that_is_none_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    graph = tuned(SHAPES["ring"].graph(tmp_path / "g"), divided_nodes_min=0)
    identity = {"edges": ["Knows"]}
    rounds, _ = checkpoints.rounds_of(tmp_path / "rounds", graph.snapshot(), "k_core", identity)
    assert isinstance(rounds, KeptRounds)
    (tmp_path / "rounds").mkdir()
    for content in (b"", b"{}", b"PK"):
        (tmp_path / "rounds" / rounds._name).write_bytes(content)
        with pytest.raises(StorageError, match="cannot be used"):
            graph.analyze.k_core("Knows", engine="spark", spark=spark, checkpoint=tmp_path / "rounds")


def test_cleanup_deletes_the_files_of_a_dead_analysis(tmp_path: Path) -> None:
    graph = SHAPES["ring"].graph(tmp_path / "g")
    running, dead = (Path(graph.uri) / "scratch" / name / "v" / "000000.npz" for name in ("RUNNING", "DEAD"))
    for file in (running, dead):
        file.parent.mkdir(parents=True)
        file.write_bytes(b"x" * 100)
    long_ago = running.stat().st_mtime - 2 * limits.JOB_LEASE_US / 1e6
    os.utime(dead, (long_ago, long_ago))
    preview = graph.cleanup(dry_run=True)
    assert dead.exists()
    graph.cleanup()
    assert scratch(graph) == [running]
    assert not dead.parent.parent.exists()
    assert preview.files["jobs"][Fate.DELETED].files == 1


def test_results_stay_readable_after_the_files_are_gone(spark: SparkSession, graph: Graph, tmp_path: Path) -> None:
    ranks = ALGORITHMS["hops"](graph.analyze, engine="spark", spark=spark, partitions=3)
    expected: AnalysisResult = ALGORITHMS["hops"](graph.analyze)
    assert scratch(graph) == []
    assert ranks.top(7).to_pylist() == expected.top(7).to_pylist()
    assert [batch.to_pylist() for batch in ranks.batches(50)] == [batch.to_pylist() for batch in expected.batches(50)]
