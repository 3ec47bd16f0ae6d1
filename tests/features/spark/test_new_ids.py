"""Ids that ascend are not grouped; duplicates among them and existing ones are found all the same."""

from __future__ import annotations

from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from omnigraph.engine.graph import Graph, create
from omnigraph.spark.load.checks import groups, rules
from omnigraph.spark.load.checks.facts import KeyScan
from omnigraph.spark.load.id_ranges import IdRange, joined_ranges
from tests.features.spark.outcomes import Record, outcome, write_lines

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SCHEMA = """
node Person { name: String @key }
node Note { text: String? }
edge Knows: Person -> Person
"""
BRANCHES = count(1)


def person(name: str) -> Record:
    return {"type": "Person", "data": {"name": name}}


def note(id_: str) -> Record:
    return {"type": "Note", "data": {"id": id_}}


def knows(source: str, target: str, **data: str) -> Record:
    return {"edge": "Knows", "from": source, "to": target, "data": data}


PERSONS = [person(f"p{number}") for number in range(5)]
COMMITTED = [*PERSONS, *(knows("p1", f"p{number}", id=f"e{number}") for number in range(5)), note("n5")]


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Graph:
    made = create(tmp_path_factory.mktemp("new") / "graph", SCHEMA, durability="os")
    made.load(COMMITTED, "append")
    return made


@pytest.fixture
def grouped_tables(monkeypatch: pytest.MonkeyPatch) -> list[set[str]]:
    """The tables whose ids each grouping reads."""
    seen: list[set[str]] = []
    blocks = groups.blocks

    def noted(spark: Any, store: Any, scans: list[KeyScan], buckets: Any) -> Any:
        seen.append({scan.pin.key for scan in scans for emission in scan.emissions if emission.columns == ("id",)})
        return blocks(spark, store, scans, buckets)

    monkeypatch.setattr(rules, "blocks", noted)
    return seen


# The range of the input is that of all its slices, with the committed ids e0 to e4, n5 and generated ones.
NEW = [knows("p1", "p2", id="e5"), knows("p1", "p2", id="e6"), knows("p2", "p1", id="e7"), note("n6"), note("n7")]
EXISTING = [knows("p1", "p2", id="e3"), knows("p1", "p2", id="e31"), knows("p2", "p1", id="e9")]
AROUND = [note("n4"), note("n6"), knows("p1", "p2", id="e01"), knows("p2", "p1", id="e02")]
TWICE = [note("n6"), note("n7"), note("n8"), note("n7"), knows("p1", "p2", id="e8"), knows("p1", "p3", id="e8")]
DANGLING = [knows("p1", "nobody", id="e5"), knows("p1", "p2", id="e6")]


@pytest.mark.parametrize(
    ("records", "mode", "ungrouped"),
    [
        (NEW, "append", {"edge:Knows", "node:Note"}),
        (EXISTING, "append", set()),
        (EXISTING, "merge", set()),
        (AROUND, "merge", {"edge:Knows"}),
        (TWICE, "append", set()),
        (DANGLING, "append", {"edge:Knows"}),
    ],
    ids=["new", "existing", "replaced", "around", "twice", "dangling"],
)
def test_only_ids_that_are_certainly_new_are_not_compared(
    graph: Graph,
    spark: SparkSession,
    tmp_path: Path,
    grouped_tables: list[set[str]],
    records: list[Record],
    mode: str,
    ungrouped: set[str],
) -> None:
    # Two files are two slices.
    files = [write_lines(tmp_path / name, part) for name, part in (("1", records[:2]), ("2", records[2:])) if part]
    number = next(BRANCHES)
    one, other = f"embedded-{number}", f"spark-{number}"
    for branch in (one, other):
        graph.create_branch(branch)
    expected = outcome(graph, one, lambda: graph.load(files, mode, branch=one))
    found = outcome(
        graph, other, lambda: graph.load_spark(files, mode, branch=other, spark=spark, partitions=2, checks="cluster")
    )
    assert found == expected
    tables = {"edge:Knows" if "edge" in record else "node:Note" for record in records}
    assert tables - grouped_tables[0] == ungrouped


def test_generated_ids_of_any_number_of_slices_are_not_compared(
    spark: SparkSession, tmp_path: Path, grouped_tables: list[set[str]]
) -> None:
    graph = create(tmp_path / "graph", SCHEMA, durability="os")
    for _ in range(2):
        rows = [*PERSONS, *(knows(f"p{number % 5}", f"p{number % 3}") for number in range(50))]
        path = write_lines(tmp_path / "rows.jsonl", rows)
        graph.load_spark(path, "merge", spark=spark, partitions=4, checks="cluster")
    assert grouped_tables == [{"node:Person"}] * 2
    assert sum(table.rows for table in graph.snapshot().state.tables.values() if table.key == "edge:Knows") == 100
    assert graph.verify(deep=True).is_clean


@pytest.mark.parametrize(
    ("pieces", "expected"),
    [
        ([["a", "b"], ["c"]], ("a", "c")),
        ([["c"], ["a", "b"]], ("a", "c")),
        ([["a", "c"], ["b"]], None),
        ([["a", "b"], ["b", "c"]], None),
        ([["a", "a"]], None),
        ([["b", "a"]], None),
        ([["a", None, "b"]], None),
        ([["a"], []], None),
        ([["a"], ["c", "b"]], None),
        ([["z", "é"], ["\uffff", "\U0001f600"]], ("z", "\U0001f600")),
        ([], None),
    ],
)
def test_ranges_join_only_if_every_id_is_between_two_others(
    pieces: list[list[str | None]], expected: tuple[str, str] | None
) -> None:
    joined = joined_ranges(IdRange.of(pa.array(piece, pa.string())) for piece in pieces)
    assert (None if joined is None else (joined.first, joined.last)) == expected


def test_ids_at_both_bounds_are_counted() -> None:
    assert IdRange("b", "d").count(pa.array(["a", "b", "c", "d", "e"])) == 3
    assert IdRange("b", "d").count(pa.array([], pa.string())) == 0
