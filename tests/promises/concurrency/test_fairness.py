"""A write that takes long to prepare gets through beside processes that write as fast as they can."""

from __future__ import annotations

import logging
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import omnigraph
from omnigraph.core.tuning import Tuning
from tests.promises.concurrency.insert_until_told import SCHEMA

LOST_SWAPS_MAX = 5
PEOPLE = 2_000


@contextmanager
def writing(graph: omnigraph.Graph, processes: int, stop: Path) -> Iterator[list[int]]:
    """Processes that insert single rows into the same table; afterwards how many each of them has inserted."""
    command = [sys.executable, "-m", "tests.promises.concurrency.insert_until_told", graph.uri]
    children = [
        subprocess.Popen([*command, str(number), str(stop)], stdout=subprocess.PIPE, text=True)
        for number in range(processes)
    ]
    inserted: list[int] = []
    try:
        while not all(stop.with_suffix(f".{number}").exists() for number in range(processes)):
            assert all(child.poll() is None for child in children), "a writer failed"
            time.sleep(0.05)
        yield inserted
    finally:
        stop.touch()
        inserted += [int(child.communicate(timeout=120)[0] or 0) for child in children]
    assert [child.returncode for child in children] == [0] * processes


def person(name: str, age: int) -> dict[str, object]:
    return {"type": "Person", "data": {"name": name, "age": age}}


def merge(graph: omnigraph.Graph, number: int) -> None:
    graph.merge(f"b{number}")


def revert(graph: omnigraph.Graph, number: int) -> None:
    graph.revert(next(commit.id for commit in graph.commits() if commit.message == f"l{number}"))


def schema(graph: omnigraph.Graph, number: int) -> None:
    graph.apply_schema(SCHEMA + f"\nnode Other{number} {{ name: String @key }}")


def bulk_load(graph: omnigraph.Graph, number: int) -> None:
    graph.load([person(f"bulk{number}-{row}", row) for row in range(PEOPLE)])


LONG_WRITES: dict[str, Callable[[omnigraph.Graph, int], None]] = {
    "merge": merge,
    "revert": revert,
    "schema": schema,
    "bulk load": bulk_load,
}


@pytest.mark.parametrize("processes", [2, pytest.param(8, marks=pytest.mark.long)])
def test_a_long_write_is_published_after_a_bounded_number_of_lost_swaps(
    tmp_path: Path, processes: int, caplog: pytest.LogCaptureFixture
) -> None:
    rounds = 1 if processes == 2 else 5
    graph = omnigraph.create(tmp_path / "g", SCHEMA, durability="os", tuning=Tuning(buffered_rows_max=100))
    graph.load([person(f"p{number}", number) for number in range(PEOPLE)])
    for number in range(rounds):
        graph.create_branch(f"b{number}")
        graph.load([person(f"p{row}", -row) for row in range(100)], "merge", branch=f"b{number}")
        graph.load([person(f"l{number}-{row}", row) for row in range(100)], message=f"l{number}")
    lost: dict[str, list[int]] = {name: [] for name in LONG_WRITES}
    with writing(graph, processes, tmp_path / "stop") as inserted:
        for number in range(rounds):
            for name, write in LONG_WRITES.items():
                caplog.clear()
                with caplog.at_level(logging.INFO, "omnigraph.manifest.publisher"):
                    write(graph, number)
                lost[name].append(sum("was taken by another" in message for message in caplog.messages))
    print(lost, inserted)
    assert all(count <= LOST_SWAPS_MAX for counts in lost.values() for count in counts), lost
    names = set(graph.snapshot().to_arrow("node:Person")["name"].to_pylist())
    assert {f"w{number}-{row}" for number in range(processes) for row in range(inserted[number])} <= names
    assert graph.verify().is_clean


def test_a_writer_that_holds_its_turn_and_stops_does_not_stop_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The others wait no longer than it had announced."""
    graph = omnigraph.create(tmp_path / "g", SCHEMA, durability="os", tuning=Tuning(buffered_rows_max=100))
    other = omnigraph.open(graph.uri, durability="os")
    turns = graph._store.turns
    with turns.hold("__manifest", 0.0):
        other.load([person("a", 1)])
    with turns.hold("__manifest", 0.0):
        pass
    other.load([person("b", 1)])
    assert sorted(graph.snapshot().to_arrow("node:Person")["name"].to_pylist()) == ["a", "b"]
