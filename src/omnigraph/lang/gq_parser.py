"""Recursive-descent parser of ``.gq`` files: queries, clauses, statements.

Accepts exactly the grammar; names and types are checked by ``query``. Expressions live in ``gq_expressions``. After an
error it goes on with the next clause, statement or query, so that one run reports everything.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from omnigraph.core.limits import INTEGER_LITERAL_MAX
from omnigraph.lang.cursor import Cursor, SyntaxProblem, parse_type
from omnigraph.lang.diagnostics import Diagnostic
from omnigraph.lang.gq_ast import (
    Assignment,
    Binding,
    Clause,
    Delete,
    Filter,
    Hops,
    Insert,
    MaybeBlock,
    MutationBody,
    NotBlock,
    OrderKey,
    Parameter,
    Predicate,
    Projection,
    PropertyMatch,
    Query,
    QueryFile,
    ReadBody,
    Statement,
    Traversal,
    Update,
    Variable,
)
from omnigraph.lang.gq_expressions import (
    COMPARISONS,
    parse_expression,
    parse_value,
    parse_variable,
)
from omnigraph.lang.lexer import Comment, Kind, Token
from omnigraph.lang.source import Source
from omnigraph.lang.syntax import Name

_STATEMENTS = ("insert", "update", "delete")
_BLOCKS = ("not", "maybe")
Part = TypeVar("Part")


@dataclass(frozen=True, slots=True)
class ParsedQueries:
    """A syntax tree, its comments, and what was wrong; with errors the tree holds what could be understood."""

    source: Source
    file: QueryFile
    comments: tuple[Comment, ...]
    diagnostics: tuple[Diagnostic, ...]


def parse_queries(source: Source) -> ParsedQueries:
    """Parse a query text. Never raises: errors are in the result."""
    cursor = Cursor(source)
    queries: list[Query] = []
    while not cursor.at_end:
        try:
            queries.append(_query(cursor))
        except SyntaxProblem as problem:
            cursor.report(problem)
            if not cursor.at_end and not _at_query(cursor):
                cursor.advance()
            cursor.skip_to(_at_query)
    return ParsedQueries(
        source, QueryFile(tuple(queries)), cursor.lexed.comments, cursor.diagnostics.report()
    )


def _at_query(cursor: Cursor) -> bool:
    return cursor.at("query") and cursor.peek().kind is Kind.WORD and cursor.peek(2).text == "("


# --- query headers ---------------------------------------------------------------------------------------


def _query(cursor: Cursor) -> Query:
    start = cursor.expect("query", "to start a query").span
    name = cursor.name("the query's name")
    cursor.expect("(", "after the query's name")
    parameters: list[Parameter] = []
    if not cursor.at(")"):
        parameters.append(_parameter(cursor))
        while cursor.take(","):
            parameters.append(_parameter(cursor))
    cursor.expect(")", "after the parameters")
    annotations = _query_annotations(cursor)
    cursor.expect("{", "to open the query's body")
    body: ReadBody | MutationBody
    if cursor.at("match"):
        body = _read_body(cursor)
    elif cursor.token.text in _STATEMENTS:
        body = _mutation_body(cursor)
    else:
        raise cursor.problem("expected `match`, `insert`, `update` or `delete`")
    cursor.expect("}", "to close the query")
    return Query(
        name,
        tuple(parameters),
        annotations.get("description"),
        annotations.get("instruction"),
        body,
        cursor.since(start),
    )


def _parameter(cursor: Cursor) -> Parameter:
    start = cursor.token.span
    variable = parse_variable(cursor, "a parameter such as `$name: String`")
    cursor.expect(":", "between a parameter and its type")
    type_ref = parse_type(cursor, allow_enum=False)
    return Parameter(variable, type_ref, cursor.since(start))


def _query_annotations(cursor: Cursor) -> dict[str, str]:
    annotations: dict[str, str] = {}
    while cursor.at("@"):
        start = cursor.advance().span
        name = cursor.name("`description` or `instruction`")
        if name.text not in ("description", "instruction"):
            hint = "a query takes `@description` and `@instruction`"
            raise SyntaxProblem(f"unknown query annotation `@{name.text}`", name.span, hint)
        cursor.expect("(", f"after `@{name.text}`")
        text = cursor.expect_kind(Kind.STRING, "a string").value
        cursor.expect(")", f"after the text of `@{name.text}`")
        if name.text in annotations:
            raise SyntaxProblem(f"`@{name.text}` is written twice", cursor.since(start))
        if not text.strip():
            raise SyntaxProblem(f"`@{name.text}` must not be empty", cursor.since(start))
        annotations[name.text] = text
    return annotations


# --- reads -----------------------------------------------------------------------------------------------


def _read_body(cursor: Cursor) -> ReadBody:
    start = cursor.expect("match", "to start a read").span
    cursor.expect("{", "after `match`")
    clauses = _clauses(cursor)
    if not cursor.at("return"):
        raise cursor.problem("expected `return` after the `match` block")
    cursor.advance()
    distinct = cursor.take("distinct")
    cursor.expect("{", "after `return`")
    projections = _block(cursor, _projection, _at_projection_boundary, "a `return` block needs an expression")
    order: tuple[OrderKey, ...] = ()
    if cursor.take("order"):
        order = _order(cursor)
    limit = cursor.integer("`limit`", INTEGER_LITERAL_MAX) if cursor.take("limit") else None
    offset = cursor.integer("`offset`", INTEGER_LITERAL_MAX) if cursor.take("offset") else None
    return ReadBody(clauses, projections, distinct, order, limit, offset, cursor.since(start))


def _block(
    cursor: Cursor, parse: Callable[[Cursor], Part], is_anchor: Callable[[Cursor], bool], empty: str
) -> tuple[Part, ...]:
    """Parts up to the closing brace, which is taken. A broken part is reported and skipped."""
    parts: list[Part] = []
    failed = False
    while not cursor.take("}"):
        if cursor.at_end or _at_query(cursor):
            raise cursor.problem("expected `}`")
        before = cursor.token
        try:
            parts.append(parse(cursor))
        except SyntaxProblem as problem:
            failed = True
            cursor.report(problem)
            if cursor.token is before and not cursor.at("}"):
                cursor.advance()
            cursor.skip_to(is_anchor)
    if not parts and not failed:
        raise SyntaxProblem(empty, cursor.previous_span)
    return tuple(parts)


def _clauses(cursor: Cursor) -> tuple[Clause, ...]:
    with cursor.nested():
        return _block(cursor, _clause, _at_clause_boundary, "a block needs at least one clause")


def _at_clause_boundary(cursor: Cursor) -> bool:
    starts = cursor.token.kind is Kind.VARIABLE or (
        cursor.token.text in _BLOCKS and cursor.peek().text == "{"
    )
    return starts or cursor.at("}") or _at_query(cursor)


def _at_projection_boundary(cursor: Cursor) -> bool:
    return cursor.token.kind is Kind.VARIABLE or cursor.at("}") or _at_query(cursor)


def _clause(cursor: Cursor) -> Clause:
    start = cursor.token.span
    following = cursor.peek()
    if cursor.token.text in _BLOCKS and following.text == "{":
        block = NotBlock if cursor.advance().text == "not" else MaybeBlock
        cursor.advance()
        clauses = _clauses(cursor)
        return block(clauses, cursor.since(start))
    if cursor.token.kind is Kind.VARIABLE:
        if following.text == ":" and following.kind is Kind.PUNCTUATION:
            return _binding(cursor)
        if _at_traversal(cursor):
            return _traversal(cursor)
    if cursor.at(","):
        raise cursor.problem("expected a clause", "clauses are separated by white space, not by commas")
    condition = parse_expression(cursor)
    return Filter(condition, cursor.since(start))


def _binding(cursor: Cursor) -> Binding:
    start = cursor.token.span
    variable = parse_variable(cursor, "a variable")
    cursor.advance()
    type_name = cursor.type_name("a node type")
    matches: list[PropertyMatch] = []
    if cursor.take("{"):
        while not cursor.at("}"):
            matches.append(_property_match(cursor))
            if not cursor.take(","):
                break
        cursor.expect("}", "after the property matches")
    return Binding(variable, type_name, tuple(matches), cursor.since(start))


def _property_match(cursor: Cursor) -> PropertyMatch:
    start = cursor.token.span
    name = cursor.name("a property")
    cursor.expect(":", "between a property and its value")
    value = parse_value(cursor, allow_null=False)
    return PropertyMatch(name, value, cursor.since(start))


def _at_traversal(cursor: Cursor) -> bool:
    """Whether ``$a`` starts a traversal: ``$a edge $b``, ``$a <edge> $b``, ``$a $e: edge $b``, with bounds or not."""
    if cursor.peek(1).kind is Kind.VARIABLE:
        return cursor.peek(2).text == ":"
    if cursor.peek(1).text == "<":
        return _is_edge_word(cursor.peek(2)) and cursor.peek(3).text == ">"
    if not _is_edge_word(cursor.peek(1)):
        return False
    return cursor.peek(2).kind is Kind.VARIABLE or cursor.peek(2).text == "{"


def _is_edge_word(token: Token) -> bool:
    return token.kind is Kind.WORD and token.text != "not" and not token.text.startswith("not_")


def _traversal(cursor: Cursor) -> Traversal:
    start = cursor.token.span
    left = parse_variable(cursor, "a variable")
    bound: Variable | None = None
    if cursor.token.kind is Kind.VARIABLE:
        bound = parse_variable(cursor, "an edge variable")
        cursor.expect(":", "after an edge variable")
    starts_shortest = cursor.peek().kind is Kind.WORD or cursor.peek().text == "<"
    shortest = bound is not None and cursor.at("shortest") and starts_shortest
    if shortest:
        cursor.advance()
    undirected = cursor.take("<")
    if not _is_edge_word(cursor.token):
        hint = "write an edge type with its first letter in lower case: `worksAt` for `WorksAt`"
        raise cursor.problem("expected an edge", hint if cursor.token.kind is Kind.TYPE_NAME else None)
    edge = cursor.name("an edge")
    if undirected:
        cursor.expect(">", "after an undirected edge")
    hops = _hops(cursor) if cursor.at("{") else None
    right = parse_variable(cursor, "the variable at the other end of the edge")
    return Traversal(left, edge, right, bound, undirected, hops, shortest, cursor.since(start))


def _hops(cursor: Cursor) -> Hops:
    start = cursor.advance().span
    low = cursor.integer("the smallest number of hops", INTEGER_LITERAL_MAX)
    cursor.expect(",", "between hop bounds, as in `{1,3}`")
    high = None if cursor.at("}") else cursor.integer("the largest number of hops", INTEGER_LITERAL_MAX)
    cursor.expect("}", "after the hop bounds")
    return Hops(low, high, cursor.since(start))


def _projection(cursor: Cursor) -> Projection:
    start = cursor.token.span
    expression = parse_expression(cursor)
    alias = cursor.name("an alias") if cursor.take("as") else None
    span = cursor.since(start)
    cursor.take(",")
    return Projection(expression, alias, span)


def _order(cursor: Cursor) -> tuple[OrderKey, ...]:
    cursor.expect("{", "after `order`")
    keys = [_order_key(cursor)]
    while cursor.take(","):
        keys.append(_order_key(cursor))
    cursor.expect("}", "after the order keys")
    return tuple(keys)


def _order_key(cursor: Cursor) -> OrderKey:
    start = cursor.token.span
    is_nearest = cursor.at("nearest") and cursor.peek().text == "("
    expression = parse_expression(cursor)
    descending: bool | None = None
    if cursor.at("asc") or cursor.at("desc"):
        if is_nearest:
            raise cursor.problem("`nearest` has no direction: the closest comes first")
        descending = cursor.advance().text == "desc"
    return OrderKey(expression, descending, cursor.since(start))


# --- mutations -------------------------------------------------------------------------------------------


def _mutation_body(cursor: Cursor) -> MutationBody:
    start = cursor.token.span
    statements: list[Statement] = []
    while not cursor.at("}"):
        if cursor.at_end or _at_query(cursor):
            raise cursor.problem("expected `}` to close the query")
        before = cursor.token
        try:
            statements.append(_statement(cursor))
        except SyntaxProblem as problem:
            cursor.report(problem)
            if cursor.token is before and not cursor.at("}"):
                cursor.advance()
            cursor.skip_to(_at_statement_boundary)
    return MutationBody(tuple(statements), cursor.since(start))


def _at_statement_boundary(cursor: Cursor) -> bool:
    starts = cursor.token.text in _STATEMENTS and cursor.peek().kind is Kind.TYPE_NAME
    return starts or cursor.at("}") or _at_query(cursor)


def _statement(cursor: Cursor) -> Statement:
    start = cursor.token.span
    if cursor.take("insert"):
        type_name = cursor.type_name("the type to insert")
        assignments = _assignments(cursor)
        return Insert(type_name, assignments, cursor.since(start))
    if cursor.take("update"):
        type_name = cursor.type_name("the type to update")
        cursor.expect("set", "after the type of an update")
        assignments = _assignments(cursor)
        where = _predicate(cursor)
        return Update(type_name, assignments, where, cursor.since(start))
    if cursor.take("delete"):
        type_name = cursor.type_name("the type to delete from")
        where = _predicate(cursor)
        return Delete(type_name, where, cursor.since(start))
    hint = "a query either reads or writes" if cursor.at("match") else None
    raise cursor.problem("expected `insert`, `update` or `delete`", hint)


def _assignments(cursor: Cursor) -> tuple[Assignment, ...]:
    cursor.expect("{", "to open the assignments")
    assignments: list[Assignment] = []
    while not cursor.at("}"):
        start = cursor.token.span
        name = cursor.name("a property")
        cursor.expect(":", "between a property and its value")
        value = parse_value(cursor, allow_null=True)
        assignments.append(Assignment(name, value, cursor.since(start)))
        cursor.take(",")
    cursor.expect("}", "after the assignments")
    return tuple(assignments)


def _predicate(cursor: Cursor) -> Predicate:
    cursor.expect("where", "and a comparison, as in `where name = $name`")
    start = cursor.token.span
    name: Name = cursor.name("a property")
    operator = COMPARISONS.get(cursor.token.text)
    if operator is None or cursor.token.kind is not Kind.PUNCTUATION:
        raise cursor.problem("expected a comparison (`=`, `!=`, `<`, `<=`, `>`, `>=`)")
    cursor.advance()
    value = parse_value(cursor, allow_null=False)
    return Predicate(name, operator, value, cursor.since(start))
