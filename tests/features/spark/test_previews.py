"""Loads with Spark that are only looked at: read, checked and counted like the others, and nothing of them stays."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from omnigraph.engine.graph import Graph, create
from omnigraph.errors import NotFoundError, ViolationError
from tests.features.cli.graphs import as_json
from tests.features.spark.outcomes import data_files, write_lines

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SCHEMA = """
node Person {
    name: String @key
    age: I32?
}
edge Knows: Person -> Person
"""
MAPPING = """
sources: {people: people.csv}
load:
  - source: people
    node: Person
"""


def person(name: str) -> dict[str, Any]:
    return {"type": "Person", "data": {"name": name}}


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    """Three persons, and an edge."""
    made = create(tmp_path / "graph", SCHEMA, durability="os")
    made.load([*(person(name) for name in "abc"), {"edge": "Knows", "from": "a", "to": "b"}], "append")
    return made


@pytest.fixture
def data(tmp_path: Path) -> str:
    edges = [{"edge": "Knows", "from": name, "to": "a"} for name in "bcd"]
    return write_lines(tmp_path / "data.jsonl", [*(person(name) for name in "abcde"), *edges])


def seen(graph: Graph) -> tuple[str, list[str], set[str], list[Path]]:
    """The commit, the branches, the files of tables, and the journals."""
    names = [branch.name for branch in graph.branches()]
    return graph.snapshot().commit_id, names, data_files(graph), list(Path(graph.uri).glob("jobs/*"))


@pytest.mark.parametrize("checks", ["driver", "cluster"])
def test_a_preview_counts_like_the_commit_and_leaves_nothing(
    graph: Graph, data: str, spark: SparkSession, checks: str
) -> None:
    before = seen(graph)
    counts = {}
    for mode in ("merge", "overwrite"):
        preview = graph.load_spark_preview(data, mode, spark=spark, checks=checks, partitions=2)
        assert (preview.branch, preview.head) == ("main", before[0])
        counts[mode] = [(item.key, item.inserted, item.updated, item.deleted) for item in preview.tables]
        assert seen(graph) == before
    assert counts["merge"] == [("edge:Knows", 3, 0, 0), ("node:Person", 2, 0, 0)]
    assert counts["overwrite"] == [("edge:Knows", 3, 0, 1), ("node:Person", 2, 0, 0)]
    commit = graph.load(data, "merge").commit
    assert sorted((item.key, item.inserted, item.updated, item.deleted) for item in commit.tables) == counts["merge"]


def test_a_preview_tells_what_is_wrong_and_makes_no_branch(
    graph: Graph, data: str, spark: SparkSession, tmp_path: Path
) -> None:
    before = seen(graph)
    bad = write_lines(tmp_path / "bad.jsonl", [person("f"), {"edge": "Knows", "from": "f", "to": "nobody"}])
    with pytest.raises(ViolationError, match=r"bad\.jsonl:2: "):
        graph.load_spark_preview(bad, "append", spark=spark)
    with pytest.raises(NotFoundError, match="there is no branch 'b'"):
        graph.load_spark_preview(data, "merge", spark=spark, branch="b")
    assert graph.load_spark_preview(data, "merge", spark=spark, branch="b", base="main").branch == "b"
    assert seen(graph) == before


def test_a_preview_names_the_rows_that_a_load_would_reject_and_writes_no_file(
    graph: Graph, spark: SparkSession, tmp_path: Path
) -> None:
    before, rejected = seen(graph), tmp_path / "rejected.jsonl"
    rows = [person("f"), {"edge": "Knows", "from": "f", "to": "nobody"}, {"type": "Person", "data": {"name": 1}}]
    bad = write_lines(tmp_path / "bad.jsonl", [*rows, {"edge": "Knows", "from": "f", "to": "a"}])
    known = graph.load_preview(bad, "merge", reject_to=rejected)
    for checks in ("driver", "cluster"):
        found = graph.load_spark_preview(bad, "merge", spark=spark, checks=checks, reject_to=rejected)
        assert found.rejected == known.rejected == 2
        assert sorted(map(str, found.rejections)) == sorted(map(str, known.rejections))
        assert [(item.key, item.inserted) for item in found.tables] == [("edge:Knows", 1), ("node:Person", 1)]
    options = ("--mode", "merge", "--engine", "spark", "--dry-run", "--reject-to", rejected)
    dry: Any = as_json("load", graph.uri, "--data", bad, *options)
    assert (dry["dry_run"], dry["rejected"]) == (True, 2)
    assert seen(graph) == before
    assert not rejected.exists()


def test_the_command_has_dry_runs_and_profiles(graph: Graph, data: str, spark: SparkSession, tmp_path: Path) -> None:
    before = seen(graph)
    (tmp_path / "people.csv").write_text("name,age\na,1\nz,2\n")
    mapping = tmp_path / "mapping.yaml"
    mapping.write_text(MAPPING)
    words = ("load", graph.uri, "--mode", "merge")
    dry: Any = as_json(*words, "--mapping", mapping, "--dry-run")
    assert dry["dry_run"] is True
    assert [(item["table_key"], item["inserted"], item["updated"]) for item in dry["tables"]] == [("node:Person", 1, 1)]
    assert seen(graph) == before
    done: Any = as_json(*words, "--data", data, "--engine", "spark", "--stats")
    steps = [(step["operator"], step["rows"]) for step in done["profile"] if step["depth"] == 1]
    assert steps == [("Read", 8), ("Check", 8), ("Stage", 5), ("Publish", 1)]
