"""Values that the embedded load refuses are refused by the tasks of Spark too, with their place."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from omnigraph.engine.graph import Graph, create
from omnigraph.errors import ViolationError
from tests.features.spark.outcomes import write_lines

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SCHEMA = """
node Event { name: String @key
    day: Date?
    at: DateTime?
    score: F64?
    tags: [String]?
    note: String?
    @check(note, "^(a+)+$") }
"""
# Row 1 is good.
FRAME = [
    "'a' name, date'2020-01-01' day, timestamp'2020-01-01' at, 1D score, array('x') tags, 'a' note",
    "'b', date_add(date'9999-12-31', 1), null, null, null, null",
    "'c', null, timestamp_micros(-62135596800000001), null, null, null",
    "'d', null, null, double('NaN'), null, null",
    "'e', null, null, double('Infinity'), null, null",
    "'f', null, null, null, array('x', null), null",
    "'g', null, null, null, array(cast(X'FF' as string)), null",
    "'h', null, null, null, null, cast(X'61FF' as string)",
    f"'i', null, null, null, null, '{'a' * 60}!'",
]
PROPERTIES = ["day", "at", "score", "score", "tags", "tags", "note", "note"]
LINES = [
    {"name": "a", "day": 0, "at": 0, "score": 1.0, "tags": ["x"]},
    {"name": "b", "day": 2_932_897},
    {"name": "c", "at": -62_135_596_800_001},
    {"name": "d", "tags": ["x", None]},
]


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    return create(tmp_path / "graph", SCHEMA, durability="os")


def test_the_rows_of_a_frame_are_held_to_the_rule_of_the_embedded_load(
    graph: Graph, spark: SparkSession, tmp_path: Path
) -> None:
    frame = spark.sql(" union all ".join(f"select {row}" for row in FRAME)).coalesce(1)
    mapping = {"load": [{"source": "events", "node": "Event"}]}
    before = graph.snapshot().commit_id
    with pytest.raises(ViolationError) as refused:
        graph.load_spark({"events": frame}, mapping=mapping, spark=spark)
    assert refused.value.total == len(PROPERTIES)
    assert graph.snapshot().commit_id == before
    aside = tmp_path / "rejected.jsonl"
    loaded = graph.load_spark({"events": frame}, mapping=mapping, spark=spark, reject_to=aside)
    assert (loaded.nodes, loaded.rejected) == ({"Event": 1}, len(PROPERTIES))
    found = [json.loads(line) for line in aside.read_text().splitlines()]
    assert [row["line"] for row in found] == list(range(2, 10))
    for row, name in zip(found, PROPERTIES, strict=True):
        assert f"Event.{name}" in row["reasons"][0]["message"], row
    assert found[6]["record"]["data"]["note"] == "a\ufffd"


def test_lines_are_held_to_the_rule_of_the_embedded_load(graph: Graph, spark: SparkSession, tmp_path: Path) -> None:
    write_lines(tmp_path / "events.jsonl", [{"type": "Event", "data": data} for data in LINES])
    with pytest.raises(ViolationError) as refused:
        graph.load_spark(str(tmp_path / "events.jsonl"), spark=spark)
    assert refused.value.total == len(LINES) - 1
    assert [commit.kind.value for commit in graph.commits()] == ["init"]
