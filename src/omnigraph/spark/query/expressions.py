"""Expressions of the IR as Spark columns over bound rows, with SQL's null semantics."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

from omnigraph.core.decimals import fitted
from omnigraph.core.operators import BinaryOperator, Quantifier
from omnigraph.core.scalars import INTEGER_RANGES, Scalar
from omnigraph.core.temporal import format_time
from omnigraph.query import expressions as ir
from omnigraph.query.variables import transform, walk, with_children
from omnigraph.rows.arrow_types import ID
from omnigraph.schema.types import PropertyType
from omnigraph.spark.cluster.spark_types import spark_type
from omnigraph.spark.query.bound_rows import BoundRows
from omnigraph.spark.query.casts import native_cast
from omnigraph.spark.query.functions import EXPRESSIONS
from omnigraph.spark.query.in_python import INPUT, computed, needs_python
from omnigraph.spark.query.numbers import Value, arithmetic, compare, one_zero

if TYPE_CHECKING:
    from pyspark.sql import Column

Op = BinaryOperator

SCORE = "#score"
"""The pseudo-variable that owns the scores among the attributes of bound rows."""

OUTPUT = "#output"
"""The pseudo-variable that owns the columns of a result, by position."""

ITEM = "#item"
"""The pseudo-variable that owns the items of quantifiers, by the names of their variables."""


def column(expression: ir.Expr, rows: BoundRows) -> Column:
    """The values of an expression."""
    match expression:
        case ir.Constant():
            return constant(expression)
        case ir.Property():
            return rows.column(expression.variable, expression.name)
        case ir.EntityId():
            return rows.column(expression.variable, ID)
        case ir.TypeName():
            return _type_name(expression, rows)
        case ir.Item():
            return rows.column(ITEM, expression.variable)
        case ir.Computed():
            return rows.column(expression.variable, expression.part.value)
        case ir.ScoreColumn():
            return rows.column(SCORE, str(expression.number))
        case ir.Output():
            return rows.column(OUTPUT, str(expression.position))
        case ir.Compare() if needs_python(expression):
            return _in_python(expression, rows)
        case ir.Compare():
            return compare(expression.operator, _value(expression.left, rows), _value(expression.right, rows))
        case ir.Logic():
            return _logic(expression, rows)
        case ir.Not():
            return ~column(expression.operand, rows)
        case ir.Member():
            return _member(expression, rows)
        case ir.ListOf():
            return _list(expression, rows)
        case ir.TextMatch():
            return _text_match(expression, rows)
        case ir.IsNull():
            operand = column(expression.operand, rows)
            return operand.isNotNull() if expression.negated else operand.isNull()
        case ir.Arithmetic() if needs_python(expression):
            return _in_python(expression, rows)
        case ir.Arithmetic():
            left, right = _value(expression.left, rows), _value(expression.right, rows)
            return arithmetic(expression.operator, left, right, expression.type.scalar)
        case ir.Call() | ir.Cast() | ir.Quantified():
            return _in_python(expression, rows) if needs_python(expression) else _native(expression, rows)
        case ir.Case():
            return _case(expression, rows)
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
    Scalar.DECIMAL: lambda f, number: f.lit(number),
    Scalar.TIME: lambda f, milliseconds: f.lit(format_time(milliseconds)),
    Scalar.DURATION: lambda f, milliseconds: f.lit(timedelta(milliseconds=milliseconds)),
    Scalar.UUID: lambda f, text: f.lit(text),
    Scalar.JSON: lambda f, text: f.lit(text),
}
"""A value that is not null as a Spark column, given ``pyspark.sql.functions`` and the value, before the cast to its
type; for every scalar but a vector."""


def _native(expression: ir.Call | ir.Cast | ir.Quantified, rows: BoundRows) -> Column:
    if isinstance(expression, ir.Quantified):
        return _quantified(expression, rows)
    if isinstance(expression, ir.Cast):
        cast, operand = native_cast(expression), expression.operand
        assert cast is not None
        return cast(column(operand, rows), operand.type, expression.type)
    make = EXPRESSIONS[expression.function]
    assert make is not None
    return make(expression, [column(argument, rows) for argument in expression.arguments])


InPython = ir.Call | ir.Cast | ir.Quantified | ir.Arithmetic | ir.Compare


def _in_python(expression: InPython, rows: BoundRows) -> Column:
    """Arguments stay Spark's, because they may raise: its errors reach the driver typed. A constant stays one, and a
    quantifier takes what its predicate reads."""
    inputs: dict[ir.Expr, ir.Property] = {}

    def given(part: ir.Expr) -> ir.Expr:
        if isinstance(part, ir.Constant | ir.Item):
            return part
        return inputs.setdefault(part, ir.Property(INPUT, str(len(inputs)), part.type))

    def read(part: ir.Expr) -> ir.Expr:
        return given(part) if isinstance(part, ir.Property | ir.EntityId | ir.TypeName | ir.Computed) else part

    if isinstance(expression, ir.Quantified):
        predicate = transform(expression.predicate, read)
        over: ir.Expr = replace(expression, items=given(expression.items), predicate=predicate)
    else:
        over = with_children(expression, given)
    return computed(over, [(item, column(part, rows)) for part, item in inputs.items()])


def _quantified(expression: ir.Quantified, rows: BoundRows) -> Column:
    from pyspark.sql import functions as f

    def test(item: Column) -> Column:
        return column(expression.predicate, rows.naming(ITEM, expression.variable, item))

    items = column(expression.items, rows)
    return (f.exists if expression.quantifier is Quantifier.ANY else f.forall)(items, test)


def _case(expression: ir.Case, rows: BoundRows) -> Column:
    from pyspark.sql import functions as f

    (condition, value), *others = expression.branches
    chosen = f.when(column(condition, rows), column(value, rows))
    for condition, value in others:
        chosen = chosen.when(column(condition, rows), column(value, rows))
    return chosen.otherwise(column(expression.otherwise, rows))


def _type_name(expression: ir.TypeName, rows: BoundRows) -> Column:
    from pyspark.sql import functions as f

    return f.when(rows.column(expression.variable, ID).isNotNull(), f.lit(expression.name))


def _list(expression: ir.ListOf, rows: BoundRows) -> Column:
    from pyspark.sql import functions as f

    item = spark_type(expression.type.item)
    return f.array(*(column(part, rows).cast(item) for part in expression.items))


def _text_match(expression: ir.TextMatch, rows: BoundRows) -> Column:
    text, part = column(expression.text, rows), column(expression.part, rows)
    tests = {Op.STARTS_WITH: text.startswith, Op.ENDS_WITH: text.endswith, Op.CONTAINS: text.contains}
    return tests[expression.operator](part)


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
    if wanted.digits is not None:
        exact = [Decimal(value) for value in values if isinstance(value, int | float | Decimal)]
        fitting = [fitted(number, wanted.digits) for number in exact]
        return [_scalar(number, wanted) for number in fitting if number is not None]
    found = (_number(value) for value in values if isinstance(value, int | float | Decimal))
    numbers = [number for number in found if number is not None]
    if scalar.is_float:
        floats = [float(number) for number in numbers if float(number) == number]
        return [_scalar(number, PropertyType(Scalar.F64)) for number in floats]
    low, high = INTEGER_RANGES[scalar]
    whole = [int(number) for number in numbers if number == int(number)]
    return [_scalar(number, wanted) for number in whole if low <= number <= high]


def _number(value: int | float | Decimal) -> int | float | None:
    """A constant as an integer or float that equals it; None if there is none."""
    if not isinstance(value, Decimal):
        return value
    if value == value.to_integral_value():
        return int(value)
    return float(value) if Decimal(float(value)) == value else None


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
