"""The document pipeline on Spark makes the graph that this process makes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tests.features.documents.texts import PIPELINE, content, graph_at, write_texts

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_executors_make_the_chunks_vectors_and_links_of_this_process(spark: SparkSession, tmp_path: Path) -> None:
    texts = write_texts(tmp_path / "texts", 7)
    here, there = graph_at(tmp_path / "here"), graph_at(tmp_path / "there")
    here.load_documents(texts, PIPELINE)
    result = there.load_documents(texts, PIPELINE, engine="spark", spark=spark, batch=4, requests_per_minute=100_000)
    assert (result.engine, result.counts.new, len(result.commits)) == ("spark", 7, 1)
    assert content(there) == content(here)
    rows = [(path.name, path.read_text()) for path in sorted(texts.iterdir())]
    frame = spark.createDataFrame([*rows[:6], ("text6.md", "Ada.")], "path string, text string")
    again = there.load_documents(frame, PIPELINE, engine="spark", spark=spark, partitions=3)
    assert (again.counts.unchanged, again.counts.changed) == (6, 1)
