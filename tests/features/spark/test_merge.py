"""Merging on executors: the same graph, the same conflicts and the same counts as in process."""

from __future__ import annotations

import inspect
import random
import shutil
from functools import partialmethod
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import settings
from hypothesis.stateful import run_state_machine_as_test

import omnigraph
from omnigraph.errors import MergeConflicts, UsageError
from omnigraph.spark.jobs import merge as spark_merge
from omnigraph.write.merge import parts as merge_parts
from tests.features.merge import test_merge, test_regressions
from tests.features.merge.graphs import edges, fresh, kinds, people, put
from tests.features.merge.model import SCHEMA
from tests.features.merge.test_laws import MergeMachine
from tests.promises.protocol.graphs import create, edge

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CASES = {
    name: case
    for module in (test_merge, test_regressions)
    for name, case in inspect.getmembers(module, inspect.isfunction)
    if name.startswith("test_") and list(inspect.signature(case).parameters) == ["graph"]
}
SAMPLE = [
    "test_two_agents_that_edit_different_properties_of_one_entity_never_conflict",
    "test_a_full_reload_on_a_branch_merges_back_as_the_rows_it_changed",
    "test_delete_and_reinsert_of_the_same_id_is_an_update",
]
LEFT = [pytest.param(name, marks=pytest.mark.long) for name in sorted(CASES) if name not in SAMPLE]


@pytest.mark.parametrize("name", [*SAMPLE, *LEFT])
def test_what_is_true_of_merges_is_true_on_spark(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str
) -> None:
    merge_there(spark, monkeypatch)
    CASES[name](fresh(tmp_path))


def merge_there(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """All merges of this test."""
    for verb in (omnigraph.Graph.merge, omnigraph.Graph.merge_preview):
        monkeypatch.setattr(omnigraph.Graph, verb.__name__, partialmethod(verb, engine="spark", spark=spark))


@pytest.mark.long
def test_a_merge_on_spark_does_what_the_model_says(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    merge_there(spark, monkeypatch)
    run_state_machine_as_test(MergeMachine, settings=settings(max_examples=8, stateful_step_count=25))


def edited(path: Path, seed: int) -> omnigraph.Graph:
    """A graph of the model's schema that two branches changed at random, the same for a seed."""
    chance = random.Random(seed)
    graph = create(path, SCHEMA)
    people_ = [f"p{number}" for number in range(40)]
    firms = [f"f{number}" for number in range(5)]

    def person(name: str) -> dict[str, Any]:
        values = {"age": chance.choice([None, 1, 2]), "visits": chance.randrange(-20, 40), "best": chance.randrange(3)}
        values |= {"tags": chance.sample("abcd", 2), "title": chance.choice("xyz"), "name": name}
        return {"type": "Person", "data": {**values, "email": f"{name}{chance.randrange(2)}"}}

    def knows(number: int) -> dict[str, Any]:
        return edge("Knows", chance.choice(people_), chance.choice(people_), f"k{number}", since=chance.randrange(3))

    graph.load([*map(person, people_), *({"type": "Firm", "data": {"name": name}} for name in firms)])
    graph.load([knows(number) for number in range(30)])
    graph.create_branch("b")
    for branch in ("b", "main"):
        graph.load([person(name) for name in chance.sample(people_, 15)] + [person(f"new{seed}")], branch=branch)
        graph.load([knows(chance.randrange(60)) for _ in range(12)], branch=branch)
        graph.load(
            [edge("WorksAt", chance.choice(people_), chance.choice(firms), f"{branch}-w{n}") for n in range(1)],
            branch=branch,
        )
        gone = chance.choice(people_)
        graph.mutate("query q($name: String) { delete Person where name = $name }", {"name": gone}, branch=branch)
    return graph


def outcome(graph: omnigraph.Graph, **options: Any) -> Any:
    """The merged graph with what happened to its tables, or all conflicts."""
    try:
        result = graph.merge("b", **options)
    except MergeConflicts as error:
        return error.table, error.conflicts
    assert graph.verify(deep=True).is_clean
    return sorted(b"".join(graph.export()).splitlines()), result.tables


def kept_frames(spark: SparkSession) -> set[int]:
    """The numbers of all that the session's executors keep, also for tests before."""
    context: Any = spark.sparkContext
    return set(context._jsc.getPersistentRDDs().keys())  # the JVM's own


@pytest.mark.parametrize(("seed", "parts"), [pytest.param(1, 1, marks=pytest.mark.long), (2, 3), (3, 16)])
def test_random_histories_are_merged_as_in_process(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, seed: int, parts: int
) -> None:
    monkeypatch.setattr(spark_merge, "part_count", lambda rows, _: parts if rows > 50 else 1)
    graph = edited(tmp_path / "made", seed)
    copies = [shutil.copytree(graph.uri.removeprefix("file://"), tmp_path / name) for name in ("here", "there")]
    made = {"type": "Person", "property": "age", "expression": "$target + 1"}
    settled = {"resolutions": [made, {"take": "source"}, {"take": "delete"}]}
    before = kept_frames(spark)
    for options in ({}, settled) if parts == 3 else (settled,):
        here, there = (omnigraph.open(str(copy), durability="os") for copy in copies)
        expected = outcome(here, engine="embedded", **options)
        found = outcome(there, engine="spark", spark=spark, **options)
        assert found == expected
        assert isinstance(found[0], list) == (options is settled)
    assert kept_frames(spark) <= before


def test_rows_are_read_once_and_only_those_that_can_differ(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    graph = fresh(tmp_path)
    graph.load([{"type": "Person", "data": {"name": f"p{number}", "age": 1}} for number in range(5_000)])
    graph.create_branch("c")
    graph.load([{"type": "Person", "data": {"name": f"p{number}", "age": 2}} for number in range(100)], branch="c")
    graph.load([{"type": "Person", "data": {"name": f"p{number}", "age": 3}} for number in range(50, 100)])
    read: list[int] = []
    assembled = merge_parts.assemble

    def counted(*given: Any) -> Any:
        found = assembled(*given)
        read.append(found.rows_read)
        assert found.merge.rows.num_rows == 0
        return found

    monkeypatch.setattr(spark_merge, "assemble", counted)
    result = graph.merge("c", policy="source", engine="spark", spark=spark)
    # Both images of 100 entities on one side, and of 50 on the other one.
    assert read == [2 * 100 + 2 * 50]
    assert result.engine == "spark"
    assert result.engine == "spark"
    assert people(graph)["p60"] == {"age": 2}
    assert len(people(graph)) == 5_004


def test_what_the_caller_settles_about_constraints_is_settled_on_spark(spark: SparkSession, tmp_path: Path) -> None:
    graph = fresh(tmp_path)
    put(graph, "ann", "b", email="same", visits=60, city="S")
    put(graph, "ann", visits=70)
    put(graph, "bo", email="same")
    graph.load([edge("Knows", "ann", "dan", "new")], branch="b")
    graph.load([edge("Knows", "bo", "ann", "other")])
    graph.mutate('query q() { delete Person where name = "dan" }')
    where: dict[str, Any] = {"engine": "spark", "spark": spark}
    preview = graph.merge_preview("b", **where)
    assert preview.conflicts == graph.merge_preview("b", engine="embedded").conflicts
    assert [kind for kind, _, _ in kinds(preview.conflicts)] == [
        "orphan_edge",
        "unique_violation",
        "value_constraint_violation",
    ]
    gone: list[dict[str, Any]] = [{"kind": "value_constraint_violation", "take": "delete"}]
    alone = graph.merge_preview("b", resolutions=gone, **where).conflicts
    assert alone == graph.merge_preview("b", engine="embedded", resolutions=gone).conflicts
    assert {(kind, id_) for kind, id_, _ in kinds(alone)} == {("orphan_edge", "new"), ("orphan_edge", "other")}
    rules = [
        {"kind": "orphan_edge", "take": "delete"},
        {"kind": "unique_violation", "value": "changed"},
        {"kind": "value_constraint_violation", "value": 99},
    ]
    graph.merge("b", resolutions=rules, **where)
    assert people(graph)["ann"] == {"age": 1, "email": "changed", "visits": 99, "city": "S"}
    assert edges(graph) == {"bo-cy": ("bo", "cy"), "other": ("bo", "ann")}


def test_small_merges_stay_here_and_an_engine_has_a_name(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    graph = fresh(tmp_path)
    put(graph, "ann", "b", age=2)
    put(graph, "bo", age=2)
    preview = graph.merge_preview("b")
    assert preview.engine == "embedded"
    with pytest.raises(UsageError, match="unknown engine"):
        graph.merge("b", engine="duckdb")
    monkeypatch.setenv("OMNIGRAPH_MERGE_SPARK_FROM", "many")
    with pytest.raises(UsageError, match="OMNIGRAPH_MERGE_SPARK_FROM"):
        graph.merge("b")
