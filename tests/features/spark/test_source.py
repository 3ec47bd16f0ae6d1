"""The data source: types as tables of one commit, tables into types as one commit, streams with every epoch once."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.errors import PySparkException

from omnigraph.engine.graph import Graph, create
from omnigraph.errors import UsageError
from omnigraph.schema.catalog import Catalog
from omnigraph.spark.cluster.spark_types import spark_schema
from omnigraph.spark.source.data_source import SourceReader
from omnigraph.spark.source.options import parse_options
from omnigraph.storage.tables.scan import scan
from tests.features.spark.outcomes import lines, write_lines
from tests.support.tuning import retuned

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SCHEMA = """
node Every {
    s: String @key
    b: Bool?
    i: I32?
    j: I64?
    u: U32?
    w: U64?
    f: F32?
    d: F64?
    day: Date?
    t: DateTime?
    x: Blob?
    v: Vector(2)?
    e: enum(red, green)?
    ls: [String]?
    lu: [U64]?
}
node Person {
    name: String @key
    age: I32?
}
edge Knows: Person -> Person {
    since: I32?
}
"""
FULL = {
    "s": "it's", "b": True, "i": -1, "j": 2**60, "u": 2**32 - 1, "w": 2**64 - 1, "f": 0.5, "d": 1.25,
    "day": "2020-01-02", "t": "2020-01-02T03:04:05.006Z", "x": "base64:aGk=", "v": [1, 2], "e": "red",
    "ls": ["a", "b"], "lu": [2**64 - 1],
}  # fmt: skip
PEOPLE = [{"type": "Person", "data": {"name": f"p{number}", "age": number}} for number in range(20)]


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    return create(tmp_path / "graph", SCHEMA, durability="os")


def table(spark: SparkSession, graph: Graph, type_name: str, **options: str) -> DataFrame:
    return spark.read.format("omnigraph").options(store=graph.uri, type=type_name, **options).load()


def test_values_of_every_type_are_read_and_written_back(graph: Graph, spark: SparkSession, tmp_path: Path) -> None:
    graph.load([{"type": "Every", "data": FULL}, {"type": "Every", "data": {"s": "empty"}}])
    columns = ",".join(sorted(graph.catalog().nodes["Every"].properties))
    rows = {row.s: row for row in table(spark, graph, "Every", columns=columns).collect()}
    full = rows["it's"]
    assert (full.b, full.i, full.j, full.u, full.w) == (True, -1, 2**60, 2**32 - 1, Decimal(2**64 - 1))
    assert (full.f, full.d, full.day, full.e) == (0.5, 1.25, date(2020, 1, 2), "red")
    assert full.t.astimezone(UTC) == datetime(2020, 1, 2, 3, 4, 5, 6_000, tzinfo=UTC)
    assert (full.x, full.v, full.ls, full.lu) == (b"hi", [1.0, 2.0], ["a", "b"], [Decimal(2**64 - 1)])
    assert set(rows["empty"].asDict().values()) == {"empty", None}
    assert "x" not in table(spark, graph, "Every").columns, "blobs are read only where they are named"
    other = create(tmp_path / "other", SCHEMA, durability="os")
    frame = table(spark, graph, "Every", columns=columns)
    frame.write.format("omnigraph").options(store=other.uri, type="Every").mode("append").save()
    assert lines(other) == lines(graph)


def test_a_frame_is_a_snapshot_of_a_branch_a_commit_or_a_time(graph: Graph, spark: SparkSession) -> None:
    first = graph.load(PEOPLE[:5], "append").commit.id
    frame = table(spark, graph, "Person")
    graph.create_branch("other")
    graph.load(PEOPLE[5:7], "append", branch="other")
    graph.load(PEOPLE[7:], "append")
    assert frame.count() == 5, "settled when the frame was made"
    assert table(spark, graph, "Person").count() == 18
    assert table(spark, graph, "Person", branch="other").count() == 7
    assert table(spark, graph, "Person", at=first).count() == 5
    assert table(spark, graph, "Knows").count() == 0
    assert table(spark, graph, "Knows", kind="edge").columns == ["id", "src", "dst", "since"]
    chosen = table(spark, graph, "Person", columns="age, id", at=first)
    assert [tuple(row) for row in chosen.orderBy("age").limit(1).collect()] == [(0, "p0")]
    typed = spark.read.schema("age int").format("omnigraph").options(store=graph.uri, type="Person").load()
    assert typed.agg({"age": "max"}).collect()[0][0] == 19


@pytest.fixture
def handing_on(spark: SparkSession) -> Iterator[None]:
    """Spark offers conditions to every source."""
    spark.conf.set("spark.sql.python.filterPushdown.enabled", "true")
    yield
    spark.conf.unset("spark.sql.python.filterPushdown.enabled")


@pytest.mark.usefixtures("handing_on")
def test_a_condition_of_one_use_of_a_frame_is_not_one_of_another(graph: Graph, spark: SparkSession) -> None:
    graph.load(PEOPLE, "append")
    frame = table(spark, graph, "Person")
    assert [row.name for row in frame.where("age >= 18 and name <> 'p19'").collect()] == ["p18"]
    assert frame.where("name = 'p3'").count() == 1
    assert frame.where("age > 9999999999").count() == 0
    assert frame.count() == 20
    young, old = frame.where("age < 5"), frame.where("age >= 18")
    assert young.crossJoin(old).count() == 10
    assert young.union(frame).count() == 25
    frame.createOrReplaceTempView("people_twice")
    joined = "select * from people_twice a, people_twice b where a.age < 5 and b.age >= 18"
    assert spark.sql(joined).count() == 10
    kept = young.cache()
    assert (kept.count(), frame.count()) == (5, 20)
    kept.unpersist()
    stored = [table(spark, graph, "Person", where=where) for where in ("age < 5", "age >= 18 and name != 'p19'")]
    assert stored[0].crossJoin(stored[1]).count() == 5


def test_several_comparisons_are_left_to_lance_together(graph: Graph) -> None:
    numbered = [{"type": "Counted", "data": {"name": f"n{number}", "size": number}} for number in range(20)]
    counted = create(Path(graph.uri).parent / "counted", "node Counted {\n name: String @key\n size: U64\n}\n")
    counted.load(numbered, "append")
    snapshot = counted.snapshot()
    entity, pin = snapshot.catalog.nodes["Counted"], snapshot.state.tables["node:Counted"]
    for where, names in [
        ("size >= 18", ["n18", "n19"]),
        ("size >= 3 and size < 5", ["n3", "n4"]),
        ("name >= n5 and name != n7 and name < n9", ["n5", "n6", "n8"]),
        ("size > 5 and name < n8 and name >= n5", ["n6", "n7"]),
    ]:
        pushed = parse_options({"store": counted.uri, "type": "Counted", "where": where}).filter(entity)
        batches = list(scan(snapshot.store, pin, ["name"], pushed, with_address=True))
        assert [name for batch in batches for name in batch.column("name").to_pylist()] == names
        assert all(batch.schema.names == ["name", "_rowaddr"] for batch in batches)


@pytest.mark.parametrize(
    ("where", "count"),
    [
        ("s = it's", 1),
        ("s != it's", 2),
        ("id >= aa", 2),
        ("i > -1", 1),
        ("w = 18446744073709551615", 1),
        ("d <= 1.25", 1),
        ("day < 2020-01-03", 1),
        ("t = 2020-01-02T03:04:05.006Z", 1),
        (" s = ", 0),
        ("s = 'it''s'", 1),
        ("i >= -1 and i < 0", 1),
        ("i >= -1 AND s = 'b' and u = 4294967295", 0),
        ("u = 4294967295 and w > 1 and s = it's", 1),
        ("s = 'a and i = 0'", 0),
        ("s != rock and roll", 3),
    ],
)
def test_a_condition_of_the_frame_is_left_to_storage(graph: Graph, where: str, count: int) -> None:
    graph.load([{"type": "Every", "data": data} for data in (FULL, {"s": "b", "i": 0}, {"s": "a"})])
    snapshot = graph.snapshot()
    entity = snapshot.catalog.nodes["Every"]
    options = parse_options({"store": graph.uri, "type": "Every", "where": where})
    schema = spark_schema(entity, ["s"])
    reader = SourceReader(snapshot.store, snapshot.state.tables["node:Every"], schema, options.filter(entity))
    assert sum(batch.num_rows for part in reader.partitions() for batch in reader.read(part)) == count


def test_fragments_are_shared_out(graph: Graph) -> None:
    for start in (0, 10):
        graph.load(PEOPLE[start : start + 10], "append")
    graph.load([{"type": "Person", "data": {"name": f"q{number}"}} for number in range(5_000)], "append")
    snapshot = graph.snapshot()
    schema = spark_schema(snapshot.catalog.nodes["Person"], ["name"])
    reader = SourceReader(snapshot.store, snapshot.state.tables["node:Person"], schema, None)
    whole = reader.partitions()
    assert len(whole) == 1
    with retuned(graph, partition_rows=1):
        parts = reader.partitions()
    assert len(parts) > 1
    assert [number for part in parts for number in part.fragments] == list(whole[0].fragments)
    assert sum(batch.num_rows for part in parts for batch in reader.read(part)) == 5_020


def test_a_write_is_one_load_in_any_mode(graph: Graph, spark: SparkSession) -> None:
    people = spark.createDataFrame([("a", 1), ("b", 2)], "name string, age int").repartition(2)
    writing: dict[str, Any] = {"store": graph.uri, "type": "Person", "durability": "os"}
    people.write.format("omnigraph").options(**writing, actor="ann", message="people").mode("append").save()
    commit = next(graph.commits())
    assert (commit.kind.value, commit.actor, commit.message) == ("load", "ann", "people")
    again = spark.createDataFrame([("b", 20), ("c", 30)], "name string, age int")
    with pytest.raises(PySparkException, match="'b' exists already"):
        again.write.format("omnigraph").options(**writing).mode("append").save()
    assert next(graph.commits()).id == commit.id
    again.write.format("omnigraph").options(**writing, load="merge").mode("append").save()
    assert graph.snapshot().counts()["node:Person"] == 3
    knows = spark.createDataFrame([("a", "b", 1), ("b", "nobody", 2)], "from string, to string, since int")
    with pytest.raises(PySparkException, match="dst 'nobody' not found in Person"):
        knows.write.format("omnigraph").options(store=graph.uri, type="Knows").mode("append").save()
    knows.limit(1).write.format("omnigraph").options(store=graph.uri, type="Knows").mode("append").save()
    people.write.format("omnigraph").options(**writing).mode("overwrite").save()
    assert graph.snapshot().counts() == {"edge:Knows": 1, "node:Every": 0, "node:Person": 2}
    # No row is as good a content of a type as any.
    with pytest.raises(PySparkException, match="'a'"):
        people.limit(0).write.format("omnigraph").options(**writing).mode("overwrite").save()
    knows.limit(0).write.format("omnigraph").options(store=graph.uri, type="Knows").mode("overwrite").save()
    assert graph.snapshot().counts() == {"edge:Knows": 0, "node:Every": 0, "node:Person": 2}
    assert graph.verify().is_clean


def test_a_stream_writes_each_epoch_once(graph: Graph, spark: SparkSession, tmp_path: Path) -> None:
    source = tmp_path / "arriving"
    source.mkdir()

    def arrive(number: int) -> None:
        write_lines(source / f"{number}.json", [{"name": f"p{number}", "age": number}])

    def run(checkpoint: str, **options: str) -> str:
        frame = spark.readStream.schema("name string, age int").json(str(source))
        writing = frame.writeStream.format("omnigraph").option("checkpointLocation", str(tmp_path / checkpoint))
        writing = writing.options(store=graph.uri, type="Person", query="people", **options)
        query = writing.trigger(availableNow=True).start()
        query.awaitTermination()
        return str(query.id)

    def keys() -> list[str | None]:
        return [commit.idempotency_key for commit in graph.commits() if commit.kind.value == "load"]

    arrive(1)
    run("checkpoint")
    # As if Spark had been killed before it took note of the epoch: it does that one again.
    notes = tmp_path / "checkpoint" / "commits"
    for name in ("0", ".0.crc"):
        (notes / name).unlink()
    arrive(2)
    people = f"spark-stream/people/{run('checkpoint')}"
    assert (notes / "0").exists()
    assert keys() == [f"{people}/1", f"{people}/0"]
    # With other notes it is another query: its first epoch is not the one that is there, and has the third as well.
    arrive(3)
    run("another-checkpoint", load="merge")
    assert len(lines(graph)) == 3


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"type": "Person"}, "the option 'store' is missing"),
        ({"path": "/graph", "store": "/other", "type": "Person"}, "the options 'path' and 'store' differ"),
        ({"paths": '["/a", "/b"]', "type": "Person"}, "several paths"),
        ({"path": "/graph", "versionAsOf": "a", "timestampAsOf": "b"}, "'versionAsOf' and 'timestampAsOf' differ"),
        ({"path": "/graph", "checks": "cluster"}, "cannot run its checks on the cluster"),
        ({"path": "/graph", "checks": "never"}, "unknown value for checks: 'never'"),
        ({"path": "/graph", "reject_to": "bad.jsonl"}, "'bad.jsonl' is a relative path"),
        ({"store": "graph", "type": "Person"}, "is a relative path"),
        ({"store": "/graph", "type": "Person", "kind": "both"}, "unknown kind 'both'"),
        ({"store": "/graph", "type": "Person", "load": "overwrite"}, "unknown value for load: 'overwrite'"),
        ({"store": "/graph", "type": "Person", "colums": "a"}, "there is no option 'colums'\n.*columns"),
    ],
)
def test_options_that_make_no_sense_are_refused(options: dict[str, str], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        parse_options(options)


def test_keys_of_spark_are_let_through_and_those_of_the_session_are_defaults() -> None:
    given = {"path": "file:/a%20b", "provider": "omnigraph", "option.type": "Person", "checkpointLocation": "/c"}
    defaults = {"store": "/default", "type": "Person", "storage.aws_region": "x", "branch": "draft"}
    options = parse_options({**given, "Branch": "main", "versionAsOf": "HEAD~1"}, defaults)
    assert (options.store, options.type_name, options.branch, options.at) == ("/a b", "Person", "main", "HEAD~1")
    assert options.storage == {"aws_region": "x"}
    assert parse_options({}, defaults).store == "/default"


def test_options_of_the_object_store_are_passed_on() -> None:
    options = parse_options({"store": "s3://b/g", "type": "Person", "storage.aws_region": "x"})
    assert (options.store, options.storage) == ("s3://b/g", {"aws_region": "x"})


def test_types_and_columns_that_do_not_exist_are_named(graph: Graph, spark: SparkSession) -> None:
    catalog: Catalog = graph.catalog()
    with pytest.raises(UsageError, match=r"option 'type' is missing\n.*Every, Person, Knows"):
        parse_options({"path": "/g"}).entity(catalog)
    with pytest.raises(UsageError, match=r"no type 'Persn'\n.*Person"):
        parse_options({"store": "/g", "type": "Persn"}).entity(catalog)
    with pytest.raises(UsageError, match="no edge type 'Person'"):
        parse_options({"store": "/g", "type": "Person", "kind": "edge"}).entity(catalog)
    with pytest.raises(PySparkException, match="Person has no column 'agee'"):
        table(spark, graph, "Person", columns="agee")
    frame = spark.createDataFrame([("a",)], "name string")
    writer = frame.write.format("omnigraph").options(store=graph.uri, type="Person", at="01J0000000000000000000000D")
    with pytest.raises(PySparkException, match="cannot write to a commit"):
        writer.mode("append").save()
