"""Variables and calls in ``.gq`` expressions: functions, aggregates, ``cast``, ``case``, ``any`` and ``all``.

Each parser gets the parser of whole expressions as an argument, because expressions and calls contain each other.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from omnigraph.core.functions import ARGUMENTS
from omnigraph.core.operators import AggregateFunction, Quantifier
from omnigraph.lang.cursor import Cursor, SyntaxProblem, parse_type
from omnigraph.lang.gq_expression_ast import (
    Aggregate,
    Branch,
    Call,
    Case,
    Cast,
    Expr,
    PropertyAccess,
    Quantified,
    Star,
    Variable,
)
from omnigraph.lang.lexer import Kind, Token

FUNCTIONS: Final[dict[str, tuple[int, int]]] = {
    "now": (0, 0),
    "nearest": (2, 2),
    "search": (2, 2),
    "match_text": (2, 2),
    "fuzzy": (2, 3),
    "bm25": (2, 2),
    "rrf": (2, 16),
    **ARGUMENTS,
}
"""Minimum and maximum number of arguments per function. ``rrf`` may end with its constant k."""

AGGREGATES: Final = {function.value: function for function in AggregateFunction}
_QUANTIFIERS: Final = {quantifier.value: quantifier for quantifier in Quantifier}

_FAMILIAR: Final = {
    **dict.fromkeys(("len", "char_length", "strlen"), "length"),
    **dict.fromkeys(("ceiling",), "ceil"),
    **dict.fromkeys(("ln",), "log"),
    **dict.fromkeys(("power",), "pow"),
    **dict.fromkeys(("mean",), "avg"),
    **dict.fromkeys(("stdev", "std", "stddevsamp"), "stddev"),
    **dict.fromkeys(("percentilecont", "quantile", "median"), "percentile"),
    **dict.fromkeys(("firstvalue", "anyvalue", "argmin", "minby"), "first"),
    **dict.fromkeys(("lastvalue", "argmax", "maxby"), "last"),
    **dict.fromkeys(("substr",), "substring"),
    **dict.fromkeys(("ifnull", "nvl", "isnull"), "coalesce"),
    **dict.fromkeys(("tolower", "lcase"), "lower"),
    **dict.fromkeys(("toupper", "ucase"), "upper"),
    **dict.fromkeys(("strip", "btrim"), "trim"),
    **dict.fromkeys(("array_agg", "group_concat", "string_agg"), "collect"),
    **dict.fromkeys(("tointeger", "tofloat", "tostring", "toboolean", "str", "int", "float"), "cast"),
    **dict.fromkeys(("regexp_like", "regexp_match", "rlike", "regexp"), "regex_match"),
    **dict.fromkeys(("regexp_extract", "regexp_substr"), "regex_extract"),
    **dict.fromkeys(("labels", "label"), "type"),
    **dict.fromkeys(("elementid",), "id"),
}
"""Functions of other languages, in lower case, with the one to use."""

Parse = Callable[[Cursor], Expr]


def parse_variable(cursor: Cursor, wanted: str) -> Variable:
    """``$name``."""
    if cursor.token.kind is Kind.WORD:
        raise cursor.problem(f"expected {wanted}", f"a variable starts with a dollar sign: `${cursor.token.text}`")
    token = cursor.expect_kind(Kind.VARIABLE, wanted)
    return Variable(token.text[1:], token.span)


def parse_called(cursor: Cursor, parse: Parse) -> Expr:
    """An expression that starts with a word and a parenthesis."""
    word = cursor.token.text
    if word in AGGREGATES:
        return _aggregate(cursor, parse)
    if word == "cast":
        return _cast(cursor, parse)
    if word in _QUANTIFIERS and cursor.peek(2).kind is Kind.VARIABLE and cursor.peek(3).text == "in":
        return _quantified(cursor, parse)
    return parse_call(cursor, parse)


def _aggregate(cursor: Cursor, parse: Parse) -> Aggregate:
    start = cursor.token.span
    function = AGGREGATES[cursor.advance().text]
    cursor.advance()
    distinct = cursor.at("distinct") and cursor.peek().text != ")"
    if distinct:
        cursor.advance()
    argument = _argument(cursor, function, parse, distinct=distinct)
    second: Expr | None = None
    if cursor.at(",") and function in _TWO_ARGUMENTS:
        cursor.advance()
        second = parse(cursor)
    elif function is AggregateFunction.PERCENTILE:
        raise cursor.problem("expected `,` and a fraction", "the median is `percentile($p.age, 0.5)`")
    cursor.expect(")", f"after the argument of `{function.value}`")
    return Aggregate(function, argument, distinct, cursor.since(start), second)


_TWO_ARGUMENTS: Final = (AggregateFunction.PERCENTILE, AggregateFunction.FIRST, AggregateFunction.LAST)


def _argument(cursor: Cursor, function: AggregateFunction, parse: Parse, *, distinct: bool) -> Expr:
    if not cursor.at("*"):
        return parse(cursor)
    if function is not AggregateFunction.COUNT or distinct:
        raise cursor.problem("expected an expression", "only `count(*)` takes all rows; name a value, such as `$p.age`")
    return Star(cursor.advance().span)


def parse_call(cursor: Cursor, parse: Parse) -> Call:
    """``name(argument, ...)`` of a known function."""
    token = cursor.token
    if token.text not in FUNCTIONS:
        raise _unknown(cursor, token)
    cursor.advance()
    cursor.advance()
    arguments: list[Expr] = []
    if not cursor.at(")"):
        arguments.append(parse(cursor))
        while cursor.take(","):
            arguments.append(parse(cursor))
    cursor.expect(")", f"after the arguments of `{token.text}`")
    span = cursor.since(token.span)
    least, most = FUNCTIONS[token.text]
    if not least <= len(arguments) <= most:
        wanted = str(least) if least == most else f"{least} to {most}"
        plural = "argument" if wanted == "1" else "arguments"
        raise SyntaxProblem(f"`{token.text}` takes {wanted} {plural}, not {len(arguments)}", span)
    if token.text == "nearest" and not isinstance(arguments[0], PropertyAccess):
        hint = "write `nearest($d.embedding, $query)`"
        raise SyntaxProblem("the first argument of `nearest` must be a vector property", arguments[0].span, hint)
    return Call(token.text, tuple(arguments), span)


def _unknown(cursor: Cursor, token: Token) -> SyntaxProblem:
    known = [*FUNCTIONS, *AGGREGATES, "cast", *_QUANTIFIERS]
    familiar = _FAMILIAR.get(token.text.lower().replace("_", ""), _FAMILIAR.get(token.text.lower()))
    if token.text in _QUANTIFIERS:
        hint: str | None = f"write `{token.text}($item in list where ...)`"
    elif token.text == "exists":
        hint = "a pattern stands in braces: `exists { $p knows $f }`; a value is tested with `is not null`"
    elif familiar == "cast":
        hint = "write `cast(value as Type)`, such as `cast($p.age as String)`"
    else:
        hint = f"did you mean `{familiar}`?" if familiar else cursor.suggest(token.text, known)
    return SyntaxProblem(
        f"unknown function `{token.text}`", token.span, hint or f"the functions are {', '.join(known)}"
    )


def _cast(cursor: Cursor, parse: Parse) -> Cast:
    start = cursor.advance().span
    cursor.advance()
    operand = parse(cursor)
    cursor.expect("as", "in `cast(value as Type)`")
    type_ref = parse_type(cursor, allow_enum=False)
    cursor.expect(")", "after the type of a cast")
    return Cast(operand, type_ref, cursor.since(start))


def _quantified(cursor: Cursor, parse: Parse) -> Quantified:
    start = cursor.token.span
    quantifier = _QUANTIFIERS[cursor.advance().text]
    cursor.advance()
    variable = parse_variable(cursor, "the variable of an item")
    cursor.expect("in", "after the variable of an item")
    items = parse(cursor)
    cursor.expect("where", f"after the list, as in `{quantifier.value}($item in list where $item > 0)`")
    predicate = parse(cursor)
    cursor.expect(")", f"after the predicate of `{quantifier.value}`")
    return Quantified(quantifier, variable, items, predicate, cursor.since(start))


def parse_case(cursor: Cursor, parse: Parse) -> Case:
    """``case [subject] when a then b ... [else c] end``."""
    start = cursor.advance().span
    subject = None if cursor.at("when") else parse(cursor)
    branches: list[Branch] = []
    while cursor.at("when") or not branches:
        began = cursor.expect("when", 'after `case`, as in `case when $p.age < 18 then "minor" else "adult" end`').span
        condition = parse(cursor)
        cursor.expect("then", "after the condition of a `when`")
        value = parse(cursor)
        branches.append(Branch(condition, value, cursor.since(began)))
    otherwise = parse(cursor) if cursor.take("else") else None
    cursor.expect("end", "to close the `case`")
    return Case(subject, tuple(branches), otherwise, cursor.since(start))
