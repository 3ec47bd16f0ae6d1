"""Recursive-descent parser of ``.gq`` files: queries, clauses, statements.

Accepts exactly the grammar; names and types are checked by ``query``. Expressions live in ``gq_expressions``. After an
error it resumes at the next clause, statement or query, so that one run reports all errors.
"""

from __future__ import annotations

from dataclasses import dataclass

from omnigraph.lang.cursor import Cursor, SyntaxProblem, parse_type
from omnigraph.lang.diagnostics import Diagnostic
from omnigraph.lang.gq_ast import (
    Assignment,
    Delete,
    Expr,
    Insert,
    MutationBody,
    Parameter,
    Predicate,
    Query,
    QueryFile,
    ReadBody,
    Statement,
    Update,
)
from omnigraph.lang.gq_clauses import at_query
from omnigraph.lang.gq_expressions import (
    COMPARISONS,
    parse_expression,
    parse_value,
    parse_variable,
)
from omnigraph.lang.lexer import Comment, Kind
from omnigraph.lang.reads.body import parse_read, tail_hint
from omnigraph.lang.reads.foreign import TRANSLATED_MAX, foreign_text
from omnigraph.lang.source import Source
from omnigraph.lang.syntax import Name

_STATEMENTS = ("insert", "update", "delete")
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
    if cursor.at("match") and cursor.peek().text == "{":
        queries.extend(_bare(cursor))
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


BARE_NAME = "query"
"""The name of a read that is written without one."""


def _bare(cursor: Cursor) -> list[Query]:
    """A read without ``query name() {}``, which is the whole text."""
    start = cursor.token.span
    try:
        body = parse_read(cursor)
        if not cursor.at_end:
            hint = "several queries of one text need names: `query name() { ... }`"
            raise cursor.problem("expected the end of the read", _tail_hint(cursor) or hint)
    except SyntaxProblem as problem:
        cursor.report(problem)
        cursor.skip_to(_at_header, at_query)
        return []
    return [Query(Name(BARE_NAME, start), (), None, None, body, body.span, bare=True)]


def _query(cursor: Cursor) -> Query:
    if not cursor.at("query"):
        _refuse_foreign(cursor)
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
    if cursor.at("match"):
        body = parse_read(cursor)
    elif cursor.token.text in _STATEMENTS:
        body = _mutation_body(cursor)
    else:
        _refuse_foreign(cursor)
        hint = cursor.case_hint("match", *_STATEMENTS) or _body_hint(cursor)
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


def _refuse_foreign(cursor: Cursor) -> None:
    """Report a text in Cypher or SQL as such."""
    start = cursor.token.span.start
    found = foreign_text(cursor.lexed.source.text[start : start + TRANSLATED_MAX])
    if found is not None:
        message, hint = found
        raise SyntaxProblem(f"{message}, but queries are written in `.gq`", cursor.token.span, hint)


def _outside_hint(cursor: Cursor) -> str | None:
    if cursor.token.text.lower() in ("match", *_STATEMENTS):
        return cursor.case_hint("match") or "write it inside of a query: `query name() { ... }`"
    if cursor.token.text in ("node", "edge", "interface"):
        return "types are declared in a `.pg` file"
    return _EXAMPLE


def _body_hint(cursor: Cursor) -> str | None:
    if cursor.at("return") or cursor.at("where") or cursor.at("select"):
        return "a read starts with `match { ... }`"
    return cursor.suggest(cursor.token.text, ["match", *_STATEMENTS]) if cursor.token.kind is Kind.WORD else None


def _tail_hint(cursor: Cursor) -> str | None:
    """A hint for tokens after the last section of a body."""
    return "a query either reads or writes" if cursor.token.text in _STATEMENTS else tail_hint(cursor)


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


def _mutation_body(cursor: Cursor) -> MutationBody:
    start = cursor.token.span
    statements: list[Statement] = []
    while not cursor.at("}"):
        if cursor.at_end or at_query(cursor):
            raise cursor.problem("expected `}` to close the query")
        before = cursor.index
        try:
            statements.append(_statement(cursor))
        except SyntaxProblem as problem:
            cursor.report(problem)
            if cursor.index == before and not cursor.at("}"):
                cursor.advance()
            cursor.skip_to(_at_statement_boundary, at_query, since=before)
    return MutationBody(tuple(statements), cursor.since(start))


def _at_statement_boundary(cursor: Cursor) -> bool:
    starts = cursor.token.text in _STATEMENTS and cursor.peek().kind is Kind.TYPE_NAME
    return starts or cursor.at("}")


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
        if not assignments:
            raise SyntaxProblem("an update must set at least one property", cursor.previous_span)
        where = _predicate(cursor)
        return Update(type_name, assignments, where, cursor.since(start))
    if cursor.take("delete"):
        type_name = cursor.type_name("the type to delete from")
        where = _predicate(cursor)
        return Delete(type_name, where, cursor.since(start))
    hint = "a query either reads or writes" if cursor.at("match") or cursor.at("return") else None
    raise cursor.problem("expected `insert`, `update` or `delete`", hint or cursor.case_hint(*_STATEMENTS))


def _assignments(cursor: Cursor) -> tuple[Assignment, ...]:
    cursor.expect("{", "to open the assignments")
    assignments: list[Assignment] = []
    while not cursor.at("}") and not cursor.at_end:
        start = cursor.token.span
        name = cursor.name("a property")
        hint = "a value is assigned with a colon" if cursor.at("=") else None
        cursor.expect(":", "between a property and its value", hint)
        value = parse_value(cursor, allow_null=True)
        assignments.append(Assignment(name, value, cursor.since(start)))
        cursor.take(",")
    cursor.expect("}", "after the assignments")
    return tuple(assignments)


# Consecutive statements form a union: one per comparison means `or`. As advice for `and` it would change or
# delete entities that satisfy only one of the comparisons.
_ONLY_THESE = "find the entities with a query first, then name each by its key or another unique property"
_SECOND_COMPARISONS = {
    "and": _ONLY_THESE,
    "or": "write one statement for each side of the `or`; all statements of a mutation are one commit",
}


def _predicate(cursor: Cursor) -> Predicate:
    cursor.expect("where", "and a comparison, as in `where name = $name`")
    start = cursor.token.span
    if cursor.token.kind is Kind.VARIABLE:
        raise cursor.problem(
            "expected a property", "a mutation names properties without a variable: `where name = ...`"
        )
    name: Name = cursor.name("a property")
    operator = COMPARISONS.get(cursor.token.text)
    if operator is None or cursor.token.kind is not Kind.PUNCTUATION:
        raise cursor.problem("expected a comparison (`=`, `!=`, `<`, `<=`, `>`, `>=`)")
    cursor.advance()
    if cursor.at("="):
        raise cursor.problem("expected a value", "equality is written `=`")
    value = parse_value(cursor, allow_null=False)
    hint = _SECOND_COMPARISONS.get(cursor.token.text.lower())
    if hint:
        raise SyntaxProblem("the `where` of a mutation has one comparison", cursor.token.span, hint)
    return Predicate(name, operator, value, cursor.since(start))
