"""Exports by tasks: whole files that load again, and the same rows in Parquet."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from omnigraph.engine.graph import Graph, create
from omnigraph.errors import AlreadyExistsError, NotFoundError, StorageError, UsageError
from omnigraph.spark import export
from tests.features.exports.test_tables import READ
from tests.features.spark.outcomes import lines
from tests.features.spark.test_source import FULL, PEOPLE, SCHEMA
from tests.support.tuning import tuned

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

EDGE = {"edge": "Knows", "from": "p1", "to": "p2", "data": {"id": "k", "since": 7}}


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    made = create(tmp_path / "graph", SCHEMA, durability="os")
    made.load([*PEOPLE, EDGE, {"type": "Every", "data": FULL}, {"type": "Every", "data": {"s": "empty"}}])
    return made


def test_what_is_exported_loads_again_and_is_the_same(graph: Graph, spark: SparkSession, tmp_path: Path) -> None:
    many: list[dict[str, Any]] = [{"type": "Person", "data": {"name": f"q{number}"}} for number in range(5_000)]
    graph.load(many, "append")
    graph.load([{"type": "Person", "data": {"name": "p3", "age": 77}}], "merge")
    files = export(tuned(graph, partition_rows=1), tmp_path / "out", spark=spark)
    assert sum(file.rows for file in files) == len(lines(graph))
    assert len([file for file in files if file.type_name == "Person"]) > 1
    assert {path.name for path in (tmp_path / "out").iterdir()} == {"schema.pg", *(file.path for file in files)}
    again = create(tmp_path / "again", (tmp_path / "out" / "schema.pg").read_text(), durability="os")
    again.load_spark([tmp_path / "out" / file.path for file in files], "append", spark=spark)
    assert lines(again) == lines(graph)


def test_parquet_holds_the_columns_of_the_table(graph: Graph, spark: SparkSession, tmp_path: Path) -> None:
    files = export(graph, tmp_path / "out", "parquet", types=["Every"], spark=spark)
    assert [(file.path, file.rows) for file in files] == [("node-Every-00000.parquet", 2)]
    table = pq.read_table(tmp_path / "out" / files[0].path)
    assert table.column("x").to_pylist() == [b"hi", None]
    assert table.schema.field("w").type == pa.uint64()
    again = create(tmp_path / "again", SCHEMA, durability="os")
    again.load(table, "append", type_name="Every")
    assert lines(again) == [line for line in lines(graph) if b'"Every"' in line]


def test_csv_is_the_text_of_the_embedded_export(graph: Graph, spark: SparkSession, tmp_path: Path) -> None:
    [file] = export(graph, tmp_path / "out", "csv", types=["Every"], null="NULL", spark=spark)
    graph.export_files(tmp_path / "every.csv", "csv", types="Every", null="NULL")
    written = (tmp_path / "out" / file.path).read_bytes()
    assert written == (tmp_path / "every.csv").read_bytes()
    assert (file.path, file.rows, file.bytes) == ("node-Every-00000.csv", 2, len(written))


@pytest.mark.parametrize("format", ["iceberg", "delta"])
def test_tasks_write_the_files_of_tables_that_the_driver_commits(
    graph: Graph, spark: SparkSession, tmp_path: Path, format: str
) -> None:
    graph.load([{"type": "Person", "data": {"name": "later"}}], "append")
    parted = tuned(graph, partition_rows=1)
    tables = export(parted, tmp_path / "out", format, spark=spark)
    assert {table.path: table.rows for table in tables} == graph.counts()
    with pytest.raises(AlreadyExistsError, match="exists already"):
        export(parted, tmp_path / "out", format, spark=spark)
    graph.mutate('query drop() { delete Person where name = "later" }')
    again = export(
        tuned(graph, partition_rows=1), tmp_path / "out", format, types=["Person"], replace=True, spark=spark
    )
    assert [(table.path, table.rows) for table in again] == [("Person", graph.counts()["Person"])]
    found = READ[format](str(tmp_path / "out" / "Person"))
    assert found.num_rows == graph.counts()["Person"]
    assert "later" not in found.column("name").to_pylist()
    assert READ[format](str(tmp_path / "out" / "Every")).num_rows == 2


def test_a_state_of_the_past_is_exported_as_it_was(graph: Graph, spark: SparkSession, tmp_path: Path) -> None:
    before = graph.snapshot().commit_id
    expected = lines(graph)
    graph.load([{"type": "Person", "data": {"name": "later"}}], "append")
    files = export(graph, tmp_path / "out", at=before, spark=spark)
    written = [line for file in files for line in (tmp_path / "out" / file.path).read_bytes().splitlines()]
    assert sorted(written) == expected


def test_what_cannot_be_exported_is_said(graph: Graph, spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(AlreadyExistsError, match="exists already"):
        export(graph, tmp_path, spark=spark)
    with pytest.raises(UsageError, match="unknown export format 'xml'"):
        export(graph, tmp_path / "out", "xml", spark=spark)
    with pytest.raises(NotFoundError, match="there is no type 'Persn'"):
        export(graph, tmp_path / "out", types=["Persn"], spark=spark)
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError, match="cannot be written"):
        export(graph, tmp_path / "file" / "out", spark=spark)
    with pytest.raises(UsageError, match="do not replace csv files"):
        export(graph, tmp_path / "out", "csv", replace=True, spark=spark)
    assert not (tmp_path / "out").exists()
