"""``@card`` on Spark: loads, checked by driver or cluster, and merges judge the sources that embedded writes judge."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from omnigraph.engine.graph import Graph, create
from omnigraph.errors import MergeConflicts, ViolationError
from tests.features.spark.outcomes import lines, write_lines
from tests.promises.protocol.cardinality import BASE, CASES, SCHEMA, Case

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

BRANCHES = count(1)
SHORT = {
    ("append", "add above the maximum"),
    ("merge", "move the last away"),
    ("overwrite", "remove both of two"),
    ("overwrite", "delete the source"),
}
"""The sample of the ordinary run; a load takes a second."""


def _walk() -> Iterator[Any]:
    for case in CASES:
        for mode, rows, fits in (
            ("append", case.rows_put(), case.only_adds),
            ("merge", case.rows_put(), case.only_puts),
            ("overwrite", case.rows_after(), True),
        ):
            if fits:
                marks = () if (mode, case.name) in SHORT else (pytest.mark.long,)
                yield pytest.param(mode, rows, case, id=f"{mode}: {case.name}", marks=marks)


@pytest.fixture(scope="module")
def populated(tmp_path_factory: pytest.TempPathFactory) -> Graph:
    graph = create(tmp_path_factory.mktemp("cardinality") / "graph", SCHEMA, durability="os")
    graph.load(BASE.rows_after(), "append")
    return graph


@pytest.mark.parametrize("checks", ["driver", "cluster"])
@pytest.mark.parametrize(("mode", "rows", "case"), list(_walk()))
def test_every_source_that_a_load_touches_satisfies_its_bounds(
    populated: Graph,
    spark: SparkSession,
    tmp_path: Path,
    mode: str,
    rows: list[dict[str, Any]],
    case: Case,
    checks: str,
) -> None:
    embedded, branch = (f"b{next(BRANCHES)}" for _ in range(2))
    populated.create_branch(branch)
    path = write_lines(tmp_path / "rows.jsonl", rows)
    if case.broken:
        with pytest.raises(ViolationError) as refused:
            populated.load_spark(path, mode, branch=branch, spark=spark, partitions=2, checks=checks)
        assert tuple(violation.message for violation in refused.value.samples) == case.broken
        assert lines(populated, branch) == lines(populated)
    else:
        populated.load_spark(path, mode, branch=branch, spark=spark, partitions=2, checks=checks)
        populated.create_branch(embedded)
        populated.load(path, mode, branch=embedded)
        assert lines(populated, branch) == lines(populated, embedded)


def test_a_merge_on_spark_refuses_a_source_that_both_sides_vacate_together(
    populated: Graph, spark: SparkSession
) -> None:
    for branch, target in (("source", "b"), ("target", "c")):
        populated.create_branch(branch)
        populated.mutate(f'query q() {{ delete Owns where to = "{target}" }}', branch=branch)
    with pytest.raises(MergeConflicts) as refused:
        populated.merge("source", "target", engine="spark", spark=spark)
    [conflict] = refused.value.conflicts
    assert (conflict.kind.value, conflict.id) == ("cardinality_violation", "bob")
    assert "has 0 edges (min 1)" in conflict.message
