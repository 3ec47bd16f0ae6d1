"""Walking typed expressions: which variables and properties one reads, and rebuilding one with parts replaced."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from omnigraph.query import expressions as ir


def children(expression: ir.Expr) -> tuple[ir.Expr, ...]:
    """The direct parts of an expression."""
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
        case ir.IsNull():
            return (expression.operand,)
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
            return (expression.argument,)
        case _:
            return ()


def walk(expression: ir.Expr) -> Iterator[ir.Expr]:
    """The expression and everything below it."""
    yield expression
    for child in children(expression):
        yield from walk(child)


def variables_of(expression: ir.Expr) -> tuple[str, ...]:
    """The variables an expression reads, each once, in order of appearance."""
    found: dict[str, None] = {}
    for part in walk(expression):
        if isinstance(part, ir.Property | ir.EntityId | ir.PathValue):
            found[part.variable] = None
    return tuple(found)


def transform(expression: ir.Expr, change: Callable[[ir.Expr], ir.Expr]) -> ir.Expr:
    """The expression with ``change`` applied to every part, innermost first."""

    def down(part: ir.Expr) -> ir.Expr:
        return transform(part, change)

    rebuilt: ir.Expr = expression
    match expression:
        case ir.Compare() | ir.Arithmetic():
            rebuilt = replace(expression, left=down(expression.left), right=down(expression.right))
        case ir.Logic():
            rebuilt = replace(expression, operands=tuple(map(down, expression.operands)))
        case ir.Member():
            rebuilt = replace(expression, item=down(expression.item), items=down(expression.items))
        case ir.ListOf():
            rebuilt = replace(expression, items=tuple(map(down, expression.items)))
        case ir.TextMatch():
            rebuilt = replace(expression, text=down(expression.text), part=down(expression.part))
        case ir.IsNull():
            rebuilt = replace(expression, operand=down(expression.operand))
        case ir.Search():
            edits = None if expression.edits is None else down(expression.edits)
            rebuilt = replace(expression, text=down(expression.text), query=down(expression.query), edits=edits)
        case ir.Nearest():
            rebuilt = replace(expression, query=down(expression.query))
        case ir.Bm25():
            rebuilt = replace(expression, text=down(expression.text), query=down(expression.query))
        case ir.Rrf():
            rebuilt = replace(expression, arms=tuple(map(_arm(down), expression.arms)), k=down(expression.k))
        case ir.Aggregate():
            rebuilt = replace(expression, argument=down(expression.argument))
    return change(rebuilt)


def _arm(down: Callable[[ir.Expr], ir.Expr]) -> Callable[[ir.Nearest | ir.Bm25], ir.Nearest | ir.Bm25]:
    def change(arm: ir.Nearest | ir.Bm25) -> ir.Nearest | ir.Bm25:
        changed = down(arm)
        assert isinstance(changed, ir.Nearest | ir.Bm25)
        return changed

    return change
