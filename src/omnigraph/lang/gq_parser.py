"""Recursive-descent parser of ``.gq`` files: queries and their sections.

Accepts exactly the grammar; names and types are checked by ``query``. Expressions live in ``gq_expressions``,
statements in ``mutation``. After an
error it resumes at the next clause, statement or query, so that one run reports all errors.
"""

from __future__ import annotations

from dataclasses import dataclass

from omnigraph.core.limits import INTEGER_LITERAL_MAX
from omnigraph.lang.cursor import Cursor, SyntaxProblem, parse_type
from omnigraph.lang.diagnostics import Diagnostic
from omnigraph.lang.gq_ast import (
    Call,
    Expr,
    MutationBody,
    OrderKey,
    Parameter,
    Projection,
    Query,
    QueryFile,
    ReadBody,
)
from omnigraph.lang.gq_clauses import at_operand, at_query, parse_block, parse_clauses
from omnigraph.lang.gq_expressions import parse_expression, parse_variable
from omnigraph.lang.lexer import Comment, Kind
from omnigraph.lang.mutation.parser import STATEMENTS, at_mutation, parse_mutation, parse_record_fields
from omnigraph.lang.source import Source
from omnigraph.lang.syntax import TypeRef

_EXAMPLE = "a query is like `query q() { match { $p: Person } return { $p.name } }`"


@dataclass(frozen=True, slots=True)
class ParsedQueries:
    """A syntax tree, its comments and diagnostics; with errors the tree contains what could be parsed."""

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
            if not _at_header(cursor):
                cursor.advance()
            cursor.skip_to(_at_header, at_query)
    return ParsedQueries(source, QueryFile(tuple(queries)), cursor.lexed.comments, cursor.diagnostics.report())


@dataclass(frozen=True, slots=True)
class ParsedExpression:
    """A standalone expression, or None with diagnostics."""

    expression: Expr | None
    diagnostics: tuple[Diagnostic, ...]


def parse_lone_expression(source: Source) -> ParsedExpression:
    """Parse a text that is one expression. Never raises: errors are in the result."""
    cursor = Cursor(source)
    expression: Expr | None = None
    try:
        expression = parse_expression(cursor)
        if not cursor.at_end:
            raise cursor.problem("expected the end of the expression")
    except SyntaxProblem as problem:
        cursor.report(problem)
    diagnostics = cursor.diagnostics.report()
    return ParsedExpression(None if diagnostics else expression, diagnostics)


def _at_header(cursor: Cursor) -> bool:
    return cursor.at("query") and cursor.peek().kind is Kind.WORD and cursor.peek(2).text == "("


def _query(cursor: Cursor) -> Query:
    start = cursor.expect("query", "to start a query", _outside_hint(cursor)).span
    name = cursor.name("the query's name")
    cursor.expect("(", "after the query's name", "a query without parameters has empty parentheses: `query name() {`")
    parameters: list[Parameter] = []
    if not cursor.at(")"):
        parameters.append(_parameter(cursor))
        while cursor.take(","):
            parameters.append(_parameter(cursor))
    cursor.expect(")", "after the parameters", "parameters are separated by commas")
    annotations = _query_annotations(cursor)
    cursor.expect("{", "to open the query's body")
    body: ReadBody | MutationBody
    if at_mutation(cursor):
        body = parse_mutation(cursor)
    elif cursor.at("match"):
        body = _read_body(cursor)
    else:
        hint = cursor.case_hint("match", *STATEMENTS) or _body_hint(cursor)
        raise cursor.problem("expected `match`, `insert`, `update` or `delete`", hint)
    cursor.expect("}", "to close the query", _tail_hint(cursor))
    return Query(
        name,
        tuple(parameters),
        annotations.get("description"),
        annotations.get("instruction"),
        body,
        cursor.since(start),
    )


def _outside_hint(cursor: Cursor) -> str | None:
    if cursor.token.text.lower() in ("match", *STATEMENTS):
        return "write it inside of a query: `query name() { ... }`"
    if cursor.token.text in ("node", "edge", "interface"):
        return "types are declared in a `.pg` file"
    if cursor.token.text.lower() in ("select", "with", "from"):
        return f"SQL is run by the verb `sql`; {_EXAMPLE}"
    return _EXAMPLE


def _body_hint(cursor: Cursor) -> str | None:
    if cursor.at("return") or cursor.at("where") or cursor.at("select"):
        return "a read starts with `match { ... }`"
    return cursor.suggest(cursor.token.text, ["match", *STATEMENTS]) if cursor.token.kind is Kind.WORD else None


def _tail_hint(cursor: Cursor) -> str | None:
    """A hint for tokens after the last section of a body."""
    if cursor.token.text in ("order", "limit", "offset", "where"):
        return "the order is `match`, `return`, `order`, `limit`, `offset`; filters belong in `match`"
    if cursor.token.text in STATEMENTS:
        return "a query either reads or writes"
    return cursor.case_hint("order", "limit", "offset")


def _parameter(cursor: Cursor) -> Parameter:
    start = cursor.token.span
    variable = parse_variable(cursor, "a parameter such as `$name: String`")
    cursor.expect(":", "between a parameter and its type")
    if cursor.at("[") and cursor.peek().text == "{":
        fields = parse_record_fields(cursor)
        return Parameter(variable, TypeRef("String", fields[0][0].span, True), cursor.since(start), fields)
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


def _read_body(cursor: Cursor) -> ReadBody:
    start = cursor.expect("match", "to start a read").span
    cursor.expect("{", "after `match`")
    clauses = parse_clauses(cursor, "match")
    cursor.expect("return", "after the `match` block", _after_match_hint(cursor))
    distinct = cursor.take("distinct")
    cursor.expect("{", "after `return`")
    projections = parse_block(cursor, _projection, _at_projection_boundary, _at_order, "return")
    order: tuple[OrderKey, ...] = ()
    if cursor.take("order"):
        order = _order(cursor)
    limit = _number_after(cursor, "limit")
    offset = _number_after(cursor, "offset")
    return ReadBody(clauses, projections, distinct, order, limit, offset, cursor.since(start))


def _after_match_hint(cursor: Cursor) -> str | None:
    return "filters belong inside the `match` block" if cursor.at("where") else None


def _number_after(cursor: Cursor, word: str) -> int | None:
    if not cursor.take(word):
        return None
    if cursor.token.kind is Kind.VARIABLE:
        raise cursor.problem(f"expected the number after `{word}`", "only a number is allowed here, no parameter")
    return cursor.integer(f"the number after `{word}`", INTEGER_LITERAL_MAX)


def _at_order(cursor: Cursor) -> bool:
    return cursor.at("order") and cursor.peek().text == "{"


def _at_projection_boundary(cursor: Cursor) -> bool:
    starts = cursor.token.kind is Kind.VARIABLE and not at_operand(cursor)
    return starts or cursor.at("}") or _at_order(cursor)


def _projection(cursor: Cursor) -> Projection:
    start = cursor.token.span
    expression = parse_expression(cursor)
    alias = cursor.name("an alias") if cursor.take("as") else None
    span = cursor.since(start)
    cursor.take(",")
    return Projection(expression, alias, span)


def _order(cursor: Cursor) -> tuple[OrderKey, ...]:
    cursor.expect("{", "after `order`", "write `order { $p.name desc }`")
    keys = [_order_key(cursor)]
    while cursor.take(","):
        keys.append(_order_key(cursor))
    cursor.expect("}", "after the order keys", "order keys are separated by commas")
    return tuple(keys)


def _order_key(cursor: Cursor) -> OrderKey:
    start = cursor.token.span
    expression = parse_expression(cursor)
    descending: bool | None = None
    if cursor.at("asc") or cursor.at("desc"):
        if isinstance(expression, Call) and expression.function == "nearest":
            message = "`nearest` has no direction: the closest comes first"
            raise SyntaxProblem(message, cursor.token.span)
        descending = cursor.advance().text == "desc"
    return OrderKey(expression, descending, cursor.since(start))
