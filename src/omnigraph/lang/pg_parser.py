"""Recursive-descent parser of ``.pg`` schemas.

Accepts exactly the grammar; ``schema.compile`` resolves names. After an error it resumes at the next
member of a body or the next declaration, so that one run reports all errors.
"""

from __future__ import annotations

from omnigraph.core.classes.dataclass import dataclass
from omnigraph.core.limits import CARDINALITY_MAX, INTEGER_LITERAL_MAX
from omnigraph.lang.cursor import Cursor, SyntaxProblem, parse_type
from omnigraph.lang.diagnostics import Diagnostic
from omnigraph.lang.lexer import Comment, Kind
from omnigraph.lang.pg_ast import (
    Annotation,
    Cardinality,
    Constraint,
    ConstraintKind,
    Declaration,
    EdgeDecl,
    EndsDecl,
    InterfaceDecl,
    NodeDecl,
    PgLiteral,
    PropertyDecl,
    RangeBounds,
    SchemaFile,
)
from omnigraph.lang.source import Source, Span
from omnigraph.lang.syntax import Name

_DECLARATIONS = ("interface", "node", "edge")
_EXAMPLE = "a schema is like `node Person { name: String @key }  edge Knows: Person -> Person`"
_CONSTRAINTS = {kind.value: kind for kind in ConstraintKind}


@dataclass(frozen=True, slots=True)
class ParsedSchema:
    """A syntax tree, its comments and diagnostics; with errors the tree contains what could be parsed."""

    source: Source
    file: SchemaFile
    comments: tuple[Comment, ...]
    diagnostics: tuple[Diagnostic, ...]


def parse_schema(source: Source) -> ParsedSchema:
    """Parse a schema text. Never raises: errors are in the result."""
    cursor = Cursor(source)
    declarations: list[Declaration] = []
    while not cursor.at_end:
        try:
            declarations.append(_declaration(cursor))
        except SyntaxProblem as problem:
            cursor.report(problem)
            if not _at_declaration(cursor):
                cursor.advance()
            cursor.skip_to(_at_declaration, _at_declaration)
    return ParsedSchema(source, SchemaFile(tuple(declarations)), cursor.lexed.comments, cursor.diagnostics.report())


def _at_declaration(cursor: Cursor) -> bool:
    return cursor.token.text in _DECLARATIONS and cursor.peek().kind is Kind.TYPE_NAME


def _declaration(cursor: Cursor) -> Declaration:
    start = cursor.token.span
    if cursor.take("interface"):
        return _interface(cursor, start)
    if cursor.take("node"):
        return _node(cursor, start)
    if cursor.take("edge"):
        return _edge(cursor, start)
    hint = cursor.case_hint(*_DECLARATIONS)
    if cursor.at("query"):
        hint = "queries are written in a `.gq` file"
    elif cursor.at("enum"):
        hint = "an enum is written as the type of a property: `status: enum(open, closed)`"
    elif cursor.peek().kind is Kind.TYPE_NAME and cursor.token.kind is Kind.WORD:
        hint = f"a type is declared with `node` or `edge`, as in `node {cursor.peek().text} {{ ... }}`"
    elif hint is None and cursor.token.kind in (Kind.WORD, Kind.TYPE_NAME):
        hint = _EXAMPLE
    raise cursor.problem("expected `interface`, `node` or `edge`", hint)


def _interface(cursor: Cursor, start: Span) -> InterfaceDecl:
    name = cursor.type_name("the interface's name")
    hint = "an interface has neither annotations nor interfaces of its own"
    cursor.expect(
        "{", "to open the interface's properties", hint if cursor.at("@") or cursor.at("implements") else None
    )
    members = _body(cursor, f"interface {name.text}", constraints=False)
    properties = tuple(member for member in members if isinstance(member, PropertyDecl))
    return InterfaceDecl(name, properties, cursor.since(start))


def _node(cursor: Cursor, start: Span) -> NodeDecl:
    name = cursor.type_name("the node type's name")
    annotations = _annotations(cursor)
    implements: list[Name] = []
    if cursor.take("implements"):
        implements.append(cursor.type_name("an interface's name"))
        while cursor.take(","):
            implements.append(cursor.type_name("an interface's name"))
    if cursor.at("@"):
        raise cursor.problem("expected `{`", "annotations of a node type come before `implements`")
    cursor.expect("{", "to open the node type's properties")
    body = _body(cursor, f"node {name.text}", constraints=True)
    return NodeDecl(name, annotations, tuple(implements), body, cursor.since(start))


def _edge(cursor: Cursor, start: Span) -> EdgeDecl:
    name = cursor.type_name("the edge type's name")
    cursor.expect(":", "between an edge type and its endpoints, as in `edge Knows: Person -> Person`")
    ends = [_ends(cursor)]
    while cursor.take(","):
        ends.append(_ends(cursor))
    cardinality = _cardinality(cursor) if _at_card(cursor) else None
    annotations: list[Annotation] = []
    constraints: list[Constraint] = []
    while cursor.at("@"):
        if _at_card(cursor):
            raise cursor.problem("expected a body or the next declaration", "`@card` comes before other annotations")
        if _at_constraint(cursor):
            constraints.append(_constraint(cursor))
        else:
            annotations.append(_annotation(cursor))
    body = _body(cursor, f"edge {name.text}", constraints=True) if cursor.take("{") else ()
    span = cursor.since(start)
    return EdgeDecl(name, tuple(ends), cardinality, tuple(annotations), tuple(constraints), body, span)


def _ends(cursor: Cursor) -> EndsDecl:
    sources = _end_types(cursor, "the source node type")
    cursor.expect("->", "between the source and the target type")
    return EndsDecl(sources, _end_types(cursor, "the target node type"))


def _end_types(cursor: Cursor, wanted: str) -> tuple[Name, ...]:
    names = [cursor.type_name(wanted)]
    while cursor.take("|"):
        names.append(cursor.type_name("another node type"))
    if cursor.at("or") or cursor.at("/"):
        raise cursor.problem("expected the end of the types", "several types of one end are written `Post | Comment`")
    return tuple(names)


def _at_card(cursor: Cursor) -> bool:
    return cursor.at("@") and cursor.peek().text == "card"


def _cardinality(cursor: Cursor) -> Cardinality:
    start = cursor.advance().span
    cursor.advance()
    cursor.expect("(", "after `@card`, as in `@card(0..1)`")
    low = cursor.integer("the smallest number of edges", CARDINALITY_MAX)
    cursor.expect("..", "between the bounds of `@card`")
    high = None
    if not cursor.at(")"):
        high = cursor.integer("the largest number of edges", CARDINALITY_MAX)
    cursor.expect(")", "after the bounds of `@card`")
    if high is not None and low > high:
        raise SyntaxProblem(f"cardinality min ({low}) exceeds max ({high})", cursor.since(start))
    return Cardinality(low, high, cursor.since(start))


def _body(cursor: Cursor, owner: str, *, constraints: bool) -> tuple[PropertyDecl | Constraint, ...]:
    """Members up to and including the closing brace. A broken member is reported and skipped."""
    members: list[PropertyDecl | Constraint] = []
    while not cursor.take("}"):
        if cursor.at_end or _at_declaration(cursor):
            cursor.report(cursor.problem(f"expected `}}` to close {owner}"))
            break
        before = cursor.index
        try:
            members.append(_member(cursor, constraints=constraints))
        except SyntaxProblem as problem:
            cursor.report(problem)
            if cursor.index == before and not cursor.at("}"):
                cursor.advance()
            cursor.skip_to(_at_member, _at_declaration, since=before)
    return tuple(members)


def _at_member(cursor: Cursor) -> bool:
    starts_property = cursor.token.kind is Kind.WORD and cursor.peek().text == ":"
    return starts_property or cursor.at("}") or _at_constraint(cursor)


def _at_constraint(cursor: Cursor) -> bool:
    return cursor.at("@") and cursor.peek().text in _CONSTRAINTS and cursor.peek(2).text == "("


def _member(cursor: Cursor, *, constraints: bool) -> PropertyDecl | Constraint:
    if _at_constraint(cursor):
        if not constraints:
            hint = "put it into the node types that implement the interface"
            raise SyntaxProblem("an interface has no constraints", cursor.token.span, hint)
        return _constraint(cursor)
    if cursor.at(","):
        raise cursor.problem("expected a property", "properties are separated by white space, not by commas")
    if cursor.at("="):
        raise cursor.problem("expected a property", "there are no default values")
    if cursor.at("@") and cursor.peek(-1).text == "{":
        hint = "annotations of a type come before its `{`, annotations of a property after its type"
        raise cursor.problem("expected a property or a constraint", hint)
    start = cursor.token.span
    name = cursor.name("a property or a constraint")
    cursor.expect(":", "between a property and its type")
    type_ref = parse_type(cursor, allow_enum=True)
    annotations = _annotations(cursor)
    return PropertyDecl(name, type_ref, annotations, cursor.since(start))


def _constraint(cursor: Cursor) -> Constraint:
    start = cursor.advance().span
    kind = _CONSTRAINTS[cursor.advance().text]
    cursor.expect("(", f"after `@{kind.value}`")
    arguments = [_constraint_argument(cursor)]
    while cursor.take(","):
        arguments.append(_constraint_argument(cursor))
    cursor.expect(")", f"after the arguments of `@{kind.value}`")
    return Constraint(kind, tuple(arguments), cursor.since(start))


def _constraint_argument(cursor: Cursor) -> RangeBounds | PgLiteral | Name:
    start = cursor.token.span
    if cursor.take(".."):
        return RangeBounds(None, _signed_number(cursor), cursor.since(start))
    if cursor.at("-") or cursor.token.kind in (Kind.INTEGER, Kind.FLOAT):
        signed = cursor.at("-")
        low = _signed_number(cursor)
        if cursor.take(".."):
            high = None if cursor.at(")") or cursor.at(",") else _signed_number(cursor)
            return RangeBounds(low, high, cursor.since(start))
        if signed:
            raise cursor.problem("expected `..`", "a sign is only allowed in the bounds of a `@range`")
        return PgLiteral(low, cursor.since(start))
    return _literal_or_name(cursor)


def _signed_number(cursor: Cursor) -> int | float:
    sign = -1 if cursor.take("-") else 1
    if cursor.token.kind is Kind.FLOAT:
        return sign * cursor.float_number()
    return sign * cursor.integer("a number", INTEGER_LITERAL_MAX)


def _annotations(cursor: Cursor) -> tuple[Annotation, ...]:
    annotations: list[Annotation] = []
    while cursor.at("@") and not _at_constraint(cursor):
        annotations.append(_annotation(cursor))
    return tuple(annotations)


def _annotation(cursor: Cursor) -> Annotation:
    start = cursor.advance().span
    name = cursor.name("an annotation's name")
    value: PgLiteral | Name | None = None
    arguments: list[tuple[Name, PgLiteral]] = []
    if cursor.take("("):
        value = _literal_or_name(cursor)
        while cursor.take(","):
            key = cursor.name("the name of an annotation argument")
            cursor.expect("=", f"after `{key.text}`")
            arguments.append((key, _literal(cursor)))
        hint = "`@card` with bounds belongs to an edge type, after its endpoints" if name.text == "card" else None
        cursor.expect(")", f"after the arguments of `@{name.text}`", hint)
    return Annotation(name, value, tuple(arguments), cursor.since(start))


def _literal_or_name(cursor: Cursor) -> PgLiteral | Name:
    token = cursor.token
    if token.kind is Kind.WORD and token.text not in ("true", "false"):
        return cursor.name("a value or a name")
    return _literal(cursor, "a name or a value")


def _literal(cursor: Cursor, wanted: str = "a string, a number, `true` or `false`") -> PgLiteral:
    token = cursor.token
    if token.kind is Kind.STRING:
        return PgLiteral(cursor.advance().value, token.span)
    if token.kind is Kind.FLOAT:
        return PgLiteral(cursor.float_number(), token.span)
    if token.kind is Kind.INTEGER:
        return PgLiteral(cursor.integer("an integer", INTEGER_LITERAL_MAX), token.span)
    if token.kind is Kind.WORD and token.text in ("true", "false"):
        return PgLiteral(cursor.advance().text == "true", token.span)
    hint = "a negative number can only be a bound of a `@range`" if cursor.at("-") else None
    raise cursor.problem(f"expected {wanted}", hint)
