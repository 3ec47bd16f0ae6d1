"""The driver of a load is killed: every row is there once or none is, and the next load works."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from omnigraph.engine.graph import Graph, create
from tests.features.spark import killed_driver
from tests.features.spark.outcomes import write_lines
from tests.features.spark.standalone import survivors
from tests.support.faults.s3 import Bucket, Server

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

REPOSITORY = Path(__file__).parents[3]
SCHEMA = "node Person {\n name: String @key\n age: I32?\n}\n"
ROWS = 90


def person(name: str, age: int) -> dict[str, Any]:
    return {"type": "Person", "data": {"name": name, "age": age}}


def ages(graph: Graph, branch: str = "main") -> list[tuple[str, int]]:
    rows = (row for batch in graph.snapshot(branch).batches("node:Person") for row in batch.to_pylist())
    return sorted((row["name"], row["age"]) for row in rows)


def data(graph: Graph) -> set[str]:
    return {path.name for path in Path(graph.uri).glob("nodes/*/data/*")}


def referenced(graph: Graph) -> set[str]:
    """Data files that some commit has."""
    pins = {graph.snapshot(at=commit.id).state.tables["node:Person"] for commit in graph.commits()}
    tables = [graph._store.open(pin.location, pin.lance_version) for pin in pins]
    fragments = [fragment for table in tables for fragment in table.get_fragments()]
    return {file.path for fragment in fragments for file in fragment.metadata.files}


def run_until_killed(*arguments: str, options: Mapping[str, str] | None = None) -> None:
    program = [sys.executable, "-m", killed_driver.__name__, *arguments, json.dumps(options or {})]
    # Who is killed tidies nothing up.
    with tempfile.TemporaryDirectory() as scratch:
        process = subprocess.Popen(
            program,
            cwd=REPOSITORY,
            env={**os.environ, "TMPDIR": scratch},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        _, said = process.communicate(timeout=200)
        assert process.returncode == -signal.SIGKILL, said[-3_000:]
        assert survivors({process.pid}) == []
        assert list(Path(scratch).glob("blockmgr-*")) != []


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks for processes in /proc")
@pytest.mark.parametrize(
    ("moment", "mode"),
    [
        pytest.param("some tasks done", "merge", marks=pytest.mark.long),
        pytest.param("tasks done", "append", marks=pytest.mark.long),
        pytest.param("staged", "merge", marks=pytest.mark.long),
        pytest.param("published", "append", marks=pytest.mark.long),
    ],
)
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
    finished = killed_driver.PARTITIONS - (moment == "some tasks done")
    assert len(left) == finished
    assert referenced(graph) - committed == (left if is_published else set())

    # Another load of the same, beside it: it writes everything itself.
    beside = {"spark": spark, "partitions": killed_driver.PARTITIONS, "branch": "beside", "base": "main"}
    if not is_published:
        graph.load_spark(given, mode, **beside)
        assert sorted(ages(graph, "beside")) == expected
        assert len(data(graph) - files - left) == killed_driver.PARTITIONS
    known = data(graph)

    resumed = graph.load_spark(given, mode, spark=spark, partitions=killed_driver.PARTITIONS, resume=True)
    assert resumed.repeated == is_published
    assert ages(graph) == expected
    keys = [commit.idempotency_key for commit in graph.commits() if commit.kind.value == "load"]
    assert len(keys) == 2
    assert keys[0] is not None
    assert keys[0].startswith("spark-load/")
    assert len(data(graph) - known) == killed_driver.PARTITIONS - finished, "finished tasks are not run again"
    assert referenced(graph) - committed >= left
    assert graph.verify().is_clean
    assert list(Path(graph.uri).glob("jobs/*")) == []


@pytest.mark.s3
@pytest.mark.long
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks for processes in /proc")
def test_a_load_within_a_bucket_goes_on_after_its_driver_was_killed(
    s3_server: Server, s3_bucket: Bucket, spark: SparkSession
) -> None:
    options = s3_server.storage_options()
    graph = create(s3_bucket.uri("graph"), SCHEMA, storage_options=options)
    people = [person(f"p{number}", number) for number in range(ROWS)]
    body = "".join(json.dumps(one) + "\n" for one in people)
    s3_bucket.client.put_object(Bucket=s3_bucket.name, Key="in/data.jsonl", Body=body.encode())
    source = s3_bucket.uri("in/data.jsonl")

    def written() -> set[str]:
        return {key for key in s3_bucket.keys("graph/nodes/") if "/data/" in key}

    run_until_killed(graph.uri, source, "append", "tasks done", options=options)
    left = written()
    assert (len(left), ages(graph)) == (killed_driver.PARTITIONS, [])
    assert len(s3_bucket.keys("graph/jobs/")) == killed_driver.PARTITIONS + 1
    with s3_server.proxy.recording() as log:
        graph.load_spark(source, "append", spark=spark, partitions=killed_driver.PARTITIONS, resume=True)
    assert ages(graph) == sorted((f"p{number}", number) for number in range(ROWS))
    assert written() == left
    assert [request for request in log.requests() if request.key == "in/data.jsonl" and request.method == "GET"] == []
    assert s3_bucket.keys("graph/jobs/") == []
    assert graph.verify().is_clean
