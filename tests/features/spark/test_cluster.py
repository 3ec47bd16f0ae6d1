"""A real cluster, a master and two workers on loopback: the package as a wheel by ``spark-submit``, the graph in an
object store, and jobs that are disturbed.

One cluster serves all of it: starting one takes longer than what is done with it. Every kind of job is disturbed in
``test_faults.py``.
"""

from __future__ import annotations

import json
import sys
import tarfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from omnigraph.engine.graph import Graph, create, open_graph
from tests.features.spark import on_cluster
from tests.features.spark.fault_cells import SETTINGS, broken_promises
from tests.features.spark.outcomes import lines, write_lines
from tests.features.spark.standalone import standalone
from tests.features.spark.submitting import HOSTS, REPOSITORY, build_package, submit
from tests.support.faults.s3 import Bucket, Server

PEOPLE = 400
Cells = Sequence[tuple[str, str, int]]
CELLS: Cells = (
    ("load lines", "break", 0),
    ("load lines", "slow", 1),
    ("load lines", "kill", 0),
    ("merge", "kill", 3),
    # Blocks of edges are lost with the executor, and made again.
    ("pagerank", "kill", 9),
)
"""Job, fault, and the number of tasks before the one that is struck."""

pytestmark = [
    pytest.mark.s3,
    pytest.mark.skipif(sys.platform != "linux", reason="looks for processes in /proc, and has many loopbacks"),
]


@dataclass(frozen=True)
class Run:
    """The report of a job, and its input."""

    report: dict[str, Any]
    bucket: Bucket
    files: list[str]
    more: list[str]


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


def rows(graph: Graph, key: str) -> list[dict[str, Any]]:
    found = (row for batch in graph.snapshot().batches(key) for row in batch.to_pylist())
    return sorted(found, key=lambda row: str(row["id"]))


def submitted(directory: Path, server: Server, *arguments: str, cells: Cells = ()) -> Run:
    """The job on a cluster of its own; ``arguments`` bring the package."""
    bucket = server.bucket()
    files = [write_lines(directory / "all.jsonl", records())]
    more = [write_lines(directory / "more.jsonl", merged())]
    graph = {"store": bucket.uri("graph"), "options": server.storage_options(), "files": files, "merged": more}
    request = {"graph": graph, "directory": str(directory), "cells": cells}
    with standalone(directory, HOSTS) as cluster:
        found = submit(cluster, on_cluster, request, *arguments, settings=SETTINGS)
    return Run(found, bucket, files, more)


@pytest.fixture(scope="module")
def ran(s3_server: Server, tmp_path_factory: pytest.TempPathFactory) -> Run:
    directory = tmp_path_factory.mktemp("cluster")
    package = build_package(directory / "wheel")
    return submitted(directory, s3_server, "--py-files", str(package), cells=CELLS)


def check(run: Run, server: Server, place: Path) -> None:
    """The cluster has done what the embedded engine does."""
    report, bucket = run.report, run.bucket
    embedded = create(place / "embedded", on_cluster.SCHEMA, durability="os")
    totals = [embedded.load(run.files, "append").total, embedded.load(run.more, "merge").total]
    assert report["loaded"] == totals
    assert {table["engine"] for table in report["optimized"]} == {"spark"}
    indexes = [index for table in report["optimized"] for index in table["indexes"]]
    assert len(indexes) == 7
    assert all(index["rows_covered"] == index["rows"] for index in indexes)
    graph = open_graph(bucket.uri("graph"), storage_options=server.storage_options())
    assert lines(graph) == lines(embedded)
    assert graph.verify().is_clean
    assert bucket.keys("graph/jobs/") == []
    assert report["rows"] == {"Person": rows(embedded, "node:Person"), "Knows": rows(embedded, "edge:Knows")}
    # The session of the package is that of the job, and both workers took part.
    assert report["master"].startswith("spark://")
    assert len({directory for directory, _ in map(json.loads, report["executors"])}) == 2


def origins(run: Run) -> list[str]:
    """Where executors have the package from, the last names of the path."""
    found = {file for _, file in map(json.loads, run.report["executors"])}
    return sorted({"/".join(Path(file).parts[-3:]) for file in found})


def test_a_submitted_wheel_loads_optimizes_and_reads_what_the_embedded_engine_does(
    ran: Run, s3_server: Server, tmp_path: Path
) -> None:
    check(ran, s3_server, tmp_path)
    assert origins(ran) == ["omnigraph.zip/omnigraph/__init__.py"]


@pytest.mark.parametrize("number", range(len(CELLS)), ids=["-".join(map(str, cell)) for cell in CELLS])
def test_a_disturbed_job_gives_the_same_graph_and_leaves_nothing_behind(ran: Run, number: int) -> None:
    cell = ran.report["cells"][number]
    assert (cell["job"], cell["fault"], cell["position"]) == CELLS[number]
    assert broken_promises([cell]) == []
    assert cell["struck"]
    # The first copy of the slow task never came back.
    assert cell["copies"] == (["copy-0", "copy-1"] if cell["fault"] == "slow" else [])
    # Files of attempts that do not count: the fault came after the output was written.
    assert cell["job"] == "pagerank" or cell["lost"] > 0


@pytest.mark.long
def test_an_archive_of_an_environment_brings_the_package_to_executors(s3_server: Server, tmp_path: Path) -> None:
    """As with a packed environment; compiled packages are installed."""
    archive = tmp_path / "environment.tar.gz"
    with tarfile.open(archive, "w:gz", compresslevel=1) as file:
        file.add(REPOSITORY / "src" / "omnigraph", "packages/omnigraph")
    arguments = ("--archives", f"{archive}#environment")
    arguments += ("--conf", "spark.executorEnv.PYTHONPATH=./environment/packages")
    run = submitted(tmp_path, s3_server, *arguments)
    check(run, s3_server, tmp_path)
    assert origins(run) == ["packages/omnigraph/__init__.py"]
