"""Arithmetic of dates (T7): ``date + duration(...)``, ``date - duration(...)``, and the difference of two dates.

Beside a date the years and months of ``duration(...)`` are added by the calendar, the rest as days or milliseconds.
Alone it is a Duration, a length of time, which has no years and months.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from omnigraph.core.functions import ScalarFunction
from omnigraph.core.operators import BinaryOperator
from omnigraph.core.scalars import Scalar
from omnigraph.core.temporal import MILLISECONDS_PER_DAY, is_length, parse_duration
from omnigraph.lang import gq_ast as ast
from omnigraph.query import expressions as ir
from omnigraph.query.scope import Context
from omnigraph.query.types.calls import Check, call, described
from omnigraph.query.types.durations import as_length
from omnigraph.query.types.forms import check_cast
from omnigraph.query.types.one_type import converted
from omnigraph.schema.types import PropertyType

_MONTHS: Final = {"year": 12, "quarter": 3, "month": 1}
_MILLISECONDS: Final = {
    "week": 7 * MILLISECONDS_PER_DAY,
    "day": MILLISECONDS_PER_DAY,
    "hour": 3_600_000,
    "minute": 60_000,
    "second": 1_000,
    "millisecond": 1,
}
_FORMS: Final = 'write `duration("P7D")`, `duration("90m")` or `duration($n, "day")`'

Amounts = tuple[ir.Expr | None, ir.Expr | None]
"""Months, and milliseconds; None for nothing."""


def is_duration(node: ast.Expr) -> bool:
    """True for ``duration(...)``."""
    return isinstance(node, ast.Call) and node.function == "duration"


def check_duration(context: Context, node: ast.Call, check: Check) -> ir.Expr | None:
    """``duration(...)`` as a value: a Duration."""
    if len(node.arguments) == 1 and not isinstance(node.arguments[0], ast.Literal):
        operand = check(node.arguments[0])
        return None if operand is None else check_cast(context, operand, PropertyType(Scalar.DURATION), node)
    amounts = _amounts(context, node, check)
    if amounts is None:
        return None
    months, milliseconds = amounts
    if months is not None:
        hint = 'add it to a date: `$x.day + duration("P1M")`'
        context.error("T7", "a Duration has no months and years, because they differ in length", node.span, hint)
        return None
    if isinstance(milliseconds, ir.Constant) and not is_length(int(str(milliseconds.value))):
        context.error("T3", "the duration is longer than a Duration can be", node.span)
        return None
    return as_length(ir.Constant(0, ir.INTEGER) if milliseconds is None else milliseconds)


def check_shift(
    context: Context, node: ast.Binary, moment: ir.Expr, duration: ast.Call, check: Check
) -> ir.Expr | None:
    """A sum or difference of a Date or DateTime and ``duration(...)``."""
    other = node.left if duration is node.right else node.right
    if node.operator not in _SIGNS or (node.operator is BinaryOperator.SUBTRACT and duration is node.left):
        message = "a duration is added to or subtracted from a Date or DateTime"
        context.error("T7", message, duration.span, 'write `$x.day + duration("P7D")`')
        return None
    amounts = _amounts(context, duration, check)
    return None if amounts is None else _shifted(context, moment, amounts, _SIGNS[node.operator], duration, other)


_SIGNS: Final = {BinaryOperator.ADD: 1, BinaryOperator.SUBTRACT: -1}


def _shifted(
    context: Context, moment: ir.Expr, amounts: Amounts, sign: int, duration: ast.Call, at: ast.Expr
) -> ir.Expr | None:
    months, milliseconds = amounts
    shifted: ir.Expr | None = moment
    if months is not None:
        shifted = call(context, ScalarFunction.ADD_MONTHS, (moment, _times(months, sign)), (at, duration), at)
    if milliseconds is None or shifted is None:
        return shifted
    if moment.type.scalar is not Scalar.DATE:
        amount = _times(milliseconds, sign)
        return call(context, ScalarFunction.ADD_MILLISECONDS, (shifted, amount), (at, duration), at)
    days = _in_days(milliseconds)
    if days is None:
        hint = "make it a DateTime: `cast(x as DateTime) + ...`"
        context.error("T7", "a Date is shifted by whole days", duration.span, hint)
        return None
    return call(context, ScalarFunction.ADD_DAYS, (shifted, _times(days, sign)), (at, duration), at)


def _amounts(context: Context, node: ast.Call, check: Check) -> Amounts | None:
    if len(node.arguments) == 1:
        return _written(context, node)
    unit_node = node.arguments[1]
    unit = unit_node.value if isinstance(unit_node, ast.Literal) and isinstance(unit_node.value, str) else ""
    unit = unit.removesuffix("s")
    if unit not in (*_MONTHS, *_MILLISECONDS):
        known = ", ".join((*_MONTHS, *_MILLISECONDS))
        context.error("T29", f"the unit of `duration` is one of {known}", unit_node.span, _FORMS)
        return None
    number = check(node.arguments[0])
    if number is None:
        return None
    if not number.type.scalar.is_integer or number.type.is_list:
        message = f"`duration` takes a whole number of units, not {described(number)}"
        context.error("T29", message, node.arguments[0].span)
        return None
    number = converted(number, PropertyType(Scalar.I64))
    if unit in _MONTHS:
        return _times(number, _MONTHS[unit]), None
    return None, _times(number, _MILLISECONDS[unit])


def _written(context: Context, node: ast.Call) -> Amounts | None:
    text = node.arguments[0]
    if not isinstance(text, ast.Literal) or not isinstance(text.value, str):
        context.error("T29", "the text of `duration` is a literal", text.span, _FORMS)
        return None
    parsed = parse_duration(text.value)
    if parsed is None:
        context.error("T29", f"{text.value!r} is not a duration", text.span, _FORMS)
        return None
    months, milliseconds = parsed
    return _constant(months), _constant(milliseconds)


def _constant(number: int) -> ir.Expr | None:
    return ir.Constant(number, ir.INTEGER) if number else None


def _times(number: ir.Expr, factor: int) -> ir.Expr:
    if factor == 1:
        return number
    if isinstance(number, ir.Constant) and isinstance(number.value, int):
        return ir.Constant(number.value * factor, number.type)
    times = ir.Constant(factor, ir.INTEGER)
    return ir.Arithmetic(
        BinaryOperator.MULTIPLY, number, times, PropertyType(Scalar.I64, nullable=number.type.nullable)
    )


def _in_days(milliseconds: ir.Expr) -> ir.Expr | None:
    """An amount of milliseconds in days; None if it is not known to be whole days."""
    match milliseconds:
        case ir.Constant(value=int() as value) if value % MILLISECONDS_PER_DAY == 0:
            return ir.Constant(value // MILLISECONDS_PER_DAY, milliseconds.type)
        case ir.Arithmetic(left=left, right=ir.Constant(value=int() as value)) if value % MILLISECONDS_PER_DAY == 0:
            return _times(left, value // MILLISECONDS_PER_DAY)
        case _:
            return None


def check_difference(context: Context, node: ast.Binary, sides: Sequence[ir.Expr]) -> ir.Expr | None:
    """``x - y`` of two Dates or two DateTimes."""
    left, right = sides
    if node.operator is not BinaryOperator.SUBTRACT or left.type.scalar is not right.type.scalar:
        what = f"{described(left)} {node.operator.value} {described(right)}"
        hint = 'subtract two values of one type, or add a duration: `x + duration("P7D")`'
        context.error("T7", f"`{what}` is not defined", node.span, hint)
        return None
    return call(context, ScalarFunction.DIFFERENCE, sides, (node.left, node.right), node)
