"""Expressions that Spark does not have: computed by the embedded evaluator in the Python workers of the executors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import pyarrow as pa

from omnigraph.exec.budget import Budget
from omnigraph.exec.evaluate import Evaluator
from omnigraph.exec.frame import Frame
from omnigraph.exec.search import Searcher
from omnigraph.query import expressions as ir
from omnigraph.query.variables import walk
from omnigraph.rows.arrow_types import column_type
from omnigraph.spark.cluster.python_workers import freeze_imports
from omnigraph.spark.cluster.spark_types import arrow_type, spark_type
from omnigraph.spark.query.casts import native_cast
from omnigraph.spark.query.functions import EXPRESSIONS

if TYPE_CHECKING:
    from pyspark.sql import Column

INPUT = "#input"
"""The variable whose properties are the inputs of an expression, by their numbers."""


def needs_python(expression: ir.Expr) -> bool:
    """True if Spark lacks the function or cast of an expression itself."""
    match expression:
        case ir.Call():
            return EXPRESSIONS[expression.function] is None
        case ir.Cast():
            return native_cast(expression) is None
        case ir.Quantified():
            # Spark runs no Python within a predicate over the items of a list, so the whole test runs there.
            return any(map(needs_python, walk(expression.predicate)))
        case _:
            return False


def computed(expression: ir.Expr, inputs: Sequence[tuple[ir.Property, Column]]) -> Column:
    """The value of an expression over inputs, each a property of ``INPUT`` with its column."""
    from pyspark.sql.functions import arrow_udf  # type: ignore[attr-defined] # missing in the stubs

    types = {item.name: column_type(item.type) for item, _ in inputs}
    wanted = arrow_type(spark_type(expression.type))

    def run(*columns: pa.Array) -> pa.Array:
        freeze_imports()
        values = zip(types.items(), columns, strict=True)
        frame = Frame(len(columns[0]), {})
        for (name, type_), column in values:
            frame = frame.with_values(INPUT, name, column.cast(type_))
        return Evaluator(Searcher(), Budget()).column(expression, frame).cast(wanted)

    found: Column = arrow_udf(run, spark_type(expression.type))(*(column for _, column in inputs))
    return found
