"""External types answer like stored ones: the same rows in Parquet files, on both executors."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from omnigraph.engine.graph import Graph, create
from omnigraph.errors import CompileError, ParameterError
from tests.features.exec.generate import Writer, make_schema
from tests.features.exec.people import RECORDS, SCHEMA, FixedClock
from tests.features.exec.test_differential import places
from tests.promises.parity.both import BothEngines
from tests.promises.parity.cases import CASES
from tests.promises.parity.test_generated_queries import divided
from tests.support.external import external_copy
from tests.support.sampling import sampled

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Twins = tuple[Graph, BothEngines]
"""A graph, and its copy with external types, which asks both executors."""


@pytest.fixture(scope="module")
def twins(tmp_path_factory: pytest.TempPathFactory, spark: SparkSession) -> Twins:
    directory = tmp_path_factory.mktemp("twins")
    stored = create(directory / "stored", SCHEMA, durability="os", clock=FixedClock())
    stored.load(RECORDS, "append")
    return stored, _both(external_copy(stored, directory, clock=FixedClock()), spark)


def _both(graph: Graph, spark: SparkSession) -> BothEngines:
    both = BothEngines(graph._store, clock=FixedClock())
    both.spark = spark
    return both


def _rows(table: pa.Table) -> list[str]:
    return sorted(map(repr, table.to_pylist()))


@pytest.mark.parametrize("name", sampled(CASES, 3))
def test_every_part_of_the_ir_answers_alike(twins: Twins, name: str) -> None:
    case = CASES[name]
    stored, external = twins
    wanted, found = (graph.query(case.text, case.values).table for graph in (stored, external))
    assert found.schema == wanted.schema
    # Without an order a limit may leave any rows.
    is_free = "limit" in case.rest and "order" not in case.rest
    assert len(found) == len(wanted) if is_free else _rows(found) == _rows(wanted)


def _sweep(spark: SparkSession, seed: int, queries: int, path: Path, partitions: int) -> int:
    """Generated queries on a generated graph and its external copy; returns the number of answers."""
    schema = make_schema(Random(seed))
    stored = create(path / f"g{seed}", schema.text, durability="os", clock=FixedClock())
    # The first place is the head of main after one load.
    next(iter(places(Random(seed), stored, schema)))
    external = _both(external_copy(stored, path / f"e{seed}", clock=FixedClock()), spark)
    answers = 0
    with divided(spark, external, partitions):
        for index in range(queries):
            query = Writer(Random(f"{seed}/external/{index}"), schema).query()
            try:
                wanted: Any = stored.query(query.text, query.params).table
            except (CompileError, ParameterError):
                continue
            found = external.query(query.text, query.params).table
            assert found.schema == wanted.schema
            assert len(found) == len(wanted), f"{schema.text}\n{query.text}\n{query.params}"
            if "limit" not in query.text:
                assert _rows(found) == _rows(wanted), f"{schema.text}\n{query.text}\n{query.params}"
            answers += 1
    return answers


@pytest.mark.parametrize(("seed", "partitions"), [(3, 1), (4, 3)])
def test_generated_queries_answer_alike(spark: SparkSession, seed: int, partitions: int, tmp_path: Path) -> None:
    assert _sweep(spark, seed, 4, tmp_path, partitions) > 1


@pytest.mark.long
def test_generated_queries_answer_alike_over_many_schemas(spark: SparkSession, tmp_path: Path) -> None:
    assert sum(_sweep(spark, seed, 20, tmp_path, (1, 3, 16)[seed % 3]) for seed in range(100, 130)) > 300
