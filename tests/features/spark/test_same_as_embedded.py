"""Spark and the embedded load give the same graph or the same violations, whatever the number of partitions."""

from __future__ import annotations

from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from omnigraph.core.tuning import Tuning
from omnigraph.engine.graph import Graph, create
from omnigraph.write.load.mode import LoadMode
from tests.features.bulk.test_same_as_memory import INPUTS, SCHEMA, SEED
from tests.features.spark.outcomes import data_files, lines, outcome, write_lines
from tests.support.sampling import sampled

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

OF_ONE_ROW = {"malformed", "unknown_type", "type", "required", "unknown_property", "range", "check", "enum", "key"}
"""Kinds of violations that a row has by itself."""

BRANCHES = count(1)


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Graph:
    # A handful of keys is divided among several tasks.
    tuning = Tuning(grouped_facts=40)
    made = create(tmp_path_factory.mktemp("same") / "graph", SCHEMA, durability="os", tuning=tuning)
    made.create_branch("empty")
    made.load(SEED, "append")
    return made


def both(
    graph: Graph, spark: SparkSession, paths: list[str], mode: LoadMode, parent: str, **options: Any
) -> tuple[Any, Any]:
    """The outcome of the embedded load and that of Spark, each on a branch of its own."""
    number = next(BRANCHES)
    one, other = f"embedded-{number}", f"spark-{number}"
    for branch in (one, other):
        graph.create_branch(branch, parent)
    return (
        outcome(graph, one, lambda: graph.load(paths, mode, branch=one)),
        outcome(graph, other, lambda: graph.load_spark(paths, mode, branch=other, spark=spark, **options)),
    )


# A load takes a second, so a failing example is shown as it was drawn and not made smaller.
@settings(
    max_examples=4,
    phases=[Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(
    sources=INPUTS,
    mode=st.sampled_from(LoadMode),
    parent=st.sampled_from(["main", "empty"]),
    partitions=st.sampled_from([1, 2, 7]),
    checks=st.sampled_from(["driver", "cluster"]),
)
def test_any_input_has_the_same_outcome(
    graph: Graph,
    spark: SparkSession,
    tmp_path: Path,
    sources: dict[str, list[dict[str, Any]]],
    mode: LoadMode,
    parent: str,
    partitions: int,
    checks: str,
) -> None:
    paths = [write_lines(tmp_path / name, records) for name, records in sources.items()]
    embedded, with_spark = both(graph, spark, paths, mode, parent, partitions=partitions, checks=checks)
    if "violations" == embedded[0] == with_spark[0] and with_spark != embedded:
        # On Spark, wrong values hide the checks over several rows.
        assert with_spark[2].keys() <= embedded[2].keys()
        assert any(kind.split("/")[0] in OF_ONE_ROW for kind in with_spark[2])
    else:
        assert with_spark == embedded


def person(name: str, **values: Any) -> dict[str, Any]:
    return {"type": "Person", "data": {"name": name, **values}}


def edge(kind: str, source: str, target: str, id_: str, **values: Any) -> dict[str, Any]:
    return {"edge": kind, "from": source, "to": target, "data": {"id": id_, **values}}


BAD_ROWS = [
    person("x1"),
    "{not json",
    person("x2", age="old"),
    "",
    person("x3", age=77),
    {"type": "Perzon", "data": {}},
    person("x4", nick="nobody"),
    {"type": "Person", "data": {"age": 1}},
    {"type": "Person", "data": {"name": "x5", "id": "other"}},
    {"edge": "Knows", "from": "a", "data": {"id": "k"}},
    person("x6", born="1980-13-01"),
    *(person(f"many{number}", age=11) for number in range(30)),
]
TWICE = [person("a", age=1), person("b"), person("a", age=2), person("a", age=3), {"type": "Note", "data": {"id": "n"}}]
HELD_TWICE = [
    person("p", mail="new"),
    person("q", mail="new", height=2.5, born="1999-01-01"),
    person("r", mail="x", height=2.5, born="1999-01-01"),
    edge("Knows", "a", "nobody", "e7"),
    edge("Knows", "no one", "b", "e8", since=1),
    edge("Knows", "a", "p", "e9", since=1),
    edge("Wrote", "p", "n1", "e10"),
    edge("Cites", "n1", "n2", "e11"),
    *(edge("Knows", "b", "c", f"many{number}", since=number) for number in range(25)),
]
ONLY_SOME_NODES = [person("a"), edge("Wrote", "b", "n9", "e20"), edge("Wrote", "a", "n1", "e21")]
MOVED = [
    person("a", mail="y"),
    person("b", mail="x"),
    edge("Wrote", "c", "n1", "e3"),
    edge("Wrote", "c", "n2", "e4"),
    {"type": "Note", "data": {"id": "n1", "text": "first"}},
    {"type": "Note", "data": {"id": "n1", "text": "last"}},
]


@pytest.mark.parametrize("checks", sampled(["cluster", "driver"], 2))
@pytest.mark.parametrize(
    ("records", "mode", "expected"),
    [
        (
            BAD_ROWS,
            LoadMode.MERGE,
            {"malformed", "type", "range", "unknown_type", "required", "key", "unknown_property"},
        ),
        (TWICE, LoadMode.APPEND, {"duplicate_id"}),
        (HELD_TWICE, LoadMode.APPEND, {"unique", "endpoint", "cardinality"}),
        (HELD_TWICE, LoadMode.MERGE, {"unique", "endpoint", "cardinality"}),
        (ONLY_SOME_NODES, LoadMode.OVERWRITE, {"endpoint", "cardinality"}),
        (MOVED, LoadMode.MERGE, None),
        (SEED, LoadMode.APPEND, None),
    ],
    ids=["rows", "twice", "held-append", "held-merge", "stranded", "moved", "exists"],
)
def test_every_kind_of_violation_is_found_with_its_line(
    graph: Graph,
    spark: SparkSession,
    tmp_path: Path,
    records: list[Any],
    mode: LoadMode,
    expected: set[str] | None,
    checks: str,
) -> None:
    before = data_files(graph)
    paths = [write_lines(tmp_path / "one.jsonl", records[:3]), write_lines(tmp_path / "two.jsonl", records[3:])]
    embedded, with_spark = both(graph, spark, paths, mode, "main", partitions=5, checks=checks)
    assert with_spark == embedded
    if expected is not None:
        assert {kind.split("/")[0] for kind in embedded[2]} >= expected
        assert data_files(graph) == before, "a load that failed leaves no file"
    assert graph.verify().is_clean


@pytest.mark.parametrize("partitions", [1, 2, 7, 200])
def test_the_number_of_partitions_does_not_change_the_result(
    spark: SparkSession, tmp_path: Path, partitions: int
) -> None:
    records = [
        *(person(f"p{number}", age=number % 9, mail=f"m{number}") for number in range(60)),
        *({"type": "Note", "data": {"id": f"n{number % 40}", "text": f"{number}"}} for number in range(60)),
        *(edge("Knows", f"p{number}", f"p{(number * 7) % 60}", f"k{number}") for number in range(60)),
    ]
    path = write_lines(tmp_path / "all.jsonl", records)
    made = [create(tmp_path / name, SCHEMA, durability="os") for name in ("spark", "embedded")]
    loaded = made[0].load_spark(path, "merge", spark=spark, partitions=partitions)
    expected = made[1].load(path, "merge")
    assert (loaded.nodes, loaded.edges) == (expected.nodes, expected.edges)
    assert lines(made[0]) == lines(made[1])
    assert made[0].verify().is_clean
