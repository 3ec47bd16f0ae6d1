"""Graphs, sources and exports in an object store: executors reach them with the options of the driver."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import pytest

from omnigraph.cli.args.load_engine import chosen_engine
from omnigraph.engine.engine_choice import SPARK_FROM_VARIABLE
from omnigraph.engine.graph import create
from omnigraph.errors import AlreadyExistsError, ViolationError
from omnigraph.spark import export
from omnigraph.spark.cluster import limits
from tests.features.cli.run import run
from tests.features.spark.outcomes import data_files, lines, write_lines
from tests.features.spark.test_load import PEOPLE, SCHEMA, knows, person
from tests.support.faults.request_log import Kind
from tests.support.faults.s3 import Bucket, Server

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


def put(bucket: Bucket, key: str, records: Sequence[Any]) -> str:
    body = "".join(record if isinstance(record, str) else json.dumps(record) + "\n" for record in records)
    bucket.client.put_object(Bucket=bucket.name, Key=key, Body=body.encode())
    return bucket.uri(key)


def options_of(server: Server) -> list[str]:
    return [word for key, value in server.storage_options().items() for word in ("--storage-option", f"{key}={value}")]


def test_sources_in_a_bucket_are_read_by_ranges_and_give_the_same_graph(
    s3_server: Server, s3_bucket: Bucket, spark: SparkSession, tmp_path: Path
) -> None:
    notes = [{"type": "Note", "data": {"id": f"n{number}", "text": "é" * 9_000}} for number in range(50)]
    first = put(s3_bucket, "in/1.jsonl", [*PEOPLE, *notes])
    second = put(s3_bucket, "in/2.jsonl", [{**knows("p1", "p2"), "data": {"id": "k"}}, person("p30")])
    graph = create(tmp_path / "graph", SCHEMA, durability="os")
    asked: dict[str, Any] = {"spark": spark, "source_options": s3_server.storage_options()}
    with s3_server.proxy.recording() as log:
        graph.load_spark(s3_bucket.uri("in/"), "append", partitions=5, **asked)
    reads = [request for request in log.requests() if request.kind is Kind.GET and request.key == "in/1.jsonl"]
    size = s3_bucket.client.head_object(Bucket=s3_bucket.name, Key="in/1.jsonl")["ContentLength"]
    # Every task its part, and the rest of its last line.
    assert {request.status for request in reads} == {206}
    assert max(request.bytes_received for request in reads) < size / 4
    assert sum(request.bytes_received for request in reads) < size + 5 * (limits.LINE_REST_BYTES + 10_000)
    embedded = create(tmp_path / "embedded", SCHEMA, durability="os")
    embedded.load([first, second], "append", source_options=s3_server.storage_options())
    assert lines(graph) == lines(embedded)

    head, files = graph.snapshot().commit_id, data_files(graph)
    bad = put(s3_bucket, "bad.jsonl", [*PEOPLE, person("x", "old")])  # type: ignore[arg-type] # that is what is bad
    with pytest.raises(ViolationError) as refused:
        graph.load_spark(bad, "merge", partitions=3, **asked)
    assert str(refused.value.samples[0]).startswith(f"{bad}:31: wrong value for Person.age")
    loaded = graph.load_spark(bad, "merge", partitions=3, reject_to=tmp_path / "rejected", **asked)
    assert (loaded.total, loaded.rejected) == (30, 1)
    assert json.loads((tmp_path / "rejected").read_text())["file"] == bad
    assert head != graph.snapshot().commit_id
    assert files < data_files(graph)


@pytest.mark.parametrize("format", ["jsonl", "parquet"])
def test_an_export_into_a_bucket_is_loaded_from_there(
    s3_server: Server, s3_bucket: Bucket, spark: SparkSession, tmp_path: Path, format: str
) -> None:
    options = s3_server.storage_options()
    graph = create(tmp_path / "graph", SCHEMA, durability="os", storage_options=options)
    graph.load([*PEOPLE, knows("p1", "p2")], "append")
    files = export(graph, s3_bucket.uri("out/"), format, spark=spark)
    assert sorted(s3_bucket.keys()) == sorted([f"out/{file.path}" for file in files] + ["out/schema.pg"])
    if format == "parquet":
        [people] = [file.path for file in files if file.type_name == "Person"]
        content = s3_bucket.client.get_object(Bucket=s3_bucket.name, Key=f"out/{people}")["Body"].read()
        assert pq.read_table(io.BytesIO(content)).num_rows == 30
    else:
        again = create(tmp_path / "again", SCHEMA, durability="os", storage_options=options)
        again.load_spark(s3_bucket.uri("out/"), "append", spark=spark)
        assert lines(again) == lines(graph)
    before = s3_bucket.keys()
    with pytest.raises(AlreadyExistsError, match="exists already"):
        export(graph, s3_bucket.uri("out"), spark=spark)
    assert s3_bucket.keys() == before


def test_the_commands_read_and_write_files_in_a_bucket(
    s3_server: Server, s3_bucket: Bucket, spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = create(tmp_path / "graph", SCHEMA, durability="os")
    source, options = put(s3_bucket, "in/1.jsonl", PEOPLE), options_of(s3_server)
    for engine in ("embedded", "spark"):
        words = ("load", graph.uri, "--mode", "merge", "--engine", engine, *options)
        result = run(*words, "--data", source)
        assert result.exit_code == 0, result.output
        assert "loaded 30 entities" in result.stdout
        missing = run(*words, "--data", s3_bucket.uri("in/2.jsonl"))
        assert missing.exit_code == 1
        assert f"there is no file '{s3_bucket.uri('in/2.jsonl')}'" in missing.stderr
        assert "gs:// is not supported" in run(*words, "--data", "gs://bucket/file.jsonl").stderr
    out = s3_bucket.uri("out.jsonl")
    assert run("export", graph.uri, "--out", out, *options).exit_code == 0
    body = s3_bucket.client.get_object(Bucket=s3_bucket.name, Key="out.jsonl")["Body"].read()
    assert sorted(body.splitlines()) == lines(graph)
    for address in ("s3:///x", s3_bucket.uri("").rstrip("/"), "gs://bucket/x"):
        refused = run("export", graph.uri, "--out", address, *options)
        assert refused.exit_code == 2, refused.output
    assert s3_bucket.keys() == ["in/1.jsonl", "out.jsonl"]
    # Whoever is asked to choose looks at the sizes there.
    monkeypatch.setenv(SPARK_FROM_VARIABLE, "100")
    assert chosen_engine("auto", [source], False, s3_server.storage_options()) == "spark"
    monkeypatch.setenv(SPARK_FROM_VARIABLE, "1000000")
    assert chosen_engine("auto", [source], False, s3_server.storage_options()) == "embedded"
