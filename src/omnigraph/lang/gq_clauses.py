"""Clauses of a ``match`` block in ``.gq``: bindings, traversals, filters, ``not`` and ``maybe``.

Also owns the error recovery of blocks: a broken element is reported and skipped up to the next one. The parser of
expressions is an argument, because expressions and clauses contain each other.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from omnigraph.core.limits import INTEGER_LITERAL_MAX
from omnigraph.core.operators import BinaryOperator
from omnigraph.lang.cursor import Cursor, SyntaxProblem
from omnigraph.lang.gq_calls import Parse, parse_variable
from omnigraph.lang.gq_expression_ast import (
    AliasRef,
    Binding,
    Clause,
    Filter,
    Hops,
    MaybeBlock,
    NotBlock,
    PropertyMatch,
    Traversal,
    Variable,
)
from omnigraph.lang.lexer import Kind, Token
from omnigraph.lang.source import Span
from omnigraph.lang.syntax import Name

_BLOCKS = ("not", "maybe")
_STARTS = (*_BLOCKS, "exists")
_OPERATORS = frozenset(operator.value for operator in BinaryOperator)
NOT_A_CLAUSE = {"where": "filters are clauses of their own, without `where`"}
"""Keywords of other languages: no clause starts with them."""
Part = TypeVar("Part")


def at_query(cursor: Cursor) -> bool:
    """True if a query starts here; an alias `query` before a function call does not match."""
    if not cursor.at("query") or cursor.peek().kind is not Kind.WORD or cursor.peek(2).text != "(":
        return False
    if cursor.peek(3).text == ")":
        return cursor.peek(4).text in ("{", "@")
    return cursor.peek(3).kind is Kind.VARIABLE and cursor.peek(4).text == ":"


def parse_block(
    cursor: Cursor,
    parse: Callable[[Cursor], Part],
    is_anchor: Callable[[Cursor], bool],
    follows: Callable[[Cursor], bool],
    name: str,
) -> tuple[Part, ...]:
    """Elements up to and including the closing brace. A broken element is reported and skipped.

    ``follows`` tests for tokens that can only follow the block: there a missing brace is reported and assumed.
    """
    parts: list[Part] = []
    failed = False
    while not cursor.take("}"):
        if cursor.at_end or at_query(cursor):
            raise cursor.problem(f"expected `}}` to close the `{name}` block")
        if follows(cursor):
            cursor.report(cursor.problem(f"expected `}}` to close the `{name}` block"))
            break
        before = cursor.index
        try:
            parts.append(parse(cursor))
        except SyntaxProblem as problem:
            failed = True
            cursor.report(problem)
            if cursor.index == before and not cursor.at("}"):
                cursor.advance()
            cursor.skip_to(is_anchor, at_query, since=before)
    if not parts and not failed:
        article = "an" if name == "exists" else "a"
        raise SyntaxProblem(f"{article} `{name}` block must not be empty", cursor.previous_span)
    return tuple(parts)


def parse_clauses(cursor: Cursor, name: str, parse: Parse) -> tuple[Clause, ...]:
    """The clauses of a block after its opening brace, up to and including the closing brace."""
    with cursor.nested():
        return parse_block(cursor, lambda at: _clause(at, parse), _at_clause_boundary, _at_return, name)


def _at_return(cursor: Cursor) -> bool:
    following = cursor.peek().text
    return cursor.at("return") and (following == "{" or (following == "distinct" and cursor.peek(2).text == "{"))


def at_operand(cursor: Cursor) -> bool:
    """True after an operator: the token continues a broken expression and starts no clause."""
    return cursor.peek(-1).text in _OPERATORS


def _at_clause_boundary(cursor: Cursor) -> bool:
    starts = cursor.token.text in _STARTS and cursor.peek().text == "{"
    if at_operand(cursor):
        starts = False
    elif cursor.token.kind is Kind.VARIABLE:
        # In the middle of a line it may be the other end of a broken traversal.
        starts = cursor.starts_line or cursor.peek().text in (":", ".")
    elif cursor.token.kind is Kind.WORD and cursor.peek().text == "(":
        starts = cursor.starts_line
    return starts or cursor.at("}") or _at_return(cursor)


def _clause(cursor: Cursor, parse: Parse) -> Clause:
    start = cursor.token.span
    following = cursor.peek()
    if cursor.token.text in _BLOCKS and following.text == "{":
        word = cursor.advance().text
        cursor.advance()
        clauses = parse_clauses(cursor, word, parse)
        return (NotBlock if word == "not" else MaybeBlock)(clauses, cursor.since(start))
    if cursor.token.kind is Kind.VARIABLE:
        if following.text == ":" and following.kind is Kind.PUNCTUATION:
            return _binding(cursor, parse)
        if _at_traversal(cursor):
            return _traversal(cursor)
    if cursor.at(","):
        raise cursor.problem("expected a clause", "clauses are separated by white space, not by commas")
    if cursor.token.text in NOT_A_CLAUSE:
        raise cursor.problem("expected a clause", NOT_A_CLAUSE[cursor.token.text])
    if cursor.at("not") and following.kind is Kind.VARIABLE and _at_traversal(cursor, 1):
        raise cursor.problem("expected a clause", "the absence of an edge is a block: `not { $a edge $b }`")
    predicate = parse(cursor)
    if isinstance(predicate, AliasRef):
        message = f"the name `{predicate.name.text}` alone is not a clause"
        raise SyntaxProblem(message, predicate.span, _clause_hint(cursor, predicate))
    return Filter(predicate, cursor.since(start))


_FOREIGN_CONDITIONS = {
    "exists": "`exists` takes a block, `exists { $p knows $f }`",
    "not": "`not` takes a block, `not { ... }`, or a condition, `not $p.active`",
    "like": "write `contains`, `starts_with` or `search(...)`",
    "between": "write two comparisons joined with `and`",
    "is": "write `is null` or `is not null`",
    "optional": "write `maybe { ... }`",
}


def _clause_hint(cursor: Cursor, alone: AliasRef) -> str:
    """A hint for a bare name used as a clause."""
    name = alone.name.text
    if cursor.at(":"):
        return f"a variable starts with a dollar sign: `${name}`"
    number = cursor.peek(-2)
    if number.kind in (Kind.INTEGER, Kind.FLOAT) and number.span.end == alone.span.start:
        return "numbers are written in full, without an exponent or a unit"
    usual = "a filter is a comparison such as `$p.age > 30`, a traversal is `$a edge $b`"
    return _FOREIGN_CONDITIONS.get(name, usual)


def _binding(cursor: Cursor, parse: Parse) -> Binding:
    start = cursor.token.span
    variable = parse_variable(cursor, "a variable")
    cursor.advance()
    type_name = cursor.type_name("a node type")
    matches: list[PropertyMatch] = []
    if cursor.take("{"):
        while not cursor.at("}"):
            matches.append(_property_match(cursor, parse))
            if not cursor.take(","):
                break
        cursor.expect("}", "after the property matches", "property matches are separated by commas")
    return Binding(variable, type_name, tuple(matches), cursor.since(start))


def _property_match(cursor: Cursor, parse: Parse) -> PropertyMatch:
    start = cursor.token.span
    name = cursor.name("a property")
    cursor.expect(":", "between a property and its value", _colon_hint(cursor))
    if cursor.at("null"):
        hint = "null equals nothing; use a filter in `match`: `$x.property is null`"
        raise cursor.problem("expected a value", hint)
    value = parse(cursor)
    return PropertyMatch(name, value, cursor.since(start))


def _colon_hint(cursor: Cursor) -> str | None:
    return "a property is matched with a colon; `=` and other operators belong in a filter" if cursor.at("=") else None


def _at_traversal(cursor: Cursor, ahead: int = 0) -> bool:
    """True if ``$a`` starts a traversal: ``$a edge $b``, ``$a <edge> $b``, ``$a $e: edge $b``; bounds may follow."""
    first, second, third = (cursor.peek(ahead + number) for number in (1, 2, 3))
    if first.kind is Kind.VARIABLE:
        return second.text == ":"
    if first.text == "<":
        return (_is_edge_word(second) or second.kind is Kind.VARIABLE) and third.text == ">"
    if not _is_edge_word(first):
        return False
    if first.text == "exists" and second.text == "{":
        # `$flag exists { ... }` are two clauses; hop bounds start with a number.
        return third.kind is Kind.INTEGER
    return second.kind is Kind.VARIABLE or second.text == "{"


def _is_edge_word(token: Token) -> bool:
    return token.kind is Kind.WORD and token.text != "not" and not token.text.startswith("not_")


def _traversal(cursor: Cursor) -> Traversal:
    start = cursor.token.span
    left = parse_variable(cursor, "a variable")
    bound: Variable | None = None
    if cursor.token.kind is Kind.VARIABLE:
        bound = parse_variable(cursor, "an edge variable")
        cursor.expect(":", "after an edge variable")
    every = bound is not None and cursor.at("all") and cursor.peek().text == "shortest" and _names_edge(cursor.peek(2))
    if every:
        cursor.advance()
    shortest = bound is not None and cursor.at("shortest") and _names_edge(cursor.peek())
    if shortest:
        cursor.advance()
    undirected = cursor.take("<")
    if undirected and bound is None and cursor.token.kind is Kind.VARIABLE:
        return _any_edge(cursor, start, left)
    if not _is_edge_word(cursor.token):
        hint = "write an edge type with its first letter in lower case: `worksAt` for `WorksAt`"
        if bound is not None:
            hint += f"; to bind both, write `${bound.name}: {cursor.token.text}` first"
        raise cursor.problem("expected an edge", hint if cursor.token.kind is Kind.TYPE_NAME else None)
    edge = cursor.name("an edge")
    if undirected:
        cursor.expect(">", "after an undirected edge")
    hops = _hops(cursor) if cursor.at("{") else None
    right = parse_variable(cursor, "the variable at the other end of the edge")
    return Traversal(left, edge, right, bound, undirected, hops, shortest, cursor.since(start), every=every)


def _names_edge(token: Token) -> bool:
    """True for what follows ``shortest``; before anything else it is an edge itself."""
    return token.kind is Kind.WORD or token.text == "<"


def _any_edge(cursor: Cursor, start: Span, left: Variable) -> Traversal:
    """``$a <$e> $b`` from the edge variable on."""
    bound = parse_variable(cursor, "an edge variable")
    cursor.expect(">", "after an edge variable")
    if cursor.at("{"):
        raise cursor.problem("expected the variable at the other end", "an edge of any type is one hop")
    right = parse_variable(cursor, "the variable at the other end of the edge")
    name = Name("", bound.span)
    return Traversal(left, name, right, bound, True, None, False, cursor.since(start))


def _hops(cursor: Cursor) -> Hops:
    start = cursor.advance().span
    low = cursor.integer("the smallest number of hops", INTEGER_LITERAL_MAX)
    cursor.expect(",", "between hop bounds, as in `{1,3}`", f"for exactly {low}, write `{{{low},{low}}}`")
    high = None if cursor.at("}") else cursor.integer("the largest number of hops", INTEGER_LITERAL_MAX)
    cursor.expect("}", "after the hop bounds")
    return Hops(low, high, cursor.since(start))
