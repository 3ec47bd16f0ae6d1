"""Predicates evaluated one row at a time in plain Python, with SQL's three-valued logic: the naive truth.

Only what the rewrites touch: comparisons, membership, logic, null tests. Python compares int and float exactly.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any

from omnigraph.core.operators import BinaryOperator
from omnigraph.query import expressions as ir

COMPARISONS: dict[BinaryOperator, Callable[[Any, Any], bool]] = {
    BinaryOperator.EQ: operator.eq,
    BinaryOperator.NE: operator.ne,
    BinaryOperator.LT: operator.lt,
    BinaryOperator.LE: operator.le,
    BinaryOperator.GT: operator.gt,
    BinaryOperator.GE: operator.ge,
}


def evaluate(expression: ir.Expr, row: Mapping[str, Any]) -> Any:
    """The value of an expression; None is null."""
    match expression:
        case ir.Constant():
            return expression.value
        case ir.Property():
            return row[expression.name]
        case ir.Compare():
            left, right = evaluate(expression.left, row), evaluate(expression.right, row)
            return None if left is None or right is None else COMPARISONS[expression.operator](left, right)
        case ir.IsNull():
            return (evaluate(expression.operand, row) is None) != expression.negated
        case ir.Member():
            return _member(evaluate(expression.item, row), evaluate(expression.items, row))
        case ir.Logic():
            values = [evaluate(operand, row) for operand in expression.operands]
            decisive = expression.operator is BinaryOperator.OR
            if any(value is decisive for value in values):
                return decisive
            return None if None in values else not decisive
        case _:
            raise NotImplementedError(type(expression))


def _member(item: Any, items: Any) -> bool | None:
    if item is None or items is None:
        return None
    if item in [one for one in items if one is not None]:
        return True
    return None if None in items else False
