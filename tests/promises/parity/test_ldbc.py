"""The queries of the LDBC example give the same answers on Spark."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.features.examples import ldbc

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.mark.long
def test_spark_answers_the_queries_of_the_benchmarks_as_the_embedded_engine_does(
    spark: SparkSession, tmp_path: Path
) -> None:
    network = ldbc.made(tmp_path / "network.omni")
    for question in ldbc.questions():
        frame = network.query(
            ldbc.text(f"{question.file}.gq"), question.params, name=question.name, engine="spark", spark=spark
        )
        found = frame.toArrow().to_pylist()
        wanted = ldbc.answer(network, question)
        assert ldbc.comparable(question, found) == ldbc.comparable(question, wanted), question
