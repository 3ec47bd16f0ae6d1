"""``omnigraph resolve``: dry runs, review of pairs, JSON, and mistakes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.features.cli.run import run
from tests.features.resolve.people import graph_of, person

RULES = "type: Person\nblocks: [email]\ncompare: {name: jaro_winkler, email: exact}\n"


@pytest.fixture
def place(tmp_path: Path) -> Path:
    graph_of(
        tmp_path / "g",
        person("a", "Ada Lovelace", email="ada@x.org"),
        person("b", "Ada Lovelase", email="ada@x.org"),
        person("c", "Alan Turing", email="alan@x.org"),
        person("d", "Alan Turin", email="alan@x.org"),
    )
    (tmp_path / "rules.yaml").write_text(RULES)
    return tmp_path


def test_a_dry_run_shows_clusters_and_changes_nothing(place: Path) -> None:
    shown = run("resolve", place / "g", "--rules", place / "rules.yaml", "--dry-run")
    assert shown.exit_code == 0, shown.output
    assert 'a        | ["a","b"]' in shown.output
    assert "would fold 2 clusters, 2 entities on main; nothing was changed" in shown.output
    changes = run("resolve", place / "g", "--rules", place / "rules.yaml", "--dry-run", "--show", "changes")
    assert "delete" in changes.output
    assert len(json.loads(run("commit", "list", place / "g", "--json").output)["commits"]) == 2


def test_reviewed_pairs_are_applied(place: Path) -> None:
    pairs = place / "pairs.csv"
    run("resolve", place / "g", "--rules", place / "rules.yaml", "--dry-run", "--show", "pairs", "--output", pairs)
    lines = pairs.read_text().splitlines()
    assert len(lines) == 3
    pairs.write_text("\n".join(lines[:2]) + "\n")
    done = run("resolve", place / "g", "--pairs", pairs, "--type", "Person", "--branch", "r", "--from", "main")
    assert done.exit_code == 0, done.output
    assert "folded 1 cluster, 1 entity on r, commit" in done.output


def test_json_has_clusters_pairs_and_the_commit(place: Path) -> None:
    command = ("resolve", place / "g", "--rules", place / "rules.yaml", "--json", "--quiet")
    preview = json.loads(run(*command, "--dry-run").output)
    assert preview["dry_run"]
    assert preview["clusters_merged"] == 2
    made = json.loads(run(*command, "--message", "tidy").output)
    assert made["commit"]["message"] == "tidy"
    assert [cluster["ids"] for cluster in made["clusters"]] == [["a", "b"], ["c", "d"]]
    assert {pair["left"] for pair in made["pairs"]} == {"a", "c"}
    assert made["entities_folded"] == 2
    again = json.loads(run(*command).output)
    assert again["commit"] is None
    strict = json.loads(run(*command, "--threshold", "1").output)
    assert strict["pairs"] == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "pass either --rules or --pairs"),
        (("--pairs", "x.csv"), "--pairs needs --type"),
        (("--pairs", "x.csv", "--type", "Person", "--threshold", "0.5"), "--threshold needs --rules"),
        (("--rules", "rules.yaml", "--show", "changes"), "--show changes needs --dry-run"),
        (("--rules", "untyped.yaml"), "names no type"),
        (("--rules", "list.yaml"), "contains no rules"),
        (("--rules", "wrong.yaml"), "did you mean `compare`?"),
        (("--rules", "missing.yaml"), "missing.yaml"),
    ],
)
def test_mistakes_are_explained(
    place: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], message: str
) -> None:
    monkeypatch.chdir(place)
    (place / "untyped.yaml").write_text("compare: {name: exact}\n")
    (place / "list.yaml").write_text("[]\n")
    (place / "wrong.yaml").write_text("type: Person\ncompar: {name: exact}\n")
    failed = run("resolve", place / "g", *arguments)
    assert failed.exit_code != 0
    assert message in failed.output
