"""Command lines as users of the reference write them."""

from pathlib import Path

import pytest

from tests.features.cli.graphs import as_json, everything, head, write_lines
from tests.features.cli.run import run


def test_options_may_stand_before_the_command(graph: Path) -> None:
    expected = run("snapshot", graph).stdout
    for words in (
        ["--store", graph, "snapshot"],
        [f"--store={graph}", "--quiet", "--yes", "snapshot"],
        ["-v", "--uri", graph, "--log-format", "json", "snapshot"],
        ["--quiet", "snapshot", graph],
    ):
        assert run(*words).stdout == expected
    made = run("--as", "ann", "--quiet", "--store", graph, "branch", "create", "b")
    assert (made.exit_code, made.stderr) == (0, "")
    assert as_json("branch", "list", graph)["details"][0]["actor_id"] == "ann"  # type: ignore[index]


def test_what_follows_two_dashes_stays_where_it_is(graph: Path) -> None:
    refused = run("--store", graph, "commit", "show", "--", "--json")
    assert "no commit '--json'" in refused.stderr


def test_an_option_that_a_command_does_not_have_is_told_and_help_needs_none(graph: Path) -> None:
    result = run("--store", graph, "version")
    assert (result.exit_code, "--store does not apply to `version`" in result.stderr) == (2, True)
    assert "Graphs:" in run("--store", graph).stdout


@pytest.mark.parametrize("words", [("query", "lint"), ("query", "check"), ("check",), ("lint",)])
def test_query_files_are_checked_under_any_name(words: tuple[str, ...], graph: Path, tmp_path: Path) -> None:
    queries = tmp_path / "q.gq"
    queries.write_text("query q() { match { $p: Persn } return { $p.name } }")
    result = run(*words, "--query", queries, "--store", graph)
    assert result.exit_code == 1
    assert "unknown node type `Persn`" in result.stdout


def test_ingest_is_a_load_that_merges_and_makes_its_branch(graph: Path, tmp_path: Path) -> None:
    data = write_lines(tmp_path / "data.jsonl", [{"type": "Person", "data": {"name": "Ada"}}])
    result = run("ingest", graph, "--data", data, "--branch", "new")
    assert result.exit_code == 0
    assert result.stderr.startswith("note: `ingest` is deprecated, use `load`\n")
    assert "(made from main)" in result.stdout
    refused = run("ingest", graph, "--data", data, "--mode", "append")
    assert "exists already" in refused.stderr


def test_other_names_of_commands_and_options(graph: Path) -> None:
    assert run("schema", "get", graph).stdout == run("schema", "show", graph).stdout
    assert run("export", graph, "--jsonl").stdout == run("export", graph).stdout
    assert run("cleanup", graph, "--keep", "1", "--confirm").exit_code == 0
    old = run("read", "--store", graph, "-e", "query q() { match { $p: Person } return { count($p) as n } }")
    assert (old.exit_code, old.stderr) == (0, "note: `read` is deprecated, use `query`\n")


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (["branch", "lsit"], "did you mean 'list'?"),
        (["schema", "shwo"], "did you mean 'show'?"),
        (["mutaet"], "did you mean 'mutate'?"),
        (["snapshot", "--stor", "x"], "--store"),
        (["load", "--mod", "merge"], "--mode"),
    ],
)
def test_a_typo_in_a_command_or_option_is_corrected(words: list[str], meant: str) -> None:
    result = run(*words)
    assert (result.exit_code, result.stdout) == (2, "")
    assert meant in result.stderr


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (["query", "-e", "query q() { match { $p: Persn } return { $p.name } }"], "Person"),
        (["query", "-e", "query q() { match { $p: Person } return { $p.nmae } }"], "name"),
        (["mutate", "-e", 'query q() { insert Person { nmae: "x" } }'], "name"),
        (["snapshot", "--branch", "mian"], "main"),
        (["export", "--type", "Persn"], "Person"),
        (["diff", "main", "mian"], "main"),
        (["branch", "merge", "mian"], "main"),
        (["analyze", "pagerank", "--edges", "Know"], "Knows"),
        (["sql", "select * from Persn"], "Person"),
    ],
)
def test_a_typo_in_a_name_of_the_graph_is_corrected(graph: Path, words: list[str], meant: str) -> None:
    before = everything(graph)
    result = run(*words, "--store", graph)
    assert (result.exit_code, result.stdout) == (1, "")
    assert f"`{meant}`" in result.stderr or f"'{meant}'" in result.stderr or f'"{meant}"' in result.stderr
    assert everything(graph) == before
    assert head(graph)
