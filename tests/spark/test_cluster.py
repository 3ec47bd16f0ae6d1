"""A real cluster: a master and two workers on loopback, the graph in an object store."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import omnigraph
from omnigraph.engine.graph import Graph, create, open_graph
from tests.faults.s3 import Bucket, Server
from tests.spark import on_cluster
from tests.spark.outcomes import lines, write_lines
from tests.spark.standalone import standalone

REPOSITORY = Path(__file__).parents[2]
PACKAGES = Path(omnigraph.__file__).parents[1]
PEOPLE = 400


def person(number: int, age: int) -> dict[str, Any]:
    return {"type": "Person", "data": {"name": f"p{number}", "age": age}}


def records() -> list[dict[str, Any]]:
    knows = [
        {"edge": "Knows", "from": f"p{number}", "to": f"p{number // 2}", "data": {"id": f"k{number}"}}
        for number in range(PEOPLE)
    ]
    notes = [{"type": "Note", "data": {"id": f"n{number}", "text": "é" * number}} for number in range(20)]
    return [*(person(number, number) for number in range(PEOPLE)), *knows, *notes]


def merged() -> list[dict[str, Any]]:
    return [person(number, -number) for number in range(PEOPLE - 50, PEOPLE + 50)]


def run_driver(asked: dict[str, Any], environment: dict[str, str]) -> dict[str, Any]:
    program = [sys.executable, "-m", on_cluster.__name__, json.dumps(asked)]
    paths = os.pathsep.join([str(PACKAGES), str(REPOSITORY)])
    run = subprocess.run(
        program,
        cwd=REPOSITORY,
        env={**environment, "PYTHONPATH": paths},
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
    )
    assert run.returncode == 0, run.stderr[-5_000:]
    [line] = [line for line in run.stdout.splitlines() if line.startswith("told ")]
    told: dict[str, Any] = json.loads(line.removeprefix("told "))
    return told


def rows(graph: Graph, key: str) -> list[dict[str, Any]]:
    found = (row for batch in graph.snapshot().batches(key) for row in batch.to_pylist())
    return sorted(found, key=lambda row: str(row["id"]))


@pytest.mark.s3
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks for processes in /proc")
def test_a_cluster_loads_optimizes_and_reads_what_the_embedded_engine_does(
    s3_server: Server, s3_bucket: Bucket, tmp_path: Path
) -> None:
    files = [write_lines(tmp_path / "all.jsonl", records())]
    more = [write_lines(tmp_path / "more.jsonl", merged())]
    options = s3_server.storage_options()
    asked: dict[str, Any] = {"store": s3_bucket.uri("graph"), "options": options, "files": files, "merged": more}
    with standalone(tmp_path) as cluster:
        asked |= {"master": cluster.url, "python_path": str(PACKAGES)}
        told = run_driver(asked, dict(cluster.environment))
    embedded = create(tmp_path / "embedded", on_cluster.SCHEMA, durability="os")
    totals = [embedded.load(files, "append").total, embedded.load(more, "merge").total]
    assert told["loaded"] == totals
    assert {table["engine"] for table in told["optimized"]} == {"spark"}
    indexes = [index for table in told["optimized"] for index in table["indexes"]]
    assert len(indexes) == 7
    assert all(index["rows_covered"] == index["rows"] for index in indexes)
    graph = open_graph(s3_bucket.uri("graph"), storage_options=options)
    assert lines(graph) == lines(embedded)
    assert graph.verify().is_clean
    assert s3_bucket.keys("graph/jobs/") == []
    assert (told["Person"], told["Knows"]) == (rows(embedded, "node:Person"), rows(embedded, "edge:Knows"))
    # Both workers took part, and each had the package from where the driver said.
    assert len({directory for directory, _ in map(json.loads, told["executors"])}) == 2
    assert {file for _, file in map(json.loads, told["executors"])} == {omnigraph.__file__}
