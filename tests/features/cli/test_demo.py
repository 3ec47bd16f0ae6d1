"""The demo: every command it shows runs, twice alike; and the drawing of commits."""

import re
from pathlib import Path

import pytest

from omnigraph.cli.show.commit_graph import drawn
from omnigraph.core.commit import CommitKind, GraphCommit, ManifestPlace
from tests.features.cli.run import run


def _steady(shown: str) -> str:
    """What is shown, without ids, times and sizes."""
    shown = re.sub(r"\b01[0-9A-Z]{24}\b", "<id>", shown)
    shown = re.sub(r"\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", "<time>", shown)
    return re.sub(r"[\d,]+ (files|bytes|s\.)", r"<many> \1", shown)


def test_the_tour_runs_twice_alike_and_leaves_a_graph(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OMNIGRAPH_STORE", "elsewhere")
    words = ("demo", "--people", "300", "--engine", "embedded")
    first = run(*words)
    assert first.exit_code == 0, first.output
    assert "chief scientist" in first.output
    assert "What to try next" in first.output
    assert run("verify", "omnigraph-demo/world.omni").exit_code == 0
    refused = run(*words)
    assert refused.exit_code == 1
    assert "--replace" in refused.output
    (tmp_path / "omnigraph-demo" / "mine.txt").write_text("kept")
    again = run(*words, "--replace")
    assert _steady(again.output) == _steady(first.output)
    assert (tmp_path / "omnigraph-demo" / "mine.txt").read_text() == "kept"


def test_without_spark_the_tour_loads_in_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OMNIGRAPH_STORE", "elsewhere")
    monkeypatch.setattr("omnigraph.cli.commands.demo.has_spark", lambda: False)
    shown = run("demo", "--people", "10")
    assert shown.exit_code == 0, shown.output
    assert "omnigraph[spark]" in shown.stderr
    assert "--engine embedded" in shown.output


def test_the_tour_ends_with_the_first_command_that_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OMNIGRAPH_STORE", "elsewhere")
    monkeypatch.setattr("omnigraph.cli.commands.demo.SCHEMA", "missing.pg")
    monkeypatch.setattr("omnigraph.cli.commands.demo._prepare", lambda place, replace: place.mkdir())
    failed = run("demo", "--people", "300", "--engine", "embedded")
    assert failed.exit_code != 0
    assert "What to try next" not in failed.output


def _drawing(*commits: str) -> list[str]:
    """Commits written as ``id parent parent``, newest first."""
    made = [
        GraphCommit(id_, tuple(parents), "main", CommitKind.LOAD, 0, ManifestPlace("i", 1, 1), "digest")
        for id_, *parents in (text.split() for text in commits)
    ]
    return [f"{line} {commit.id}" if commit else line for line, commit in drawn(made)]


def test_a_line_of_commits_is_a_line() -> None:
    assert _drawing("c b", "b a", "a") == ["* c", "* b", "* a"]


def test_a_merge_opens_a_lane_that_ends_where_the_branch_began() -> None:
    drawing = _drawing("m c b", "b a", "c a", "a")
    assert drawing == ["* m", "|\\", "| * b", "* | c", "|/", "* a"]


def test_what_is_left_out_ends_nowhere() -> None:
    assert _drawing("m c b", "b x") == ["* m", "|\\", "| * b"]
