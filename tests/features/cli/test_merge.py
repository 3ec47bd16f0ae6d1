"""`branch merge` and `merge preview`: what they do, what they say, and the documents that programs get."""

import json
from pathlib import Path

import pytest

from tests.features.cli.graphs import add, as_json, everything, exported, head
from tests.features.cli.run import run

AGE = "query age($name: String, $age: I32) { update Person set {age: $age} where name = $name }"


def set_age(graph: Path, name: str, age: int, branch: str = "main") -> None:
    params = json.dumps({"name": name, "age": age})
    assert run("mutate", "--store", graph, "-e", AGE, "--params", params, "--branch", branch).exit_code == 0


@pytest.fixture
def branched(graph: Path) -> Path:
    assert run("branch", "create", "b", "--store", graph, "--quiet").exit_code == 0
    return graph


def test_a_merge_says_what_it_did_to_each_table(branched: Path) -> None:
    add(branched, "Eve", "--branch", "b")
    result = run("branch", "merge", "b", "--store", branched, "--as", "ann", "--message", "why")
    assert result.exit_code == 0, result.output
    assert result.stderr == f"omnigraph branch merge → {branched} (direct, local)\n"
    assert result.stdout.splitlines() == [
        "table        inserted  updated  deleted  how",
        "node:Person         1        0        0  taken whole",
        f"ok: b into main: fast forward, commit {head(branched)}",
    ]
    again = run("branch", "merge", "b", "--store", branched, "--quiet")
    assert again.stdout == "ok: b into main: already up to date\n"


def test_a_merge_as_json_has_the_outcome_and_the_commit(branched: Path) -> None:
    add(branched, "Eve", "--branch", "b")
    set_age(branched, "Ada", 40)
    source = head(branched, "b")
    made = as_json(
        "branch", "merge", "b", "--into", "main", "--store", branched, "--as", "ann", "--delete-branch", "--quiet"
    )
    assert (made["source"], made["target"], made["outcome"], made["actor_id"]) == ("b", "main", "merged", "ann")
    assert made["branch_deleted"] is True
    assert made["source_commit_id"] == source
    commit = made["commit"]
    assert isinstance(commit, dict)
    assert (commit["merged_parent_commit_id"], commit["kind"]) == (source, "merge")
    assert made["tables"] == [
        {"table_key": "node:Person", "inserted": 1, "updated": 0, "deleted": 0, "adopted": False, "conflicts": 0}
    ]
    assert as_json("branch", "list", branched)["branches"] == ["main"]


@pytest.fixture
def conflicting(branched: Path) -> Path:
    set_age(branched, "Ada", 40, "b")
    set_age(branched, "Ada", 50)
    return branched


def test_conflicts_are_an_error_with_all_of_them_and_change_nothing(conflicting: Path) -> None:
    before = everything(conflicting)
    text = run("branch", "merge", "b", "--store", conflicting, "--quiet")
    assert text.exit_code == 1
    assert "error: b cannot be merged into main: 1 conflict; nothing was changed" in text.stderr
    machine = run("branch", "merge", "b", "--store", conflicting, "--quiet", "--json")
    assert machine.exit_code == 1
    told = json.loads(machine.stdout)
    assert told["code"] == "merge_conflicts"
    [conflict] = told["merge_conflicts"]
    assert (conflict["entity_kind"], conflict["type_name"], conflict["entity_id"]) == ("node", "Person", "Ada")
    assert (conflict["kind"], conflict["property"]) == ("divergent_update", "age")
    assert (conflict["base"], conflict["source"], conflict["target"]) == (36, 40, 50)
    assert everything(conflicting) == before


def test_a_preview_shows_conflicts_as_a_table_and_exits_with_1(conflicting: Path) -> None:
    before = everything(conflicting)
    result = run("merge", "preview", "b", "--store", conflicting)
    assert result.exit_code == 1
    assert result.stdout.splitlines()[2:] == [
        "table        id   conflict          property  base  source  target",
        "node:Person  Ada  divergent_update  age       36    40      50",
        "conflicts: b cannot be merged into main: 1 conflict",
    ]
    machine = run("merge", "preview", "b", "--store", conflicting, "--json")
    assert machine.exit_code == 1
    assert json.loads(machine.stdout)["outcome"] == "conflicts"
    assert everything(conflicting) == before


@pytest.mark.parametrize(
    ("words", "age"),
    [
        (["--policy", "source"], 40),
        (["--policy", "source", "--policy", "Person.age=sum"], 54),
        (["--resolve", '{"type": "Person", "take": "target"}'], 50),
        (["--resolutions", "resolutions.json"], 45),
    ],
)
def test_policies_and_resolutions_settle_conflicts(
    conflicting: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], age: int
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("resolutions.json").write_text('[{"id": "Ada", "property": "age", "value": 45}]')
    assert run("merge", "preview", "b", "--store", conflicting, *words).exit_code == 0
    assert run("branch", "merge", "b", "--store", conflicting, "--quiet", *words).exit_code == 0
    assert f'"age":{age}' in exported(conflicting)


def test_a_saved_preview_is_taken_up_unless_a_head_has_moved(conflicting: Path, tmp_path: Path) -> None:
    saved = tmp_path / "preview.json"
    words = ["--store", conflicting, "--policy", "source"]
    assert run("merge", "preview", "b", *words, "--save", saved).stdout.endswith("ok: b into main: merged\n")
    result = run("branch", "merge", "--preview", saved, "--store", conflicting, "--quiet")
    assert result.exit_code == 0, result.output
    again = run("branch", "merge", "--preview", saved, "--store", conflicting, "--quiet")
    assert again.exit_code == 4
    assert "main has moved since the preview was made" in again.stderr


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ([], 2),
        (["b", "--preview", "x"], 2),
        (["main"], 2),
        (["b", "--policy", "sauce"], 2),
        (["b", "--resolve", "nonsense"], 1),
        (["b", "--resolve", "[1]"], 1),
        (["b", "--resolve", '{"take": "mine"}'], 2),
        (["b", "--preview-"], 2),
        (["nobody"], 1),
    ],
)
def test_what_makes_no_sense_is_refused(branched: Path, words: list[str], code: int) -> None:
    before = everything(branched)
    assert run("branch", "merge", *words, "--store", branched, "--quiet").exit_code == code
    assert everything(branched) == before


def test_a_merge_onto_another_head_than_the_named_one_exits_with_4(branched: Path) -> None:
    add(branched, "Eve", "--branch", "b")
    other = head(branched, "b")
    assert run("branch", "merge", "b", "--store", branched, "--if-commit", other, "--quiet").exit_code == 4


def test_an_expression_settles_a_conflict_and_the_engine_is_told(conflicting: Path) -> None:
    rule = {"type": "Person", "property": "age", "expression": "$source + $target - $base"}
    words = ("b", "--store", conflicting, "--engine", "embedded", "--resolve", json.dumps(rule))
    assert as_json("merge", "preview", *words)["resolutions"] == [rule]
    assert as_json("branch", "merge", *words, "--quiet")["engine"] == "embedded"
    people = [json.loads(line)["data"] for line in exported(conflicting, "--type", "Person").splitlines()]
    assert [person["age"] for person in people if person["name"] == "Ada"] == [40 + 50 - 36]
    wrong = run("merge", "preview", "b", "--store", conflicting, "--resolve", json.dumps({**rule, "expression": "$a"}))
    assert wrong.exit_code == 1
    assert "<expression for Person.age>:1:1" in wrong.stderr
