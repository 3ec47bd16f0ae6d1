"""The driver of a load is killed: every row is there once or none is, and the next load works."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from omnigraph.engine.graph import Graph, create
from tests.spark import killed_driver
from tests.spark.outcomes import write_lines
from tests.spark.standalone import survivors

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

REPOSITORY = Path(__file__).parents[2]
SCHEMA = "node Person {\n name: String @key\n age: I32?\n}\n"
ROWS = 90


def person(name: str, age: int) -> dict[str, Any]:
    return {"type": "Person", "data": {"name": name, "age": age}}


def ages(graph: Graph) -> list[tuple[str, int]]:
    rows = (row for batch in graph.snapshot().batches("node:Person") for row in batch.to_pylist())
    return sorted((row["name"], row["age"]) for row in rows)


def data(graph: Graph) -> set[str]:
    return {path.name for path in Path(graph.uri).glob("nodes/*/data/*")}


def referenced(graph: Graph) -> set[str]:
    """Data files that some commit has."""
    pins = {graph.snapshot(at=commit.id).state.tables["node:Person"] for commit in graph.commits()}
    tables = [graph._store.open(pin.location, pin.lance_version) for pin in pins]
    fragments = [fragment for table in tables for fragment in table.get_fragments()]
    return {file.path for fragment in fragments for file in fragment.metadata.files}


def run_until_killed(*arguments: str) -> None:
    program = [sys.executable, "-m", killed_driver.__name__, *arguments]
    process = subprocess.Popen(
        program, cwd=REPOSITORY, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    _, said = process.communicate(timeout=200)
    assert process.returncode == -signal.SIGKILL, said[-3_000:]
    assert survivors({process.pid}) == []


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks for processes in /proc")
@pytest.mark.parametrize(("moment", "mode"), [("tasks done", "append"), ("staged", "merge"), ("published", "append")])
def test_a_killed_driver_leaves_all_rows_or_none_and_the_next_load_works(
    spark: SparkSession, tmp_path: Path, moment: str, mode: str
) -> None:
    graph = create(tmp_path / "graph", SCHEMA, durability="os")
    old = person("p0" if mode == "merge" else "old", -1)
    graph.load([old], "append")
    before, committed, files = ages(graph), referenced(graph), data(graph)
    people = {f"p{number}": number for number in range(ROWS)}
    given = write_lines(tmp_path / "data.jsonl", [person(name, age) for name, age in people.items()])
    expected = sorted({**({"old": -1} if mode == "append" else {}), **people}.items())

    run_until_killed(graph.uri, given, mode, moment)
    is_published = moment == "published"
    assert ages(graph) == (expected if is_published else before)
    assert graph.verify().is_clean
    left = data(graph) - files
    assert len(left) == killed_driver.PARTITIONS
    assert referenced(graph) - committed == (left if is_published else set())

    loaded = graph.load_spark(given, mode, spark=spark, partitions=2, idempotency_key=killed_driver.KEY)
    assert loaded.repeated == is_published
    assert ages(graph) == expected
    assert len([commit for commit in graph.commits() if commit.idempotency_key == killed_driver.KEY]) == 1
    assert graph.verify().is_clean
    assert not (referenced(graph) & left) or is_published
