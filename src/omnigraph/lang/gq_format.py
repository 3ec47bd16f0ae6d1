"""The canonical form of a ``.gq`` file: one clause per line, short blocks on one line, comments kept."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import assert_never

from omnigraph.lang.comments import Line, Places, fits, weave
from omnigraph.lang.diagnostics import raise_errors
from omnigraph.lang.gq_ast import (
    Assignment,
    Binding,
    Clause,
    Delete,
    Exists,
    Filter,
    ForEach,
    Insert,
    Matched,
    MaybeBlock,
    MutationBody,
    Not,
    NotBlock,
    OrderKey,
    Parameter,
    Projection,
    PropertyMatch,
    Query,
    ReadBody,
    Statement,
    Traversal,
    Update,
    Variable,
)
from omnigraph.lang.gq_expression_format import filter_texts, spell_expression, spell_match, spell_traversal
from omnigraph.lang.gq_parser import ParsedQueries
from omnigraph.lang.mutation.parser import MEMBER_NAME
from omnigraph.lang.source import Span
from omnigraph.lang.spelling import spell_string, spell_type
from omnigraph.lang.syntax import Name

_Part = Parameter | PropertyMatch | Projection | OrderKey | Assignment


def format_queries(parsed: ParsedQueries) -> str:
    """The text of a query file in canonical form; raises CompileError if it has syntax errors."""
    raise_errors(parsed.diagnostics)
    formatter = _Formatter(Places(parsed.source, parsed.comments))
    lines = [line for query in parsed.file.queries for line in formatter.query(query)]
    return weave(parsed.source, parsed.comments, lines)


@dataclass(frozen=True, slots=True)
class _Bracketed:
    """Elements between brackets: on one line if they fit and contain no comment, else one per line."""

    head: str
    open: str
    parts: Sequence[_Part]
    close: str
    tail: str
    padding: str
    start: int
    open_span: Span
    close_span: Span
    end: int


class _Formatter:
    def __init__(self, places: Places) -> None:
        self._places = places

    def query(self, query: Query) -> Iterator[Line]:
        start, end = query.span
        if query.bare:
            yield from self._body(query.body, query.span, 0)
            return
        opening = self._places.find("(", query.name.span.end, end)
        closing = self._places.find(")", _end_of(query.parameters, opening.end), end)
        brace = self._places.find("{", closing.end, end)
        annotations = [("description", query.description), ("instruction", query.instruction)]
        notes = "".join(f" @{name}({spell_string(text)})" for name, text in annotations if text is not None)
        parameters = _Bracketed(
            head=f"query {query.name.text}",
            open="(",
            parts=query.parameters,
            close=")",
            tail=f"{notes} {{",
            padding="",
            start=start,
            open_span=opening,
            close_span=closing,
            end=brace.end,
        )
        # Annotations do not count towards the width: breaking the parameters would not shorten them.
        yield from self._bracketed(parameters, 0, uncounted=len(notes), opens=True, separate=True)
        yield from self._body(query.body, Span(brace.end, end), 1)
        yield Line("}", 0, Span(end - 1, end), closes=True)

    def _body(self, body: ReadBody | MutationBody, within: Span, depth: int) -> Iterator[Line]:
        match body:
            case ReadBody():
                yield from self._read(body, within, depth)
            case MutationBody(statements):
                for statement in statements:
                    yield from self._statement(statement, depth)
            case _:
                assert_never(body)

    def _bracketed(
        self, block: _Bracketed, depth: int, *, uncounted: int = 0, opens: bool = False, separate: bool = False
    ) -> Iterator[Line]:
        texts = [_part(part) for part in block.parts]
        inside = f"{block.padding}{', '.join(texts)}{block.padding}" if texts else ""
        joined = f"{block.head}{block.open}{inside}{block.close}{block.tail}"
        commented = self._places.has_comment(block.open_span.end, block.close_span.start)
        if not commented and (not texts or fits(len(joined) - uncounted, depth)):
            yield Line(joined, depth, Span(block.start, block.end), opens=opens, separate=separate)
            return
        head_span = Span(block.start, block.open_span.end)
        yield Line(f"{block.head}{block.open}", depth, head_span, opens=True, separate=separate)
        for index, (part, text) in enumerate(zip(block.parts, texts, strict=True)):
            comma = "," if index + 1 < len(texts) else ""
            yield Line(f"{text}{comma}", depth + 1, part.span)
        tail_span = Span(block.close_span.start, block.end)
        yield Line(f"{block.close}{block.tail}", depth, tail_span, opens=opens, closes=True)

    def _braces(
        self, head: str, parts: Sequence[_Part], span: Span, head_end: int, depth: int, tail: str = ""
    ) -> Iterator[Line]:
        """``head { parts } tail`` for a span of the source."""
        opening = self._places.find("{", head_end, span.end)
        closing = self._places.find("}", _end_of(parts, opening.end), span.end)
        block = _Bracketed(f"{head} ", "{", parts, "}", tail, " ", span.start, opening, closing, span.end)
        yield from self._bracketed(block, depth)

    def _read(self, body: ReadBody, within: Span, depth: int) -> Iterator[Line]:
        end = body.span.start
        for number, stage in enumerate(body.stages):
            if number:
                start = self._places.find("then", end, within.end)
                yield Line("then", depth, start)
            yield from self._stage(stage, within, depth)
            end = stage.span.end

    def _stage(self, body: ReadBody, within: Span, depth: int) -> Iterator[Line]:
        find = self._places.find
        end = body.span.start
        for number, part in enumerate((body, *body.union)):
            if number:
                start = find("union", end, within.end)
                words = "union all" if body.keeps_duplicates else "union"
                stop = find("all", start.end, within.end).end if body.keeps_duplicates else start.end
                yield Line(words, depth, Span(start.start, stop))
            yield from self._part(part, within, depth)
            end = self._end_of_part(part, within)
        if body.order:
            start = find("order", end, within.end)
            end = find("}", _end_of(body.order, start.end), within.end).end
            yield from self._braces("order", body.order, Span(start.start, end), start.end, depth)
        for word, count in (("limit", body.limit), ("offset", body.offset)):
            if count is not None:
                start = find(word, end, within.end)
                end = self._places.next_token(start.end).end
                text = f"${count.name}" if isinstance(count, Variable) else str(count)
                yield Line(f"{word} {text}", depth, Span(start.start, end))

    def _part(self, body: ReadBody, within: Span, depth: int) -> Iterator[Line]:
        """``match``, ``return`` and ``having`` of one read."""
        find = self._places.find
        end = body.span.start
        if body.clauses:
            opening = find("{", body.span.start, within.end)
            closing = find("}", _end_of(body.clauses, opening.end), within.end)
            yield Line("match {", depth, Span(body.span.start, opening.end), opens=True)
            yield from self._clauses(body.clauses, depth + 1)
            yield Line("}", depth, closing, closes=True)
            end = closing.end
        start = find("return", end, within.end)
        end = self._end_of_return(body, within)
        head = "return distinct" if body.distinct else "return"
        yield from self._braces(head, body.projections, Span(start.start, end), start.end, depth)
        if body.having is not None:
            start = find("having", end, within.end)
            end = find("}", body.having.span.end, within.end).end
            yield Line(f"having {{ {spell_expression(body.having)} }}", depth, Span(start.start, end))

    def _end_of_return(self, body: ReadBody, within: Span) -> int:
        return self._places.find("}", _end_of(body.projections, body.span.start), within.end).end

    def _end_of_part(self, body: ReadBody, within: Span) -> int:
        end = self._end_of_return(body, within)
        return end if body.having is None else self._places.find("}", body.having.span.end, within.end).end

    def _clauses(self, clauses: Sequence[Clause], depth: int) -> Iterator[Line]:
        texts = filter_texts(clauses)
        for index, clause in enumerate(clauses):
            match clause:
                case Filter(Exists() | Not(Exists())):
                    yield from self._exists(clause, texts[index], depth)
                case Filter():
                    yield Line(texts[index], depth, clause.span)
                case Traversal():
                    yield Line(spell_traversal(clause), depth, clause.span)
                case Binding():
                    yield from self._binding(clause, depth)
                case NotBlock(inner):
                    yield from self._block("not", inner, clause.span, depth)
                case MaybeBlock(inner):
                    yield from self._block("maybe", inner, clause.span, depth)
                case _:
                    assert_never(clause)

    def _binding(self, binding: Binding, depth: int) -> Iterator[Line]:
        head = f"${binding.variable.name}: {binding.type_name.text}"
        if binding.matches:
            yield from self._braces(head, binding.matches, binding.span, binding.type_name.span.end, depth)
        else:
            yield Line(head, depth, binding.span)

    def _exists(self, clause: Filter, text: str, depth: int) -> Iterator[Line]:
        """A filter that is one ``exists``: on one line, or like the other blocks."""
        if text.startswith("("):
            # It is guarded from the clauses around it, and stays an expression.
            yield Line(text, depth, clause.span)
            return
        exists = clause.predicate.operand if isinstance(clause.predicate, Not) else clause.predicate
        assert isinstance(exists, Exists)
        word = "exists" if exists is clause.predicate else "not exists"
        yield from self._block(word, exists.clauses, clause.span, depth)

    def _block(self, word: str, clauses: Sequence[Clause], span: Span, depth: int) -> Iterator[Line]:
        start, end = span
        opening = self._places.find("{", start, end)
        inner = list(self._clauses(clauses, depth + 1))
        joined = f"{word} {{ {inner[0].text} }}"
        is_simple = len(inner) == 1 and not isinstance(clauses[0], NotBlock | MaybeBlock)
        if is_simple and fits(len(joined), depth) and not self._places.has_comment(opening.end, end):
            yield Line(joined, depth, span)
            return
        yield Line(f"{word} {{", depth, Span(start, opening.end), opens=True)
        yield from inner
        yield Line("}", depth, Span(end - 1, end), closes=True)

    def _statement(self, statement: Statement | Matched | ForEach, depth: int) -> Iterator[Line]:
        start, end = statement.span
        match statement:
            case Insert(name, assignments):
                word = "upsert" if statement.is_upsert else "insert"
                tail = _returning(statement)
                yield from self._braces(f"{word} {name.text}", assignments, statement.span, name.span.end, depth, tail)
            case Update(target, assignments):
                tail = f"{_condition(statement)}{_returning(statement)}"
                head = f"update {_target(target)} set"
                yield from self._braces(head, assignments, statement.span, target.span.end, depth, tail)
            case Delete(target):
                text = f"delete {_target(target)}{_condition(statement)}{_returning(statement)}"
                yield Line(text, depth, statement.span)
            case Matched(clauses, statements):
                opening = self._places.find("{", start, end)
                closing = self._places.find("}", _end_of(clauses, opening.end), end)
                yield Line("match {", depth, Span(start, opening.end), opens=True)
                yield from self._clauses(clauses, depth + 1)
                yield Line("}", depth, closing, closes=True)
                for inner in statements:
                    yield from self._statement(inner, depth)
            case ForEach(variable, rows, statements):
                opening = self._places.find("{", rows.span.end, end)
                head = f"for ${variable.name} in ${rows.name} {{"
                yield Line(head, depth, Span(start, opening.end), opens=True)
                for inner in statements:
                    yield from self._statement(inner, depth + 1)
                yield Line("}", depth, Span(end - 1, end), closes=True)
            case _:
                assert_never(statement)


def _target(target: Name | Variable) -> str:
    return target.text if isinstance(target, Name) else f"${target.name}"


def _condition(statement: Update | Delete) -> str:
    return "" if statement.where is None else f" where {spell_expression(statement.where)}"


def _returning(statement: Statement) -> str:
    return f" returning {{ {', '.join(map(_part, statement.returning))} }}" if statement.returning else ""


def _end_of(parts: Sequence[_Part | Clause], otherwise: int) -> int:
    return parts[-1].span.end if parts else otherwise


def _step(step: str | int) -> str:
    if isinstance(step, int):
        return f"[{step}]"
    return f".{step}" if MEMBER_NAME.fullmatch(step) else f"[{spell_string(step)}]"


def _part(part: _Part) -> str:
    match part:
        case Parameter(variable, type_ref):
            inside = ", ".join(f"{name.text}: {spell_type(field)}" for name, field in part.fields)
            return f"${variable.name}: {f'[{{ {inside} }}]' if inside else spell_type(type_ref)}"
        case PropertyMatch():
            return spell_match(part)
        case Assignment(name, value) if part.node_type is not None:
            return f"{name.text}: {{ type: {spell_expression(part.node_type)}, id: {spell_expression(value)} }}"
        case Assignment(name, value):
            steps = "".join(_step(step) for step in part.path)
            return f"{name.text}{steps}: {spell_expression(value)}"
        case Projection(expression, alias):
            return spell_expression(expression) + ("" if alias is None else f" as {alias.text}")
        case OrderKey(expression, descending):
            direction = "" if descending is None else " desc" if descending else " asc"
            return spell_expression(expression) + direction
        case _:
            assert_never(part)
