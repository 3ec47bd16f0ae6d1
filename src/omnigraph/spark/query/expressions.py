"""Expressions of the IR as Spark columns over bound rows, with SQL's null semantics."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

from omnigraph.core.operators import BinaryOperator
from omnigraph.core.scalars import INTEGER_RANGES, Scalar
from omnigraph.query import expressions as ir
from omnigraph.query.variables import walk
from omnigraph.rows.arrow_types import ID
from omnigraph.schema.types import PropertyType
from omnigraph.spark.cluster.spark_types import spark_type
from omnigraph.spark.query.bound_rows import BoundRows
from omnigraph.spark.query.numbers import Value, arithmetic, compare, one_zero

if TYPE_CHECKING:
    from pyspark.sql import Column

Op = BinaryOperator

SCORE = "#score"
"""The pseudo-variable that owns the scores among the attributes of bound rows."""


def column(expression: ir.Expr, rows: BoundRows) -> Column:
    """The values of an expression."""
    match expression:
        case ir.Constant():
            return constant(expression)
        case ir.Property():
            return rows.column(expression.variable, expression.name)
        case ir.EntityId():
            return rows.column(expression.variable, ID)
        case ir.PathValue():
            return rows.column(expression.variable, expression.part.value)
        case ir.ScoreColumn():
            return rows.column(SCORE, str(expression.number))
        case ir.Compare():
            return compare(expression.operator, _value(expression.left, rows), _value(expression.right, rows))
        case ir.Logic():
            return _logic(expression, rows)
        case ir.Member():
            return _member(expression, rows)
        case ir.TextMatch():
            text, part = column(expression.text, rows), column(expression.part, rows)
            return text.startswith(part) if expression.operator is Op.STARTS_WITH else text.contains(part)
        case ir.IsNull():
            operand = column(expression.operand, rows)
            return operand.isNotNull() if expression.negated else operand.isNull()
        case ir.Arithmetic():
            left, right = _value(expression.left, rows), _value(expression.right, rows)
            return arithmetic(expression.operator, left, right, expression.type.scalar)
        case _:
            raise AssertionError(f"{type(expression).__name__} is not evaluated row by row")


def _value(expression: ir.Expr, rows: BoundRows) -> Value:
    return Value(column(expression, rows), expression.type.scalar, may_be_nan(expression))


def may_be_nan(expression: ir.Expr) -> bool:
    """True if the value may be NaN. Stored numbers never are."""
    return any(isinstance(inner, ir.Arithmetic) and inner.type.scalar.is_float for inner in walk(expression))


def constant(expression: ir.Constant) -> Column:
    """A constant as a Spark literal of its own type."""
    from pyspark.sql import functions as f

    type_ = expression.type
    if expression.value is None:
        return f.lit(None).cast(spark_type(type_))
    if isinstance(expression.value, tuple):
        item = PropertyType(Scalar.F32) if type_.is_vector else type_.item
        items = [constant(ir.Constant(value, item)) for value in expression.value]
        return f.array(*items).cast(spark_type(type_))
    return _scalar(expression.value, type_)


def _scalar(value: ir.ConstantValue, type_: PropertyType) -> Column:
    from pyspark.sql import functions as f

    return LITERALS[type_.scalar](f, value).cast(spark_type(type_))


LITERALS: Final[dict[Scalar, Callable[[Any, Any], Column]]] = {
    Scalar.STRING: lambda f, text: f.lit(text),
    Scalar.BLOB: lambda f, text: f.lit(text),
    Scalar.BOOL: lambda f, truth: f.lit(truth),
    Scalar.I32: lambda f, number: f.lit(number),
    Scalar.I64: lambda f, number: f.lit(number),
    Scalar.U32: lambda f, number: f.lit(number),
    Scalar.U64: lambda f, number: f.lit(Decimal(number)),
    Scalar.F32: lambda f, number: f.lit(float(number)),
    Scalar.F64: lambda f, number: f.lit(float(number)),
    Scalar.DATETIME: lambda f, milliseconds: f.timestamp_millis(f.lit(milliseconds).cast("long")),
    Scalar.DATE: lambda f, days: f.date_from_unix_date(f.lit(days)),
}
"""A value that is not null as a Spark column, given ``pyspark.sql.functions`` and the value, before the cast to its
type; for every scalar but a vector."""


def _logic(expression: ir.Logic, rows: BoundRows) -> Column:
    found = column(expression.operands[0], rows)
    for operand in expression.operands[1:]:
        other = column(operand, rows)
        found = (found & other) if expression.operator is Op.AND else (found | other)
    return found


def _member(expression: ir.Member, rows: BoundRows) -> Column:
    if not isinstance(expression.items, ir.Constant):
        return _list_holds(expression, rows)
    from pyspark.sql import functions as f

    items = expression.items.value
    if not isinstance(items, tuple):
        return f.lit(None).cast("boolean")
    item = column(expression.item, rows)
    known = _comparable([value for value in items if value is not None], expression.items.type, expression.item.type)
    found = f.lit(False)
    if known:
        is_float = expression.item.type.scalar.is_float
        found = (item.cast("double") if is_float else item).isin(*known)
    # Three-valued logic: a null in the list may equal the item, so absence is unknown.
    unknown = item.isNull() | ~found if None in items else item.isNull()
    return f.when(~unknown, found)


def _comparable(values: list[ir.ConstantValue], held: PropertyType, wanted: PropertyType) -> list[Column]:
    """The constants in the type of the item, without those that it can never equal."""
    scalar = wanted.scalar
    if not scalar.is_numeric:
        return [_scalar(value, wanted) for value in values] if held.scalar is scalar else []
    numbers = [value for value in values if isinstance(value, int | float)]
    if scalar.is_float:
        exact = [float(number) for number in numbers if float(number) == number]
        return [_scalar(number, PropertyType(Scalar.F64)) for number in exact]
    low, high = INTEGER_RANGES[scalar]
    whole = [int(number) for number in numbers if number == int(number)]
    return [_scalar(number, wanted) for number in whole if low <= number <= high]


def _list_holds(expression: ir.Member, rows: BoundRows) -> Column:
    """Membership of an item in a list of the same row; unknown if the list has a null and no equal item."""
    from pyspark.sql import functions as f

    items, item = column(expression.items, rows), _value(expression.item, rows)
    scalar = expression.items.type.scalar

    def is_item(held: Column) -> Column:
        return f.coalesce(compare(Op.EQ, Value(held, scalar), item), f.lit(False))

    unsure = f.exists(items, lambda held: held.isNull())
    answer = f.when(f.exists(items, is_item), f.lit(True)).when(~unsure, f.lit(False))
    return f.when(items.isNotNull() & item.column.isNotNull(), answer)


def comparable(expression: ir.Expr, rows: BoundRows) -> Column:
    """The values of an expression for grouping and distinctness: negative zero equals zero."""
    value = column(expression, rows)
    return one_zero(value) if expression.type.is_plain_scalar and expression.type.scalar.is_float else value
