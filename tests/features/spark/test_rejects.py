"""Loads that set bad rows aside: the rest is one commit, and every rejected row is in the file with its reasons."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from omnigraph.engine.graph import Graph, create
from omnigraph.errors import AlreadyExistsError, LimitExceeded, UsageError, ViolationError
from omnigraph.write import limits
from tests.features.cli.run import run
from tests.features.spark.meanwhile import CHECKS, meanwhile
from tests.features.spark.outcomes import data_files, lines, write_lines

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SCHEMA = """
node Person {
    name: String @key
    mail: String? @unique
    age: I32?
    @range(age, 0..150)
}
node Note {
    text: String?
}
edge Knows: Person -> Person @card(0..3)
"""
COMMITTED = [
    {"type": "Person", "data": {"name": "old", "mail": "old@x"}},
    {"type": "Person", "data": {"name": "older", "mail": "older@x"}},
]


def person(name: str, **data: Any) -> dict[str, Any]:
    return {"type": "Person", "data": {"name": name, **data}}


def knows(source: str, target: str, id_: str) -> dict[str, Any]:
    return {"edge": "Knows", "from": source, "to": target, "data": {"id": id_}}


GOOD = [person(f"p{number}", age=number, mail=f"{number}@x") for number in range(20)]
BAD: list[tuple[dict[str, Any] | str, str]] = [
    ('{"type": "Person", ', "invalid JSON"),
    (person("aged", age=200), "@range violation on Person.age"),
    ({"type": "Persn", "data": {}}, "unknown"),
    (person("wrong", age="much"), "age"),
    (person("twin", mail="3@x"), "@unique violation on Person.mail"),
    (person("copy", mail="old@x"), "held by 'old' and 'copy'"),
    (person("again", age=1), "occurs again later: the last occurrence wins"),
    (person("again", age=2, mail="4@x"), "@unique violation on Person.mail"),
    (knows("p1", "nobody", "k1"), "dst 'nobody' not found in Person"),
    # Its end is there only until the checks of the end itself.
    (knows("aged", "p1", "k2"), "src 'aged' not found in Person"),
    (knows("p1", "twin", "k3"), "dst 'twin' not found in Person"),
    ({"type": "Note", "data": {"id": "n", "txt": ""}}, "txt"),
]
EDGES = [knows("p1", "p2", "good"), knows("p2", "old", "too")]


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    made = create(tmp_path / "graph", SCHEMA, durability="os")
    made.load(COMMITTED, "append")
    return made


def mixed() -> list[dict[str, Any] | str]:
    """Good and bad lines, one after the other."""
    given: list[dict[str, Any] | str] = []
    for number, record in enumerate([*GOOD, *EDGES]):
        given += [record, *([BAD[number][0]] if number < len(BAD) else [])]
    return given


def rejected(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.mark.parametrize(("mode", "partitions"), [("append", 1), ("merge", 7)])
def test_bad_rows_are_set_aside_and_the_rest_is_one_commit(
    graph: Graph, spark: SparkSession, tmp_path: Path, mode: str, partitions: int
) -> None:
    given = mixed()
    source = write_lines(tmp_path / "data.jsonl", given)
    aside = tmp_path / "rejected.jsonl"
    before = len(list(graph.commits()))
    loaded = graph.load_spark(source, mode, spark=spark, partitions=partitions, reject_to=aside)
    found = rejected(aside)
    assert [said["record"] for said in found] == [record for record, _ in BAD]
    assert [said["file"] for said in found] == [source] * len(BAD)
    assert [given[said["line"] - 1] for said in found] == [record for record, _ in BAD]
    for said, (_, message) in zip(found, BAD, strict=True):
        assert any(message in reason["message"] for reason in said["reasons"]), (said, message)
        assert all(reason["code"] for reason in said["reasons"])
    assert (loaded.rejected, loaded.nodes, loaded.edges) == (len(BAD), {"Person": 20}, {"Knows": 2})
    assert len(list(graph.commits())) == before + 1
    # Exactly what the rest alone would have given.
    other = create(tmp_path / "other", SCHEMA, durability="os")
    other.load(COMMITTED, "append")
    other.load([*GOOD, *EDGES], mode)
    assert lines(graph) == lines(other)
    assert graph.verify().is_clean


MESSY: list[dict[str, Any] | str] = [
    *GOOD,
    person("old", mail="older@x"),
    # Fine as long as 'old' gives its value up, which only a row does that is rejected.
    person("next", mail="old@x"),
    person("p3", mail="again@x"),
    person("again", mail="again@x"),
    {"type": "Note", "data": {"id": "n", "text": "first"}},
    {"type": "Note", "data": {"id": "n", "text": "last"}},
    *(record for record, _ in BAD),
    *EDGES,
    knows("p4", "next", "k4"),
    knows("p1", "older", "k5"),
]


@pytest.mark.parametrize(
    "mode", [*(pytest.param(mode, marks=pytest.mark.long) for mode in ("append", "overwrite")), "merge"]
)
def test_the_cluster_and_the_driver_reject_the_same_rows_for_the_same_reasons(
    graph: Graph, spark: SparkSession, tmp_path: Path, mode: str
) -> None:
    source = write_lines(tmp_path / "data.jsonl", MESSY)
    told = []
    for checks in ("driver", "cluster"):
        graph.create_branch(checks)
        aside = tmp_path / f"{checks}.jsonl"
        loaded = graph.load_spark(
            source, mode, branch=checks, spark=spark, partitions=3, checks=checks, reject_to=aside
        )
        moved = [(change.key, change.inserted, change.updated, change.deleted) for change in loaded.commit.tables]
        told.append((loaded.rejected, moved, lines(graph, checks), aside.read_text()))
    assert told[0] == told[1]
    assert told[0][0] > len(BAD)
    assert graph.verify().is_clean


def test_ids_that_exist_are_rejected_by_an_append_and_replaced_by_a_merge(
    graph: Graph, spark: SparkSession, tmp_path: Path
) -> None:
    source = write_lines(tmp_path / "data.jsonl", [person("old", age=5), person("new")])
    aside = tmp_path / "rejected.jsonl"
    assert graph.load_spark(source, "append", spark=spark, reject_to=aside).rejected == 1
    [said] = rejected(aside)
    assert said["reasons"] == [{"code": "duplicate_id", "message": "Person 'old' exists already"}]
    again = tmp_path / "again.jsonl"
    assert graph.load_spark(source, "merge", spark=spark, reject_to=again).rejected == 0
    assert not again.exists()


def test_rows_that_stay_because_others_are_rejected_are_looked_at_again(
    graph: Graph, spark: SparkSession, tmp_path: Path
) -> None:
    # Taking over a value is fine while its holder gives it up, but the row with which it does so is bad.
    given = [person("older", mail="old@x"), person("old", mail="0@y", age=999)]
    source = write_lines(tmp_path / "data.jsonl", given)
    aside = tmp_path / "rejected.jsonl"
    loaded = graph.load_spark(source, "merge", spark=spark, reject_to=aside)
    assert (loaded.total, loaded.rejected) == (0, 2)
    assert len(lines(graph)) == 2
    assert graph.verify().is_clean


@pytest.mark.parametrize("checks", ["driver", "cluster"])
def test_what_is_no_single_rows_fault_ends_the_load_and_leaves_no_file(
    graph: Graph, spark: SparkSession, tmp_path: Path, checks: str
) -> None:
    too_many = [knows("p1", f"p{number}", f"k{number}") for number in range(4)]
    source = write_lines(tmp_path / "data.jsonl", [*GOOD, *too_many, "{"])
    head, files = graph.snapshot().commit_id, data_files(graph)
    aside = tmp_path / "rejected.jsonl"
    with pytest.raises(ViolationError, match="@card"):
        graph.load_spark(source, "append", spark=spark, checks=checks, reject_to=aside)
    assert not list(tmp_path.glob("rejected*"))
    assert (graph.snapshot().commit_id, data_files(graph)) == (head, files)


def test_nothing_rejected_makes_no_file_and_an_old_one_is_not_touched(
    graph: Graph, spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    good = write_lines(tmp_path / "good.jsonl", GOOD)
    aside = tmp_path / "rejected.jsonl"
    assert graph.load_spark(good, "append", spark=spark, reject_to=aside).rejected == 0
    assert not list(tmp_path.glob("rejected*"))
    aside.write_text("mine")
    with pytest.raises(AlreadyExistsError, match="already exists"):
        graph.load_spark(good, "merge", spark=spark, reject_to=aside)
    assert aside.read_text() == "mine"
    with pytest.raises(UsageError, match="cannot write"):
        graph.load_spark(good, "merge", spark=spark, reject_to=tmp_path / "missing" / "x")
    monkeypatch.setattr(limits, "REJECTED_ROWS_MAX", 2)
    with pytest.raises(LimitExceeded, match="more than 2 rows would be rejected"):
        graph.load_spark(write_lines(tmp_path / "bad.jsonl", ["{"] * 3), spark=spark, reject_to=tmp_path / "x")
    assert not (tmp_path / "x").exists()


@pytest.mark.parametrize("checks", CHECKS)
def test_what_others_take_away_meanwhile_is_rejected_too(
    graph: Graph, spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, checks: str
) -> None:
    other = Graph(graph._store)
    checked = meanwhile(monkeypatch, checks, lambda number: number or other.load([person("p3")], "append"))
    source = write_lines(tmp_path / "data.jsonl", [*GOOD, "{"])
    aside = tmp_path / "rejected.jsonl"
    loaded = graph.load_spark(source, "append", spark=spark, partitions=3, checks=checks, reject_to=aside)
    assert checked == [0, 1]
    assert (loaded.rejected, loaded.total) == (2, 19)
    assert [said["record"] for said in rejected(aside)] == [GOOD[3], "{"]


def test_the_command_says_how_many_were_rejected_and_where_they_are(
    graph: Graph, spark: SparkSession, tmp_path: Path
) -> None:
    source = write_lines(tmp_path / "data.jsonl", [*GOOD, "{"])
    aside = tmp_path / "rejected.jsonl"
    words = ("load", graph.uri, "--data", source, "--mode", "append", "--reject-to", aside, "--engine", "spark")
    result = run(*words)
    assert result.exit_code == 0, result.output
    assert f"1 row was rejected and is in {aside}" in result.stdout
    assert len(rejected(aside)) == 1
