"""Aggregates of a projection (T8): arguments, the fraction of ``percentile``, the order of ``first`` and ``last``."""

from __future__ import annotations

from omnigraph.core.operators import AggregateFunction
from omnigraph.lang import gq_ast as ast
from omnigraph.query import expressions as ir
from omnigraph.query.aggregates import AGGREGATES
from omnigraph.query.scope import Context, Scope, VariableKind
from omnigraph.query.shaping.identity import match_identity
from omnigraph.query.typecheck import Position, check_expression
from omnigraph.query.types.calls import described

_ORDERED = (AggregateFunction.FIRST, AggregateFunction.LAST)
_ROW = ir.Constant(1, ir.INTEGER)
"""The argument of ``count(*)``: it is never null, so every row counts."""


def check_aggregate(context: Context, scope: Scope, node: ast.Aggregate) -> ir.Aggregate | None:
    """The typed form of an aggregate, or None if an error was reported."""
    argument = _check_argument(context, scope, node)
    if argument is None:
        return None
    rule = AGGREGATES[node.function]
    type_ = rule.result(argument)
    if type_ is None:
        message = f"`{node.function.value}` takes {rule.expects}, not {described(argument)}"
        hint = "give it a type: `cast(value as F64)`" if argument.type.is_json else None
        context.error("T8", message, node.argument.span, hint)
        return None
    if node.function is AggregateFunction.PERCENTILE:
        fraction = _check_fraction(context, node)
        if fraction is None:
            return None
        return ir.Aggregate(node.function, argument, node.distinct, type_, fraction)
    by = _check_order(context, scope, node) if node.function in _ORDERED else ()
    return None if by is None else ir.Aggregate(node.function, argument, node.distinct, type_, by=by)


def _check_argument(context: Context, scope: Scope, node: ast.Aggregate) -> ir.Expr | None:
    if isinstance(node.argument, ast.Star):
        return _ROW
    if isinstance(node.argument, ast.Variable) and node.function is AggregateFunction.COUNT:
        bound = scope.lookup(node.argument.name)
        if bound is not None and bound.kind is VariableKind.EDGE:
            message, hint = f"the edge `${bound.name}` cannot be used as a value", "count rows, a node or a property"
            context.error("T23", message, node.argument.span, f"{hint}: `count(*)`")
            return None
    return check_expression(context, scope, node.argument, Position.RETURN)


def _check_fraction(context: Context, node: ast.Aggregate) -> float | None:
    match node.second:
        case ast.Literal(ast.LiteralKind.INTEGER | ast.LiteralKind.FLOAT, int() | float() as value) if 0 <= value <= 1:
            return float(value)
    at = node.span if node.second is None else node.second.span
    context.error("T8", "the second argument of `percentile` is a number from 0 to 1", at, "the median is 0.5")
    return None


def _check_order(context: Context, scope: Scope, node: ast.Aggregate) -> tuple[ir.Expr, ...] | None:
    """The order of the rows: the second argument, or what identifies a row."""
    if node.second is None:
        return match_identity(scope)
    by = check_expression(context, scope, node.second, Position.RETURN)
    if by is None:
        return None
    if not by.type.is_plain_scalar:
        context.error("T8", f"rows cannot be ordered by {by.type}", node.second.span)
        return None
    return (by,)
