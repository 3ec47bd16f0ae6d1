"""``omnigraph load`` with Spark: the same graph and the same messages, from lines and through mapping files."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from omnigraph.cli.args.load_engine import chosen_engine
from omnigraph.cli.show.progress import counted
from omnigraph.config import read_mapping
from omnigraph.engine.engine_choice import SPARK_FROM_VARIABLE
from omnigraph.engine.graph import create
from omnigraph.errors import InputError, NotFoundError, UsageError
from omnigraph.spark.cluster.progress import LoadProgress
from omnigraph.spark.load.slices import InputSlice, SliceWriter
from omnigraph.spark.load.splits import SplitGroup
from tests.features.cli.graphs import LINES, SCHEMA, exported, head, write_lines
from tests.features.cli.run import run

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MAPPING = """
sources:
  people: people.csv
  friends:
    path: [friends.csv]
    options: {sep: ";"}
load:
  - source: people
    node: Person
    columns: {name: who, age: years}
  - source: friends
    edge: Knows
    from: a
    to: b
    columns: {since: {sql: "concat(year, '-01-01')"}}
"""


@pytest.fixture
def graph(tmp_path: Path) -> Path:
    path = tmp_path / "graph.omni"
    create(path, SCHEMA, durability="os")
    return path


@pytest.fixture
def mapping(tmp_path: Path) -> Path:
    (tmp_path / "people.csv").write_text("who,years\nAda,36\nAlan,41\n")
    (tmp_path / "friends.csv").write_text("a;b;year\nAda;Alan;2020\n")
    path = tmp_path / "mapping.yaml"
    path.write_text(MAPPING)
    return path


def test_both_engines_load_the_same(spark: SparkSession, graph: Path, tmp_path: Path) -> None:
    data = write_lines(tmp_path / "data.jsonl", LINES)
    said = []
    for engine in ("embedded", "spark"):
        branch = ("--branch", engine, "--from", "main")
        result = run("load", graph, "--data", data, "--mode", "append", *branch, "--engine", engine)
        assert result.exit_code == 0, result.output
        said.append([line.partition("commit")[0].replace(engine, "...") for line in result.stdout.splitlines()])
        bad = run("load", graph, "--data", data, "--mode", "append", "--branch", engine, "--engine", engine)
        assert bad.exit_code == 1
        said[-1] += bad.stderr.splitlines()
    assert said[0] == said[1]
    assert exported(graph, "--branch", "embedded") == exported(graph, "--branch", "spark")


def test_a_mapping_file_loads_tables_beside_it(spark: SparkSession, graph: Path, mapping: Path, tmp_path: Path) -> None:
    by_spark = ("--engine", "spark")
    result = run("load", graph, "--mapping", mapping, "--mode", "append", "--json", *by_spark)
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["total_entities"] == 3
    (tmp_path / "more.csv").write_text("who,years\nGrace,old\n")
    before = head(graph)
    more = f"people={tmp_path / 'more.csv'}"
    result = run("load", graph, "--mapping", mapping, "--mode", "merge", "--data", more, *by_spark)
    assert result.exit_code == 1
    assert "more.csv:1: wrong value for Person.age (I32?): the string 'old' is not an integer from" in result.stderr
    assert head(graph) == before


def test_what_makes_no_sense_together_is_said_at_once(graph: Path, mapping: Path, tmp_path: Path) -> None:
    for words, message in [
        (["--mode", "append"], "missing option '--data'"),
        (["--mode", "append", "--mapping", mapping, "--engine", "embedded", "--resume"], "--resume needs Spark"),
        (["--mode", "append", "--engine", "spark", "--data", "-"], "standard input cannot be read by Spark"),
        (["--mode", "append", "--mapping", mapping, "--data", "x.csv"], "--data is NAME=FILE"),
    ]:
        result = run("load", graph, *words)
        assert result.exit_code == 2
        assert message in result.stderr
    for words, message in [
        (["--engine", "spark", "--data", tmp_path / "missing.jsonl"], "missing.jsonl'"),
        (["--mapping", tmp_path / "missing.yaml"], "there is no file"),
    ]:
        result = run("load", graph, "--mode", "append", *words)
        assert result.exit_code == 1
        assert message in result.stderr


def test_auto_takes_spark_for_what_is_large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = str(write_lines(tmp_path / "data.jsonl", LINES))
    assert chosen_engine("auto", [data]) == "embedded"
    assert chosen_engine("spark", [data]) == "spark"
    assert chosen_engine("auto", [data], resume=True) == "spark"
    monkeypatch.setenv(SPARK_FROM_VARIABLE, "100")
    assert chosen_engine("auto", [data]) == "spark"
    assert chosen_engine("auto", [data, "-"]) == "embedded"
    assert chosen_engine("embedded", [data]) == "embedded"
    monkeypatch.setenv(SPARK_FROM_VARIABLE, "many")
    with pytest.raises(UsageError, match="invalid value for OMNIGRAPH_SPARK_FROM: 'many'"):
        chosen_engine("auto", [data])


def test_a_mapping_file_is_read_and_its_paths_are_relative_to_it(mapping: Path, tmp_path: Path) -> None:
    read = read_mapping(mapping)
    assert read["sources"]["people"] == str(tmp_path / "people.csv")
    assert read["sources"]["friends"]["path"] == [str(tmp_path / "friends.csv")]
    mapping.write_text("sources: {a: 's3://b/k.csv', b: 5, c: {path: /abs.csv}}\nload: []")
    assert read_mapping(mapping)["sources"] == {"a": "s3://b/k.csv", "b": 5, "c": {"path": "/abs.csv"}}
    mapping.write_text("- a\n- b\n")
    with pytest.raises(UsageError, match="contains no mapping"):
        read_mapping(mapping)
    mapping.write_text("sources: {a: x.csv}\nload:\n- {node: A, source: a, source: b}\n")
    with pytest.raises(InputError, match=r"duplicate key 'source'\n.*line 3"):
        read_mapping(mapping)
    mapping.write_text("a: [")
    with pytest.raises(InputError, match="is not YAML"):
        read_mapping(mapping)
    with pytest.raises(NotFoundError, match="there is no file"):
        read_mapping(tmp_path / "missing.yaml")
    with pytest.raises(UsageError, match="cannot be read"):
        read_mapping(tmp_path)


def test_a_rate_is_told_once_it_says_something() -> None:
    assert counted(3_000_000, "entities", 2.0) == "3,000,000 entities (1,500,000/s)"
    assert counted(4, "entities", 0.0) == counted(4, "entities", 0.5) == "4 entities"
    assert counted(3_000_000, "entities", 2.0, 2_000_000) == "3,000,000 entities (500,000/s)"
    assert counted(4, "entities", 2.0, 4) == "4 entities"


def test_progress_tells_stages_tasks_and_rows(spark: SparkSession, tmp_path: Path) -> None:
    graph = create(tmp_path / "graph", SCHEMA, durability="os")
    data = write_lines(tmp_path / "data.jsonl", LINES)
    reports: list[LoadProgress] = []
    graph.load_spark(data, "append", spark=spark, partitions=8, progress=reports.append)
    assert list(dict.fromkeys(seen.stage for seen in reports)) == ["reading", "checking"]
    assert all(seen.tasks_done <= seen.tasks for seen in reports)
    assert max(seen.tasks for seen in reports if seen.stage == "reading") in (0, 8), (
        "0 if it ended before the first poll"
    )
    assert {seen.rows for seen in reports if seen.stage == "checking"} == {4}
    assert {seen.rows for seen in reports if seen.stage == "reading"} <= {0, 1, 2, 3, 4}
    seconds = [seen.seconds for seen in reports if seen.stage == "reading"]
    assert seconds == sorted(seconds)
    assert all(seen.seconds > 0 for seen in reports if seen.stage == "checking"), "what reading took is known then"
    assert spark.sparkContext.getLocalProperty("spark.jobGroup.id") is None


def test_rows_are_told_while_tasks_still_run(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = create(tmp_path / "graph", SCHEMA, durability="os")
    data, seen_rows = write_lines(tmp_path / "data.jsonl", LINES), tmp_path / "seen"
    size, write = Path(data).stat().st_size, SliceWriter.write_lines

    def waits(writer: SliceWriter, group: SplitGroup) -> InputSlice:
        """The last task continues once rows of another one were reported."""
        deadline = time.monotonic() + 60
        while group.splits[-1].end == size and not seen_rows.exists():
            assert time.monotonic() < deadline, "nothing was reported"
            time.sleep(0.02)
        return write(writer, group)

    def report(progress: LoadProgress) -> None:
        if progress.rows:
            seen_rows.touch()

    monkeypatch.setattr(SliceWriter, "write_lines", waits)
    assert graph.load_spark(data, "append", spark=spark, partitions=2, progress=report).total == 4
