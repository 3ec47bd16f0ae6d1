"""Loads with Spark beside writers that do not wait for them: nothing is lost, nothing is silently undone."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from omnigraph.engine.graph import Graph, create
from omnigraph.errors import ConflictError
from omnigraph.spark.load import publish as bulk_load
from omnigraph.spark.load.input import LoadInput
from tests.features.spark.meanwhile import CHECKS, meanwhile
from tests.features.spark.outcomes import write_lines

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SCHEMA = "node Person {\n name: String @key\n age: I32?\n}\n"
PARTITIONS = 3
WRITES_MAX = 60
LOADED = {f"p{number}": number for number in range(60)}


def person(name: str, age: int) -> dict[str, Any]:
    return {"type": "Person", "data": {"name": name, "age": age}}


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    return create(tmp_path / "graph", SCHEMA, durability="os")


@pytest.fixture
def people(tmp_path: Path) -> str:
    return write_lines(tmp_path / "people.jsonl", [person(name, age) for name, age in LOADED.items()])


def ages(graph: Graph) -> dict[str, int]:
    rows = [row for batch in graph.snapshot().batches("node:Person") for row in batch.to_pylist()]
    found = {row["name"]: row["age"] for row in rows}
    assert len(found) == len(rows), "nobody is there twice"
    return found


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Data files that tasks wrote, told before anything is checked or published."""
    names: list[str] = []
    publish = bulk_load.publish_input

    def noted(job: Any, whole: LoadInput, *rest: Any) -> Any:
        tables = (table for input_slice in whole.slices for table in input_slice.tables.values())
        names.extend(file.path for table in tables for rows in table.written for file in rows.fragments[0].files)
        return publish(job, whole, *rest)

    monkeypatch.setattr(bulk_load, "publish_input", noted)
    return names


def data_of(graph: Graph, commit_id: str) -> set[str]:
    """The data files of people as a commit has them."""
    pin = graph.snapshot(at=commit_id).state.tables["node:Person"]
    fragments = graph._store.open(pin.location, pin.lance_version).get_fragments()
    return {file.path for fragment in fragments for file in fragment.metadata.files}


@contextmanager
def restless(write: Callable[[int], object]) -> Iterator[list[int]]:
    """Somebody who writes all the time; gives the numbers of the writes that succeeded."""
    done: list[int] = []
    problems: list[Exception] = []
    ended = threading.Event()

    def work() -> None:
        try:
            while not ended.is_set() and len(done) < WRITES_MAX:
                write(len(done))
                done.append(len(done))
        except Exception as problem:
            problems.append(problem)

    writer = threading.Thread(target=work)
    writer.start()
    try:
        yield done
    finally:
        ended.set()
        writer.join()
    assert problems == []


@pytest.mark.parametrize("checks", CHECKS)
@pytest.mark.parametrize("mode", ["append", "merge"])
def test_a_load_beside_a_restless_writer_loses_nothing_and_writes_its_fragments_once(
    graph: Graph, people: str, spark: SparkSession, written: list[str], mode: str, checks: str
) -> None:
    other = Graph(graph._store)
    # Ids of the load as well where they may be replaced: whoever publishes last is right.
    contested = ["p0", "p59"] if mode == "merge" else []

    def write(number: int) -> None:
        other.load([person(name, 1_000 + number) for name in [f"own{number}", *contested]], mode)

    with restless(write) as done:
        loaded = graph.load_spark(people, mode, spark=spark, partitions=PARTITIONS, checks=checks)
    history = [commit.id for commit in graph.commits() if commit.kind.value == "load"]
    assert len(history) == len(done) + 1
    later = history.index(loaded.commit.id)
    expected = {**LOADED, **{f"own{number}": 1_000 + number for number in done}}
    if later:
        expected |= dict.fromkeys(contested, 1_000 + done[-1])
    assert ages(graph) == expected
    assert len(written) == PARTITIONS
    assert data_of(graph, loaded.commit.id) >= set(written), "what tasks wrote was published, not written again"
    assert graph.verify().is_clean


@pytest.mark.parametrize("checks", CHECKS)
def test_a_load_that_others_overtake_again_and_again_is_staged_from_the_same_fragments(
    graph: Graph, people: str, spark: SparkSession, monkeypatch: pytest.MonkeyPatch, written: list[str], checks: str
) -> None:
    graph.load([person("p1", 7)], "append")
    other = Graph(graph._store)

    def overtake(number: int) -> None:
        if number < 3:
            other.load([person("p2", -1), person(f"other{number + 1}", 5)], "merge")

    checked = meanwhile(monkeypatch, checks, overtake)
    loaded = graph.load_spark(people, "merge", spark=spark, partitions=PARTITIONS, checks=checks)
    assert checked == [0, 1, 2, 3]
    [change] = loaded.commit.tables
    assert (change.inserted, change.updated) == (len(LOADED) - 2, 2)
    assert ages(graph) == {**LOADED, "other1": 5, "other2": 5, "other3": 5}
    assert len(written) == PARTITIONS
    assert data_of(graph, loaded.commit.id) >= set(written), "what tasks wrote was published, not written again"
    assert graph.verify().is_clean


@pytest.mark.parametrize("checks", CHECKS)
def test_an_overwrite_beside_a_restless_writer_undoes_nothing_it_has_not_seen(
    graph: Graph, people: str, spark: SparkSession, checks: str
) -> None:
    other = Graph(graph._store)

    def write(number: int) -> None:
        other.load([person(f"own{number}", number)], "append")

    with restless(write) as done:
        try:
            loaded = graph.load_spark(people, "overwrite", spark=spark, partitions=PARTITIONS, checks=checks)
        except ConflictError:
            loaded = None
    history = [commit for commit in graph.commits() if commit.kind.value == "load"]
    own = {f"own{number}": number for number in done}
    if loaded is None:
        assert len(history) == len(done)
        assert ages(graph) == own
    else:
        # It came in between two writes: what it replaced is exactly what the commit before it held.
        place = [commit.id for commit in history].index(loaded.commit.id)
        before = len(history) - 1 - place
        assert loaded.commit.tables[0].deleted == before
        assert ages(graph) == {**LOADED, **{name: number for name, number in own.items() if number >= before}}
    assert graph.verify().is_clean


def test_two_loads_on_one_session_both_arrive(graph: Graph, people: str, spark: SparkSession, tmp_path: Path) -> None:
    more = write_lines(tmp_path / "more.jsonl", [person(f"q{number}", number) for number in range(60)])
    with restless(lambda number: graph.load_spark(more, "merge", spark=spark, partitions=PARTITIONS)) as done:
        graph.load_spark(people, "append", spark=spark, partitions=PARTITIONS)
    assert done
    assert ages(graph) == {**LOADED, **{f"q{number}": number for number in range(60)}}
    assert graph.verify().is_clean
