"""Jobs in Spark's UI name graph, commit and step; progress counts rows, bytes and files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from omnigraph.engine.graph import create
from omnigraph.spark.cluster.progress import LoadProgress
from omnigraph.spark.jobs.export import export
from omnigraph.spark.query.api import query
from tests.features.spark.outcomes import write_lines
from tests.support.tuning import tuned

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SCHEMA = "node Person { name: String @key }\nedge Knows: Person -> Person"
PEOPLE = "query people() { match { $p: Person } return { $p.name as name } }"


def descriptions(spark: SparkSession) -> set[str]:
    """What the UI shows of the jobs of this session."""
    context: Any = spark.sparkContext
    jobs = context._jsc.sc().statusStore().jobsList(None)
    found = (jobs.apply(place).description() for place in range(jobs.size()))
    return {text.get() for text in found if text.isDefined()}


def test_jobs_name_graph_commit_and_step(spark: SparkSession, tmp_path: Path) -> None:
    graph = create(tmp_path / "described", SCHEMA, durability="os")
    files = write_lines(tmp_path / "people.jsonl", [{"type": "Person", "data": {"name": "ada"}}])
    seen: list[LoadProgress] = []
    commit = graph.load_spark(str(files), "append", spark=spark, progress=seen.append).commit
    assert seen[-1].stage == "checking"
    assert (seen[-1].rows, seen[-1].files) == (1, 1)
    assert seen[-1].bytes > 0
    export(graph, tmp_path / "exported", spark=spark)
    graph.query(PEOPLE, engine="spark", spark=spark).collect()
    assert len(query(graph, PEOPLE, spark=spark)) == 1
    graph.analyze.degrees("Knows", engine="spark", spark=spark)
    tuned(graph, spark_table_rows_min=0, index_rows_min=0).optimize(engine="spark", spark=spark)
    shown = descriptions(spark)
    assert f"Omnigraph: load {graph.uri}, commit {commit.id}: reading" in shown
    assert f"Omnigraph: export {graph.uri}, commit {commit.id}: jsonl" in shown
    assert f"Omnigraph: query {graph.uri}, commit {commit.id}: people" in shown
    assert f"Omnigraph: analysis of Knows in {graph.uri}, commit {commit.id}" in shown
    assert [text for text in shown if text.startswith(f"Omnigraph: optimize {graph.uri}: ")]
    # Jobs of the user come without a description of ours.
    assert spark.sparkContext.getLocalProperty("spark.job.description") is None
