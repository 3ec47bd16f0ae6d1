"""Loads with Spark: one commit or nothing, with every problem at its line, beside other writers."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from omnigraph.engine.graph import Graph, create
from omnigraph.errors import (
    ConflictError,
    KeyConflictError,
    NotFoundError,
    SparkError,
    StorageError,
    UsageError,
    ViolationError,
)
from omnigraph.spark.cluster.tasks import attempts_max, run_tasks
from omnigraph.spark.load import publish as bulk_load
from omnigraph.write.load import checks as bulk_checks
from tests.features.spark.meanwhile import CHECKS, meanwhile
from tests.features.spark.outcomes import data_files, lines, write_lines
from tests.support.sampling import sampled
from tests.support.tuning import tuned

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SCHEMA = """
node Person {
    name: String @key
    age: I32?
}
node Note {
    text: String?
    picture: Blob?
}
edge Knows: Person -> Person
"""


def person(name: str, age: int | None = None) -> dict[str, Any]:
    return {"type": "Person", "data": {"name": name, "age": age}}


def knows(source: str, target: str) -> dict[str, Any]:
    return {"edge": "Knows", "from": source, "to": target}


PEOPLE = [person(f"p{number}", number) for number in range(30)]


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    return create(tmp_path / "graph", SCHEMA, durability="os")


# --- input ---------------------------------------------------------------------------------------------


def test_a_byte_order_mark_is_dropped_at_the_start_of_a_file_and_nowhere_else(
    graph: Graph, spark: SparkSession, tmp_path: Path
) -> None:
    mark = "\ufeff"
    line = '{"type": "Person", "data": {"name": "%s"}}'
    good = write_lines(tmp_path / "good.jsonl", [mark + line % "a", "", line % "b" + "\r"])
    assert graph.load_spark(good, "append", spark=spark, partitions=1).nodes == {"Person": 2}
    bad = write_lines(tmp_path / "bad.jsonl", [line % "c", line % "d", mark + line % "e", line % "f"])
    for partitions in (1, 4):
        with pytest.raises(ViolationError, match=r"bad\.jsonl:3: invalid JSON") as refused:
            graph.load_spark(bad, "append", spark=spark, partitions=partitions)
        assert refused.value.total == 1


def test_ids_are_minted_once_for_every_entity_that_has_none(graph: Graph, spark: SparkSession, tmp_path: Path) -> None:
    notes = [{"type": "Note", "data": {"text": f"{number}"}} for number in range(20)]
    path = write_lines(tmp_path / "notes.jsonl", notes)
    assert graph.load_spark([path, path], "append", spark=spark, partitions=5).nodes == {"Note": 40}
    ids = [row for batch in graph.snapshot().batches("node:Note", ["id"]) for row in batch.column(0).to_pylist()]
    assert len(set(ids)) == 40


def test_large_blobs_arrive_whole(graph: Graph, spark: SparkSession, tmp_path: Path) -> None:
    blob = "base64:" + "QUJD" * 50_000
    record = {"type": "Note", "data": {"id": "n", "picture": blob}}
    graph.load_spark(write_lines(tmp_path / "blob.jsonl", [record]), "append", spark=spark)
    assert graph.read_blob("node", "Note", "n", "picture").read() == b"ABC" * 50_000
    assert graph.verify().is_clean


def test_nothing_to_load_is_a_commit_all_the_same(graph: Graph, spark: SparkSession, tmp_path: Path) -> None:
    empty = write_lines(tmp_path / "empty.jsonl", [])
    blank = write_lines(tmp_path / "blank.jsonl", ["", "  "])
    for paths in ([empty], [empty, blank], []):
        before = graph.snapshot().commit_id
        assert graph.load_spark(paths, "append", spark=spark).total == 0
        assert graph.snapshot().commit_id != before


def test_a_missing_file_a_directory_and_a_wrong_mode_are_said_before_anything_starts(
    graph: Graph, spark: SparkSession, tmp_path: Path
) -> None:
    head = graph.snapshot().commit_id
    with pytest.raises(NotFoundError, match="no file"):
        graph.load_spark(tmp_path / "missing.jsonl", spark=spark)
    with pytest.raises(UsageError, match="is a directory"):
        graph.load_spark(tmp_path, spark=spark)
    with pytest.raises(UsageError, match="unknown value for checks: 'here'"):
        graph.load_spark([], spark=spark, checks="here")
    with pytest.raises(UsageError, match="'replace' is not a load mode"):
        graph.load_spark(tmp_path / "missing.jsonl", "replace", spark=spark)
    assert graph.snapshot().commit_id == head


def test_a_file_that_disappears_while_it_is_read_is_named_and_nothing_stays(
    graph: Graph, spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "people.jsonl"
    write_lines(path, PEOPLE)
    plan = bulk_load.SliceWriter.__init__
    before = data_files(graph)

    def gone(self: Any, *values: Any) -> None:
        plan(self, *values)
        path.unlink()

    monkeypatch.setattr(bulk_load.SliceWriter, "__init__", gone)
    with pytest.raises(NotFoundError, match=r"no file .*people\.jsonl"):
        graph.load_spark(path, "append", spark=spark, partitions=3)
    assert data_files(graph) == before


# --- one commit ----------------------------------------------------------------------------------------


def test_a_load_is_one_commit_with_what_the_caller_says_of_it(
    graph: Graph, spark: SparkSession, tmp_path: Path
) -> None:
    path = write_lines(tmp_path / "people.jsonl", [*PEOPLE, knows("p1", "p2")])
    before = len(list(graph.commits()))
    options: dict[str, Any] = {"actor": "ann", "message": "people", "idempotency_key": "k", "spark": spark}
    loaded = graph.load_spark(path, "append", branch="fresh", base="main", provenance={"run": "7"}, **options)
    assert (loaded.branch, loaded.branch_created, loaded.total) == ("fresh", True, 31)
    assert len(list(graph.commits("fresh"))) == before + 1
    commit = next(graph.commits("fresh"))
    assert (commit.actor, commit.message, commit.provenance) == ("ann", "people", {"run": "7"})
    again = graph.load_spark(path, "append", branch="fresh", **options)
    assert again.repeated
    assert again.commit == commit


def test_a_load_that_fails_takes_its_branch_and_its_files_away(
    graph: Graph, spark: SparkSession, tmp_path: Path
) -> None:
    path = write_lines(tmp_path / "people.jsonl", [*PEOPLE, knows("p1", "nobody")])
    before = data_files(graph)
    with pytest.raises(ViolationError, match=r"people\.jsonl:31: dst 'nobody' not found in Person"):
        graph.load_spark(path, "append", branch="fresh", base="main", spark=spark, partitions=4)
    assert data_files(graph) == before
    assert [branch.name for branch in graph.branches()] == ["main"]


@pytest.mark.parametrize(("cores_max", "who"), [(2, "driver"), (1, "cluster")])
def test_many_rows_are_checked_by_the_cluster_if_it_has_more_cores(
    graph: Graph, spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cores_max: int, who: str
) -> None:
    assert spark.sparkContext.defaultParallelism == 2
    graph = tuned(graph, driver_check_rows=len(PEOPLE) - 1, driver_check_cores=cores_max)
    calls = {checks: meanwhile(monkeypatch, checks, lambda number: None) for checks in CHECKS}
    graph.load_spark(write_lines(tmp_path / "people.jsonl", PEOPLE), "append", spark=spark)
    assert [checks for checks, made in calls.items() if made] == [who]


def test_minted_ids_are_in_the_order_of_the_input_whichever_task_was_first(
    graph: Graph, spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sought: list[str] = []
    find = bulk_checks._find_doubtful
    monkeypatch.setattr(
        bulk_checks, "_find_doubtful", lambda *given: sought.append(given[1].entity.name) or find(*given)
    )
    edges = [knows(f"p{number}", "p0") for number in range(30)]
    graph.load_spark(write_lines(tmp_path / "all.jsonl", [*PEOPLE, *edges]), spark=spark, partitions=5)
    stored = sorted(
        (record["data"]["id"], record["from"]) for record in map(json.loads, lines(graph)) if "edge" in record
    )
    assert [source for _, source in stored] == [f"p{number}" for number in range(30)]
    assert sought == [], "ids that only grow are not looked through for duplicates"


# --- beside others -------------------------------------------------------------------------------------


@pytest.mark.parametrize("checks", CHECKS)
@pytest.mark.parametrize("mode", sampled(["merge", "append"], 2))
def test_a_load_and_an_embedded_writer_on_one_branch_both_succeed(
    graph: Graph, spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: str, checks: str
) -> None:
    graph.load([person("p0", 77), person("old")] if mode == "merge" else [person("old")], "append")
    path = write_lines(tmp_path / "people.jsonl", PEOPLE)
    written = len(data_files(graph))
    other = Graph(graph._store)
    meanwhile(monkeypatch, checks, lambda number: number or other.load([person("old", 5), person("else", 1)], "merge"))
    graph.load_spark(path, mode, spark=spark, partitions=1, checks=checks)
    ages = {name: age for batch in graph.snapshot().batches("node:Person") for name, age in _ages(batch)}
    assert ages == {**{f"p{number}": number for number in range(30)}, "old": 5, "else": 1}
    assert graph.verify().is_clean
    data = [path for path in data_files(graph) if "/data/" in path]
    assert len(data) == 3, "the fragments of the load are not written again"
    assert written < len(data_files(graph))


def _ages(batch: Any) -> list[tuple[str, int]]:
    return list(zip(batch.column("name").to_pylist(), batch.column("age").to_pylist(), strict=True))


@pytest.mark.parametrize("checks", CHECKS)
def test_an_append_that_lost_an_id_to_somebody_else_fails(
    graph: Graph, spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, checks: str
) -> None:
    path = write_lines(tmp_path / "people.jsonl", PEOPLE)
    other = Graph(graph._store)
    meanwhile(monkeypatch, checks, lambda number: number or other.load([person("p3")], "append"))
    with pytest.raises(KeyConflictError, match=r"people\.jsonl:4: Person 'p3' exists already"):
        graph.load_spark(path, "append", spark=spark, checks=checks)
    assert len(lines(graph)) == 1


@pytest.mark.parametrize("checks", CHECKS)
def test_an_overwrite_does_not_silently_undo_what_others_did_meanwhile(
    graph: Graph, spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, checks: str
) -> None:
    path = write_lines(tmp_path / "people.jsonl", PEOPLE)
    other = Graph(graph._store)
    meanwhile(monkeypatch, checks, lambda number: number or other.load([person("else")], "append"))
    with pytest.raises(ConflictError):
        graph.load_spark(path, "overwrite", spark=spark, checks=checks)
    assert len(lines(graph)) == 1


# --- tasks ---------------------------------------------------------------------------------------------


def test_an_error_of_a_task_arrives_as_it_was_raised(spark: SparkSession) -> None:
    def work(item: int) -> int:
        if item == 1:
            raise StorageError("no space", location="here")
        if item == 2:
            raise ZeroDivisionError("by nothing")
        return item * 10

    assert run_tasks(spark, work, []) == []
    assert run_tasks(spark, work, [5, 3, 4]) == [50, 30, 40]
    with pytest.raises(StorageError, match="no space") as failed:
        run_tasks(spark, work, [0, 1, 2])
    assert failed.value.facts == {"location": "here"}
    with pytest.raises(SparkError, match="ZeroDivisionError: by nothing"):
        run_tasks(spark, work, [0, 2])


def test_a_task_that_ends_its_worker_is_an_error_of_spark(spark: SparkSession) -> None:
    def work(item: int) -> None:
        import os

        os._exit(1)

    with pytest.raises(SparkError, match="a Spark job failed"):
        run_tasks(spark, work, [1])


@pytest.mark.parametrize(
    ("settings", "attempts"),
    [
        ({"spark.master": "local[2]"}, 1),
        ({"spark.master": "local[*, 3]"}, 3),
        ({"spark.master": "spark://host:7077"}, 4),
        ({"spark.master": "yarn", "spark.task.maxFailures": "9"}, 9),
        ({}, 4),
    ],
)
def test_a_task_is_tried_as_often_as_the_session_says(settings: dict[str, str], attempts: int) -> None:
    class Session:
        class conf:  # noqa: N801 - the name it has in Spark
            @staticmethod
            def get(name: str, default: str) -> str:
                return settings.get(name, default)

    assert attempts_max(Session()) == attempts  # type: ignore[arg-type] # settings of clusters that are not here


def test_errors_of_spark_can_be_pickled() -> None:
    error = pickle.loads(pickle.dumps(SparkError("a", hint="b", c=1)))
    assert (error.message, error.hint, error.facts) == ("a", "b", {"c": 1})
