"""Spark Connect: a real server on loopback, and a client that has no JVM of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import omnigraph
from omnigraph.engine.graph import open_graph
from omnigraph.errors import SparkUnavailable
from omnigraph.spark.cluster import connect
from tests.features.spark import on_connect
from tests.features.spark.connect_server import connect_server
from tests.features.spark.outcomes import lines

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

REPOSITORY = Path(__file__).parents[3]
PACKAGES = Path(omnigraph.__file__).parents[1]


def test_what_a_session_of_spark_connect_can_do_and_what_it_says_it_cannot(spark: SparkSession, tmp_path: Path) -> None:
    program = [sys.executable, "-m", on_connect.__name__, str(tmp_path)]
    paths = os.pathsep.join([str(PACKAGES), str(REPOSITORY)])
    with connect_server(spark) as remote:
        environment = {**os.environ, "SPARK_REMOTE": remote, "PYTHONPATH": paths, "JAVA_HOME": "/nowhere", "PATH": ""}
        run = subprocess.run(
            program, cwd=REPOSITORY, env=environment, capture_output=True, text=True, check=False, timeout=240
        )
    assert run.returncode == 0, run.stderr[-5_000:]
    [line] = [line for line in run.stdout.splitlines() if line.startswith("report ")]
    report = json.loads(line.removeprefix("report "))
    assert (report["kind"], report["again"], report["jvm"]) == (*["pyspark.sql.connect.session"] * 2, False)
    people = on_connect.PEOPLE
    assert (report["lines"], report["cluster"], report["rejected"], report["mapped"], report["frame"]) == (
        people + 1,
        people + 1,
        0,
        2,
        1,
    )
    assert (report["stages"], report["rows"]) == (["reading", "checking"], people + 1)
    assert (report["exported"], report["read"]) == (people + 4, people + 3)
    assert report["queries"] == dict.fromkeys(on_connect.QUERIES, True)
    assert report["views"] == {"w_Knows": "edge:Knows", "w_Person": "node:Person"}
    assert report["sql"] == 14
    analyses = [report[name] for name in ("components", "triangles", "divided", "ranks")]
    assert (report["brought"], *analyses) == (1, True, True, True, 2)
    for name, error, message in [
        ("timeout", "LimitExceeded", "longer than 1"),
        ("violation", "ViolationError", "bad.jsonl:1: wrong value for Person.age"),
        ("resumed", "UsageError", "Spark Connect does not expose which task reads which file"),
        ("missing file", "NotFoundError", "there is no file"),
        ("missing column", "UsageError", "there is no column 'whoo'"),
        ("wrong sql", "UsageError", "load[0].columns.name: "),
        ("failing sql", "SparkError", "'Ada'"),
    ]:
        assert report[name][0] == error, report[name]
        assert message in report[name][1]
    graph = open_graph(tmp_path / "graph")
    assert len(lines(graph)) == people + 4
    assert graph.verify().is_clean


def test_a_server_that_is_not_there_is_said_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SparkUnavailable, match=r"no Spark Connect server answers at sc://127\.0\.0\.1:1:"):
        connect.connect("sc://127.0.0.1:1", "test", None)
    with pytest.raises(SparkUnavailable, match="invalid address of a Spark Connect server: 'http://x'"):
        connect.connect("http://x", "test", None)
    monkeypatch.setattr(connect.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(SparkUnavailable, match="Spark Connect requires grpc and grpc_status") as missing:
        connect.connect("sc://127.0.0.1:1", "test", None)
    assert "pyspark[connect]" in str(missing.value)
