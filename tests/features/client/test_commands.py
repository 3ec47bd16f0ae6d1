"""The command line on a graph behind a server prints what it prints for the files of the graph."""

import json
from pathlib import Path

import pytest

from omnigraph import Graph, RemoteGraph
from tests.features.cli.run import run
from tests.features.server.live import READ_ALL

COMMANDS = {
    "query": ["query", "-e", READ_ALL, "--json"],
    "query as a table": ["query", "-e", READ_ALL, "--branch", "dev"],
    "query of a moment": ["query", "-e", READ_ALL, "--at", "dev~1"],
    "sql": ["sql", "select name from Person order by name", "--json"],
    "branches": ["branch", "list", "--format", "csv"],
    "commits": ["commit", "list", "--branch", "dev", "--json"],
    "commit": ["commit", "show", "dev", "--json"],
    "diff": ["diff", "main", "dev", "--json"],
    "schema": ["schema", "show"],
    "export": ["export", "--branch", "dev"],
    "snapshot as a table": ["snapshot", "--branch", "dev"],
}


@pytest.fixture(autouse=True)
def _no_settings_from_outside(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("OMNIGRAPH_STORE", "OMNIGRAPH_ACTOR", "OMNIGRAPH_PROFILE", "OMNIGRAPH_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("OMNIGRAPH_HOME", str(tmp_path))


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_prints_the_same_for_files_and_server(name: str, graph: Graph, remote: RemoteGraph) -> None:
    words = COMMANDS[name]
    here, there = (run(*words, "--store", uri) for uri in (graph.uri, remote.uri))
    assert here.exit_code == 0, here.output
    assert there.exit_code == 0, there.output
    assert there.stdout.replace(remote.uri, graph.uri) == here.stdout


def test_writes_go_through_the_server(graph: Graph, remote: RemoteGraph, branch: str, tmp_path: Path) -> None:
    data = tmp_path / "notes.jsonl"
    data.write_text('{"type": "Note", "data": {"text": "x"}}\n')
    new = f"{branch}-cli"
    for words in (
        ["branch", "create", new, "--from", branch],
        ["load", "--data", data, "--branch", new, "--mode", "merge", "--message", "a note"],
        ["mutate", "-e", 'query q() { insert Note {text: "y"} }', "--branch", new],
        ["branch", "merge", new, "--into", branch],
        ["branch", "delete", new, "--yes"],
    ):
        result = run(*words, "--store", remote.uri)
        assert result.exit_code == 0, result.output
    assert graph.counts(branch)["Note"] == 2


@pytest.mark.parametrize(
    "words",
    [["optimize"], ["verify"], ["doctor"], ["query", "-e", READ_ALL, "--as", "ann"], ["explain", "-e", READ_ALL]],
    ids=["optimize", "verify", "doctor", "as", "explain"],
)
def test_a_command_that_needs_the_files_is_refused(words: list[str], remote: RemoteGraph) -> None:
    result = run(*words, "--store", remote.uri)
    assert result.exit_code != 0
    assert "remote graph" in result.output or "behind a server" in result.output


def test_an_error_of_the_server_is_shown_as_one_of_the_graph(graph: Graph, remote: RemoteGraph) -> None:
    words = ["query", "-e", "query q() { match { $p: Persn } return { $p } }", "--json"]
    here, there = (run(*words, "--store", uri) for uri in (graph.uri, remote.uri))
    assert there.exit_code == here.exit_code
    assert json.loads(there.stdout) == json.loads(here.stdout)
