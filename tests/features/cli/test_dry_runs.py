"""`--dry-run` says what the same command does without it, and changes nothing; `--stats` tells what was done."""

import json
from pathlib import Path
from typing import Any

import pytest

import omnigraph
from tests.features.cli.graphs import add, as_json, everything, write_lines
from tests.features.cli.run import run

LINES = [
    {"type": "Person", "data": {"name": "Ada", "age": 1}},
    {"type": "Person", "data": {"name": "Alan"}},
    {"type": "Person", "data": {"name": "Grace"}},
]
DROP = 'query drop() { delete Person where name = "Ada" }'


def _changes(document: Any) -> list[tuple[str, int, int, int]]:
    return [(item["table_key"], item["inserted"], item["updated"], item["deleted"]) for item in document["tables"]]


@pytest.mark.parametrize(("mode", "counts"), [("merge", (1, 1, 0)), ("overwrite", (1, 1, 0))])
def test_a_load_is_counted_as_its_commit_counts_it(
    graph: Path, tmp_path: Path, mode: str, counts: tuple[int, int, int]
) -> None:
    data = write_lines(tmp_path / "data.jsonl", LINES)
    words = ("load", graph, "--data", data, "--mode", mode)
    before = everything(graph)
    dry = as_json(*words, "--dry-run")
    assert (dry["dry_run"], dry["branch"]) == (True, "main")
    result = run(*words, "--dry-run")
    assert (result.exit_code, result.stderr) == (0, "")
    assert f"would change {sum(counts)} entities on main; nothing was changed" in result.stdout
    assert everything(graph) == before
    done: Any = as_json(*words)
    assert _changes(dry) == _changes(done["commit"]) == [("node:Person", *counts)]


def test_a_load_into_a_branch_that_would_be_made_makes_none(graph: Path, tmp_path: Path) -> None:
    data = write_lines(tmp_path / "data.jsonl", LINES)
    before = everything(graph)
    words = ("load", graph, "--data", data, "--mode", "merge", "--branch", "b", "--dry-run")
    assert "there is no branch 'b'" in run(*words).stderr
    assert as_json(*words, "--from", "main")["branch"] == "b"
    assert everything(graph) == before


def test_a_dry_run_of_wrong_input_says_what_is_wrong(graph: Path, tmp_path: Path) -> None:
    data = write_lines(tmp_path / "data.jsonl", [{"edge": "Knows", "from": "Ada", "to": "Nobody"}])
    result = run("load", graph, "--data", data, "--mode", "append", "--dry-run")
    assert (result.exit_code, result.stdout) == (1, "")
    assert f"{data}:1: " in result.stderr


def test_a_mutation_is_counted_as_its_commit_counts_it(graph: Path) -> None:
    before = everything(graph)
    words = ("mutate", "--store", graph, "-e", DROP)
    dry = as_json(*words, "--dry-run")
    assert everything(graph) == before
    done: Any = as_json(*words)
    assert _changes(dry) == _changes(done["commit"]) == [("edge:Knows", 0, 0, 1), ("node:Person", 0, 0, 1)]
    again = run(*words, "--dry-run")
    assert again.stdout == "would change no entities on main; nothing was changed\n"


def test_a_preview_looks_at_what_others_have_done_meanwhile(graph: Path) -> None:
    mine = omnigraph.open(graph)
    assert mine.mutate_preview(DROP).total == 2
    assert run("mutate", "--store", graph, "-e", DROP).exit_code == 0
    assert mine.mutate_preview(DROP).total == 0


def test_a_branch_is_told_with_the_commits_that_only_it_has(graph: Path) -> None:
    assert run("branch", "create", "b", "--store", graph).exit_code == 0
    delete = ("branch", "delete", "b", "--store", graph, "--dry-run")
    assert (
        "would delete branch b and no commits that no other branch contains; nothing was changed" in run(*delete).stdout
    )
    add(graph, "Grace", "--branch", "b")
    before = everything(graph)
    lost: Any = as_json(*delete)
    assert lost["lost_commit_ids"] == [lost["head"]]
    assert (
        "would delete branch b and 1 commit that no other branch contains; nothing was changed" in run(*delete).stdout
    )
    assert everything(graph) == before
    assert "main cannot be deleted" in run("branch", "delete", "main", "--store", graph, "--dry-run").stderr
    assert "there is no branch 'c'" in run("branch", "delete", "c", "--store", graph, "--dry-run").stderr


def test_writes_tell_on_request_what_every_step_did(graph: Path, tmp_path: Path) -> None:
    result = add(graph, "Grace", "--stats")
    assert result.stdout.startswith("ok: ")
    assert [line.split()[-1] for line in result.stderr.splitlines()[:3]] == ["operator", "Mutation", "Read"]
    document = json.loads(add(graph, "Edsger", "--stats", "--json").stdout)
    assert [item["operator"] for item in document["profile"] if item["depth"] < 2] == [
        "Mutation",
        "Read",
        "Check",
        "Stage",
        "Publish",
    ]
    data = write_lines(tmp_path / "data.jsonl", LINES)
    loaded: Any = as_json("load", graph, "--data", data, "--mode", "merge", "--stats")
    assert (loaded["profile"][0]["operator"], loaded["profile"][0]["rows"]) == ("Load", 3)


@pytest.mark.parametrize(
    "words",
    [
        ("--dry-run", "--stats"),
        ("--dry-run", "--resume"),
    ],
)
def test_what_makes_no_sense_together_is_refused(graph: Path, tmp_path: Path, words: tuple[str, ...]) -> None:
    data = write_lines(tmp_path / "data.jsonl", LINES)
    result = run("load", graph, "--data", data, "--mode", "merge", *words)
    assert (result.exit_code, result.stdout) == (2, "")
    assert words[0] in result.stderr


def test_returned_rows_are_the_same_in_a_dry_run_and_in_the_write(graph: Path) -> None:
    text = 'query q() { upsert Person { name: "Ada", age: coalesce(age, 0) + 1 } returning { name, age * 2 as twice } }'
    words = ("mutate", "--store", graph, "-e", text)
    dry = as_json(*words, "--dry-run")
    assert run(*words, "--dry-run").stdout.splitlines()[0].split() == ["name", "twice"]
    done = as_json(*words)
    assert dry["columns"] == done["columns"] == ["name", "twice"]
    assert dry["rows"] == done["rows"]
    assert run(*words).stdout.splitlines()[0].split() == ["name", "twice"]
    assert "rows" not in as_json("mutate", "--store", graph, "-e", DROP, "--dry-run")
