"""Expressions of ``.gq``, by precedence: ``or`` < ``and`` < comparison < ``+ -`` < ``* / %`` < unary minus < primary.

No word is reserved: ``count`` is a function only when a parenthesis follows, and a name like ``in`` is an operator only
where an operator can stand.
"""

from __future__ import annotations

from math import copysign

from omnigraph.core.limits import INTEGER_LITERAL_MAX
from omnigraph.lang.cursor import Cursor, SyntaxProblem
from omnigraph.lang.gq_ast import (
    Aggregate,
    AggregateFunction,
    AliasRef,
    Binary,
    BinaryOperator,
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
from omnigraph.lang.lexer import Kind, Token

FUNCTIONS: dict[str, tuple[int, int]] = {
    "now": (0, 0),
    "nearest": (2, 2),
    "search": (2, 2),
    "match_text": (2, 2),
    "fuzzy": (2, 3),
    "bm25": (2, 2),
    "rrf": (2, 16),
}
"""How many arguments each function takes. ``rrf`` fuses two or more rankings and may end with its constant k."""

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
_WORD_COMPARISONS = {
    operator.value: operator for operator in (BinaryOperator.CONTAINS, BinaryOperator.STARTS_WITH, BinaryOperator.IN)
}
_SUMS = {"+": BinaryOperator.ADD, "-": BinaryOperator.SUBTRACT}
_PRODUCTS = {"*": BinaryOperator.MULTIPLY, "/": BinaryOperator.DIVIDE, "%": BinaryOperator.MODULO}
_AGGREGATES = {function.value: function for function in AggregateFunction}


def parse_expression(cursor: Cursor) -> Expr:
    """A whole expression."""
    cursor.start_expression()
    return _disjunction(cursor)


def _disjunction(cursor: Cursor) -> Expr:
    with cursor.nested():
        left = _conjunction(cursor)
        while cursor.take("or"):
            left = _binary(cursor, BinaryOperator.OR, left, _conjunction(cursor))
        return left


def _conjunction(cursor: Cursor) -> Expr:
    left = _comparison(cursor)
    while cursor.take("and"):
        left = _binary(cursor, BinaryOperator.AND, left, _comparison(cursor))
    return left


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
    operator = _comparison_operator(cursor)
    if operator is None:
        return left
    written = cursor.advance()
    _refuse_foreign_comparison(cursor, written)
    comparison = _binary(cursor, operator, left, _sum(cursor))
    if _comparison_operator(cursor) is not None:
        raise SyntaxProblem("comparisons cannot be chained", cursor.token.span, "join two comparisons with `and`")
    return comparison


_FOREIGN_COMPARISONS = {"==": "=", "<>": "!=", "=>": ">=", "=<": "<="}


def _refuse_foreign_comparison(cursor: Cursor, operator: Token) -> None:
    """Explain what other languages write: ``==``, ``<>``, ``= null``."""
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
        return _WORD_COMPARISONS.get(cursor.token.text)
    return None


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
        return _primary(cursor)
    start = cursor.advance().span
    with cursor.nested():
        operand = _unary(cursor)
    span = start.to(operand.span)
    if isinstance(operand, Literal) and operand.kind in (LiteralKind.INTEGER, LiteralKind.FLOAT):
        value = operand.value
        # copysign tells -0.0 from 0.0; bool is an int to Python but never has these kinds.
        if isinstance(value, int | float) and copysign(1, value) > 0:
            return Literal(operand.kind, -value, span)
    return Negate(operand, span)


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
        if cursor.peek().text == "(" and token.text in _AGGREGATES:
            return _aggregate(cursor)
        if cursor.peek().text == "(":
            return _call(cursor)
        name = cursor.name("an expression")
        return AliasRef(name, name.span)
    raise cursor.problem("expected an expression", _expression_hint(cursor))


def _expression_hint(cursor: Cursor) -> str | None:
    if cursor.at("*"):
        return "name what you want: a variable `$p` or its properties `$p.name`"
    if cursor.at("->"):
        return "a traversal is written `$a edge $b`"
    if cursor.token.kind is Kind.TYPE_NAME:
        if cursor.peek().kind is Kind.VARIABLE and cursor.peek(-1).kind is Kind.VARIABLE:
            edge = cursor.token.text[0].lower() + cursor.token.text[1:]
            return f"in a traversal an edge type starts with a lower-case letter: `{edge}`"
        if cursor.peek(-1).kind is Kind.VARIABLE:
            return f"a variable is bound with a colon: `{cursor.peek(-1).text}: {cursor.token.text}`"
        return cursor.case_hint("and", "or", "in", "is", "not", "contains", "as", "where", "return", "true", "false")
    return None


def parse_variable(cursor: Cursor, wanted: str) -> Variable:
    """``$name``."""
    if cursor.token.kind is Kind.WORD:
        raise cursor.problem(f"expected {wanted}", f"a variable starts with a dollar sign: `${cursor.token.text}`")
    token = cursor.expect_kind(Kind.VARIABLE, wanted)
    return Variable(token.text[1:], token.span)


def _variable_or_property(cursor: Cursor) -> Expr:
    variable = parse_variable(cursor, "a variable")
    if not cursor.take("."):
        return variable
    name = cursor.name("a property after the dot")
    return PropertyAccess(variable, name, cursor.since(variable.span))


def _aggregate(cursor: Cursor) -> Aggregate:
    start = cursor.token.span
    function = _AGGREGATES[cursor.advance().text]
    cursor.advance()
    distinct = cursor.at("distinct") and cursor.peek().text != ")"
    if distinct:
        cursor.advance()
    if cursor.at("*"):
        raise cursor.problem("expected an expression", "count a variable: `count($x)`")
    argument = _disjunction(cursor)
    cursor.expect(")", f"after the argument of `{function.value}`")
    return Aggregate(function, argument, distinct, cursor.since(start))


def _call(cursor: Cursor) -> Call:
    token = cursor.token
    if token.text not in FUNCTIONS:
        known = [*FUNCTIONS, *_AGGREGATES, "date", "datetime"]
        hint = cursor.suggest(token.text, known) or f"the functions are {', '.join(known)}"
        raise SyntaxProblem(f"unknown function `{token.text}`", token.span, hint)
    cursor.advance()
    cursor.advance()
    arguments: list[Expr] = []
    if not cursor.at(")"):
        arguments.append(_disjunction(cursor))
        while cursor.take(","):
            arguments.append(_disjunction(cursor))
    cursor.expect(")", f"after the arguments of `{token.text}`")
    span = cursor.since(token.span)
    least, most = FUNCTIONS[token.text]
    if not least <= len(arguments) <= most:
        wanted = str(least) if least == most else f"{least} to {most}"
        raise SyntaxProblem(f"`{token.text}` takes {wanted} arguments, not {len(arguments)}", span)
    if token.text == "nearest" and not isinstance(arguments[0], PropertyAccess):
        hint = "write `nearest($d.embedding, $query)`"
        raise SyntaxProblem("the first argument of `nearest` must be a vector property", arguments[0].span, hint)
    return Call(token.text, tuple(arguments), span)


# --- literals and values ---------------------------------------------------------------------------------


def parse_value(cursor: Cursor, *, allow_null: bool) -> Expr:
    """What may stand after a colon or in a predicate: a literal, a variable or ``now()``."""
    token = cursor.token
    if token.kind is Kind.VARIABLE:
        variable = parse_variable(cursor, "a variable")
        if cursor.at("."):
            raise cursor.problem("expected a value", "only literals, parameters and `now()` can stand here")
        return variable
    if allow_null and cursor.take("null"):
        return Literal(LiteralKind.NULL, None, token.span)
    if cursor.at("now") and cursor.peek().text == "(":
        return _call(cursor)
    if _at_negative_number(cursor):
        return _unary(cursor)
    literal = _literal(cursor)
    if literal is None:
        hint = "null equals nothing; a condition in `match` can be `$x.property is null`" if cursor.at("null") else None
        raise cursor.problem("expected a value: a literal, a parameter or `now()`", hint)
    return literal


def _at_negative_number(cursor: Cursor) -> bool:
    return cursor.at("-") and cursor.peek().kind in (Kind.INTEGER, Kind.FLOAT)


def _literal(cursor: Cursor) -> Literal | ListLiteral | None:
    """A literal if one stands here, else None and nothing is taken."""
    token = cursor.token
    if token.kind is Kind.STRING:
        return Literal(LiteralKind.STRING, cursor.advance().value, token.span)
    if token.kind is Kind.INTEGER:
        value = cursor.integer("an integer", INTEGER_LITERAL_MAX)
        return Literal(LiteralKind.INTEGER, value, token.span)
    if token.kind is Kind.FLOAT:
        return Literal(LiteralKind.FLOAT, cursor.float_number(), token.span)
    if token.kind is Kind.WORD:
        if token.text in ("true", "false"):
            return Literal(LiteralKind.BOOL, cursor.advance().text == "true", token.span)
        if token.text in ("date", "datetime") and cursor.peek().text == "(":
            return _temporal(cursor)
    if cursor.at("["):
        return _list(cursor)
    return None


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
    with cursor.nested():
        while not cursor.at("]"):
            items.append(_list_item(cursor))
            if not cursor.take(","):
                break
    cursor.expect("]", "to close the list", "the items of a list are separated by commas")
    return ListLiteral(tuple(items), cursor.since(start))


def _list_item(cursor: Cursor) -> Expr:
    if cursor.token.kind is Kind.VARIABLE:
        return parse_variable(cursor, "a variable")
    if _at_negative_number(cursor):
        return _unary(cursor)
    literal = _literal(cursor)
    if literal is None:
        raise cursor.problem("expected a literal or a parameter in a list")
    return literal
