"""Loads through a mapping that were killed: the same load goes on with what its tasks wrote, another one does not."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from omnigraph.engine.graph import Graph, create
from omnigraph.errors import UsageError
from omnigraph.spark.cluster.progress import LoadProgress
from tests.features.cli.run import run
from tests.features.spark.outcomes import lines
from tests.features.spark.test_journal import journals, kill_load, written
from tests.features.spark.test_mapped_rejects import cut_small

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SCHEMA = "node Person {\n name: String @key\n age: I32?\n}\nedge Knows: Person -> Person\n"
PEOPLE = 60
MAPPING = {
    "load": [
        {"source": "people", "node": "Person"},
        {
            "source": "people",
            "edge": "Knows",
            "from": "name",
            "to": "name",
            "columns": {},
            "where": "try_cast(age as int) > 50",
        },
    ]
}


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    return create(tmp_path / "graph", SCHEMA, durability="os")


def csv(path: Path, first: int = 0) -> str:
    path.write_text("name,age\n" + "".join(f"p{number},{number}\n" for number in range(first, first + PEOPLE)))
    return str(path)


def test_only_what_is_lost_is_read_again(graph: Graph, spark: SparkSession, tmp_path: Path) -> None:
    source = csv(tmp_path / "people.csv")
    with cut_small(spark, 120):
        kill_load(graph, {"people": source}, spark, mapping=MAPPING)
        assert lines(graph) == []
        before = written(graph)
        assert len(before) > 3
        lost = sorted(path for path in before if "/nodes/" in path)[0]
        os.unlink(lost)
        told: list[LoadProgress] = []
        asked: dict[str, Any] = {"mapping": MAPPING, "mode": "append", "spark": spark, "resume": True}
        graph.load_spark({"people": source}, **asked, progress=told.append)
    assert len(written(graph) - before) == 1
    assert written(graph) >= before - {lost}
    # What was there is not speed.
    reused = told[-1].reused
    assert 0 < reused < told[-1].rows == PEOPLE + 9
    assert [seen.rows for seen in told if seen.stage == "reading"][-1] >= reused
    assert told[-1].rows_per_second == (told[-1].rows - reused) / told[-1].seconds
    assert [json.loads(line)["data"]["age"] for line in lines(graph) if b'"type"' in line] == sorted(
        range(PEOPLE), key=lambda number: f"p{number}"
    )
    assert len(lines(graph)) == PEOPLE + 9
    assert graph.verify().is_clean
    assert journals(graph) == []


def test_another_load_does_not_go_on_with_it(graph: Graph, spark: SparkSession, tmp_path: Path) -> None:
    source = csv(tmp_path / "people.csv")
    asked: dict[str, Any] = {"mode": "merge", "spark": spark, "resume": True}
    with cut_small(spark, 120):
        kill_load(graph, {"people": source}, spark, mode="merge", mapping=MAPPING)
        left = written(graph)
    # Cut otherwise, with other columns, and with another file.
    graph.load_spark({"people": source}, mapping=MAPPING, **asked)
    with cut_small(spark, 120):
        other = [{**MAPPING["load"][0], "columns": {"name": "name"}}, MAPPING["load"][1]]
        graph.load_spark({"people": source}, mapping={"load": other}, **asked)
        csv(tmp_path / "people.csv", first=1)
        graph.load_spark({"people": source}, mapping=MAPPING, **asked)
    assert b'"p60"' in b"".join(lines(graph))
    pins = [graph.snapshot(at=commit.id).state.tables["node:Person"] for commit in graph.commits()]
    tables = [graph._store.open(pin.location, pin.lance_version) for pin in pins]
    used = {file.path for table in tables for part in table.get_fragments() for file in part.metadata.files}
    assert not used & {os.path.basename(path) for path in left}
    assert graph.verify().is_clean


def test_rejected_rows_of_finished_tasks_are_remembered(graph: Graph, spark: SparkSession, tmp_path: Path) -> None:
    source = tmp_path / "people.csv"
    csv(source)
    source.write_text(source.read_text() + "bad,old\n" + "p1,3\n")
    kill_load(graph, {"people": str(source)}, spark, mapping=MAPPING, reject_to=tmp_path / "first")
    before = written(graph)
    loaded = graph.load_spark(
        {"people": str(source)}, "append", mapping=MAPPING, spark=spark, reject_to=tmp_path / "second", resume=True
    )
    assert loaded.rejected == 2
    assert written(graph) == before
    found = [json.loads(line) for line in (tmp_path / "second").read_text().splitlines()]
    assert [(said["line"], said["record"]["data"]) for said in found] == [
        (2, {"name": "p1", "age": 1}),
        (61, {"name": "bad", "age": "old"}),
    ]


def test_what_may_be_other_rows_the_second_time_is_not_resumed(
    graph: Graph, spark: SparkSession, tmp_path: Path
) -> None:
    frame = spark.sql("select 'a' as name")
    mapping = {"load": [MAPPING["load"][0]]}
    with pytest.raises(UsageError, match=r"cannot be resumed: source 'people' may give .* it is not a file"):
        graph.load_spark({"people": frame}, mapping=mapping, spark=spark, resume=True)
    assert journals(graph) == []
    # Without resume a frame is loaded, and leaves no journal.
    graph.load_spark({"people": frame}, mapping=mapping, spark=spark)
    assert (len(lines(graph)), journals(graph)) == (1, [])


def test_parquet_is_resumed_and_the_command_does_it(graph: Graph, spark: SparkSession, tmp_path: Path) -> None:
    table = pa.table({"name": [f"p{number}" for number in range(PEOPLE)], "age": list(range(PEOPLE))})
    pq.write_table(table, tmp_path / "people.parquet", row_group_size=10)
    words = json.dumps({"sources": {"people": "people.parquet"}, **MAPPING})
    (tmp_path / "mapping.yaml").write_text(words)
    from omnigraph.config import read_mapping

    kill_load(graph, {}, spark, mapping=read_mapping(tmp_path / "mapping.yaml"))
    before = written(graph)
    result = run("load", graph.uri, "--mapping", tmp_path / "mapping.yaml", "--mode", "append", "--resume")
    assert result.exit_code == 0, result.output
    assert written(graph) == before
    assert len(lines(graph)) == PEOPLE + 9
