"""Decimals, times of day, durations, UUIDs and JSON values mean the same on Spark."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.features.scalars.products import QUESTIONS, RECORDS, SCHEMA, Question
from tests.promises.parity.both import BothEngines, made_both

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="module")
def products(tmp_path_factory: pytest.TempPathFactory, spark: SparkSession) -> BothEngines:
    return made_both(tmp_path_factory.mktemp("products") / "g", SCHEMA, RECORDS, spark)


@pytest.mark.parametrize("question", QUESTIONS.values(), ids=QUESTIONS)
def test_both_engines_give_the_answer(products: BothEngines, question: Question) -> None:
    before = products.queries_run
    products.query(question.text, question.params)
    assert products.queries_run == before + 1


def test_spark_loads_and_writes_the_same_values(products: BothEngines, spark: SparkSession, tmp_path: Path) -> None:
    import omnigraph

    lines = tmp_path / "all.jsonl"
    lines.write_bytes(b"".join(products.export()))
    graph = omnigraph.create(tmp_path / "g", SCHEMA, durability="os")
    graph.load_spark(str(lines), mode="append", spark=spark)
    assert b"".join(graph.export()) == b"".join(products.export())
