"""Expressions of ``.gq``, by precedence: ``or`` < ``and`` < ``not`` < comparison < ``+ -`` < ``* / %`` < unary minus <
index < primary.

No word is reserved: ``count`` is a function only when a parenthesis follows, and a name like ``in`` is an operator only
where an operator is expected. The bracket of an index follows its list without white space: after white space it starts
a list, because clauses are separated by white space only.
"""

from __future__ import annotations

import re
from math import copysign

from omnigraph.core.limits import INTEGER_LITERAL_MAX
from omnigraph.core.operators import BinaryOperator
from omnigraph.lang.cursor import Cursor, SyntaxProblem
from omnigraph.lang.gq_calls import parse_called, parse_case, parse_variable
from omnigraph.lang.gq_clauses import parse_clauses
from omnigraph.lang.gq_expression_ast import (
    EVERY_PROPERTY,
    AliasRef,
    Binary,
    Exists,
    Expr,
    Index,
    IsNull,
    ListLiteral,
    Literal,
    LiteralKind,
    Member,
    Negate,
    Not,
    PropertyAccess,
    Slice,
)
from omnigraph.lang.lexer import Kind, Token
from omnigraph.lang.syntax import Name

COMPARISONS = {
    operator.value: operator
    for operator in (
        BinaryOperator.EQ,
        BinaryOperator.NE,
        BinaryOperator.LT,
        BinaryOperator.LE,
        BinaryOperator.GT,
        BinaryOperator.GE,
    )
}
WORD_COMPARISONS = {
    operator.value: operator
    for operator in (
        BinaryOperator.CONTAINS,
        BinaryOperator.STARTS_WITH,
        BinaryOperator.ENDS_WITH,
        BinaryOperator.IN,
    )
}
_CALLED = ("contains", "starts_with", "ends_with")
"""Operators that are also functions of two arguments."""
_DEPTHS = {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}
_EXPONENT = re.compile("[eE][0-9]*")
_OPERAND_KINDS = (Kind.VARIABLE, Kind.STRING, Kind.INTEGER, Kind.FLOAT)
_SUMS = {"+": BinaryOperator.ADD, "-": BinaryOperator.SUBTRACT}
_PRODUCTS = {"*": BinaryOperator.MULTIPLY, "/": BinaryOperator.DIVIDE, "%": BinaryOperator.MODULO}
_LOWER_CASE = ("and", "or", "in", "is", "not", "contains", "exists", "as", "where", "return", "true", "false")
NO_OPERAND = frozenset(("and", "or", "is", "as", "asc", "desc", *WORD_COMPARISONS))
"""Words that no operand starts with: before them ``not`` and ``case`` are names."""


def parse_expression(cursor: Cursor) -> Expr:
    """A whole expression."""
    cursor.start_expression()
    return _disjunction(cursor)


def _disjunction(cursor: Cursor) -> Expr:
    with cursor.nested():
        left = _conjunction(cursor)
        while _takes(cursor, "or"):
            left = _binary(cursor, BinaryOperator.OR, left, _conjunction(cursor))
        return left


def _takes(cursor: Cursor, word: str) -> bool:
    """Consume the operator if it stands here. Before a colon the word is the name of the next assignment."""
    return cursor.at(word) and cursor.peek().text != ":" and cursor.take(word)


def _conjunction(cursor: Cursor) -> Expr:
    left = _negation(cursor)
    while _takes(cursor, "and"):
        left = _binary(cursor, BinaryOperator.AND, left, _negation(cursor))
    return left


def _negation(cursor: Cursor) -> Expr:
    if not (cursor.at("not") and _operand_follows(cursor)):
        return _comparison(cursor)
    start = cursor.advance().span
    cursor.count_operator()
    with cursor.nested():
        operand = _negation(cursor)
    return Not(operand, start.to(operand.span))


def _operand_follows(cursor: Cursor) -> bool:
    """True if the word here is a keyword before an operand, and no name."""
    following = cursor.peek()
    if following.kind is Kind.WORD:
        return following.text not in NO_OPERAND or _is_called(cursor, 1)
    return following.kind in _OPERAND_KINDS or following.text in ("(", "[")


def _negative_follows(cursor: Cursor) -> bool:
    """True before ``-1``, but not before ``- 1``, which is subtracted from a name."""
    minus, number = cursor.peek(), cursor.peek(2)
    return minus.text == "-" and cursor.token.span.end < minus.span.start and minus.span.end == number.span.start


def _binary(cursor: Cursor, operator: BinaryOperator, left: Expr, right: Expr) -> Binary:
    cursor.count_operator()
    return Binary(operator, left, right, left.span.to(right.span))


def _comparison(cursor: Cursor) -> Expr:
    left = _sum(cursor)
    if cursor.at("is") and cursor.peek().text in ("null", "not"):
        cursor.advance()
        negated = cursor.take("not")
        cursor.expect("null", "after `is`")
        return IsNull(left, negated, cursor.since(left.span))
    negated = cursor.at("not") and cursor.peek().text in WORD_COMPARISONS and not _is_called(cursor, 1)
    if negated:
        cursor.advance()
    operator = _comparison_operator(cursor)
    if operator is None:
        return left
    written = cursor.advance()
    _refuse_foreign_comparison(cursor, written)
    comparison = _binary(cursor, operator, left, _sum(cursor))
    if _comparison_operator(cursor) is not None:
        raise SyntaxProblem("comparisons cannot be chained", cursor.token.span, "join two comparisons with `and`")
    return Not(comparison, comparison.span) if negated else comparison


_FOREIGN_COMPARISONS = {"==": "=", "<>": "!=", "=>": ">=", "=<": "<="}


def _refuse_foreign_comparison(cursor: Cursor, operator: Token) -> None:
    """Report operators of other languages with their equivalent: ``==``, ``<>``, ``= null``."""
    ours = _FOREIGN_COMPARISONS.get(operator.text + cursor.token.text)
    if ours is not None and operator.span.end == cursor.token.span.start:
        raise SyntaxProblem(f"this comparison is written `{ours}`", operator.span.to(cursor.token.span))
    if cursor.at("null"):
        hint = "write `is null` or `is not null`"
        raise SyntaxProblem("a comparison with null is never true", cursor.token.span, hint)


def _comparison_operator(cursor: Cursor) -> BinaryOperator | None:
    if cursor.token.kind is Kind.PUNCTUATION:
        return COMPARISONS.get(cursor.token.text)
    if cursor.token.kind is Kind.WORD:
        # Before a colon it is the name of the next property of an assignment, which needs no comma before it.
        if cursor.peek().text == ":" or _is_called(cursor, 0):
            return None
        return WORD_COMPARISONS.get(cursor.token.text)
    return None


def _is_called(cursor: Cursor, ahead: int) -> bool:
    """True for the call form ``contains(a, b)``, which begins an operand.

    Clauses need nothing between them, so only the comma tells it from ``a contains (b)``.
    """
    if cursor.peek(ahead).text not in _CALLED or cursor.peek(ahead + 1).text != "(":
        return False
    depth, place = 0, ahead + 1
    while (token := cursor.peek(place)).kind is not Kind.END:
        if token.kind is Kind.PUNCTUATION:
            if token.text == "," and depth == 1:
                return True
            depth += _DEPTHS.get(token.text, 0)
            if depth == 0:
                return False
        place += 1
    return False


def _sum(cursor: Cursor) -> Expr:
    left = _product(cursor)
    while cursor.token.kind is Kind.PUNCTUATION and cursor.token.text in _SUMS:
        operator = _SUMS[cursor.advance().text]
        left = _binary(cursor, operator, left, _product(cursor))
    return left


def _product(cursor: Cursor) -> Expr:
    left = _unary(cursor)
    while cursor.token.kind is Kind.PUNCTUATION and cursor.token.text in _PRODUCTS:
        operator = _PRODUCTS[cursor.advance().text]
        left = _binary(cursor, operator, left, _unary(cursor))
    return left


def _unary(cursor: Cursor) -> Expr:
    if not cursor.at("-"):
        return _indexed(cursor)
    start = cursor.advance().span
    with cursor.nested():
        operand = _unary(cursor)
    span = start.to(operand.span)
    if isinstance(operand, Literal) and operand.kind in (LiteralKind.INTEGER, LiteralKind.FLOAT):
        value = operand.value
        # copysign distinguishes -0.0 from 0.0; bool is an int to Python but never has these kinds.
        if isinstance(value, int | float) and copysign(1, value) > 0:
            return Literal(operand.kind, -value, span)
    return Negate(operand, span)


def _indexed(cursor: Cursor) -> Expr:
    expression = _primary(cursor)
    while cursor.is_adjacent:
        if cursor.at("["):
            expression = _index(cursor, expression)
        elif cursor.at(".") and cursor.peek().kind in MEMBER_KINDS:
            expression = _member(cursor, expression)
        else:
            break
    return expression


MEMBER_KINDS = (Kind.WORD, Kind.TYPE_NAME)
"""Names of members of a JSON value that need no quotes."""


def _member(cursor: Cursor, operand: Expr) -> Member:
    """``.name`` behind a JSON value."""
    cursor.advance()
    cursor.count_operator()
    token = cursor.advance()
    return Member(operand, Name(token.text, token.span), cursor.since(operand.span))


def _index(cursor: Cursor, operand: Expr) -> Expr:
    """``[index]`` or ``[start:stop]`` behind a list."""
    cursor.advance()
    cursor.count_operator()
    first = None if cursor.at(":") else _disjunction(cursor)
    is_slice = cursor.take(":")
    last = None if not is_slice or cursor.at("]") else _disjunction(cursor)
    cursor.expect("]", "after an index", "an item is `list[0]`, a part `list[1:3]`; a list starts after white space")
    span = cursor.since(operand.span)
    if is_slice:
        return Slice(operand, first, last, span)
    assert first is not None, "without a colon there is an index"
    return Index(operand, first, span)


def _primary(cursor: Cursor) -> Expr:
    token = cursor.token
    if token.kind is Kind.VARIABLE:
        return _variable_or_property(cursor)
    if cursor.take("("):
        inner = _disjunction(cursor)
        cursor.expect(")", "to close the parenthesis", "a list is written `[a, b]`" if cursor.at(",") else None)
        return inner
    literal = _literal(cursor)
    if literal is not None:
        return literal
    if token.kind is Kind.WORD:
        if token.text == "case" and (_operand_follows(cursor) or _negative_follows(cursor)):
            return parse_case(cursor, _disjunction)
        if cursor.peek().text == "(":
            return parse_called(cursor, _disjunction)
        if token.text == "exists" and cursor.peek().text == "{":
            return _exists(cursor)
        if token.text == "null":
            cursor.advance()
            return Literal(LiteralKind.NULL, None, token.span)
        name = cursor.name("an expression")
        return AliasRef(name, name.span)
    raise cursor.problem("expected an expression", _expression_hint(cursor))


def _exists(cursor: Cursor) -> Exists:
    start = cursor.advance().span
    cursor.advance()
    cursor.count_operator()
    # Filters inside count as operators of the whole expression, which bounds the depth of the tree.
    clauses = parse_clauses(cursor, "exists", _disjunction)
    return Exists(clauses, cursor.since(start))


def _expression_hint(cursor: Cursor) -> str | None:
    if cursor.at("*"):
        return "name what you want: a variable `$p` or its properties `$p.name`"
    if cursor.at("{") and cursor.peek(-1).text == ":":
        return 'an object is a text, `json("{\\"a\\": 1}")`, or is set by member: `details.a: 1`'
    if cursor.at("->"):
        return "a traversal is written `$a edge $b`"
    if cursor.token.kind is Kind.TYPE_NAME:
        if cursor.peek().kind is Kind.VARIABLE and cursor.peek(-1).kind is Kind.VARIABLE:
            edge = cursor.token.text[0].lower() + cursor.token.text[1:]
            return f"in a traversal an edge type starts with a lower-case letter: `{edge}`"
        if cursor.peek(-1).kind is Kind.VARIABLE:
            return f"a variable is bound with a colon: `{cursor.peek(-1).text}: {cursor.token.text}`"
        return cursor.case_hint(*_LOWER_CASE)
    return None


def _variable_or_property(cursor: Cursor) -> Expr:
    variable = parse_variable(cursor, "a variable")
    if not cursor.take("."):
        return variable
    if cursor.at("*"):
        star = cursor.advance()
        return PropertyAccess(variable, Name(EVERY_PROPERTY, star.span), cursor.since(variable.span))
    name = cursor.name("a property after the dot")
    return PropertyAccess(variable, name, cursor.since(variable.span))


def _literal(cursor: Cursor) -> Literal | ListLiteral | None:
    """A literal if one follows, else None without consuming a token."""
    token = cursor.token
    if token.kind is Kind.STRING:
        return Literal(LiteralKind.STRING, cursor.advance().value, token.span)
    if token.kind is Kind.INTEGER:
        value = cursor.integer("an integer", INTEGER_LITERAL_MAX)
        _refuse_exponent(cursor)
        return Literal(LiteralKind.INTEGER, value, token.span)
    if token.kind is Kind.FLOAT:
        number = cursor.float_number()
        _refuse_exponent(cursor)
        return Literal(LiteralKind.FLOAT, number, token.span)
    if token.kind is Kind.WORD:
        if token.text in ("true", "false"):
            return Literal(LiteralKind.BOOL, cursor.advance().text == "true", token.span)
        if token.text in ("date", "datetime") and cursor.peek().text == "(" and cursor.peek(2).kind is Kind.STRING:
            return _temporal(cursor)
    if cursor.at("["):
        return _list(cursor)
    return None


def _refuse_exponent(cursor: Cursor) -> None:
    is_word = cursor.token.kind in (Kind.WORD, Kind.TYPE_NAME)
    if is_word and cursor.is_adjacent and _EXPONENT.fullmatch(cursor.token.text):
        hint = "numbers are written in full, without an exponent: `1000` for `1e3`"
        raise cursor.problem("expected the end of a number", hint)


def _temporal(cursor: Cursor) -> Literal:
    start = cursor.token.span
    kind = LiteralKind(cursor.advance().text)
    cursor.advance()
    text = cursor.expect_kind(Kind.STRING, f"a string, as in `{kind.value}(...)`").value
    cursor.expect(")", f"after the text of a {kind.value}")
    return Literal(kind, text, cursor.since(start))


def _list(cursor: Cursor) -> ListLiteral:
    start = cursor.advance().span
    items: list[Expr] = []
    while not cursor.at("]"):
        items.append(_list_item(cursor))
        if not cursor.take(","):
            break
    cursor.expect("]", "to close the list", "the items of a list are separated by commas")
    return ListLiteral(tuple(items), cursor.since(start))


def _list_item(cursor: Cursor) -> Expr:
    # Lists may have a hundred thousand literals, for which the levels of precedence would take most of the time.
    literal = _literal(cursor) if cursor.peek().text in (",", "]") else None
    return literal or _disjunction(cursor)
