"""Optimize on executors: the same files, indexes, answers and report as in process, also when something goes wrong."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import omnigraph
from omnigraph.engine.engine_choice import SPARK_FROM_VARIABLE
from omnigraph.errors import OmnigraphError, UsageError
from omnigraph.spark.jobs.optimize import _Cluster
from omnigraph.storage.index import building as index_building
from omnigraph.wire.maintenance import optimize_json
from tests.features.cli.run import run
from tests.features.maintenance.graphs import (
    answers,
    create,
    exported,
    fragments,
    indexes,
    load_people,
    person,
    table,
    uncovered,
)
from tests.support.tuning import EAGER, tuned

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def people(path: Path) -> omnigraph.Graph:
    """Three hundred people in several fragments, some of them changed and some deleted."""
    graph = create(path, tuning=replace(EAGER, spark_table_rows_min=0))
    for start in (0, 100, 200):
        load_people(graph, start, start + 100)
    graph.load([person(number, age=80, bio="special word7") for number in range(0, 300, 9)], "merge")
    graph.mutate("query q() { delete Person where age = 33 }")
    return graph


@pytest.fixture
def graph(tmp_path: Path) -> omnigraph.Graph:
    return people(tmp_path / "g")


@pytest.fixture
def jobs(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many tasks every job had."""
    seen: list[int] = []
    original = _Cluster.__call__

    def counted(cluster: _Cluster, work: Callable[[Any], Any], items: Sequence[Any], /) -> list[Any]:
        seen.append(len(items))
        return original(cluster, work, items)

    monkeypatch.setattr(_Cluster, "__call__", counted)
    return seen


def report(result: Any) -> list[dict[str, Any]]:
    """What a report says of the tables, but for who did it."""
    return [{key: value for key, value in item.items() if key != "engine"} for item in optimize_json(result)["tables"]]


def test_executors_leave_the_graph_that_the_embedded_engine_leaves(
    spark: SparkSession, tmp_path: Path, graph: omnigraph.Graph
) -> None:
    other = people(tmp_path / "other")
    before, content = answers(graph), exported(graph)
    told: list[int] = []
    embedded = other.optimize(engine="embedded")
    result = graph.optimize(engine="spark", spark=spark, progress=told.append)
    assert report(result) == report(embedded)
    assert {item.workers for item in result.tables if item.rows} == {"spark"}
    assert {item.workers for item in embedded.tables if item.rows} == {"embedded"}
    assert told == [len(result.tables)]
    assert len(result.commits) == len(embedded.commits) == 1
    assert (answers(graph), exported(graph)) == (before, content)
    assert answers(other) == before
    for key in ("node:Person", "edge:Knows"):
        assert fragments(graph, key) == 1
        assert uncovered(graph, key) == {}
    assert graph.verify().is_clean
    assert graph.optimize(engine="spark", spark=spark).commits == ()


def test_an_index_of_several_segments_answers_like_one(
    spark: SparkSession, graph: omnigraph.Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index_building, "segment_rows_max", lambda kind: 120)
    before = answers(graph)
    graph.optimize(compact=False, engine="spark", spark=spark)
    assert min(len(item.segments) for item in indexes(graph).values()) > 1
    assert uncovered(graph) == {}
    assert answers(graph) == before
    load_people(graph, 300, 330)
    before = answers(graph)
    graph.optimize(engine="spark", spark=spark)
    assert uncovered(graph) == {}
    assert answers(graph) == before
    assert graph.verify().is_clean


def test_all_segments_of_a_table_are_built_in_one_job(
    spark: SparkSession, graph: omnigraph.Graph, jobs: list[int]
) -> None:
    graph.optimize(types=["Person"], engine="spark", spark=spark)
    assert jobs == [1, len(indexes(graph))]
    graph.optimize(types=["Person"], engine="spark", spark=spark)
    assert set(jobs[2:]) == {0}


def test_what_others_change_while_executors_work_is_done_again(
    spark: SparkSession, graph: omnigraph.Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    rounds: list[int] = []
    original = _Cluster.__call__

    def disturbed(cluster: _Cluster, work: Callable[[Any], Any], items: Sequence[Any], /) -> list[Any]:
        done = original(cluster, work, items)
        rounds.append(len(items))
        if len(rounds) == 2:
            graph.load([person(42, age=150, bio="fresh", look=[7.0] * 4)], "merge")
        return done

    monkeypatch.setattr(_Cluster, "__call__", disturbed)
    result = graph.optimize(types=["Person"], engine="spark", spark=spark)
    assert len(rounds) == 4
    assert len(result.commits) == 2
    assert uncovered(graph) == {}
    assert table(graph).to_table(filter="age = 150")["name"].to_pylist() == ["p0042"]
    assert graph.verify().is_clean


def test_a_task_that_fails_leaves_the_graph_as_it_was(spark: SparkSession, graph: omnigraph.Graph) -> None:
    before, head = answers(graph), graph.snapshot().commit_id
    (damaged, *_) = table(graph).get_fragments()
    pin = graph.snapshot().state.tables["node:Person"]
    path = Path(graph.uri) / pin.location / "data" / damaged.metadata.files[0].path
    content = path.read_bytes()
    path.unlink()
    with pytest.raises(OmnigraphError, match="could not be rewritten"):
        graph.optimize(engine="spark", spark=spark)
    path.write_bytes(content)
    assert graph.snapshot().commit_id == head
    assert answers(graph) == before
    graph.optimize(engine="spark", spark=spark)
    assert uncovered(graph) == {}
    assert answers(graph) == before
    assert graph.verify().is_clean


def test_who_works_depends_on_what_is_asked_for_and_on_size(
    spark: SparkSession, graph: omnigraph.Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(UsageError, match="unknown engine: 'sparc'"):
        graph.optimize(engine="sparc")
    graph = tuned(graph, spark_table_rows_min=10_000)
    small = graph.optimize(types=["Knows"], engine="spark", spark=spark)
    assert [item.workers for item in small.tables] == ["embedded"]
    automatic = graph.optimize(types=["Person"], spark=spark)
    assert [item.workers for item in automatic.tables] == ["embedded"]
    monkeypatch.setenv(SPARK_FROM_VARIABLE, "100")
    load_people(graph, 300, 310)
    large = graph.optimize(types=["Person"], spark=spark)
    assert [item.workers for item in large.tables] == ["spark"]


def test_the_command_takes_an_engine(spark: SparkSession, graph: omnigraph.Graph) -> None:
    names = [f"q{number}" for number in range(omnigraph.Tuning().spark_table_rows_min)]
    graph.load(pa.table({"name": names}), "append", type_name="Person")
    done = run("optimize", graph.uri, "--engine", "spark", "--type", "Person", "--quiet", "--json")
    assert done.exit_code == 0, done.output
    (outcome,) = json.loads(done.stdout)["tables"]
    assert outcome["engine"] == "spark"
    assert uncovered(graph) == {}
