"""The sections of a read: ``match``, ``return``, ``having``, ``union``, ``order``, ``limit``, ``offset``, ``then``."""

from __future__ import annotations

from dataclasses import replace

from omnigraph.core.limits import INTEGER_LITERAL_MAX, STAGES_MAX
from omnigraph.lang.cursor import Cursor, SyntaxProblem
from omnigraph.lang.gq_ast import Call, Clause, Expr, OrderKey, Projection, ReadBody, Variable
from omnigraph.lang.gq_calls import parse_variable
from omnigraph.lang.gq_clauses import at_operand, parse_block, parse_clauses
from omnigraph.lang.gq_expressions import parse_expression
from omnigraph.lang.lexer import Kind

SECTIONS = ("having", "union", "order", "limit", "offset", "then")
"""The sections that may follow ``return``, in their order."""


def parse_read(cursor: Cursor) -> ReadBody:
    """A read from ``match`` to its last section, with its stages."""
    read = _stage(cursor, is_later=False)
    number = 1
    while cursor.at("then"):
        word = cursor.advance()
        number += 1
        if number > STAGES_MAX:
            raise SyntaxProblem(f"a query has at most {STAGES_MAX} stages", word.span, "split the query")
        read = replace(_stage(cursor, is_later=True), former=read)
    return read


def _stage(cursor: Cursor, *, is_later: bool) -> ReadBody:
    """One stage, with the reads of a ``union``."""
    first = _part(cursor, is_later=is_later)
    others: list[ReadBody] = []
    keeps: bool | None = None
    while cursor.at("union"):
        word = cursor.advance()
        every = cursor.take("all")
        if keeps not in (None, every):
            raise SyntaxProblem("`union` and `union all` cannot be mixed", word.span, "write the same for all reads")
        keeps = every
        others.append(_part(cursor, is_later=is_later))
    order: tuple[OrderKey, ...] = ()
    if cursor.take("order"):
        order = _order(cursor)
    limit = _number_after(cursor, "limit")
    offset = _number_after(cursor, "offset")
    if not (order or others) and limit is None and offset is None:
        return first
    return replace(
        first,
        order=order,
        limit=limit,
        offset=offset,
        span=cursor.since(first.span),
        union=tuple(others),
        keeps_duplicates=bool(keeps),
    )


def _part(cursor: Cursor, *, is_later: bool) -> ReadBody:
    """``match {} return {} having {}``; a later stage may do without ``match``."""
    start = cursor.token.span
    clauses: tuple[Clause, ...] = ()
    if not is_later or not cursor.at("return"):
        hint = "a stage starts with `match { ... }` or `return { ... }`" if is_later else None
        cursor.expect("match", "to start a stage" if is_later else "to start a read", hint)
        cursor.expect("{", "after `match`")
        clauses = parse_clauses(cursor, "match", parse_expression)
    cursor.expect("return", "after the `match` block", _after_match_hint(cursor))
    distinct = cursor.take("distinct")
    cursor.expect("{", "after `return`")
    projections = parse_block(cursor, _projection, _at_projection_boundary, _at_section, "return")
    having = _having(cursor) if cursor.take("having") else None
    return ReadBody(clauses, projections, distinct, (), None, None, cursor.since(start), having)


def tail_hint(cursor: Cursor) -> str | None:
    """A hint for tokens after the last section of a body."""
    if cursor.token.text in (*SECTIONS, "where"):
        return (
            "the order is `match`, `return`, `having`, `union`, `order`, `limit`, `offset`, `then`; "
            "filters belong in `match`"
        )
    if cursor.token.text.lower() == "skip":
        return "write `offset`"
    return cursor.case_hint(*SECTIONS)


def _after_match_hint(cursor: Cursor) -> str | None:
    if cursor.token.text in ("insert", "update", "delete"):
        return "write it inside of a query: `query name() { match { ... } update $p ... }`"
    return "filters belong inside the `match` block" if cursor.at("where") else None


def _number_after(cursor: Cursor, word: str) -> int | Variable | None:
    if not cursor.take(word):
        return None
    if cursor.token.kind is Kind.VARIABLE:
        return parse_variable(cursor, "a parameter")
    return cursor.integer(f"the number after `{word}`", INTEGER_LITERAL_MAX)


def _at_section(cursor: Cursor) -> bool:
    return (cursor.at("order") or cursor.at("having")) and cursor.peek().text == "{"


def _at_projection_boundary(cursor: Cursor) -> bool:
    starts = cursor.token.kind is Kind.VARIABLE and not at_operand(cursor)
    return starts or cursor.at("}") or _at_section(cursor)


def _projection(cursor: Cursor) -> Projection:
    start = cursor.token.span
    expression = parse_expression(cursor)
    alias = cursor.name("an alias") if cursor.take("as") else None
    span = cursor.since(start)
    cursor.take(",")
    return Projection(expression, alias, span)


def _having(cursor: Cursor) -> Expr:
    cursor.expect("{", "after `having`", "write `having { count($f) > 3 }`")
    predicate = parse_expression(cursor)
    cursor.expect("}", "after the condition of `having`", "join conditions with `and`")
    return predicate


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
