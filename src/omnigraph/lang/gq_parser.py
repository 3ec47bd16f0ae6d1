"""Recursive-descent parser of ``.gq`` files: queries and their sections.

Accepts exactly the grammar; names and types are checked by ``query``. Expressions live in ``gq_expressions``,
statements in ``mutation``. After an
error it resumes at the next clause, statement or query, so that one run reports all errors.
"""

from __future__ import annotations

from omnigraph.core.classes.dataclass import dataclass
from omnigraph.lang.cursor import Cursor, SyntaxProblem, parse_type
from omnigraph.lang.diagnostics import Diagnostic
from omnigraph.lang.gq_ast import (
    Expr,
    MutationBody,
    Parameter,
    Query,
    QueryFile,
    ReadBody,
)
from omnigraph.lang.gq_calls import parse_variable
from omnigraph.lang.gq_clauses import at_query
from omnigraph.lang.gq_expressions import parse_expression
from omnigraph.lang.lexer import Comment, Kind
from omnigraph.lang.mutation.parser import STATEMENTS, at_mutation, parse_mutation, parse_record_fields
from omnigraph.lang.reads.body import parse_read, tail_hint
from omnigraph.lang.source import Source
from omnigraph.lang.syntax import Name, TypeRef

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
    if at_mutation(cursor) or (cursor.at("match") and cursor.peek().text == "{"):
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
"""The name of a read or mutation that is written without one."""


def _bare(cursor: Cursor) -> list[Query]:
    """A read or mutation without ``query name() {}``, which is the whole text."""
    start = cursor.token.span
    body: ReadBody | MutationBody
    try:
        if at_mutation(cursor):
            body = parse_mutation(cursor, is_bare=True)
        else:
            body = parse_read(cursor)
        if not cursor.at_end:
            kind = "read" if isinstance(body, ReadBody) else "mutation"
            hint = "several queries of one text need names: `query name() { ... }`"
            raise cursor.problem(f"expected the end of the {kind}", _tail_hint(cursor) or hint)
    except SyntaxProblem as problem:
        cursor.report(problem)
        cursor.skip_to(_at_header, at_query)
        return []
    return [Query(Name(BARE_NAME, start), (), None, None, body, cursor.since(start), bare=True)]


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
    if at_mutation(cursor):
        body = parse_mutation(cursor)
    elif cursor.at("match"):
        body = parse_read(cursor)
    else:
        _refuse_foreign(cursor)
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


def _refuse_foreign(cursor: Cursor) -> None:
    """Report a text in Cypher or SQL as such."""
    from omnigraph.lang.reads.foreign import TRANSLATED_MAX, foreign_text

    start = cursor.token.span.start
    found = foreign_text(cursor.lexed.source.text[start : start + TRANSLATED_MAX])
    if found is not None:
        message, hint = found
        raise SyntaxProblem(f"{message}, but queries are written in `.gq`", cursor.token.span, hint)


def _outside_hint(cursor: Cursor) -> str | None:
    if cursor.token.text.lower() in ("match", *STATEMENTS):
        return cursor.case_hint("match", *STATEMENTS) or "write it inside of a query: `query name() { ... }`"
    if cursor.token.text in ("node", "edge", "interface"):
        return "types are declared in a `.pg` file"
    return _EXAMPLE


def _body_hint(cursor: Cursor) -> str | None:
    if cursor.at("return") or cursor.at("where") or cursor.at("select"):
        return "a read starts with `match { ... }`"
    return cursor.suggest(cursor.token.text, ["match", *STATEMENTS]) if cursor.token.kind is Kind.WORD else None


def _tail_hint(cursor: Cursor) -> str | None:
    """A hint for tokens after the last section of a body."""
    return "a query either reads or writes" if cursor.token.text in STATEMENTS else tail_hint(cursor)


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
