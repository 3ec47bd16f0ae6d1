"""Formatter of ``.gq`` expressions: the fewest parentheses that preserve the tree.

Clauses are separated by white space only, so adjacent expressions can merge: `$a.x < 3` before `-1 < $b.x` would be
parsed as a difference. ``Guard`` marks the end of an expression that needs protection; the outermost operand there is
put into parentheses. Wrapping only the operand never nests deeper than the author's text, because without
parentheses at that position the text could not have produced this tree.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import Flag, auto
from typing import assert_never

from omnigraph.core.operators import BinaryOperator
from omnigraph.lang.gq_ast import (
    Aggregate,
    AliasRef,
    Binary,
    Call,
    Expr,
    IsNull,
    ListLiteral,
    Literal,
    LiteralKind,
    Negate,
    PropertyAccess,
    Variable,
)
from omnigraph.lang.gq_clauses import NOT_A_CLAUSE
from omnigraph.lang.spelling import spell_literal, spell_string


class Guard(Flag):
    """The outermost operands to put into parentheses."""

    NONE = 0
    LEFT = auto()
    RIGHT = auto()


_OR, _AND, _COMPARISON, _SUM, _PRODUCT, _UNARY = range(6)
_LEVELS = {
    BinaryOperator.OR: _OR,
    BinaryOperator.AND: _AND,
    BinaryOperator.ADD: _SUM,
    BinaryOperator.SUBTRACT: _SUM,
    BinaryOperator.MULTIPLY: _PRODUCT,
    BinaryOperator.DIVIDE: _PRODUCT,
    BinaryOperator.MODULO: _PRODUCT,
}
_CONTINUES_EXPRESSION = re.compile(r"-|(?:or|and|is|in|contains|starts_with)\b")
_TRAVERSAL = re.compile(r"\$\w+ (?!not\b|not_)[a-z_]\w* \$")
_NOT_A_CLAUSE = re.compile(rf"(?:{'|'.join(NOT_A_CLAUSE)})\b")


def spell_expression(expression: Expr) -> str:
    """An expression where commas or brackets end it."""
    return _spell(expression, _OR, Guard.NONE)


def spell_filter(predicate: Expr, *, after_filter: bool, before_colon_or_brace: bool, before_parenthesis: bool) -> str:
    """A filter clause, protected from the clauses around it and from being read as a traversal."""
    guard = Guard.NONE
    text = _spell(predicate, _OR, Guard.NONE)
    runs_on = after_filter and _CONTINUES_EXPRESSION.match(text)
    takes_next = before_colon_or_brace and isinstance(predicate, Variable)
    if runs_on or takes_next or _NOT_A_CLAUSE.match(text) or _TRAVERSAL.match(text):
        guard |= Guard.LEFT
    if before_parenthesis and isinstance(_last_operand(predicate), AliasRef):
        guard |= Guard.RIGHT
    return _spell(predicate, _OR, guard) if guard else text


def _last_operand(expression: Expr) -> Expr:
    while isinstance(expression, Binary | Negate):
        expression = expression.right if isinstance(expression, Binary) else expression.operand
    return expression


def _distinct_guard(expression: Expr) -> Guard:
    while isinstance(expression, Binary | IsNull):
        expression = expression.left if isinstance(expression, Binary) else expression.operand
    is_distinct = isinstance(expression, AliasRef) and expression.name.text == "distinct"
    return Guard.LEFT if is_distinct else Guard.NONE


def _spell(expression: Expr, level: int, guard: Guard) -> str:
    """The text of an expression in a context that requires at least this precedence."""
    match expression:
        case Binary(operator, left, right):
            own = _LEVELS.get(operator, _COMPARISON)
            if own < level:
                return f"({_spell(expression, _OR, Guard.NONE)})"
            left_level = _SUM if own == _COMPARISON else own
            left_text = _spell(left, left_level, guard & Guard.LEFT)
            return f"{left_text} {operator.value} {_spell(right, own + 1, guard & Guard.RIGHT)}"
        case IsNull(operand, negated):
            if level > _COMPARISON:
                return f"({_spell(expression, _OR, Guard.NONE)})"
            return f"{_spell(operand, _SUM, guard & Guard.LEFT)} is {'not ' if negated else ''}null"
        case _:
            text = _spell_operand(expression)
            return f"({text})" if guard else text


def _spell_operand(expression: Expr) -> str:
    """The text of a primary expression or unary minus."""
    match expression:
        case Negate(operand):
            text = _spell(operand, _UNARY, Guard.NONE)
            return f"- {text}" if text.startswith("-") else f"-{text}"
        case Literal():
            return _spell_scalar(expression)
        case ListLiteral(items):
            return f"[{_spell_all(items)}]"
        case Variable(name):
            return f"${name}"
        case PropertyAccess(variable, name):
            return f"${variable.name}.{name.text}"
        case AliasRef(name):
            return name.text
        case Call(function, arguments):
            return f"{function}({_spell_all(arguments)})"
        case Aggregate(function, argument, distinct):
            # Without parentheses an alias called `distinct` at the start would be parsed as the keyword.
            guard = Guard.NONE if distinct or isinstance(argument, AliasRef) else _distinct_guard(argument)
            keyword = "distinct " if distinct else ""
            return f"{function.value}({keyword}{_spell(argument, _OR, guard)})"
        case Binary() | IsNull():
            return _spell(expression, _OR, Guard.NONE)
        case _:
            assert_never(expression)


def _spell_all(expressions: Sequence[Expr]) -> str:
    return ", ".join(map(spell_expression, expressions))


def _spell_scalar(literal: Literal) -> str:
    if literal.kind in (LiteralKind.DATE, LiteralKind.DATETIME):
        return f"{literal.kind.value}({spell_string(str(literal.value))})"
    return "null" if literal.value is None else spell_literal(literal.value)
