"""The change feed into the sink: a replica that equals its source, through restarts and schema changes."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from pyspark.sql.types import StructType

from omnigraph.core.commit import GraphCommit
from omnigraph.engine.graph import Graph, create
from omnigraph.errors import ViolationError
from omnigraph.spark.source.change_columns import change_batches, change_schema
from omnigraph.spark.source.changes_sink import ChangesReader
from omnigraph.spark.source.options import parse_options
from omnigraph.spark.source.writing import Writing
from omnigraph.write.load.mode import LoadMode
from tests.features.spark.outcomes import lines

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SCHEMA = """
node Person { name: String @key
    age: I32?
    email: String? @unique }
node Note { text: String
    data: Blob?
    v: Vector(2)? }
edge Knows: Person -> Person { since: Date? }
edge Wrote: Person -> Note
"""
WITH_CITY = SCHEMA.replace("age: I32?", "age: I32?\n    city: String?")
PEOPLE = [f"p{number}" for number in range(12)]
NOTES = [f"n{number}" for number in range(6)]


class Source:
    """A graph that changes at random."""

    def __init__(self, graph: Graph, seed: int) -> None:
        self.graph = graph
        self._random = random.Random(seed)
        self._has_city = False

    def commit(self) -> None:
        """One random commit: upserts of nodes and edges, or a delete."""
        if self._random.random() < 0.25:
            name = self._random.choice(PEOPLE)
            self.graph.mutate("query q($n: String) { delete Person where name = $n }", {"n": name})
            return
        chosen = self._random.sample(PEOPLE, self._random.randint(1, 4))
        rows: list[dict[str, Any]] = [{"type": "Person", "data": self._person(name)} for name in chosen]
        note = self._random.choice(NOTES)
        data = {"id": note, "text": str(self._random.random()), "data": "base64:aGk=", "v": [self._random.random(), 1]}
        rows.append({"type": "Note", "data": data})
        edge = f"k{self._random.randrange(8)}"
        rows.append({"edge": "Knows", "from": chosen[0], "to": chosen[-1], "data": {"id": edge, "since": "2020-01-02"}})
        rows.append({"edge": "Wrote", "from": chosen[0], "to": note, "data": {"id": f"w{edge}"}})
        self.graph.load(rows, "merge")

    def _person(self, name: str) -> dict[str, Any]:
        data: dict[str, Any] = {"name": name, "age": self._random.randrange(100), "email": f"{name}@x"}
        return data | ({"city": self._random.choice(["Bern", "Oslo"])} if self._has_city else {})

    def add_city(self) -> None:
        self.graph.apply_schema(WITH_CITY)
        self._has_city = True


@pytest.fixture
def source(tmp_path: Path) -> Source:
    return Source(create(tmp_path / "source", SCHEMA, durability="os"), 11)


@pytest.fixture
def target(tmp_path: Path) -> Graph:
    return create(tmp_path / "target", SCHEMA, durability="os")


def replicate(spark: SparkSession, source: Graph, target: Graph, checkpoint: Path, commits: int) -> None:
    feed = spark.readStream.format("omnigraph").options(readChangeFeed="true", commits=commits).load(source.uri)
    writing = feed.writeStream.format("omnigraph").options(query="replica", durability="os", path=target.uri)
    query = writing.option("checkpointLocation", str(checkpoint)).trigger(availableNow=True).start()
    query.awaitTermination()


def forget_last_epoch(checkpoint: Path) -> None:
    """As if Spark had been killed before it took note of its last epoch, which it then runs again."""
    notes = checkpoint / "commits"
    last = max(int(file.name) for file in notes.iterdir() if file.name.isdecimal())
    for name in (f"{last}", f".{last}.crc"):
        (notes / name).unlink(missing_ok=True)


@pytest.mark.parametrize("commits", [16, pytest.param(1_000, marks=pytest.mark.long)])
def test_a_replica_equals_its_source(
    source: Source, target: Graph, spark: SparkSession, tmp_path: Path, commits: int
) -> None:
    checkpoint = tmp_path / "checkpoint"
    for _ in range(commits // 2):
        source.commit()
    replicate(spark, source.graph, target, checkpoint, commits // 4)
    assert lines(target) == lines(source.graph)
    written = len(list(target.commits()))
    forget_last_epoch(checkpoint)
    # The schema is changed in both graphs before changes of the new one are sent.
    source.add_city()
    target.apply_schema(WITH_CITY)
    for _ in range(commits - commits // 2):
        source.commit()
    replicate(spark, source.graph, target, checkpoint, commits)
    assert lines(target) == lines(source.graph)
    assert target.verify().is_clean
    # The schema, and one commit for everything since: the repeated epoch made none.
    assert len(list(target.commits())) == written + 2


def everything(source: Graph, schema: StructType) -> Iterator[pa.RecordBatch]:
    feed = source.feed("main")
    line = feed.commits(feed.start("beginning"))
    for parent, commit in itertools.pairwise(line):
        yield from batches_of(source, commit, parent, schema)


def batches_of(source: Graph, commit: GraphCommit, parent: GraphCommit, schema: StructType) -> Iterator[pa.RecordBatch]:
    feed = source.feed("main")
    for part in feed.parts(commit, parent, 1_000):
        yield from change_batches(commit, 0, feed.rows(commit, parent, part), feed.comparer.store, schema)


def test_a_history_in_one_batch_is_folded_to_its_end(source: Source, target: Graph) -> None:
    for _ in range(40):
        source.commit()
    schema = change_schema(None)
    writing = Writing.of(parse_options({"path": target.uri, "durability": "os"}), schema, LoadMode.APPEND)
    batches = list(everything(source.graph, schema))
    half = len(batches) // 2
    assert writing.changes is not None
    # Messages arrive in any order; their numbers are that of the frame.
    messages = [writing.changes.read(number, iter(some)) for number, some in ((1, batches[half:]), (0, batches[:half]))]
    writing.publish(messages)
    assert lines(target) == lines(source.graph)
    writing.publish(messages)
    assert lines(target) == lines(source.graph)


def test_rows_with_an_operation_are_changes_of_one_type(target: Graph, spark: SparkSession) -> None:
    target.load([{"type": "Person", "data": {"name": name, "age": 1}} for name in ("a", "b")])
    rows = [("insert", "c", 3), ("delete", "a", None), ("update", "b", 2), ("insert", "a", 5), ("delete", "c", None)]
    frame = spark.createDataFrame(rows, "_op string, name string, age int").coalesce(1)
    frame.write.format("omnigraph").option("type", "Person").mode("append").save(target.uri)
    found = target.query("query q() { match { $p: Person } return { $p.name as n, $p.age as a } order { n } }")
    assert [(row["n"], row["a"]) for row in found.to_pylist()] == [("a", 5), ("b", 2)]


def test_changes_that_cannot_be_applied_are_refused_as_a_whole(target: Graph) -> None:
    reader = ChangesReader(target.catalog(), ("op", "name", "age"), target.catalog().nodes["Person"])
    batch = pa.RecordBatch.from_pydict({"op": ["insert", "upsert"], "name": ["a", "b"], "age": ["x", "1"]})
    message = reader.read(0, iter([batch]))
    assert not message.tables
    writing = Writing.of(parse_options({"path": target.uri}), change_schema(None), LoadMode.APPEND)
    with pytest.raises(ViolationError, match="unknown operation 'upsert'"):
        writing.publish([message])
    assert lines(target) == []
