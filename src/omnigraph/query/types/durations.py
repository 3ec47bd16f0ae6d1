"""Arithmetic of durations and times of day (T7).

A Duration is a length of time in milliseconds, so it has no months and years: those are added to a date by the
calendar (``moments``).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from omnigraph.core.functions import ScalarFunction
from omnigraph.core.operators import BinaryOperator
from omnigraph.core.scalars import Family, Scalar
from omnigraph.lang import gq_ast as ast
from omnigraph.query import expressions as ir
from omnigraph.query.scope import Context
from omnigraph.query.types.calls import call, described
from omnigraph.schema.types import PropertyType

Operator = BinaryOperator
_INTEGER = PropertyType(Scalar.I64)
_LENGTH = PropertyType(Scalar.DURATION)


def is_length(side: ir.Expr) -> bool:
    """True for a Duration or a time of day, whose arithmetic is defined here."""
    return side.type.scalar.info.family in (Family.DURATION, Family.TIME) and not side.type.is_list


def check_lengths(context: Context, node: ast.Binary, left: ir.Expr, right: ir.Expr) -> ir.Expr | None:
    """``left operator right`` where one side is a Duration or a Time."""
    made = _made(context, node, left, right)
    if made is None and not context.diagnostics.has_errors:
        what = f"{described(left)} {node.operator.value} {described(right)}"
        hint = "add a Duration to a DateTime, Date, Time or Duration, and multiply or divide it by a number"
        context.error("T7", f"`{what}` is not defined", node.span, hint)
    return made


def _made(context: Context, node: ast.Binary, left: ir.Expr, right: ir.Expr) -> ir.Expr | None:
    rule = _RULES.get((left.type.scalar.info.family, right.type.scalar.info.family))
    return None if rule is None or left.type.is_list or right.type.is_list else rule(context, node, left, right)


def _two_lengths(context: Context, node: ast.Binary, left: ir.Expr, right: ir.Expr) -> ir.Expr | None:
    if node.operator is Operator.DIVIDE:
        return ir.Arithmetic(Operator.DIVIDE, number(left), number(right), PropertyType(Scalar.F64, nullable=True))
    other = _signed(context, node, right)
    if other is None:
        return None
    return call(context, ScalarFunction.ADD_DURATIONS, (left, other), (node.left, node.right), node)


def _two_times(_context: Context, node: ast.Binary, left: ir.Expr, right: ir.Expr) -> ir.Expr | None:
    if node.operator is not Operator.SUBTRACT:
        return None
    type_ = PropertyType(Scalar.I64, nullable=left.type.nullable or right.type.nullable)
    return as_length(ir.Arithmetic(Operator.SUBTRACT, number(left), number(right), type_))


def _length_and_number(context: Context, node: ast.Binary, length: ir.Expr, factor: ir.Expr) -> ir.Expr | None:
    if node.operator is Operator.DIVIDE:
        one = ir.Constant(1.0, ir.FLOAT)
        factor = ir.Arithmetic(Operator.DIVIDE, one, factor, PropertyType(Scalar.F64, nullable=True))
    elif node.operator is not Operator.MULTIPLY:
        return None
    return call(context, ScalarFunction.SCALE_DURATION, (length, factor), (node.left, node.right), node)


def _number_and_length(context: Context, node: ast.Binary, factor: ir.Expr, length: ir.Expr) -> ir.Expr | None:
    return _length_and_number(context, node, length, factor) if node.operator is Operator.MULTIPLY else None


def _moment_and_length(context: Context, node: ast.Binary, moment: ir.Expr, right: ir.Expr) -> ir.Expr | None:
    length = _signed(context, node, right)
    return None if length is None else _shifted(context, node, moment, length)


def _length_and_moment(context: Context, node: ast.Binary, length: ir.Expr, moment: ir.Expr) -> ir.Expr | None:
    return _shifted(context, node, moment, length) if node.operator is Operator.ADD else None


def _signed(context: Context, node: ast.Binary, length: ir.Expr) -> ir.Expr | None:
    """The right side of a sum, or its opposite for a difference; None for other operators."""
    if node.operator is Operator.ADD:
        return length
    return negated(context, length, node.right) if node.operator is Operator.SUBTRACT else None


def negated(context: Context, length: ir.Expr, at: ast.Expr) -> ir.Expr | None:
    """A duration in the other direction."""
    factor = ir.Constant(-1.0, ir.FLOAT)
    return call(context, ScalarFunction.SCALE_DURATION, (length, factor), (at, at), at)


def _shifted(context: Context, node: ast.Binary, moment: ir.Expr, length: ir.Expr) -> ir.Expr | None:
    nodes = (node.left, node.right)
    if moment.type.scalar is Scalar.TIME:
        return call(context, ScalarFunction.ADD_TO_TIME, (moment, length), nodes, node)
    if not moment.type.scalar.is_temporal or moment.type.is_list:
        return None
    if moment.type.scalar is Scalar.DATE:
        # The length of a stored duration is any number of milliseconds, so the sum is a time.
        moment = ir.Cast(moment, PropertyType(Scalar.DATETIME, nullable=moment.type.nullable))
    return call(context, ScalarFunction.ADD_MILLISECONDS, (moment, number(length)), nodes, node)


def number(length: ir.Expr) -> ir.Expr:
    """The milliseconds of a duration or time of day."""
    if isinstance(length, ir.Constant):
        return ir.Constant(length.value, _INTEGER)
    return ir.Cast(length, replace(_INTEGER, nullable=length.type.nullable))


def as_length(milliseconds: ir.Expr) -> ir.Expr:
    """Milliseconds as a Duration; null beyond its range."""
    if isinstance(milliseconds, ir.Constant):
        return ir.Constant(milliseconds.value, _LENGTH)
    return ir.Cast(milliseconds, PropertyType(Scalar.DURATION, nullable=True))


Rule = Callable[[Context, ast.Binary, ir.Expr, ir.Expr], ir.Expr | None]
_NUMBERS: Final = (Family.INTEGER, Family.FLOAT, Family.DECIMAL)
_RULES: Final[dict[tuple[Family, Family], Rule]] = {
    (Family.DURATION, Family.DURATION): _two_lengths,
    (Family.TIME, Family.TIME): _two_times,
    **{(Family.DURATION, family): _length_and_number for family in _NUMBERS},
    **{(family, Family.DURATION): _number_and_length for family in _NUMBERS},
    **{(family, Family.DURATION): _moment_and_length for family in (Family.TEMPORAL, Family.TIME)},
    **{(Family.DURATION, family): _length_and_moment for family in (Family.TEMPORAL, Family.TIME)},
}
"""The operators of each pair of families."""
