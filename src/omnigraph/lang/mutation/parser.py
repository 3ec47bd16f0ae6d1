"""Statements of a mutation: insert, upsert, update and delete; alone, behind a ``match``, or inside ``for``.

After an error the parser resumes at the next statement.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final, TypeVar

from omnigraph.lang.cursor import Cursor, SyntaxProblem, parse_type
from omnigraph.lang.gq_ast import (
    Assignment,
    Delete,
    Expr,
    ForEach,
    Insert,
    Matched,
    MutationBody,
    Projection,
    Statement,
    Update,
    Variable,
)
from omnigraph.lang.gq_calls import parse_variable
from omnigraph.lang.gq_clauses import at_query, parse_clauses
from omnigraph.lang.gq_expressions import parse_expression
from omnigraph.lang.lexer import Kind
from omnigraph.lang.syntax import Name, TypeRef

STATEMENTS = ("insert", "upsert", "update", "delete")
_EXPECTED = "expected `insert`, `upsert`, `update` or `delete`"
_JOINED = "conditions are joined with `and` or `or`"
_BRACES = {"{": 1, "}": -1}
Part = TypeVar("Part")

ITEM_NUMBER_MAX: Final = 2**31 - 1
"""Largest number of an item in a path."""


def at_mutation(cursor: Cursor) -> bool:
    """True if the body of a mutation starts here."""
    if cursor.token.text in STATEMENTS or (cursor.at("for") and cursor.peek().kind is Kind.VARIABLE):
        return True
    return cursor.at("match") and _is_matched(cursor)


def _is_matched(cursor: Cursor) -> bool:
    """True for a ``match`` with a statement behind its block; otherwise it is the ``match`` of a read.

    A block that is never closed ends at the next query: a text of broken ones must not cost the square of its length.
    """
    depth, ahead = 0, 1
    while (token := cursor.peek(ahead)).kind is not Kind.END:
        if token.text == "query" and cursor.peek(ahead + 1).kind is Kind.WORD and cursor.peek(ahead + 2).text == "(":
            return False
        depth += _BRACES.get(token.text, 0) if token.kind is Kind.PUNCTUATION else 0
        ahead += 1
        if depth == 0:
            break
    return cursor.peek(ahead).text in STATEMENTS


def parse_record_fields(cursor: Cursor) -> tuple[tuple[Name, TypeRef], ...]:
    """``[{ name: Type, ... }]``, the type of a parameter that is a list of records."""
    cursor.advance()
    cursor.advance()
    fields: list[tuple[Name, TypeRef]] = []
    while not fields or cursor.take(","):
        name = cursor.name("the name of a field")
        cursor.expect(":", "between a field and its type")
        fields.append((name, parse_type(cursor, allow_enum=False)))
    cursor.expect("}", "after the fields of a record", "fields are separated by commas")
    cursor.expect("]", "after the record of a list")
    return tuple(fields)


def parse_mutation(cursor: Cursor, *, is_bare: bool = False) -> MutationBody:
    """Statements up to the closing brace of the query, or of a bare mutation up to the end of the text."""
    start = cursor.token.span
    statements = _statements(cursor, None if is_bare else "query", _top_level)
    return MutationBody(statements, cursor.since(start))


def _top_level(cursor: Cursor) -> Statement | Matched | ForEach:
    start = cursor.token.span
    if cursor.take("match"):
        cursor.expect("{", "after `match`")
        clauses = parse_clauses(cursor, "match", parse_expression)
        statements = [_statement(cursor)]
        while cursor.token.text in STATEMENTS:
            statements.append(_statement(cursor))
        return Matched(clauses, tuple(statements), cursor.since(start))
    if cursor.at("for") and cursor.peek().kind is Kind.VARIABLE:
        cursor.advance()
        variable = parse_variable(cursor, "a variable")
        cursor.expect("in", "after the variable of `for`")
        rows = parse_variable(cursor, "a parameter that is a list of records")
        cursor.expect("{", "to open the statements of `for`")
        inner = _statements(cursor, "for", _statement)
        closing = cursor.expect("}", "to close `for`").span
        if not inner:
            raise SyntaxProblem("`for` needs at least one statement", closing)
        return ForEach(variable, rows, inner, cursor.since(start))
    return _statement(cursor)


def _statements(cursor: Cursor, block: str | None, parse: Callable[[Cursor], Part]) -> tuple[Part, ...]:
    statements: list[Part] = []
    while not cursor.at("}"):
        if cursor.at_end or at_query(cursor):
            if block is None:
                break
            raise cursor.problem(f"expected `}}` to close the {block}")
        before = cursor.index
        try:
            statements.append(parse(cursor))
        except SyntaxProblem as problem:
            cursor.report(problem)
            if cursor.index == before and not cursor.at("}"):
                cursor.advance()
            cursor.skip_to(_at_statement_boundary, at_query, since=before)
    return tuple(statements)


def _at_statement_boundary(cursor: Cursor) -> bool:
    starts = cursor.token.text in STATEMENTS and cursor.peek().kind in (Kind.TYPE_NAME, Kind.VARIABLE)
    return starts or cursor.at("}") or (cursor.at("match") and cursor.peek().text == "{")


def _statement(cursor: Cursor) -> Statement:
    start = cursor.token.span
    if cursor.at("insert") or cursor.at("upsert"):
        word = cursor.advance().text
        type_name = cursor.type_name(f"the type to {word}")
        assignments = _assignments(cursor)
        returning = _returning(cursor)
        return Insert(type_name, assignments, cursor.since(start), word == "upsert", returning)
    if cursor.take("update"):
        target = _target(cursor, "the type to update")
        cursor.expect("set", "after the type of an update")
        assignments = _assignments(cursor)
        if not assignments:
            raise SyntaxProblem("an update must set at least one property", cursor.previous_span)
        where = _where(cursor, target)
        returning = _returning(cursor)
        return Update(target, assignments, where, cursor.since(start), returning)
    if cursor.take("delete"):
        target = _target(cursor, "the type to delete from")
        where = _where(cursor, target)
        returning = _returning(cursor)
        return Delete(target, where, cursor.since(start), returning)
    raise cursor.problem(_EXPECTED, _statement_hint(cursor))


def _target(cursor: Cursor, wanted: str) -> Name | Variable:
    return parse_variable(cursor, wanted) if cursor.token.kind is Kind.VARIABLE else cursor.type_name(wanted)


def _statement_hint(cursor: Cursor) -> str | None:
    if cursor.at("match") or cursor.at("return"):
        return "a query either reads or writes"
    if cursor.token.text.lower() in ("and", "or"):
        return cursor.case_hint("and", "or")
    return cursor.case_hint(*STATEMENTS)


def _assignments(cursor: Cursor) -> tuple[Assignment, ...]:
    cursor.expect("{", "to open the assignments")
    assignments: list[Assignment] = []
    while not cursor.at("}") and not cursor.at_end:
        start = cursor.token.span
        name = cursor.name("a property")
        path = _path(cursor)
        hint = "a value is assigned with a colon" if cursor.at("=") else None
        cursor.expect(":", "between a property and its value", hint)
        if name.text in ("from", "to") and not path and cursor.take("{"):
            node_type, value = _node(cursor)
            assignments.append(Assignment(name, value, cursor.since(start), node_type=node_type))
        else:
            assignments.append(Assignment(name, parse_expression(cursor), cursor.since(start), path))
        cursor.take(",")
    cursor.expect("}", "after the assignments")
    return tuple(assignments)


def _node(cursor: Cursor) -> tuple[Expr, Expr]:
    """``type: "Post", id: "7" }``: a node by its type and id, in either order."""
    parts: dict[str, Expr] = {}
    while len(parts) < 2:
        if not (cursor.at("type") or cursor.at("id")) or cursor.token.text in parts:
            hint = 'a node is written `{ type: "Post", id: "7" }`'
            raise cursor.problem("expected the `type` and the `id` of a node", hint)
        word = cursor.advance().text
        cursor.expect(":", f"after `{word}`")
        parts[word] = parse_expression(cursor)
        cursor.take(",")
    cursor.expect("}", "after the type and the id of a node")
    return parts["type"], parts["id"]


MEMBER_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
"""Names of members that need no quotes."""


def _path(cursor: Cursor) -> tuple[str | int, ...]:
    """The steps behind a property: ``.member``, ``["member"]`` and ``[0]``."""
    steps: list[str | int] = []
    while cursor.is_adjacent and (cursor.at(".") or cursor.at("[")):
        if cursor.advance().text == ".":
            if cursor.token.kind not in (Kind.WORD, Kind.TYPE_NAME):
                raise cursor.problem("expected the name of a member", 'other names are written `["a name"]`')
            steps.append(cursor.advance().text)
            continue
        if cursor.token.kind is Kind.STRING:
            steps.append(cursor.advance().value)
        else:
            sign = -1 if cursor.take("-") else 1
            steps.append(sign * cursor.integer("the number of an item", ITEM_NUMBER_MAX))
        cursor.expect("]", "after a step of a path")
    return tuple(steps)


def _where(cursor: Cursor, target: Name | Variable) -> Expr | None:
    if isinstance(target, Variable) and not cursor.at("where"):
        return None
    cursor.expect("where", "and a condition, as in `where name = $name`")
    condition = parse_expression(cursor)
    if cursor.at(","):
        raise cursor.problem(_EXPECTED, _JOINED)
    return condition


def _returning(cursor: Cursor) -> tuple[Projection, ...]:
    if not cursor.at("returning"):
        return ()
    cursor.advance()
    cursor.expect("{", "after `returning`")
    projections: list[Projection] = []
    while not projections or cursor.take(","):
        start = cursor.token.span
        expression = parse_expression(cursor)
        alias = cursor.name("an alias") if cursor.take("as") else None
        projections.append(Projection(expression, alias, cursor.since(start)))
    cursor.expect("}", "after the values to return", "values are separated by commas")
    return tuple(projections)
