"""Many small tasks leave few files: rows, their order and their places stay those of the tasks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from pyspark.errors import PySparkException

from omnigraph.engine.graph import Graph, create
from omnigraph.errors import ViolationError
from tests.features.spark.outcomes import lines

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SCHEMA = "node Item {\n size: I64\n word: String?\n mark: String? @unique\n}\n"
TASKS = 40
ROWS = 400


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    return create(tmp_path / "graph", SCHEMA, durability="os")


def fragments(graph: Graph) -> int:
    snapshot = graph.snapshot()
    pin = snapshot.state.tables["node:Item"]
    return len(snapshot.store.open(pin.location, pin.lance_version).get_fragments())


def data_files(graph: Graph) -> int:
    location = graph.snapshot().state.tables["node:Item"].location
    return len(list((Path(graph.uri) / location / "data").glob("*.lance")))


@pytest.fixture
def frame(spark: SparkSession) -> DataFrame:
    return spark.range(0, ROWS, 1, TASKS).selectExpr("id as size", "concat('w', id) as word")


def test_a_frame_of_many_small_tasks_is_one_fragment(graph: Graph, frame: DataFrame) -> None:
    frame.write.format("omnigraph").option("type", "Item").mode("append").save(graph.uri)
    assert fragments(graph) == 1
    assert data_files(graph) == 1, "the files of the tasks are deleted"
    found = graph.query("query q() { match { $i: Item } return { $i.size as s, $i.word as w } }").to_pylist()
    assert sorted((row["s"], row["w"]) for row in found) == [(number, f"w{number}") for number in range(ROWS)]


def test_a_load_of_a_frame_is_folded_and_names_the_rows_at_fault(
    graph: Graph, frame: DataFrame, spark: SparkSession
) -> None:
    graph.load_spark(frame, "append", spark=spark, type_name="Item")
    assert fragments(graph) == 1
    before = lines(graph)
    twice = frame.selectExpr("size", "case when size in (77, 333) then 'same' end as mark")
    with pytest.raises(ViolationError, match=r"source 1>:(78|334): .*mark.*'same'"):
        graph.load_spark(twice, "append", spark=spark, type_name="Item")
    with pytest.raises(PySparkException, match="'same'"):
        twice.write.format("omnigraph").option("type", "Item").mode("append").save(graph.uri)
    assert lines(graph) == before
    assert data_files(graph) == 1


def test_many_small_files_are_read_by_few_tasks_and_faults_name_their_file(spark: SparkSession, tmp_path: Path) -> None:
    made = [create(tmp_path / name, SCHEMA, durability="os") for name in ("spark", "embedded")]
    files = []
    for number in range(70):
        # Without a line end at the end of every second file, and with an empty line in the others.
        rows = [{"type": "Item", "data": {"id": f"i{number}-{row}", "size": row}} for row in range(3)]
        text = "\n".join(json.dumps(row) for row in rows) + ("\n\n" if number % 2 else "")
        files.append(tmp_path / f"{number}.jsonl")
        files[-1].write_text(text)
    loaded = made[0].load_spark(files, "append", spark=spark)
    assert loaded.total == made[1].load(files, "append").total == 210
    assert lines(made[0]) == lines(made[1])
    assert fragments(made[0]) == 2, "64 files of a task, and the others"

    for number in (5, 66):
        with files[number].open("a") as file:
            file.write('\n{"type": "Item", "data": {"id": "new", "size": "large"}}\n')
    found = []
    for graph, load in ((made[0], made[0].load_spark), (made[1], made[1].load)):
        with pytest.raises(ViolationError) as refused:
            load(files, "merge", **({"spark": spark} if graph is made[0] else {}))
        found.append(sorted(str(sample.place) for sample in refused.value.samples))
        rejected = tmp_path / f"{len(found)}.rejected"
        result = load(files, "merge", reject_to=rejected, **({"spark": spark} if graph is made[0] else {}))
        found.append((result.total, result.rejected, sorted(rejected.read_text().splitlines())))
    assert found[:2] == found[2:]
    assert [place.rpartition("/")[2] for place in found[0]] == ["5.jsonl:6", "66.jsonl:4"]
