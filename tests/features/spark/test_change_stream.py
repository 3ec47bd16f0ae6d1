"""The change feed as a stream: every commit once, through restarts, and no more than was there."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from omnigraph.engine.graph import Graph
from omnigraph.errors import UsageError
from omnigraph.spark.source.change_options import parse_change_options
from omnigraph.spark.source.registration import register
from tests.promises.protocol.graphs import create, edge, insert, person, run

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture
def graph(spark: SparkSession, tmp_path: Path) -> Graph:
    register(spark)
    made = create(tmp_path)
    made.load([person("ann", age=3), person("bo"), edge("Knows", "ann", "bo", "k")], actor="ann")
    run(made, 'update Person set {age: 4} where name = "ann"')
    made.optimize(index=False)
    return made


def drain(spark: SparkSession, graph: Graph, place: Path, **options: Any) -> list[list[tuple[str, str]]]:
    """Run the stream until it has what is there now; the changes by micro-batch."""
    batches: list[list[tuple[str, str]]] = []

    def take(frame: Any, _number: int) -> None:
        rows = frame.orderBy("committed_at", "number").collect()
        batches.append([(row["op"], row["id"]) for row in rows])

    stream = spark.readStream.format("omnigraph").options(store=graph.uri, **{"changes": "beginning", **options}).load()
    query = (
        stream.writeStream.foreachBatch(take)
        .option("checkpointLocation", str(place / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    return [batch for batch in batches if batch]


def test_a_stream_tells_every_change_once_and_goes_on_after_a_restart(
    graph: Graph, spark: SparkSession, tmp_path: Path
) -> None:
    expected = [(change.op.value, change.id) for change in graph.changes("beginning").changes()]
    assert [item for batch in drain(spark, graph, tmp_path) for item in batch] == expected
    assert drain(spark, graph, tmp_path) == []
    insert(graph, "cy")
    run(graph, 'delete Person where name = "bo"')
    assert drain(spark, graph, tmp_path, commits=1) == [[("insert", "cy")], [("delete", "bo"), ("delete", "k")]]


def test_a_stream_is_filtered_and_its_images_are_those_of_the_feed(
    graph: Graph, spark: SparkSession, tmp_path: Path
) -> None:
    options = {"type": "Person", "op": "update", "changes": "beginning", "images": "json"}
    stream = spark.readStream.format("omnigraph").options(store=graph.uri, **options).load()
    query = (
        stream.writeStream.format("memory")
        .queryName("told")
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    (row,) = spark.table("told").collect()
    (change,) = graph.changes("beginning", type="Person", op="update").changes()
    assert change.before is not None
    assert change.after is not None
    assert (json.loads(row["before"]), json.loads(row["after"])) == (change.before.to_json(), change.after.to_json())
    commit = graph.commit(row["commit_id"])
    assert (row["parent_commit_id"], row["changed"], row["number"]) == (commit.parents[0], ["age"], 0)
    assert row["committed_at"].timestamp() * 1_000_000 == commit.created_at_us


def test_a_feed_of_one_type_is_a_frame_with_typed_images(graph: Graph, spark: SparkSession) -> None:
    commits = [commit.id for commit in graph.commits()][::-1]
    insert(graph, "cy")
    run(graph, 'delete Person where name = "bo"')
    reading = spark.read.format("omnigraph").options(readChangeFeed="true", type="Person")
    found = reading.options(startingVersion=commits[2]).load(graph.uri).orderBy("committed_at", "number").collect()
    assert [(row.op, row.id, row.before and row.before.age, row.after and row.after.age) for row in found] == [
        ("update", "ann", 3, 4),
        ("insert", "cy", None, None),
        ("delete", "bo", None, None),
    ]
    ended = spark.read.format("omnigraph").options(readChangeFeed="true", endingVersion=commits[1]).load(graph.uri)
    assert sorted((row.op, row.id) for row in ended.collect()) == [("insert", "ann"), ("insert", "bo"), ("insert", "k")]


def test_options_are_checked() -> None:
    wrong: list[tuple[dict[str, str], str]] = [
        ({"changes": "now"}, "the option 'store' is missing"),
        ({"changes": "now", "store": "here"}, "relative path"),
        ({"changes": "now", "store": "/g", "tpye": "Person"}, "no option 'tpye' of a change feed"),
        ({"changes": "now", "store": "/g", "startingVersion": "x"}, "both name a start"),
        ({"changes": "now", "store": "/g", "images": "typed"}, "typed images need one type"),
        ({"changes": "now", "store": "/g", "images": "raw"}, "unknown value for images: 'raw'"),
        ({"changes": "now", "store": "/g", "commits": "0"}, "invalid number of commits: '0'"),
    ]
    for options, message in wrong:
        with pytest.raises(UsageError, match=message):
            parse_change_options(options)
