"""Sources that disappear or change while tasks read them: a typed error, and the graph is as it was."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from omnigraph.engine.graph import Graph, create
from omnigraph.errors import InputError, NotFoundError, SparkError
from omnigraph.spark.load.slices import InputSlice, SliceWriter
from omnigraph.spark.load.splits import SplitGroup
from omnigraph.storage.objects.s3 import S3Backend
from tests.features.spark.outcomes import data_files, write_lines
from tests.support.faults.s3 import Bucket, Server

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SCHEMA = "node Person {\n name: String @key\n}\n"
PEOPLE = [{"type": "Person", "data": {"name": f"p{number}"}} for number in range(60)]
PARTITIONS = 6
WRITE = SliceWriter.write_lines


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    return create(tmp_path / "graph", SCHEMA, durability="os")


def state(graph: Graph) -> Any:
    return graph.snapshot().commit_id, data_files(graph), sorted(Path(graph.uri).glob("jobs/*"))


@pytest.mark.parametrize("is_replaced", [False, True])
def test_a_file_that_goes_away_in_the_middle(
    graph: Graph, spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_replaced: bool
) -> None:
    source, before = write_lines(tmp_path / "data.jsonl", PEOPLE), state(graph)
    write = WRITE

    def writes_and_takes_away(writer: SliceWriter, group: SplitGroup) -> InputSlice:
        """Once a task is done with its part, there is no file for the others, or another one."""
        written = write(writer, group)
        if is_replaced:
            Path(group.splits[0].file.address).write_text("x")
        else:
            Path(group.splits[0].file.address).unlink(missing_ok=True)
        return written

    monkeypatch.setattr(SliceWriter, "write_lines", writes_and_takes_away)
    error, message = (
        (InputError, "changed while it was being loaded") if is_replaced else (NotFoundError, "there is no file")
    )
    with pytest.raises(error, match=message) as lost:
        graph.load_spark(source, "append", spark=spark, partitions=PARTITIONS)
    assert lost.value.facts["path"] == source
    assert state(graph) == before


@pytest.mark.s3
@pytest.mark.parametrize("is_replaced", [False, True])
def test_an_object_that_goes_away_in_the_middle(
    graph: Graph,
    spark: SparkSession,
    s3_server: Server,
    s3_bucket: Bucket,
    monkeypatch: pytest.MonkeyPatch,
    is_replaced: bool,
) -> None:
    body = "".join(json.dumps(record) + "\n" for record in PEOPLE).encode()
    s3_bucket.client.put_object(Bucket=s3_bucket.name, Key="data.jsonl", Body=body)
    source, before, bucket = s3_bucket.uri("data.jsonl"), state(graph), s3_bucket.uri("").rstrip("/")
    write = WRITE

    def writes_and_takes_away(writer: SliceWriter, group: SplitGroup) -> InputSlice:
        written = write(writer, group)
        store = S3Backend().connect(bucket, group.splits[0].file.options)
        if is_replaced:
            # As long as the first one: only the tag tells.
            store.put("data.jsonl", body.replace(b"p1", b"q1"))
        else:
            store.delete("data.jsonl")
        return written

    monkeypatch.setattr(SliceWriter, "write_lines", writes_and_takes_away)
    error, message = (
        (InputError, "changed while it was being loaded")
        if is_replaced
        else (NotFoundError, "was deleted while it was being read")
    )
    with pytest.raises(error, match=message):
        graph.load_spark(
            source, "append", spark=spark, partitions=PARTITIONS, source_options=s3_server.storage_options()
        )
    assert state(graph) == before


def test_a_table_of_a_mapping_that_goes_away(graph: Graph, spark: SparkSession, tmp_path: Path) -> None:
    table, before = tmp_path / "people.csv", state(graph)
    table.write_text("name\nAda\n")

    def takes_away(_: object) -> None:
        table.unlink(missing_ok=True)

    with pytest.raises(SparkError, match=r"people\.csv"):
        graph.load_spark(
            {"people": str(table)},
            "append",
            mapping={"load": [{"source": "people", "node": "Person"}]},
            spark=spark,
            progress=takes_away,
        )
    assert not os.path.exists(table)
    assert state(graph) == before
