"""Findings of `doctor`: on a machine, in an intact graph, and in damaged graphs."""

import json
from pathlib import Path

import pytest

import omnigraph
from omnigraph.storage.objects import local as local_objects
from tests.features.cli.run import run


def _findings(*words: object, status: int = 0) -> dict[str, dict[str, object]]:
    result = run("doctor", *words, "--json")
    assert result.exit_code == status, result.output
    return {item["check"]: item for item in json.loads(result.stdout)["findings"]}


def test_without_a_graph_the_machine_is_looked_at() -> None:
    found = _findings()
    assert found["omnigraph"]["found"] == omnigraph.__version__
    assert found["java"]["verdict"] == "ok"
    assert "graph" not in found
    assert "ok: no problems" in run("doctor").output


def test_without_java_there_is_advice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", "/nowhere")
    monkeypatch.setattr("omnigraph.spark.cluster.java._wheel_runtime", lambda: None)
    java = _findings()["java"]
    assert java["verdict"] == "advice"
    assert "only Spark needs it" in str(java["advice"])


def test_a_graph_that_is_well(graph: Path) -> None:
    found = _findings(graph)
    assert found["conditional writes"]["found"] == "honoured"
    assert found["table node:Person"]["rows"] == 2
    assert all(item["verdict"] == "ok" for item in found.values())
    assert not list(graph.glob("probe-*"))


def test_tables_in_pieces_with_holes_and_without_indexes_get_advice(tmp_path: Path) -> None:
    graph = omnigraph.create(tmp_path / "graph", "node Person {\n  name: String @key\n  city: String? @index\n}\n")
    people = [{"type": "Person", "data": {"name": f"p{number:05}"}} for number in range(10_000)]
    graph.load(people, "append")
    person = _findings(graph.uri)["table node:Person"]
    assert person["verdict"] == "advice"
    assert "covers 0%" in str(person["found"])
    assert person["advice"] == "omnigraph optimize"
    graph.optimize()
    assert _findings(graph.uri)["table node:Person"]["verdict"] == "ok"
    graph.mutate('query q() { insert Person { name: "p99999" } }')
    assert _findings(graph.uri)["table node:Person"]["verdict"] == "ok"
    graph.mutate('query q() { delete Person where name < "p05000" }')
    assert "many of its rows are deleted" in str(_findings(graph.uri)["table node:Person"]["found"])


def test_a_store_that_lets_everybody_win_is_a_problem(graph: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local_objects.LocalObjects, "create", lambda self, path, content: True)
    found = _findings(graph, status=1)
    assert found["conditional writes"]["verdict"] == "problem"


def test_what_is_no_graph_is_a_problem(tmp_path: Path) -> None:
    found = _findings(tmp_path, status=1)
    assert "there is no graph" in str(found["graph"]["found"])
    assert run("doctor", tmp_path).exit_code == 1
