"""Text rankings on both executors: the same scores to the last bit, whatever is indexed and however it is divided."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from omnigraph.core.tuning import Tuning
from omnigraph.spark.query.relevance import Relevance
from tests.promises.parity.both import BothEngines, made_both
from tests.promises.parity.test_generated_queries import divided
from tests.support.tuning import retuned

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SCHEMA = "node Doc { key: String @key\n text: String? @index\n title: String?\n v: Vector(2)? }"
TEXTS = ["stone river stone", "river", "", None, "the", "a stone in a long, long river of stones", "Größe", " \t"]
RANKED = """query q() { match { $d: Doc } return { $d, bm25($d.text, "stone river stone") as s }
order { bm25($d.text, "stone river stone") } }"""
FUSED = """query q() { match { $d: Doc } return { $d, bm25($d.text, "stone river") as s }
order { rrf(bm25($d.text, "stone river"), bm25($d.title, "seven river"), nearest($d.v, [0.0, 1.0])) } limit 20 }"""


def docs(start: int, stop: int) -> list[dict[str, Any]]:
    def data(number: int) -> dict[str, Any]:
        title = "seven" if number % 7 == 0 else None
        return {"key": f"d{number:03}", "text": TEXTS[number % len(TEXTS)], "title": title, "v": [number, 1]}

    return [{"type": "Doc", "data": data(number)} for number in range(start, stop)]


@pytest.fixture
def graph(tmp_path: Path, spark: SparkSession) -> BothEngines:
    """Documents in fragments of their own, one without any word of the queries. Every table is worth an index."""
    tuning = Tuning(index_rows_min=0, fold_tiers=((0, 0),))
    made = made_both(tmp_path / "g", SCHEMA, docs(0, 20), spark, tuning)
    made.load([{"type": "Doc", "data": {"key": "x", "text": "nothing", "v": None}}], "append")
    made.load(docs(20, 45), "append")
    return made


@pytest.mark.parametrize("partitions", [1, 16])
def test_fused_rankings_are_equal_however_they_are_divided(
    spark: SparkSession, graph: BothEngines, partitions: int
) -> None:
    with divided(spark, graph, partitions):
        assert len(graph.query(FUSED)) == 20
        assert graph.queries_run == 1


def test_scores_are_equal_whatever_an_index_covers(spark: SparkSession, graph: BothEngines) -> None:
    def change(step: int) -> None:
        match step:
            case 1:
                graph.optimize(compact=False)
            case 2:
                graph.mutate('query q() { delete Doc where title = "seven" }')
            case 3:
                graph.load(docs(45, 50), "append")
                graph.optimize(index=False)
            case 4:
                graph.optimize()

    found = []
    for step in range(5):
        change(step)
        with divided(spark, graph, 3):
            found.append(len(graph.query(RANKED)))
    assert found == [17, 17, 15, 18, 18]
    assert graph.queries_run == 5


def test_words_are_counted_once_and_scored_where_they_are(
    spark: SparkSession, graph: BothEngines, monkeypatch: pytest.MonkeyPatch
) -> None:
    scored: list[Relevance] = []
    made = Relevance.frame

    def frame(relevance: Relevance, *names: Any) -> Any:
        scored.append(relevance)
        return made(relevance, *names)

    monkeypatch.setattr(Relevance, "frame", frame)

    def tasks(group: str) -> list[int]:
        """The tasks of every job that planning runs."""
        scored.clear()
        spark.sparkContext.setJobGroup(group, "")
        with retuned(graph, partition_rows=1):
            graph.query(FUSED, engine="spark", spark=spark)
        tracker = spark.sparkContext.statusTracker()
        jobs = [tracker.getJobInfo(job) for job in sorted(tracker.getJobIdsForGroup(group))]
        stages = [tracker.getStageInfo(stage) for job in jobs if job is not None for stage in job.stageIds]
        return [stage.numTasks for stage in stages if stage is not None]

    assert tasks("counted") == [3, 3], "two columns, three fragments, and no second count for the score that is shown"
    assert [(one.column, len(one.groups)) for one in scored] == [("text", 2), ("title", 2), ("text", 2)]
    graph.optimize(compact=False)
    assert tasks("indexed") == [3], "the column without an index is counted"
    assert [(one.total is None, len(one.groups)) for one in scored] == [(True, 3), (False, 2), (True, 3)]
