"""Every scalar function and cast means on Spark what it means in one process: the values of the naive implementation.

All calls are columns of one frame, so that they cost one job.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from omnigraph.core.functions import ScalarFunction
from omnigraph.exec.functions.casts import CASTS as KERNEL_CASTS
from omnigraph.query import expressions as ir
from omnigraph.spark.cluster.spark_types import arrow_type, from_spark, spark_type
from omnigraph.spark.query.bound_rows import BoundRows
from omnigraph.spark.query.casts import CASTS
from omnigraph.spark.query.expressions import column
from omnigraph.spark.query.functions import EXPRESSIONS
from tests.features.exec.function_cases import Case, array, cases, differences, plain
from tests.promises.parity.both import changed

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_every_function_and_cast_has_an_expression() -> None:
    assert set(EXPRESSIONS) == set(ScalarFunction)
    assert set(CASTS) == set(KERNEL_CASTS)


def test_every_function_gives_the_values_of_its_definition_on_spark(spark: SparkSession) -> None:
    every = cases()
    rows = max(case.rows for case in every)
    columns: dict[str, pa.Array] = {}
    bound: list[dict[tuple[str, str], str]] = []
    for number, case in enumerate(every):
        names = {}
        for item, values in case.columns:
            name = f"c{number}_{item.name}"
            # Repeated rows, because a function may raise for nulls.
            padded = array([*values, *values[-1:] * (rows - len(values))], item.type)
            columns[name] = padded.cast(arrow_type(spark_type(item.type)))
            names[item.variable, item.name] = name
        bound.append(names)
    frame = spark.createDataFrame(pa.table(columns))
    chosen = [
        column(case.expression, BoundRows(frame, names)).cast(spark_type(case.expression.type)).alias(f"r{number}")
        for number, (case, names) in enumerate(zip(every, bound, strict=True))
    ]
    for settings in ({}, {"spark.sql.session.timeZone": "Asia/Kathmandu", "spark.sql.ansi.enabled": "false"}):
        with changed(spark, settings):
            found = frame.select(*chosen).toArrow()
        wrong = {case.name: bad for number, case in enumerate(every) if (bad := _differences(case, found, number))}
        assert not wrong


def _differences(case: Case, found: pa.Table, number: int) -> list[tuple[object, ...]]:
    assert isinstance(case.expression, ir.Call | ir.Cast)
    values = from_spark(found.column(f"r{number}").combine_chunks(), case.expression.type)
    return differences(case, plain(values)[: case.rows])
