"""`analyze` and `sql`: what they show, what they write, and the documents that programs get."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.features.cli.graphs import as_json, everything, head, write_lines
from tests.features.cli.run import run

SCHEMA = """node Person {
  name: String @key
  rank: F64?
  group: I64?
}

node City {
  name: String @key
  group: I64?
}

edge Knows: Person -> Person {
  km: F64?
}

edge Lives: Person -> City
"""
PAIRS = [("Ada", "Alan"), ("Alan", "Grace"), ("Grace", "Ada"), ("Edsger", "Ada")]


@pytest.fixture
def graph(tmp_path: Path) -> Path:
    (tmp_path / "g.pg").write_text(SCHEMA, encoding="utf-8")
    names = ["Ada", "Alan", "Grace", "Edsger", "Zuse"]
    records: list[dict[str, object]] = [{"type": "Person", "data": {"name": name}} for name in names]
    records += [{"type": "City", "data": {"name": "London"}}, {"edge": "Lives", "from": "Ada", "to": "London"}]
    records += [{"edge": "Knows", "from": source, "to": target, "data": {"km": 2.5}} for source, target in PAIRS]
    data = write_lines(tmp_path / "g.jsonl", records)
    assert run("init", tmp_path / "g.omni", "--schema", tmp_path / "g.pg", "--quiet").exit_code == 0
    loaded = run("load", tmp_path / "g.omni", "--data", data, "--mode", "append", "--quiet")
    assert loaded.exit_code == 0, loaded.output
    return tmp_path / "g.omni"


def test_ranks_are_shown_from_the_top(graph: Path) -> None:
    result = run("analyze", "pagerank", "--edges", "Knows", "--top", "2", "--store", graph)
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert lines[0] == "2 rows from branch main via pagerank"
    assert [line.split(" | ")[1].strip() for line in lines[3:5]] == ["Ada", "Alan"]
    assert "converged: yes" in lines[5]


def test_rounds_are_kept_where_one_says_until_the_end(graph: Path) -> None:
    place = graph.parent / "rounds"
    words = ("analyze", "pagerank", "--edges", "Knows", "--store", graph)
    assert as_json(*words, "--checkpoint", place) == as_json(*words)
    assert list(place.iterdir()) == []


def test_the_document_has_rows_facts_and_what_was_written(graph: Path) -> None:
    words = ("analyze", "components", "--edges", "Knows", "--store", graph)
    before = everything(graph)
    document = as_json(*words)
    assert document["facts"] == {"components": 2, "largest": 4}
    assert document["written"] is None
    assert {path: data for path, data in everything(graph).items() if not path.startswith("cache/")} == before
    written = as_json(*words, "--write", "group", "--as", "ann", "--all", "--quiet")
    assert written["row_count"] == 5
    commit = as_json("commit", "show", "--store", graph, head(graph))
    assert (commit["kind"], commit["actor_id"]) == ("load", "ann")
    rows = as_json("sql", 'select name, "group" from Person order by name', "--store", graph)["rows"]
    assert rows == [{"name": name, "group": int(name == "Zuse")} for name in ("Ada", "Alan", "Edsger", "Grace", "Zuse")]


def test_results_go_to_a_branch_of_their_own(graph: Path) -> None:
    result = run(
        "analyze", "degrees", "--edges", "Knows", "--column", "in_degree", "--write", "group",
        "--into", "counted", "--from", "main", "--store", graph,
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    assert "ok: 5 nodes changed on counted, commit 01" in result.stdout
    assert "omnigraph analyze degrees" in result.stderr
    rows = as_json("sql", 'select name from Person where "group" = 2', "--store", graph, "--branch", "counted")["rows"]
    assert rows == [{"name": "Ada"}]
    assert as_json("sql", 'select count("group") n from Person', "--store", graph)["rows"] == [{"n": 0}]


def test_every_algorithm_runs(graph: Path) -> None:
    def facts(*words: object) -> object:
        return as_json("analyze", *words, "--store", graph)["facts"]

    assert facts("triangles", "--edges", "Knows") == {"triangles": 1}
    assert facts("components", "--edges", "Knows", "--strong") == {"components": 3, "largest": 3}
    assert facts("shortest-paths", "--edges", "Knows", "--source", "Edsger") == {"reached": 4, "farthest": 3}
    weighed = facts("shortest-paths", "--edges", "Knows", "--source", "Ada", "--weight", "km", "--undirected")
    assert weighed == {"reached": 4, "farthest": 2.5}
    assert facts("shortest-paths", "--source", "City:London", "--undirected", "--max-distance", "1") == {
        "reached": 2,
        "farthest": 1,
    }
    assert facts("label-propagation", "--edges", "Knows", "--max-iterations", "1")["iterations"] == 1  # type: ignore[index] # a document
    assert facts("pagerank", "--damping", "0", "--tolerance", "1e-9")["iterations"] == 1  # type: ignore[index] # as above


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("analyze", "pagerank", "--edges", "Knos"), 1, "there is no edge type 'Knos'"),
        (
            ("analyze", "pagerank", "--edges", "Knows", "--write", "score"),
            2,
            "add the line `score: F64?` to node Person",
        ),
        (("analyze", "degrees", "--top", "3", "--all"), 2, "pass either --top or --all"),
        (("analyze", "degrees", "--into", "x"), 2, "--into and --from need --write"),
        (("analyze", "degrees", "--column", "rank"), 2, "degrees gives no 'rank'"),
        (("analyze", "shortest-paths"), 2, "--source"),
        (("sql", "delete from Person"), 1, "expected a select statement, found delete"),
        (("sql", "select * from Persn"), 1, "no table 'Persn'"),
        (("sql", "select 1", "--json", "--format", "csv"), 2, "pass either --json or --format"),
    ],
)
def test_mistakes_are_told_and_change_nothing(graph: Path, words: tuple[str, ...], code: int, said: str) -> None:
    before = head(graph)
    result = run(*words, "--store", graph)
    assert result.exit_code == code, result.output
    assert said in result.output
    assert head(graph) == before


def test_sql_has_formats_parameters_and_moments(graph: Path) -> None:
    before = head(graph)
    run("mutate", "--store", graph, "-e", 'query add() { insert City { name: "Wien" } }')
    text = "select name from City where name >= $low order by name"
    words = ("sql", text, "--params", json.dumps({"low": "L"}), "--store", graph)
    assert run(*words, "--format", "csv").stdout.splitlines() == ["name", "London", "Wien"]
    assert run(*words, "--format", "csv", "--at", before).stdout.splitlines() == ["name", "London"]
    assert run(*words).stdout.splitlines()[0] == "2 rows from branch main via sql"
