"""The canonical form of a ``.pg`` schema: one property per line, two spaces, comments kept."""

from __future__ import annotations

from collections.abc import Iterator
from typing import assert_never

from omnigraph.lang.comments import Line, Places, weave
from omnigraph.lang.diagnostics import raise_errors
from omnigraph.lang.pg_ast import (
    Annotation,
    Constraint,
    Declaration,
    EdgeDecl,
    EndsDecl,
    InterfaceDecl,
    NodeDecl,
    PgLiteral,
    PropertyDecl,
    RangeBounds,
)
from omnigraph.lang.pg_parser import ParsedSchema
from omnigraph.lang.source import Span
from omnigraph.lang.spelling import spell_literal, spell_number, spell_type
from omnigraph.lang.syntax import Name


def format_schema(parsed: ParsedSchema) -> str:
    """The text of a schema in canonical form; raises CompileError if it has syntax errors."""
    raise_errors(parsed.diagnostics)
    places = Places(parsed.source, parsed.comments)
    lines = [line for declaration in parsed.file.declarations for line in _declaration(declaration, places)]
    return weave(parsed.source, parsed.comments, lines)


def _declaration(declaration: Declaration, places: Places) -> Iterator[Line]:
    match declaration:
        case InterfaceDecl():
            header, header_end = f"interface {declaration.name.text}", declaration.name.span.end
            members: tuple[PropertyDecl | Constraint, ...] = declaration.properties
        case NodeDecl():
            header, header_end = _node_header(declaration)
            members = declaration.body
        case EdgeDecl():
            header, header_end = _edge_header(declaration)
            members = declaration.body
        case _:
            assert_never(declaration)
    span = declaration.span
    brace = places.find("{", header_end, span.end)
    if not members and not places.has_comment(brace.end, span.end):
        text = header if isinstance(declaration, EdgeDecl) else f"{header} {{}}"
        yield Line(text, 0, span, separate=True)
        return
    yield Line(f"{header} {{", 0, Span(span.start, brace.end), opens=True, separate=True)
    for member in members:
        yield Line(_member(member), 1, member.span)
    yield Line("}", 0, Span(span.end - 1, span.end), closes=True)


def _node_header(node: NodeDecl) -> tuple[str, int]:
    """The text before the brace, and the source offset at which its last part ends."""
    parts = [f"node {node.name.text}", *map(_annotation, node.annotations)]
    if node.implements:
        parts.append(f"implements {', '.join(name.text for name in node.implements)}")
    ends = [node.name.span.end]
    ends.extend(annotation.span.end for annotation in node.annotations)
    ends.extend(name.span.end for name in node.implements)
    return " ".join(parts), ends[-1]


def _edge_header(edge: EdgeDecl) -> tuple[str, int]:
    parts = [f"edge {edge.name.text}: {', '.join(map(_ends, edge.ends))}"]
    ends = [edge.ends[-1].targets[-1].span.end]
    if edge.cardinality is not None:
        high = "" if edge.cardinality.high is None else str(edge.cardinality.high)
        parts.append(f"@card({edge.cardinality.low}..{high})")
        ends.append(edge.cardinality.span.end)
    parts.extend(map(_annotation, edge.annotations))
    parts.extend(map(_member, edge.constraints))
    ends.extend(annotation.span.end for annotation in edge.annotations)
    ends.extend(constraint.span.end for constraint in edge.constraints)
    return " ".join(parts), max(ends)


def _ends(ends: EndsDecl) -> str:
    sources, targets = (" | ".join(name.text for name in side) for side in (ends.sources, ends.targets))
    return f"{sources} -> {targets}"


def _member(member: PropertyDecl | Constraint) -> str:
    if isinstance(member, Constraint):
        return f"@{member.kind.value}({', '.join(map(_argument, member.arguments))})"
    return " ".join([f"{member.name.text}: {spell_type(member.type)}", *map(_annotation, member.annotations)])


def _argument(argument: RangeBounds | PgLiteral | Name) -> str:
    match argument:
        case RangeBounds(low, high):
            return f"{'' if low is None else spell_number(low)}..{'' if high is None else spell_number(high)}"
        case PgLiteral(value):
            return spell_literal(value)
        case Name(text):
            return text
        case _:
            assert_never(argument)


def _annotation(annotation: Annotation) -> str:
    if annotation.value is None:
        return f"@{annotation.name.text}"
    arguments = [f"{name.text}={spell_literal(literal.value)}" for name, literal in annotation.arguments]
    return f"@{annotation.name.text}({', '.join([_argument(annotation.value), *arguments])})"
