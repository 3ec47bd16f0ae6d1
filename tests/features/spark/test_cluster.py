"""A real cluster, a master and two workers on loopback: the graph in an object store, and work that is disturbed.

One cluster serves all of it: starting one takes longer than what is done with it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pytest

import omnigraph
from omnigraph.engine.graph import Graph, create, open_graph
from tests.features.spark import faulty_cluster, on_cluster
from tests.features.spark.outcomes import lines, write_lines
from tests.features.spark.standalone import LOOPBACK, standalone
from tests.support.faults.s3 import Bucket, Server

REPOSITORY = Path(__file__).parents[3]
PACKAGES = Path(omnigraph.__file__).parents[1]
PEOPLE = 400
HOSTS = (LOOPBACK, "127.0.0.2")
"""Two hosts to Spark, which starts no second copy of a task on the host of the first."""

pytestmark = [
    pytest.mark.s3,
    pytest.mark.skipif(sys.platform != "linux", reason="looks for processes in /proc, and has many loopbacks"),
]


@dataclass(frozen=True)
class Run:
    """The report of a driver, and its input."""

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


def run_driver(request: dict[str, Any], environment: dict[str, str]) -> dict[str, Any]:
    program = [sys.executable, "-m", on_cluster.__name__, json.dumps(request)]
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
    [line] = [line for line in run.stdout.splitlines() if line.startswith("report ")]
    report: dict[str, Any] = json.loads(line.removeprefix("report "))
    return report


def rows(graph: Graph, key: str) -> list[dict[str, Any]]:
    found = (row for batch in graph.snapshot().batches(key) for row in batch.to_pylist())
    return sorted(found, key=lambda row: str(row["id"]))


@pytest.fixture(scope="module")
def ran(s3_server: Server, tmp_path_factory: pytest.TempPathFactory) -> Run:
    directory, bucket = tmp_path_factory.mktemp("cluster"), s3_server.bucket()
    files = [write_lines(directory / "all.jsonl", records())]
    more = [write_lines(directory / "more.jsonl", merged())]
    request: dict[str, Any] = {
        "store": bucket.uri("graph"),
        "files": files,
        "merged": more,
        "directory": str(directory),
    }
    with standalone(directory, HOSTS) as cluster:
        request |= {"master": cluster.url, "python_path": str(PACKAGES), "options": s3_server.storage_options()}
        return Run(run_driver(request, dict(cluster.environment)), bucket, files, more)


def test_a_cluster_loads_optimizes_and_reads_what_the_embedded_engine_does(
    ran: Run, s3_server: Server, tmp_path: Path
) -> None:
    report, bucket = ran.report, ran.bucket
    embedded = create(tmp_path / "embedded", on_cluster.SCHEMA, durability="os")
    totals = [embedded.load(ran.files, "append").total, embedded.load(ran.more, "merge").total]
    assert report["loaded"] == totals
    assert {table["engine"] for table in report["optimized"]} == {"spark"}
    indexes = [index for table in report["optimized"] for index in table["indexes"]]
    assert len(indexes) == 7
    assert all(index["rows_covered"] == index["rows"] for index in indexes)
    graph = open_graph(bucket.uri("graph"), storage_options=s3_server.storage_options())
    assert lines(graph) == lines(embedded)
    assert graph.verify().is_clean
    assert bucket.keys("graph/jobs/") == []
    assert (report["Person"], report["Knows"]) == (rows(embedded, "node:Person"), rows(embedded, "edge:Knows"))
    # Both workers took part, and each had the package from where the driver said.
    assert len({directory for directory, _ in map(json.loads, report["executors"])}) == 2
    assert {file for _, file in map(json.loads, report["executors"])} == {omnigraph.__file__}


def test_disturbed_loads_bring_every_row_once_or_none(ran: Run) -> None:
    report, rows = ran.report["disturbed"], faulty_cluster.ROWS
    for name in ("fails_twice", "killed", "slow"):
        found = report[name]
        assert (found["rows"], found["different"], found["commits"]) == (rows, rows, 2), name
        assert found["failed"] is None
        assert found["clean"]
        # Six parts; what disturbed attempts wrote lies beside them and belongs to nobody.
        assert found["fragments"] > 6, name
    failed = report["fails_always"]
    assert failed["failed"] == ["StorageError", "the disk is away"]
    assert (failed["rows"], failed["commits"], failed["clean"]) == (0, 1, True)
    # Both copies of the slow task wrote their rows, and the first never came back.
    assert report["copies"] == ["slow-0", "slow-1"]


def test_an_analysis_that_loses_an_executor_makes_its_blocks_again(ran: Run) -> None:
    report = ran.report["analysis"]
    before, lost, after = report["blocks"]
    assert before == after == faulty_cluster.BLOCKS
    assert lost < before
    spark, embedded = report["iterations"]
    assert spark == embedded > faulty_cluster.LOST_AFTER_ROUNDS
    assert report["difference"] < 1e-12


def test_a_merge_whose_executor_is_killed_is_the_merge_of_the_embedded_engine(
    ran: Run, s3_server: Server, tmp_path: Path
) -> None:
    embedded = create(tmp_path / "embedded", on_cluster.SCHEMA, durability="os")
    embedded.load(ran.files, "append")
    embedded.load(ran.more, "merge")
    on_cluster.edit(embedded)
    merged = embedded.merge("theirs", "ours")
    assert [(item.key, item.adopted) for item in merged.tables] == [("edge:Knows", False), ("node:Person", False)]
    assert ran.report["merged"] == ["spark", [asdict(item) for item in merged.tables], True]
    graph = open_graph(ran.bucket.uri("graph"), storage_options=s3_server.storage_options())
    assert lines(graph, "ours") == lines(embedded, "ours")
    assert graph.verify(deep=True).is_clean
