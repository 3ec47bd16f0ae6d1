"""Fixtures of the command line's tests: a graph to work on, and no graph or actor from outside."""

import shutil
from pathlib import Path

import pytest

from tests.features.cli.graphs import LINES, SCHEMA, write_lines
from tests.features.cli.run import run
from tests.support.faults.fixtures import s3_bucket, s3_server

__all__ = ["s3_bucket", "s3_server"]


@pytest.fixture(autouse=True)
def _no_settings_from_outside(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    for name in ("OMNIGRAPH_STORE", "OMNIGRAPH_ACTOR", "OMNIGRAPH_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("OMNIGRAPH_HOME", str(tmp_path_factory.getbasetemp() / "nobody"))


@pytest.fixture(scope="session")
def _loaded_graph(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("template")
    (place / "schema.pg").write_text(SCHEMA)
    data = write_lines(place / "data.jsonl", LINES)
    graph = place / "graph"
    for words in (
        ["init", "--schema", place / "schema.pg", graph, "--as", "ann"],
        ["load", graph, "--data", data, "--mode", "append", "--as", "ann", "--message", "first people"],
    ):
        result = run(*words)
        assert result.exit_code == 0, result.output
    return graph


@pytest.fixture
def graph(_loaded_graph: Path, tmp_path: Path) -> Path:
    """A graph of its own for each test, with two commits: pins are relative, so a copy is a graph."""
    return Path(shutil.copytree(_loaded_graph, tmp_path / "graph"))
