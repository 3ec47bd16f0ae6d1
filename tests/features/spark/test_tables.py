"""Paths, settings and tables of Spark's catalog: the options reach the graph, and no other graph than the one meant."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from pyspark.errors import PySparkException

from omnigraph.engine.graph import Graph, create
from omnigraph.errors import UsageError
from omnigraph.spark.cluster.spark_types import spark_schema
from omnigraph.spark.source.registration import register
from omnigraph.spark.source.table_options import read_options, with_options, written_options

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SCHEMA = "node Person {\n name: String @key\n age: I32?\n}\n"


def people(*names: str) -> list[dict[str, object]]:
    return [{"type": "Person", "data": {"name": name, "age": len(name)}} for name in names]


def names(graph: Graph, branch: str = "main") -> list[str]:
    rows = graph.query("query n() { match { $p: Person } return { $p.name as n } order { n } }", branch=branch)
    return [row["n"] for row in rows.to_pylist()]


@pytest.fixture
def graph(tmp_path: Path, spark: SparkSession) -> Graph:
    made = create(tmp_path / "graph", SCHEMA, durability="os")
    made.load(people("ada", "alan"), "append")
    return made


@pytest.fixture
def session_settings(graph: Graph, spark: SparkSession) -> Iterator[None]:
    spark.conf.set("spark.omnigraph.store", graph.uri)
    spark.conf.set("spark.omnigraph.durability", "os")
    register(spark)
    yield
    spark.conf.unset("spark.omnigraph.store")
    spark.conf.unset("spark.omnigraph.durability")
    register(spark)


def test_a_path_is_enough_and_versions_and_times_name_a_commit(graph: Graph, spark: SparkSession) -> None:
    first = graph.snapshot().commit_id
    graph.load(people("grace"), "append")
    assert spark.read.format("omnigraph").load(graph.uri).count() == 3
    assert spark.read.format("omnigraph").option("versionAsOf", first).load(graph.uri).count() == 2
    assert spark.read.format("omnigraph").option("timestampAsOf", "2999-01-01T00:00:00Z").load(graph.uri).count() == 3


@pytest.mark.usefixtures("session_settings")
def test_settings_of_the_session_are_defaults(graph: Graph, spark: SparkSession) -> None:
    assert spark.read.format("omnigraph").load().count() == 2
    frame = spark.createDataFrame([("grace", 1)], "name string, age int")
    frame.write.format("omnigraph").option("type", "Person").mode("append").save()
    assert names(graph) == ["ada", "alan", "grace"]


def test_tables_of_the_catalog_are_read_and_written(graph: Graph, spark: SparkSession, tmp_path: Path) -> None:
    other = create(tmp_path / "other", SCHEMA, durability="os")
    other.load(people("linus"), "append")
    assert graph.register_tables("kb", spark=spark) == {"kb.Person": "node:Person"}
    other.register_tables("more", spark=spark)
    try:
        before = graph.snapshot().commit_id
        assert [row.name for row in spark.sql("SELECT name FROM kb.Person WHERE age = 3").collect()] == ["ada"]
        spark.sql("INSERT INTO kb.Person (name, age) VALUES ('grace', 5)")
        # Both tables have the same columns: the rows carry what the other table knows of itself.
        spark.sql("INSERT INTO kb.Person SELECT * FROM more.Person")
        assert (names(graph), names(other)) == (["ada", "alan", "grace", "linus"], ["linus"])
        assert spark.sql(f"SELECT * FROM kb.Person WITH ('at' = '{before}')").count() == 2
        spark.sql("INSERT INTO kb.Person WITH ('load' = 'merge') (name, age) VALUES ('ada', 36)")
        frame = spark.createDataFrame([("edsger", "edsger", 1)], "id string, name string, age int")
        frame.write.format("omnigraph").mode("append").saveAsTable("kb.Person")
        assert names(graph)[2] == "edsger"
        # Rows of a table for itself come without a sign of their target.
        with pytest.raises(PySparkException, match="Spark does not say which table of the graph to write"):
            spark.sql("INSERT INTO kb.Person SELECT * FROM kb.Person")
        spark.sql("INSERT OVERWRITE kb.Person SELECT * FROM more.Person")
        assert names(graph) == ["linus"]
    finally:
        spark.sql("DROP DATABASE kb CASCADE")
        spark.sql("DROP DATABASE more CASCADE")


def test_a_temporary_view_is_read_and_written(graph: Graph, spark: SparkSession) -> None:
    options = f"path '{graph.uri}', columns 'name, age'"
    spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW people_view USING omnigraph OPTIONS ({options})")
    spark.sql("INSERT INTO people_view VALUES ('grace', 5)")
    assert spark.sql(f"SELECT * FROM people_view WITH ('path' = '{graph.uri}')").columns == ["name", "age"]
    assert names(graph) == ["ada", "alan", "grace"]
    spark.catalog.dropTempView("people_view")


def test_columns_carry_the_options_of_their_table_without_credentials(graph: Graph) -> None:
    given = {"store": "/g", "type": "Person", "storage.region": "x", "storage.aws_secret_access_key": "hidden"}
    columns = with_options(spark_schema(graph.catalog().nodes["Person"]), given)
    assert read_options(columns) == {"store": "/g", "type": "Person", "storage.region": "x"}
    assert "hidden" not in columns.json()
    with pytest.raises(UsageError, match="which table"):
        written_options(columns)
    numbers = with_options(spark_schema(graph.catalog().nodes["Person"], ["age"]), given)
    assert read_options(numbers)["type"] == "Person"
    with pytest.raises(UsageError, match="which table"):
        written_options(numbers)


def test_a_frame_that_cannot_fit_is_refused_before_any_task_runs(
    graph: Graph, spark: SparkSession, tmp_path: Path
) -> None:
    marks = tmp_path / "marks"
    marks.mkdir()

    def mark(batches: Iterator[object]) -> Iterator[object]:
        (marks / "ran").touch()
        yield from batches

    columns = "name string, age boolean, agee int"
    frame = spark.createDataFrame([("a", True, 1)], columns).mapInArrow(mark, columns)
    with pytest.raises(PySparkException) as raised:
        frame.write.format("omnigraph").option("type", "Person").mode("append").save(graph.uri)
    text = str(raised.value)
    assert "unknown property 'agee' of Person" in text
    assert "a column of boolean cannot be read as I32" in text
    assert "Traceback" not in text
    assert not list(marks.iterdir())


def test_rejected_rows_of_a_frame_are_written_to_a_file(graph: Graph, spark: SparkSession, tmp_path: Path) -> None:
    frame = spark.createDataFrame([("grace", "5"), ("kurt", "old"), ("ada", "1")], "name string, age string")
    file = tmp_path / "rejected.jsonl"
    writing = frame.coalesce(1).write.format("omnigraph").options(type="Person", reject_to=str(file), checks="driver")
    writing.mode("append").save(graph.uri)
    assert names(graph) == ["ada", "alan", "grace"]
    assert ["kurt" in line or "'ada'" in line for line in file.read_text().splitlines()] == [True, True]
    with pytest.raises(PySparkException, match="already exists"):
        writing.mode("append").save(graph.uri)
