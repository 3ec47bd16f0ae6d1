"""The operator's settings: names for graphs, the usual graph and actor, how rows are shown."""

import json
from pathlib import Path

import pytest

from tests.features.cli.run import run


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file, in a home of its own."""
    monkeypatch.setenv("OMNIGRAPH_HOME", str(tmp_path / "home"))
    (tmp_path / "home").mkdir()
    return tmp_path / "home" / "config.yaml"


def test_a_graph_is_found_by_profile_by_environment_and_as_the_usual_one(
    settings: Path, graph: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.write_text(f"profiles:\n  work: {{store: {graph}}}\n")
    assert run("branch", "list", "--profile", "work").exit_code == 0
    assert run("branch", "list").exit_code == 2
    monkeypatch.setenv("OMNIGRAPH_PROFILE", "work")
    assert run("branch", "list").exit_code == 0
    monkeypatch.delenv("OMNIGRAPH_PROFILE")
    settings.write_text(f"defaults:\n  store: {graph}\n")
    assert run("branch", "list").exit_code == 0


def test_what_the_command_line_says_comes_first(settings: Path, graph: Path, tmp_path: Path) -> None:
    settings.write_text(f"defaults:\n  store: {graph}\nprofiles:\n  work: {{store: {graph}}}\n")
    assert run("branch", "list", "--store", tmp_path / "nothing").exit_code == 1
    assert run("branch", "list", "--store", tmp_path / "nothing", "--profile", "work").exit_code == 1


def test_commits_are_made_by_the_usual_actor(settings: Path, graph: Path) -> None:
    settings.write_text("operator:\n  actor: olga\n")
    assert run("branch", "create", "b", "--store", graph).exit_code == 0
    made = run("branch", "create", "c", "--store", graph, "--as", "ann", "--json", "--quiet")
    assert json.loads(made.stdout)["actor_id"] == "ann"
    details = json.loads(run("branch", "list", graph, "--json").stdout)["details"]
    assert {item["name"]: item["actor_id"] for item in details}["b"] == "olga"


def test_rows_are_shown_as_set(settings: Path, graph: Path) -> None:
    words = ("query", "--store", graph, "-e", "query q() { match { $p: Person } return { $p.name } order { $p.name } }")
    settings.write_text("defaults: {table_max_column_width: 2}\n")
    assert "…" in run(*words).output
    settings.write_text("defaults: {table_max_column_width: 2, table_cell_layout: wrap}\n")
    wrapped = run(*words).output
    assert "…" not in wrapped.split("--", 1)[1]
    settings.write_text("defaults: {output: jsonl}\n")
    assert json.loads(run(*words).output.splitlines()[0])["kind"] == "metadata"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: [", "is not YAML"),
        ("- a", "the file must be a mapping"),
        ("defaults: 7", "defaults must be a mapping"),
        ("operator: {actor: 7}", "operator.actor must be a text, not 7"),
        ("defaults: {output: xml}", "defaults.output must be one of"),
        ("defaults: {table_max_column_width: wide}", "defaults.table_max_column_width must be a number"),
        ("defaults: {server: a, store: b}", "defaults names a server and a store"),
    ],
)
def test_a_file_that_makes_no_sense_is_an_error(settings: Path, text: str, message: str) -> None:
    settings.write_text(text)
    result = run("profile", "list")
    assert result.exit_code == 1
    assert message in result.output


def test_an_unknown_key_is_remarked_on(settings: Path) -> None:
    settings.write_text("operator: {aktor: olga}\nprofiles: {a: {store: x, tsore: y}}\n")
    result = run("profile", "list")
    assert result.exit_code == 0
    assert "operator.aktor is an unknown key" in result.stderr
    assert "profiles.a.tsore is an unknown key" in result.stderr


def test_profiles_are_listed_and_shown(settings: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.write_text("profiles:\n  a: {store: here}\n  b: {}\n  c: {server: s, default_graph: g}\n")
    monkeypatch.setenv("OMNIGRAPH_PROFILE", "a")
    listed = {item["name"]: item for item in json.loads(run("profile", "list", "--json").stdout)}
    assert listed["a"]["active"]
    assert listed["a"]["target"] == "here"
    assert not listed["b"]["valid"]
    assert listed["c"]["scope_kind"] == "server"
    assert "target: here" in run("profile", "show").output
    assert "must name exactly one of" in run("profile", "show", "b").output
    missing = run("profile", "show", "aa")
    assert missing.exit_code == 1
    assert "no such profile: 'aa'" in missing.output
    unknown = run("branch", "list", "--profile", "c")
    assert (unknown.exit_code, "no such server: 's'" in unknown.output) == (1, True)


def test_without_a_profile_in_use_there_is_none_to_show(settings: Path) -> None:
    result = run("profile", "show")
    assert result.exit_code == 1
    assert "no profile is active" in result.output
    assert "no profiles" in run("profile", "list").output
