"""Graphs in an object store: executors write and read them with the options of the driver."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from omnigraph.engine.graph import create
from omnigraph.errors import ViolationError
from omnigraph.spark import export
from tests.faults.s3 import Bucket, Server
from tests.spark.outcomes import lines, write_lines
from tests.spark.test_load import PEOPLE, SCHEMA, knows, person

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.s3


@pytest.mark.parametrize("checks", ["driver", "cluster"])
def test_a_graph_in_a_bucket_is_loaded_read_and_exported(
    s3_server: Server, s3_bucket: Bucket, spark: SparkSession, tmp_path: Path, checks: str
) -> None:
    options = s3_server.storage_options()
    graph = create(s3_bucket.uri("graph"), SCHEMA, storage_options=options)
    path = write_lines(tmp_path / "people.jsonl", [*PEOPLE, knows("p1", "p2")])
    loading: dict[str, Any] = {"spark": spark, "partitions": 3, "checks": checks}
    graph.load_spark(path, "append", **loading)
    graph.load_spark(write_lines(tmp_path / "more.jsonl", [person("p1", 99), person("new")]), "merge", **loading)
    assert len(lines(graph)) == 32
    before = s3_bucket.keys()
    with pytest.raises(ViolationError, match=r"bad\.jsonl:1: src 'x' not found in Person"):
        graph.load_spark(write_lines(tmp_path / "bad.jsonl", [knows("x", "p1")]), "append", **loading)
    assert {key for key in set(s3_bucket.keys()) - set(before) if "_transactions" not in key} == set()
    assert graph.verify().is_clean
    told = {f"storage.{name}": value for name, value in options.items()}
    frame = spark.read.format("omnigraph").options(store=graph.uri, type="Person", **told).load()
    assert {row.name: row.age for row in frame.where("age > 28 or age is null").collect()} == {
        "p29": 29,
        "p1": 99,
        "new": None,
    }
    files = export(graph, tmp_path / "out", spark=spark)
    assert sum(file.rows for file in files) == 32
