"""Formatter of ``.gq`` expressions, and of clauses on one line: the fewest parentheses that preserve the tree.

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
from omnigraph.lang.gq_clauses import NOT_A_CLAUSE
from omnigraph.lang.gq_expression_ast import (
    Aggregate,
    AliasRef,
    Binary,
    Binding,
    Call,
    Case,
    Cast,
    Clause,
    Exists,
    Expr,
    Filter,
    Index,
    IsNull,
    ListLiteral,
    Literal,
    LiteralKind,
    MaybeBlock,
    Member,
    Negate,
    Not,
    NotBlock,
    PropertyAccess,
    PropertyMatch,
    Quantified,
    Slice,
    Star,
    Traversal,
    Variable,
    children,
)
from omnigraph.lang.gq_expressions import NO_OPERAND, WORD_COMPARISONS
from omnigraph.lang.spelling import spell_literal, spell_string, spell_type


class Guard(Flag):
    """The outermost operands to put into parentheses."""

    NONE = 0
    LEFT = auto()
    RIGHT = auto()


_OR, _AND, _NOT, _COMPARISON, _SUM, _PRODUCT, _UNARY, _INDEXED = range(8)
_LEVELS = {
    BinaryOperator.OR: _OR,
    BinaryOperator.AND: _AND,
    BinaryOperator.ADD: _SUM,
    BinaryOperator.SUBTRACT: _SUM,
    BinaryOperator.MULTIPLY: _PRODUCT,
    BinaryOperator.DIVIDE: _PRODUCT,
    BinaryOperator.MODULO: _PRODUCT,
}
_CONTINUES_EXPRESSION = re.compile(rf"-|(?:or|and|is|{'|'.join(WORD_COMPARISONS)})\b(?!\()")
_KEYWORDS = frozenset(("not", "case", "when"))
"""Names that are always put into parentheses: before an operand they are keywords."""
_ENDS_KEYWORD = re.compile(rf"-|(?:{'|'.join(NO_OPERAND)})\b(?!\()")
"""Starts of an operand before which ``not`` and ``case`` are names: a minus sign is a difference there."""
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
    while isinstance(expression, Binary | Negate | Not):
        expression = expression.right if isinstance(expression, Binary) else expression.operand
    return expression


def _is_word_not(expression: Expr) -> bool:
    """True for ``a not in b``, which starts with its first operand."""
    return isinstance(expression, Not) and _is_word_comparison(expression.operand)


def _is_word_comparison(expression: Expr) -> bool:
    return isinstance(expression, Binary) and expression.operator.value in WORD_COMPARISONS


def _distinct_guard(expression: Expr) -> Guard:
    while isinstance(expression, Binary | IsNull | Index | Slice) or _is_word_not(expression):
        expression = children(expression)[0]
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
        case Not(Binary(operator, left, right)) if operator.value in WORD_COMPARISONS:
            if level > _COMPARISON:
                return f"({_spell(expression, _OR, Guard.NONE)})"
            right_text = _spell(right, _SUM, guard & Guard.RIGHT)
            return f"{_spell(left, _SUM, guard & Guard.LEFT)} not {operator.value} {right_text}"
        case Not(operand):
            if level > _NOT or guard & Guard.LEFT:
                return f"({_spell(expression, _OR, Guard.NONE)})"
            return f"not {_after_keyword(_spell(operand, _NOT, guard & Guard.RIGHT))}"
        case _:
            text = _spell_operand(expression)
            is_open = level >= _INDEXED and isinstance(expression, Negate | Literal) and text.startswith("-")
            return f"({text})" if guard or is_open else text


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
            return f"({name.text})" if name.text in _KEYWORDS else name.text
        case Cast(operand, type_ref):
            return f"cast({spell_expression(operand)} as {spell_type(type_ref)})"
        case Case():
            return _spell_case(expression)
        case Member(operand, name):
            return f"{_spell(operand, _INDEXED, Guard.NONE)}.{name.text}"
        case Index(operand, index):
            return f"{_spell(operand, _INDEXED, Guard.NONE)}[{spell_expression(index)}]"
        case Slice(operand, start, stop):
            bounds = ("" if bound is None else spell_expression(bound) for bound in (start, stop))
            return f"{_spell(operand, _INDEXED, Guard.NONE)}[{':'.join(bounds)}]"
        case Quantified(quantifier, variable, items, predicate):
            inside = f"${variable.name} in {spell_expression(items)} where {spell_expression(predicate)}"
            return f"{quantifier.value}({inside})"
        case Call(function, arguments):
            return f"{function}({_spell_all(arguments)})"
        case Exists(clauses):
            return f"exists {{ {spell_clauses(clauses)} }}"
        case Star():
            return "*"
        case Aggregate(function, argument, distinct, _, second):
            # Without parentheses an alias called `distinct` at the start would be parsed as the keyword.
            guard = Guard.NONE if distinct or isinstance(argument, AliasRef) else _distinct_guard(argument)
            keyword = "distinct " if distinct else ""
            other = "" if second is None else f", {spell_expression(second)}"
            return f"{function.value}({keyword}{_spell(argument, _OR, guard)}{other})"
        case Binary() | IsNull() | Not():
            return _spell(expression, _OR, Guard.NONE)
        case _:
            assert_never(expression)


def _after_keyword(operand: str) -> str:
    return f"({operand})" if _ENDS_KEYWORD.match(operand) else operand


def _spell_case(case: Case) -> str:
    words = ["case"] if case.subject is None else ["case", _after_keyword(spell_expression(case.subject))]
    for branch in case.branches:
        words += ["when", spell_expression(branch.condition), "then", spell_expression(branch.value)]
    if case.otherwise is not None:
        words += ["else", spell_expression(case.otherwise)]
    return " ".join([*words, "end"])


def _spell_all(expressions: Sequence[Expr]) -> str:
    return ", ".join(map(spell_expression, expressions))


def _spell_scalar(literal: Literal) -> str:
    if literal.kind in (LiteralKind.DATE, LiteralKind.DATETIME):
        return f"{literal.kind.value}({spell_string(str(literal.value))})"
    return "null" if literal.value is None else spell_literal(literal.value)


def spell_clauses(clauses: Sequence[Clause]) -> str:
    """The clauses of a block on one line."""
    texts = filter_texts(clauses)
    return " ".join(texts[index] if index in texts else _spell_clause(clause) for index, clause in enumerate(clauses))


def _spell_clause(clause: Clause) -> str:
    match clause:
        case Filter(predicate):
            return spell_expression(predicate)
        case Traversal():
            return spell_traversal(clause)
        case Binding(variable, type_name, matches):
            inside = f" {{ {', '.join(map(spell_match, matches))} }}" if matches else ""
            return f"${variable.name}: {type_name.text}{inside}"
        case NotBlock(inner):
            return f"not {{ {spell_clauses(inner)} }}"
        case MaybeBlock(inner):
            return f"maybe {{ {spell_clauses(inner)} }}"
        case _:
            assert_never(clause)


def spell_match(match: PropertyMatch) -> str:
    """``property: value`` of a binding."""
    return f"{match.property.text}: {spell_expression(match.value)}"


def filter_texts(clauses: Sequence[Clause]) -> dict[int, str]:
    """The texts of the filters by index, computed from last to first: each depends on how the next one starts."""
    texts: dict[int, str] = {}
    for index in reversed(range(len(clauses))):
        clause = clauses[index]
        if isinstance(clause, Filter):
            texts[index] = spell_filter(
                clause.predicate,
                after_filter=index > 0 and isinstance(clauses[index - 1], Filter),
                before_colon_or_brace=index + 1 < len(clauses) and isinstance(clauses[index + 1], Binding | MaybeBlock),
                before_parenthesis=texts.get(index + 1, "").startswith("("),
            )
    return texts


def spell_traversal(traversal: Traversal) -> str:
    """A traversal clause."""
    if traversal.is_any and traversal.edge_variable is not None:
        return f"${traversal.left.name} <${traversal.edge_variable.name}> ${traversal.right.name}"
    edge = f"<{traversal.edge.text}>" if traversal.undirected else traversal.edge.text
    if traversal.hops is not None:
        edge += f"{{{traversal.hops.low},{'' if traversal.hops.high is None else traversal.hops.high}}}"
    words = [f"${traversal.left.name}"]
    if traversal.edge_variable is not None:
        words.append(f"${traversal.edge_variable.name}:")
    if traversal.shortest:
        words.append("all shortest" if traversal.every else "shortest")
    return " ".join([*words, edge, f"${traversal.right.name}"])
