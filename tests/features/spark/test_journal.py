"""Loads that go on where they were: exactly the same load, with what is still there; and loads that are cancelled."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from omnigraph.embed import MockEmbedder
from omnigraph.engine.graph import Graph, create, open_graph
from omnigraph.errors import KeyConflictError
from omnigraph.spark.cluster.progress import LoadProgress
from omnigraph.spark.load import publish as bulk_load
from omnigraph.spark.load.journal import Journal
from tests.features.cli.run import run
from tests.features.spark.outcomes import data_files, lines, write_lines

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SCHEMA = "node Person {\n name: String @key\n age: I32?\n}\nedge Knows: Person -> Person\n"
PARTITIONS = 4


def person(name: str, age: object = None) -> dict[str, Any]:
    return {"type": "Person", "data": {"name": name, "age": age}}


PEOPLE = [person(f"p{number}", number) for number in range(40)]


class Killed(BaseException):
    """Nothing runs after it, as far as a test can tell."""


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    return create(tmp_path / "graph", SCHEMA, durability="os")


def kill_load(graph: Graph, source: Any, spark: SparkSession, **options: Any) -> None:
    """A load that is gone once its tasks are done: neither its files nor its journal are taken away."""

    def killed(*values: Any) -> Any:
        raise Killed

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bulk_load, "publish_input", killed)
        patch.setattr(Journal, "_delete", lambda journal: None)
        with pytest.raises(Killed):
            graph.load_spark(source, **{"mode": "append", "partitions": PARTITIONS, **options}, spark=spark)


def written(graph: Graph) -> set[str]:
    return {path for path in data_files(graph) if "/data/" in path}


def journals(graph: Graph) -> list[Path]:
    return sorted(Path(graph.uri).glob("jobs/*"))


def test_only_what_is_lost_is_read_again(graph: Graph, spark: SparkSession, tmp_path: Path) -> None:
    source = write_lines(tmp_path / "data.jsonl", PEOPLE)
    kill_load(graph, source, spark)
    assert lines(graph) == []
    before = written(graph)
    assert len(before) == PARTITIONS
    lost = sorted(before)[0]
    os.unlink(lost)
    graph.load_spark(source, "append", spark=spark, partitions=PARTITIONS, resume=True)
    assert len(written(graph) - before) == 1
    assert written(graph) >= before - {lost}
    assert len(lines(graph)) == len(PEOPLE)
    assert graph.verify().is_clean
    assert journals(graph) == []


def test_another_load_does_not_go_on_with_it(graph: Graph, spark: SparkSession, tmp_path: Path) -> None:
    source = write_lines(tmp_path / "data.jsonl", PEOPLE)
    kill_load(graph, source, spark)
    left, notes = written(graph), journals(graph)
    write_lines(tmp_path / "data.jsonl", [*PEOPLE[1:], person("q", 1)])
    for changed in ({}, {"partitions": 2, "mode": "merge"}, {"idempotency_key": "k", "mode": "merge"}):
        graph.load_spark(source, **{"mode": "append", "partitions": PARTITIONS, **changed}, spark=spark, resume=True)
    assert b'"p0"' not in b"".join(lines(graph))
    assert len(lines(graph)) == len(PEOPLE)
    assert written(graph) >= left
    assert journals(graph) == notes


def test_rejected_rows_are_remembered(graph: Graph, spark: SparkSession, tmp_path: Path) -> None:
    edge = {"edge": "Knows", "from": "p1", "to": "nobody"}
    given = [*PEOPLE[:10], "{", person("bad", "old"), *PEOPLE[10:], edge]
    source = write_lines(tmp_path / "data.jsonl", given)
    kill_load(graph, source, spark, reject_to=tmp_path / "first")
    before = written(graph)
    asked: dict[str, Any] = {"spark": spark, "partitions": PARTITIONS, "reject_to": tmp_path / "second"}
    loaded = graph.load_spark(source, "append", resume=True, **asked)
    assert (loaded.total, loaded.rejected) == (len(PEOPLE), 3)
    assert written(graph) == before
    other = create(tmp_path / "other", SCHEMA, durability="os")
    other.load_spark(source, "append", **{**asked, "reject_to": tmp_path / "third"})
    assert (tmp_path / "second").read_text() == (tmp_path / "third").read_text()
    assert lines(graph) == lines(other)


@pytest.mark.parametrize("is_slow_one_first", [True, False])
def test_a_load_that_was_only_slow_and_the_one_that_took_it_over_harm_nobody(
    graph: Graph, spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_slow_one_first: bool
) -> None:
    source = write_lines(tmp_path / "data.jsonl", PEOPLE)
    asked: dict[str, Any] = {"mode": "append", "spark": spark, "partitions": PARTITIONS}
    publish = bulk_load.publish_input
    calls: list[int] = []

    def publish_input(*values: Any) -> Any:
        """The slow one lets the other one in before it publishes; or the other one lets the slow one go ahead."""
        calls.append(1)
        if len(calls) > 1:
            return publish(*values)
        if is_slow_one_first:
            done = publish(*values)
            monkeypatch.setattr(Journal, "finished", lambda journal: dict(enumerate(values[1].slices)))
            monkeypatch.setattr("omnigraph.engine.load.run.earlier_commit", lambda *values: None)
            with pytest.raises(KeyConflictError):
                Graph(graph._store).load_spark(source, **asked, resume=True)
            return done
        assert not Graph(graph._store).load_spark(source, **asked, resume=True).repeated
        return publish(*values)

    monkeypatch.setattr(bulk_load, "publish_input", publish_input)
    assert graph.load_spark(source, **asked).repeated == (not is_slow_one_first)
    assert len(calls) == 2
    assert len(written(graph)) == PARTITIONS
    assert len(lines(graph)) == len(PEOPLE)
    assert len([commit for commit in graph.commits() if commit.kind.value == "load"]) == 1
    assert graph.verify().is_clean


def test_a_slow_load_that_is_cancelled_leaves_what_another_run_took_over(
    graph: Graph, spark: SparkSession, tmp_path: Path
) -> None:
    source = write_lines(tmp_path / "data.jsonl", PEOPLE)
    asked: dict[str, Any] = {"mode": "append", "spark": spark, "partitions": PARTITIONS}

    def cancel(progress: LoadProgress) -> None:
        if progress.stage == "checking":
            Graph(graph._store).load_spark(source, **asked, resume=True)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        graph.load_spark(source, **asked, progress=cancel)
    assert len(written(graph)) == PARTITIONS
    assert len(lines(graph)) == len(PEOPLE)
    assert graph.verify().is_clean


@pytest.mark.parametrize("stage", ["reading", "checking"])
def test_a_cancelled_load_leaves_nothing(graph: Graph, spark: SparkSession, tmp_path: Path, stage: str) -> None:
    source = write_lines(tmp_path / "data.jsonl", PEOPLE)
    head, files = graph.snapshot().commit_id, data_files(graph)

    def cancel(progress: LoadProgress) -> None:
        if progress.stage == stage:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        graph.load_spark(source, "append", spark=spark, partitions=PARTITIONS, progress=cancel)
    assert (graph.snapshot().commit_id, data_files(graph), journals(graph)) == (head, files, [])


def test_the_command_resumes(graph: Graph, spark: SparkSession, tmp_path: Path) -> None:
    source = write_lines(tmp_path / "data.jsonl", PEOPLE)
    words = ("load", graph.uri, "--data", source, "--mode", "append", "--resume")
    assert "--resume needs Spark" in run(*words, "--engine", "embedded").stderr
    result = run(*words)
    assert result.exit_code == 0, result.output
    assert len(lines(graph)) == len(PEOPLE)


def test_a_load_with_another_embedder_does_not_go_on_with_it(spark: SparkSession, tmp_path: Path) -> None:
    schema = "node Note {\n slug: String @key\n text: String\n vector: Vector(4)? @embed(text)\n}\n"
    source = write_lines(tmp_path / "data.jsonl", [{"type": "Note", "data": {"slug": "a", "text": "hello"}}])
    graph = create(tmp_path / "graph", schema, durability="os")
    kill_load(graph, source, spark)
    embedding = open_graph(graph.uri, embedder=MockEmbedder())
    embedding.load_spark(source, "append", spark=spark, partitions=PARTITIONS, resume=True)
    assert b'"vector":[' in lines(graph)[0].replace(b" ", b"")
