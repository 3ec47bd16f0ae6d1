"""Programs of the shell: an input as queries that the graph can run, with parameters from ``\\set``.

A body without ``query name() {...}`` gets a header, with a declaration for every parameter that it uses. The type of a
parameter is the one under which the body has the fewest mistakes. Diagnostics are moved back to the text that was
typed. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

from omnigraph.cli.shell.inputs import has_header
from omnigraph.core.temporal import parse_datetime
from omnigraph.errors import CompileError
from omnigraph.lang.diagnostics import Diagnostic, Diagnostics
from omnigraph.lang.gq_ast import MutationBody, Query
from omnigraph.lang.gq_parser import parse_queries
from omnigraph.lang.lexer import Kind, lex
from omnigraph.lang.source import Source, Span
from omnigraph.query.compile import check_query
from omnigraph.query.completion.context import variable_types
from omnigraph.schema.catalog import Catalog

NAME: Final = "shell"
"""The name of a query that was typed without one."""


@dataclass(frozen=True, slots=True)
class Origin:
    """The place of a query: the name of its source, the number of lines before its input, and the input before it."""

    name: str = "<shell>"
    lines_before: int = 0
    before: str = ""

    def __str__(self) -> str:
        return f"{self.name}:{self.lines_before + 1}"


@dataclass(frozen=True, slots=True)
class Program:
    """One query to run. ``shift`` is the length of what was put before the typed text."""

    text: str
    is_write: bool
    parameters: Mapping[str, object]
    typed: str
    shift: int = 0

    def located(self, error: CompileError, origin: Origin, known: Mapping[str, object]) -> CompileError:
        """The same error with diagnostics that point into the typed text; ``known`` are the values of ``\\set``."""
        lead = "\n" * origin.lines_before + origin.before
        source = Source(lead + self.typed, origin.name)
        moved = [
            _moved(item, source, self.shift - len(lead), known)
            for item in error.diagnostics
            if isinstance(item, Diagnostic)
        ]
        return CompileError(moved)


def programs(text: str, catalog: Catalog, values: Mapping[str, object], origin: Origin) -> list[Program]:
    """The queries of an input, in order; raises CompileError if it does not parse."""
    if not has_header(text):
        return [_wrapped(text, catalog, values)]
    parsed = parse_queries(Source(text))
    if parsed.diagnostics:
        raise Program(text, False, {}, text).located(CompileError(parsed.diagnostics), origin, values)
    return [
        Program(_alone(text, query.span), isinstance(query.body, MutationBody), _given(query, values), text)
        for query in parsed.file.queries
    ]


def _alone(text: str, span: Span) -> str:
    """The text with everything outside of the span blanked, so that positions stay."""
    blank = "".join("\n" if char == "\n" else " " for char in text)
    return blank[: span.start] + text[span.start : span.end] + blank[span.end :]


def _given(query: Query, values: Mapping[str, object]) -> dict[str, object]:
    """The values of the parameters that a query declares."""
    names = [parameter.variable.name for parameter in query.parameters]
    return {name: values[name] for name in names if name in values}


def _wrapped(body: str, catalog: Catalog, values: Mapping[str, object]) -> Program:
    tokens = lex(Source(body)).tokens
    used = dict.fromkeys(token.text[1:] for token in tokens if token.kind is Kind.VARIABLE)
    bound = variable_types(tokens, catalog)
    names = [name for name in used if name in values and name not in bound]
    types = {name: next(_types(values[name])) for name in names}
    for name in names:
        choices = [{**types, name: choice} for choice in _types(values[name])]
        types = min(choices, key=lambda chosen: _mistakes(_text(body, chosen), catalog))
    text = _text(body, types)
    parsed = parse_queries(Source(text)).file.queries
    is_write = bool(parsed) and isinstance(parsed[0].body, MutationBody)
    return Program(text, is_write, {name: values[name] for name in names}, body, len(_header(types)))


def _header(types: Mapping[str, str]) -> str:
    return f"query {NAME}({', '.join(f'${name}: {type_}' for name, type_ in types.items())}) {{"


def _text(body: str, types: Mapping[str, str]) -> str:
    # On a line of its own: the body may end with a comment.
    return f"{_header(types)}{body}\n}}"


def _mistakes(text: str, catalog: Catalog) -> int:
    source = Source(text)
    parsed = parse_queries(source)
    if parsed.diagnostics:
        return len(parsed.diagnostics)
    diagnostics = Diagnostics(source)
    for query in parsed.file.queries:
        check_query(query, catalog, diagnostics)
    return len(diagnostics.report())


def _types(value: object) -> Iterator[str]:
    """The types that a value may have, the usual one first."""
    match value:
        case bool():
            yield "Bool"
        case int():
            yield from ("I64", "U64", "I32", "U32", "F64", "F32")
        case float():
            yield from ("F64", "F32")
        case str():
            yield "String"
            if parse_datetime(value) is not None:
                yield from ("Date", "DateTime")
        case list():
            items = value or ["", 0, 0.0, False]
            if value and all(isinstance(item, int | float) and not isinstance(item, bool) for item in value):
                yield f"Vector({len(value)})"
            yield from dict.fromkeys(f"[{type_}]" for item in items for type_ in _types(item))
        case _:
            yield from ("String?", "I64?", "F64?", "Bool?", "Date?", "DateTime?")


def _moved(item: Diagnostic, source: Source, shift: int, known: Mapping[str, object]) -> Diagnostic:
    start = min(max(item.span.start - shift, 0), len(source.text))
    span = Span(start, min(max(item.span.end - shift, start), len(source.text)))
    marked = source.text[span.start : span.end]
    hint = item.hint
    # Codes with a T are mistakes of meaning: the text parses, so a variable stands where a value can.
    is_unknown = marked.startswith("$") and marked[1:].isidentifier() and marked[1:] not in known
    # A shell has no headers that declare parameters; a similar name is the better advice.
    if is_unknown and item.code.startswith("T") and not (hint or "").startswith("did you mean"):
        hint = f"\\set {marked[1:]} VALUE sets a parameter"
    return replace(item, source=source, span=span, hint=hint)
