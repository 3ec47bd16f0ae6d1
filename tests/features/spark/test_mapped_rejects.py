"""Tables through a mapping: bad rows are set aside with their records, however the tables are cut into parts."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from omnigraph.engine.graph import Graph, create
from omnigraph.errors import ViolationError
from omnigraph.rows.violations import Place, Violations
from omnigraph.spark.load.frame_slices import Numbering
from omnigraph.spark.load.slices import InputSlice
from tests.features.cli.run import run
from tests.features.spark.outcomes import data_files, lines

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SCHEMA = """
node Person {
    name: String @key
    age: I32?
    @range(age, 0..150)
}
edge Knows: Person -> Person @card(0..3) {
    weight: F64?
}
"""
ROWS = [
    *((f"p{number}", str(number), f"p{(number + 1) % 40}") for number in range(40)),
    ("aged", "200", ""),
    ("wrong", "old", "p1"),
    ("p3", "3", ""),
    ("lonely", "5", "nobody"),
    ("last", "", "wrong"),
]
MAPPED = [
    {"source": "people", "node": "Person", "columns": {"name": "who", "age": "years"}},
    {
        "source": "people",
        "edge": "Knows",
        "from": "who",
        "to": "friend",
        "where": "friend <> ''",
        "columns": {"weight": {"sql": "if(who = 'wrong', double('NaN'), 1)"}},
    },
]
# By row: the messages that are part of a reason, in the entry of nodes and in that of edges.
BAD_NODES = {
    4: "p3' occurs again later: the last occurrence wins",
    41: "@range violation on Person.age",
    42: "wrong value for Person.age",
}
BAD_EDGES = {
    41: "NaN is not finite as a 64-bit float",
    42: "dst 'nobody' not found in Person",
    43: "dst 'wrong' not found in Person",
}


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    return create(tmp_path / "graph", SCHEMA, durability="os")


@contextmanager
def cut_small(spark: SparkSession, size: int | None) -> Iterator[None]:
    """Files are read in parts of so many bytes."""
    names = ("spark.sql.files.maxPartitionBytes", "spark.sql.files.openCostInBytes")
    for name in names if size is not None else ():
        spark.conf.set(name, str(size))
    try:
        yield
    finally:
        for name in names:
            spark.conf.unset(name)


def csv(path: Path) -> str:
    path.write_text("who,years,friend\n" + "".join(",".join(row) + "\n" for row in ROWS))
    return str(path)


def rejected(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def expected(tmp_path: Path) -> list[bytes]:
    """What the good rows alone give."""
    other = create(tmp_path / "other", SCHEMA, durability="os")
    good = [row for row in ROWS if row[0] not in ("aged", "wrong")]
    people = {row[0]: {"name": row[0], "age": int(row[1]) if row[1] else None} for row in good}
    other.load([{"type": "Person", "data": data} for data in people.values()], "append")
    return lines(other)


@pytest.mark.parametrize(("size", "checks"), [(None, "driver"), pytest.param(100, "cluster", marks=pytest.mark.long)])
def test_bad_rows_of_files_are_set_aside_with_file_row_and_record(
    graph: Graph, spark: SparkSession, tmp_path: Path, size: int | None, checks: str
) -> None:
    source, aside = csv(tmp_path / "people.csv"), tmp_path / "rejected.jsonl"
    with cut_small(spark, size):
        parts = spark.read.csv(source).rdd.getNumPartitions()
        loaded = graph.load_spark(
            {"people": source}, mapping={"load": MAPPED}, spark=spark, checks=checks, reject_to=aside
        )
    assert (parts > 3) == (size is not None)
    found = rejected(aside)
    assert {said["file"] for said in found} == {source}
    nodes = [said for said in found if "type" in said["record"]]
    edges = [said for said in found if "edge" in said["record"]]
    assert found == [*nodes, *edges]
    for said, bad in ((nodes, BAD_NODES), (edges, BAD_EDGES)):
        assert [row["line"] for row in said] == list(bad)
        for row, message in zip(said, bad.values(), strict=True):
            assert any(message in reason["message"] for reason in row["reasons"]), row
    assert [row["record"]["data"]["name"] for row in nodes] == ["p3", "aged", "wrong"]
    # As it was given where a value was wrong, as it was written where the row did not fit to others.
    assert [row["record"]["data"]["age"] for row in nodes] == [3, "200", "old"]
    assert edges[0]["record"] == {"edge": "Knows", "from": "wrong", "to": "p1", "data": {"weight": "nan"}}
    assert (loaded.rejected, loaded.nodes, loaded.edges) == (6, {"Person": 42}, {"Knows": 40})
    assert [line for line in lines(graph) if b'"type"' in line] == expected(tmp_path)
    assert graph.verify().is_clean


def test_rows_of_a_frame_that_never_gives_the_same_are_set_aside_as_they_were(
    graph: Graph, spark: SparkSession, tmp_path: Path
) -> None:
    aside = tmp_path / "rejected.jsonl"
    frame = spark.range(0, 60, 1, 3).selectExpr(
        "concat('p', uuid()) as name", "if(id % 20 = 7, 1000 + int(rand() * 1000000), id) as age"
    )
    mapping = {"load": [{"source": "people", "node": "Person"}]}
    loaded = graph.load_spark({"people": frame}, mapping=mapping, mode="append", spark=spark, reject_to=aside)
    found = rejected(aside)
    assert (loaded.rejected, loaded.total) == (3, 57)
    assert [said["line"] for said in found] == [8, 28, 48]
    # The value of the reason is the value of the record: nothing was read twice.
    for said in found:
        assert str(said["record"]["data"]["age"]) in said["reasons"][0]["message"]
    names = [json.loads(line)["data"]["name"] for line in lines(graph)]
    assert not {said["record"]["data"]["name"] for said in found} & set(names)


def test_what_is_no_single_rows_fault_ends_the_load(graph: Graph, spark: SparkSession, tmp_path: Path) -> None:
    source, aside = tmp_path / "people.csv", tmp_path / "rejected.jsonl"
    source.write_text("who,friend\n" + "a,a\n" * 4 + "b,x\n")
    mapped = [{**entry, "columns": {"name": "who"} if "node" in entry else {}} for entry in MAPPED]
    head, files = graph.snapshot().commit_id, data_files(graph)
    asked: dict[str, Any] = {"mapping": {"load": mapped}, "spark": spark, "reject_to": aside}
    with pytest.raises(ViolationError, match="@card"):
        graph.load_spark({"people": str(source)}, **asked)
    assert (graph.snapshot().commit_id, data_files(graph), aside.exists()) == (head, files, False)


def test_the_command_rejects_rows_of_a_mapping(graph: Graph, spark: SparkSession, tmp_path: Path) -> None:
    csv(tmp_path / "people.csv")
    (tmp_path / "mapping.yaml").write_text(json.dumps({"sources": {"people": "people.csv"}, "load": MAPPED}))
    aside = tmp_path / "rejected.jsonl"
    words = ("load", graph.uri, "--mapping", tmp_path / "mapping.yaml", "--mode", "merge", "--reject-to", aside)
    result = run(*words)
    assert result.exit_code == 0, result.output
    assert f"6 rows were rejected and are in {aside}" in result.stdout


@pytest.mark.parametrize("aside", [[], [1], [3], [1, 2, 3], [2, 4, 9, 10]])
def test_rows_and_lines_are_told_apart_by_what_was_set_aside(aside: list[int]) -> None:
    numbering = Numbering(InputSlice((), Violations(), {}, {Place("s", line): [] for line in aside}))
    kept = [line for line in range(1, 15) if line not in aside]
    assert [numbering.line(row) for row in range(len(kept))] == kept
    assert [numbering.row(line) for line in kept] == list(range(len(kept)))
