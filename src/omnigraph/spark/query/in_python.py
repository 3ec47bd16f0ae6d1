"""Expressions that Spark does not have: computed by the embedded evaluator in the Python workers of the executors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from omnigraph.core.functions import ScalarFunction
from omnigraph.core.scalars import Scalar
from omnigraph.exec.budget import Budget
from omnigraph.exec.evaluate import Evaluator
from omnigraph.exec.frame import Frame
from omnigraph.exec.search import Searcher
from omnigraph.query import expressions as ir
from omnigraph.query.variables import walk
from omnigraph.spark.cluster.python_workers import freeze_imports
from omnigraph.spark.cluster.spark_types import arrow_type, from_spark, spark_type
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
            return EXPRESSIONS[expression.function] is None or _is_exact(expression)
        case ir.Cast():
            return native_cast(expression) is None
        case ir.Arithmetic():
            # Spark rounds a product of decimals that has too many digits, and its rule depends on the session.
            return expression.type.digits is not None
        case ir.Compare():
            return _is_mixed(expression)
        case ir.Quantified():
            # Spark runs no Python within a predicate over the items of a list, so the whole test runs there.
            return any(map(needs_python, walk(expression.predicate)))
        case _:
            return False


def _is_exact(expression: ir.Call) -> bool:
    """True for a function that computes with decimals or times of day, which Spark rounds or does not know."""
    is_choice = expression.function in _CHOICES
    types = [argument.type for argument in expression.arguments]
    return not is_choice and any(type_.digits is not None or type_.scalar is Scalar.TIME for type_ in types)


_CHOICES: Final = frozenset(
    (
        ScalarFunction.COALESCE,
        ScalarFunction.NULLIF,
        ScalarFunction.LEAST,
        ScalarFunction.GREATEST,
        ScalarFunction.SIZE,
        ScalarFunction.ITEM,
        ScalarFunction.SLICE,
    )
)
"""Functions that choose among values, whatever these are."""


def _is_mixed(expression: ir.Compare) -> bool:
    """True for a decimal and a float, which Spark compares as floats."""
    types = (expression.left.type, expression.right.type)
    return any(type_.digits is not None for type_ in types) and any(type_.scalar.is_float for type_ in types)


def computed(expression: ir.Expr, inputs: Sequence[tuple[ir.Property, Column]]) -> Column:
    """The value of an expression over inputs, each a property of ``INPUT`` with its column."""
    from pyspark.sql import functions as f

    # An expression of constants has as many values as there are rows, which only a column tells.
    inputs = inputs or [(ir.Property(INPUT, "rows", ir.INTEGER), f.lit(0).cast("long"))]
    types = {item.name: item.type for item, _ in inputs}
    wanted = arrow_type(spark_type(expression.type))

    def run(*columns: pa.Array) -> pa.Array:
        freeze_imports()
        values = zip(types.items(), columns, strict=True)
        frame = Frame(len(columns[0]), {})
        for (name, type_), column in values:
            frame = frame.with_values(INPUT, name, from_spark(column, type_))
        return Evaluator(Searcher(), Budget()).column(expression, frame).cast(wanted)

    found: Column = f.arrow_udf(run, spark_type(expression.type))(*(column for _, column in inputs))  # type: ignore[attr-defined] # missing in the stubs
    return found
