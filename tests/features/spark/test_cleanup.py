"""Cleanup on executors, and loads that cleanup meets."""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from omnigraph.engine.graph import Graph, create
from omnigraph.storage.upkeep.sweep import Fate
from tests.features.spark.outcomes import lines, write_lines
from tests.features.spark.test_journal import PARTITIONS, PEOPLE, SCHEMA, journals, kill_load, written
from tests.promises.cleanup.graphs import age, check_tidy, root
from tests.promises.cleanup.reachable import files

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    return create(tmp_path / "graph", SCHEMA, durability="os")


def test_executors_delete_what_this_process_would(graph: Graph, spark: SparkSession) -> None:
    for _ in range(3):
        graph.load(PEOPLE, "overwrite")
    graph.create_branch("review")
    graph.load(PEOPLE[:3], "overwrite", branch="review")
    graph.delete_branch("review")
    # The scratch directories of this process: the fence of the real run would use one again.
    for scratch in root(graph).rglob("_beside"):
        shutil.rmtree(scratch)
    said = graph.cleanup(keep=1, grace="0s", dry_run=True)
    before = files(root(graph))
    on_spark = graph.cleanup(keep=1, grace="0s", dry_run=True, engine="spark", spark=spark)
    assert on_spark == said
    assert files(root(graph)) == before
    done = graph.cleanup(keep=1, grace="0s", engine="spark", spark=spark)
    assert done.deleted == said.deleted
    check_tidy(graph)


def test_a_killed_load_is_resumed_after_a_cleanup(graph: Graph, spark: SparkSession, tmp_path: Path) -> None:
    source = write_lines(tmp_path / "data.jsonl", PEOPLE)
    kill_load(graph, source, spark)
    before = written(graph)
    age(graph, hours=6 * 24)
    result = graph.cleanup(grace="0s")
    assert result.files["data"][Fate.JOBS].files == len(before) == PARTITIONS
    graph.load_spark(source, "append", spark=spark, partitions=PARTITIONS, resume=True)
    assert written(graph) == before
    assert len(lines(graph)) == len(PEOPLE)
    graph.cleanup(keep=1, grace="0s")
    check_tidy(graph)


def test_a_load_that_nobody_resumes_goes_after_a_week(graph: Graph, spark: SparkSession, tmp_path: Path) -> None:
    source = write_lines(tmp_path / "data.jsonl", PEOPLE)
    kill_load(graph, source, spark)
    old = time.time() - 8 * 86_400
    for path in [*journals(graph), *map(Path, written(graph))]:
        os.utime(path, (old, old))
    graph.cleanup(grace="0s")
    assert written(graph) == set()
    assert journals(graph) == []
    check_tidy(graph)
    graph.load_spark(source, "append", spark=spark, partitions=PARTITIONS, resume=True)
    assert len(lines(graph)) == len(PEOPLE)
