"""Traversal and rewriting of typed expressions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import get_args

from omnigraph.core.functions import ScalarFunction
from omnigraph.core.operators import BinaryOperator
from omnigraph.query import expressions as ir

Leaf = (
    ir.Constant
    | ir.Parameter
    | ir.Now
    | ir.Property
    | ir.EntityId
    | ir.TypeName
    | ir.Computed
    | ir.Item
    | ir.Output
    | ir.ScoreColumn
)
_LEAVES = frozenset(get_args(Leaf))


def children(expression: ir.Expr) -> tuple[ir.Expr, ...]:
    """The direct subexpressions."""
    # Most expressions are leaves, and every case below would be tried for each of them.
    if type(expression) in _LEAVES:
        return ()
    match expression:
        case ir.Compare() | ir.Arithmetic():
            return (expression.left, expression.right)
        case ir.Logic():
            return expression.operands
        case ir.Member():
            return (expression.item, expression.items)
        case ir.ListOf():
            return expression.items
        case ir.TextMatch():
            return (expression.text, expression.part)
        case ir.IsNull() | ir.Not() | ir.Cast():
            return (expression.operand,)
        case ir.Call():
            return expression.arguments
        case ir.Case():
            return (*(part for branch in expression.branches for part in branch), expression.otherwise)
        case ir.Quantified():
            return (expression.items, expression.predicate)
        case ir.Search():
            edits = () if expression.edits is None else (expression.edits,)
            return (expression.text, expression.query, *edits)
        case ir.Nearest():
            return (expression.vector, expression.query)
        case ir.Bm25():
            return (expression.text, expression.query)
        case ir.Rrf():
            return (*expression.arms, expression.k)
        case ir.Aggregate():
            return (expression.argument, *expression.by)
        case _:
            return _no_children(expression)


def _no_children(expression: Leaf) -> tuple[ir.Expr, ...]:
    """Only a kind without subexpressions type-checks here, so a new kind cannot be forgotten above."""
    return ()


def walk(expression: ir.Expr) -> Iterator[ir.Expr]:
    """The expression and all subexpressions, in pre-order."""
    waiting = [expression]
    while waiting:
        part = waiting.pop()
        yield part
        waiting.extend(reversed(children(part)))


def variables_of(expression: ir.Expr) -> tuple[str, ...]:
    """The distinct variables an expression reads, in order of appearance."""
    found: dict[str, None] = {}
    for part in walk(expression):
        if isinstance(part, ir.Property | ir.EntityId | ir.TypeName | ir.Computed):
            found[part.variable] = None
    return tuple(found)


def conjuncts(predicate: ir.Expr) -> tuple[ir.Expr, ...]:
    """The predicates that all must be true for a predicate to be true."""
    is_conjunction = isinstance(predicate, ir.Logic) and predicate.operator is BinaryOperator.AND
    return predicate.operands if is_conjunction and isinstance(predicate, ir.Logic) else (predicate,)


_FALLIBLE = (
    ScalarFunction.ABS,
    ScalarFunction.ADD_MONTHS,
    ScalarFunction.ADD_DAYS,
    ScalarFunction.ADD_MILLISECONDS,
)


def may_fail(expression: ir.Expr) -> bool:
    """True if the value of a row may be an error instead: a number or date that does not fit its type."""
    return any(
        isinstance(part, ir.Arithmetic) or (isinstance(part, ir.Call) and part.function in _FALLIBLE)
        for part in walk(expression)
    )


Change = Callable[[ir.Expr], ir.Expr]


def transform(expression: ir.Expr, change: Change) -> ir.Expr:
    """The expression with ``change`` applied to every subexpression, in post-order."""
    return change(with_children(expression, lambda part: transform(part, change)))


def replace_rankings(expression: ir.Expr, change: Callable[[ir.Ranking], ir.Expr]) -> ir.Expr:
    """The expression with every outermost ranking replaced; the arms of a fusion are not visited."""
    if isinstance(expression, ir.Nearest | ir.Bm25 | ir.Rrf):
        return change(expression)
    return with_children(expression, lambda part: replace_rankings(part, change))


def with_children(expression: ir.Expr, down: Change) -> ir.Expr:
    """The expression with changed direct subexpressions; the property of a ``Nearest`` stays unchanged."""
    if type(expression) in _LEAVES:
        return expression
    match expression:
        case ir.Compare() | ir.Arithmetic():
            return replace(expression, left=down(expression.left), right=down(expression.right))
        case ir.Logic():
            return replace(expression, operands=tuple(map(down, expression.operands)))
        case ir.Member():
            return replace(expression, item=down(expression.item), items=down(expression.items))
        case ir.ListOf():
            return replace(expression, items=tuple(map(down, expression.items)))
        case ir.TextMatch():
            return replace(expression, text=down(expression.text), part=down(expression.part))
        case ir.IsNull() | ir.Not() | ir.Cast():
            return replace(expression, operand=down(expression.operand))
        case ir.Call():
            return replace(expression, arguments=tuple(map(down, expression.arguments)))
        case ir.Case():
            branches = tuple((down(condition), down(value)) for condition, value in expression.branches)
            return replace(expression, branches=branches, otherwise=down(expression.otherwise))
        case ir.Quantified():
            return replace(expression, items=down(expression.items), predicate=down(expression.predicate))
        case ir.Search():
            edits = None if expression.edits is None else down(expression.edits)
            return replace(expression, text=down(expression.text), query=down(expression.query), edits=edits)
        case ir.Nearest():
            return replace(expression, query=down(expression.query))
        case ir.Bm25():
            return replace(expression, text=down(expression.text), query=down(expression.query))
        case ir.Rrf():
            return replace(expression, arms=tuple(_arm(down(arm)) for arm in expression.arms), k=down(expression.k))
        case ir.Aggregate():
            by = tuple(map(down, expression.by))
            return replace(expression, argument=down(expression.argument), by=by)
        case _:
            return expression


def _arm(changed: ir.Expr) -> ir.Nearest | ir.Bm25:
    assert isinstance(changed, ir.Nearest | ir.Bm25), "an arm of a fusion stays a ranking"
    return changed
