"""Jobs in Spark's UI name graph, commit and step; progress counts rows, bytes and files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from omnigraph.engine.graph import create
from omnigraph.spark.cluster.progress import LoadProgress
from omnigraph.spark.jobs.export import export
from tests.features.spark.outcomes import write_lines

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def descriptions(spark: SparkSession) -> set[str]:
    """What the UI shows of the jobs of this session."""
    context: Any = spark.sparkContext
    jobs = context._jsc.sc().statusStore().jobsList(None)
    found = (jobs.apply(place).description() for place in range(jobs.size()))
    return {text.get() for text in found if text.isDefined()}


def test_jobs_name_graph_commit_and_step(spark: SparkSession, tmp_path: Path) -> None:
    graph = create(tmp_path / "described", "node Person { name: String @key }", durability="os")
    files = write_lines(tmp_path / "people.jsonl", [{"type": "Person", "data": {"name": "ada"}}])
    seen: list[LoadProgress] = []
    commit = graph.load_spark(str(files), "append", spark=spark, progress=seen.append).commit
    assert seen[-1].stage == "checking"
    assert (seen[-1].rows, seen[-1].files) == (1, 1)
    assert seen[-1].bytes > 0
    export(graph, tmp_path / "exported", spark=spark)
    shown = descriptions(spark)
    assert f"Omnigraph: load {graph.uri}, commit {commit.id}: reading" in shown
    assert f"Omnigraph: export {graph.uri}, commit {commit.id}: jsonl" in shown
    # Jobs of the user come without a description of ours.
    assert spark.sparkContext.getLocalProperty("spark.job.description") is None
