"""Hypothesis strategies that build syntax trees of both languages, and texts from them.

Only trees a text can mean: a parser never gives an alias called `true` or the negation of a positive number, so
neither do the strategies. Spans are empty; they take no part in comparison.
"""

from __future__ import annotations

import string
from dataclasses import replace

from hypothesis import strategies as st

from omnigraph.core.limits import CARDINALITY_MAX, INTEGER_LITERAL_MAX, VECTOR_DIMENSION_MAX
from omnigraph.core.operators import AggregateFunction, BinaryOperator, Quantifier
from omnigraph.core.scalars import SCALARS_BY_NAME
from omnigraph.lang.gq_ast import (
    Aggregate,
    AliasRef,
    Assignment,
    Binary,
    Binding,
    Branch,
    Call,
    Case,
    Cast,
    Clause,
    Delete,
    Exists,
    Expr,
    Filter,
    ForEach,
    Hops,
    Index,
    Insert,
    IsNull,
    ListLiteral,
    Literal,
    LiteralKind,
    Matched,
    MaybeBlock,
    MutationBody,
    Negate,
    Not,
    NotBlock,
    OrderKey,
    Parameter,
    Projection,
    PropertyAccess,
    PropertyMatch,
    Quantified,
    Query,
    QueryFile,
    ReadBody,
    Slice,
    Star,
    Statement,
    Traversal,
    Update,
    Variable,
)
from omnigraph.lang.gq_format import format_queries
from omnigraph.lang.gq_parser import ParsedQueries
from omnigraph.lang.lexer import Kind, Token, lex
from omnigraph.lang.pg_ast import (
    Annotation,
    Cardinality,
    Constraint,
    ConstraintKind,
    EdgeDecl,
    EndsDecl,
    InterfaceDecl,
    NodeDecl,
    PgLiteral,
    PropertyDecl,
    RangeBounds,
    SchemaFile,
)
from omnigraph.lang.pg_format import format_schema
from omnigraph.lang.pg_parser import ParsedSchema
from omnigraph.lang.source import Source, Span
from omnigraph.lang.syntax import Name, TypeRef

NOWHERE = Span(0, 0)
NAME_REST = string.ascii_letters + string.digits + "_"

# Words with a meaning somewhere in a grammar: none is reserved, so each must work as a name.
KEYWORDS = tuple(
    """
    query match return order limit offset distinct not maybe insert update delete set where and or in is as asc desc
    null true false contains starts_with count sum min shortest date datetime now nearest node edge interface
    implements enum key unique index range check not_found ends_with case when then else end cast any all if exists
    having percentile first last union
    """.split()  # noqa: SIM905 - as a list of literals nobody would read it
)


def _names(first: str) -> st.SearchStrategy[str]:
    return st.builds(str.__add__, st.sampled_from(first), st.text(NAME_REST, max_size=5))


words = _names(string.ascii_lowercase + "_") | st.sampled_from(KEYWORDS)
names = st.builds(Name, words, st.just(NOWHERE))
type_names = st.builds(Name, _names(string.ascii_uppercase), st.just(NOWHERE))
texts = st.text(max_size=12) | st.text('\\"\n\r\t /*{}$x', max_size=12)
filled_texts = texts.filter(lambda text: bool(text.strip()))
integers = st.integers(0, INTEGER_LITERAL_MAX) | st.integers(0, 9)
floats = st.floats(0, allow_nan=False, allow_infinity=False)
scalars = st.sampled_from([name for name in SCALARS_BY_NAME if name != "Vector"])
enum_values = st.text(NAME_REST + "-", min_size=1, max_size=6)


def _type(nullable: bool, name: str, is_list: bool) -> TypeRef:
    digits = (12, 3) if name == "Decimal" else None
    return TypeRef(name, NOWHERE, is_list and name != "Json", nullable, digits=digits)


def _vector(nullable: bool, dimension: int) -> TypeRef:
    return TypeRef("Vector", NOWHERE, False, nullable, dimension)


def _enum(nullable: bool, values: list[str]) -> TypeRef:
    return TypeRef("enum", NOWHERE, False, nullable, None, tuple(values))


parameter_types = st.builds(_type, st.booleans(), scalars, st.booleans()) | st.builds(
    _vector, st.booleans(), st.integers(1, VECTOR_DIMENSION_MAX)
)
property_types = parameter_types | st.builds(
    _enum, st.booleans(), st.lists(enum_values, min_size=1, max_size=4, unique=True)
)


def _tuples(items: st.SearchStrategy, least: int = 0, most: int = 4) -> st.SearchStrategy:
    return st.lists(items, min_size=least, max_size=most).map(tuple)


# --- schemas ---------------------------------------------------------------------------------------------

pg_literals = st.builds(PgLiteral, texts | integers | floats | st.booleans(), st.just(NOWHERE))
_pg_names = names.filter(lambda name: name.text not in ("true", "false"))
_constraint_words = [kind.value for kind in ConstraintKind]


def _annotation(name: Name, value: object, arguments: tuple[tuple[Name, PgLiteral], ...]) -> Annotation:
    # `@key(...)` is a constraint and no annotation; `@key` alone is one.
    if value is None or name.text in _constraint_words:
        return Annotation(name, None, (), NOWHERE)
    return Annotation(name, value, arguments, NOWHERE)


annotations = st.builds(
    _annotation,
    names.filter(lambda name: name.text != "card"),
    st.none() | pg_literals | _pg_names,
    _tuples(st.tuples(names, pg_literals), most=2),
)
_numbers = st.integers(-INTEGER_LITERAL_MAX, INTEGER_LITERAL_MAX) | st.floats(allow_nan=False, allow_infinity=False)
range_bounds = st.builds(RangeBounds, _numbers, st.none() | _numbers, st.just(NOWHERE)) | st.builds(
    RangeBounds, st.none(), _numbers, st.just(NOWHERE)
)
constraints = st.builds(
    Constraint,
    st.sampled_from(ConstraintKind),
    _tuples(range_bounds | pg_literals | _pg_names, least=1, most=3),
    st.just(NOWHERE),
)
properties = st.builds(PropertyDecl, names, property_types, _tuples(annotations, most=3), st.just(NOWHERE))


def _cardinality(bounds: tuple[int, int], is_open: bool) -> Cardinality:
    return Cardinality(min(bounds), None if is_open else max(bounds), NOWHERE)


cardinalities = st.builds(_cardinality, st.tuples(*[st.integers(0, CARDINALITY_MAX)] * 2), st.booleans())
_members = _tuples(properties | constraints)
_end = st.lists(type_names, min_size=1, max_size=3).map(tuple)
ends = st.builds(EndsDecl, _end, _end)
declarations = (
    st.builds(InterfaceDecl, type_names, _tuples(properties), st.just(NOWHERE))
    | st.builds(NodeDecl, type_names, _tuples(annotations), _tuples(type_names, most=3), _members, st.just(NOWHERE))
    | st.builds(
        EdgeDecl,
        type_names,
        st.lists(ends, min_size=1, max_size=3).map(tuple),
        st.none() | cardinalities,
        _tuples(annotations),
        _tuples(constraints, most=2),
        _members,
        st.just(NOWHERE),
    )
)
schema_files = st.builds(SchemaFile, _tuples(declarations))


def schema_text(file: SchemaFile) -> str:
    return format_schema(ParsedSchema(Source(""), file, (), ()))


# --- expressions -----------------------------------------------------------------------------------------

variables = st.builds(Variable, words, st.just(NOWHERE))
property_accesses = st.builds(PropertyAccess, variables, names, st.just(NOWHERE))
alias_refs = st.builds(
    AliasRef,
    # `null` behind a comparison is refused, and as an alias nobody needs it.
    names.filter(lambda name: name.text not in ("true", "false", "null")),
    st.just(NOWHERE),
)


def _literals(kind: LiteralKind, values: st.SearchStrategy) -> st.SearchStrategy[Literal]:
    return st.builds(Literal, st.just(kind), values, st.just(NOWHERE))


_signed = _literals(LiteralKind.INTEGER, st.integers(-INTEGER_LITERAL_MAX, INTEGER_LITERAL_MAX)) | _literals(
    LiteralKind.FLOAT, st.floats(allow_nan=False, allow_infinity=False)
)
literals = (
    _signed
    | _literals(LiteralKind.STRING, texts)
    | _literals(LiteralKind.BOOL, st.booleans())
    | _literals(LiteralKind.DATE, texts)
    | _literals(LiteralKind.DATETIME, texts)
)
null = st.just(Literal(LiteralKind.NULL, None, NOWHERE))
list_literals = st.recursive(
    st.builds(ListLiteral, _tuples(literals | variables), st.just(NOWHERE)),
    lambda inner: st.builds(ListLiteral, _tuples(inner | literals, most=2), st.just(NOWHERE)),
    max_leaves=3,
)
now_calls = st.just(Call("now", (), NOWHERE))
values = literals | variables | list_literals | now_calls


def _negate(operand: Expr) -> Expr:
    if isinstance(operand, Literal) and isinstance(operand.value, int | float):
        is_number = operand.kind in (LiteralKind.INTEGER, LiteralKind.FLOAT)
        if is_number and not str(operand.value).startswith("-"):
            return operand
    return Negate(operand, NOWHERE)


hops = st.builds(Hops, integers, st.none() | integers, st.just(NOWHERE))
edge_names = names.filter(lambda name: name.text != "not" and not name.text.startswith("not_"))


def _traversal(
    ends: tuple[Variable, Variable],
    edge: Name,
    bound: Variable | None,
    undirected: bool,
    hop_bounds: Hops | None,
    shortest: bool,
    every: bool,
) -> Traversal:
    is_path = shortest and bound is not None
    ends_of_edge = (ends[0], edge, ends[1])
    return Traversal(*ends_of_edge, bound, undirected, hop_bounds, is_path, NOWHERE, every=is_path and every)


traversals = st.builds(
    _traversal,
    st.tuples(variables, variables),
    edge_names,
    st.none() | variables,
    st.booleans(),
    st.none() | hops,
    st.booleans(),
    st.booleans(),
)


def _filters(inner: st.SearchStrategy[Expr]) -> st.SearchStrategy[Filter]:
    return st.builds(Filter, inner.filter(lambda e: not isinstance(e, AliasRef)), st.just(NOWHERE))


def _bindings(inner: st.SearchStrategy[Expr]) -> st.SearchStrategy[Binding]:
    matches = st.builds(PropertyMatch, names, inner, st.just(NOWHERE))
    return st.builds(Binding, variables, type_names, _tuples(matches), st.just(NOWHERE))


def _blocks(inner: st.SearchStrategy[Clause]) -> st.SearchStrategy[Clause]:
    clauses = _tuples(inner, least=1, most=3)
    return st.builds(NotBlock, clauses, st.just(NOWHERE)) | st.builds(MaybeBlock, clauses, st.just(NOWHERE))


def _exists(inner: st.SearchStrategy[Expr]) -> st.SearchStrategy[Exists]:
    simple = _bindings(inner) | traversals | _filters(inner)
    return st.builds(Exists, _tuples(simple | _blocks(simple), least=1, most=2), st.just(NOWHERE))


def _compound(inner: st.SearchStrategy[Expr]) -> st.SearchStrategy[Expr]:
    return (
        st.builds(Binary, st.sampled_from(BinaryOperator), inner, inner, st.just(NOWHERE))
        | st.builds(Binary, st.sampled_from(BinaryOperator), inner, inner, st.just(NOWHERE))
        | inner.map(_negate)
        | st.builds(IsNull, inner, st.booleans(), st.just(NOWHERE))
        | st.builds(
            Aggregate,
            st.sampled_from([item for item in AggregateFunction if item is not AggregateFunction.PERCENTILE]),
            inner,
            st.booleans(),
            st.just(NOWHERE),
        )
        | st.builds(
            Aggregate,
            st.sampled_from([AggregateFunction.PERCENTILE, AggregateFunction.FIRST, AggregateFunction.LAST]),
            inner,
            st.booleans(),
            st.just(NOWHERE),
            inner,
        )
        | st.just(Aggregate(AggregateFunction.COUNT, Star(NOWHERE), False, NOWHERE))
        | st.builds(Call, st.sampled_from(["search", "match_text", "bm25"]), st.tuples(inner, inner), st.just(NOWHERE))
        | st.builds(Call, st.just("fuzzy"), st.tuples(inner, inner, inner), st.just(NOWHERE))
        | st.builds(Call, st.just("nearest"), st.tuples(property_accesses, inner), st.just(NOWHERE))
        | st.builds(Call, st.just("rrf"), _tuples(inner, least=2, most=4), st.just(NOWHERE))
        | st.builds(Call, st.sampled_from(["coalesce", "least"]), _tuples(inner, least=2, most=3), st.just(NOWHERE))
        | st.builds(Call, st.just("if"), st.tuples(inner, inner, inner), st.just(NOWHERE))
        | st.builds(Not, inner, st.just(NOWHERE))
        | _exists(inner)
        | st.builds(Cast, inner, parameter_types, st.just(NOWHERE))
        | st.builds(Index, inner, inner, st.just(NOWHERE))
        | st.builds(Slice, inner, st.none() | inner, st.none() | inner, st.just(NOWHERE))
        | st.builds(Quantified, st.sampled_from(Quantifier), variables, inner, inner, st.just(NOWHERE))
        | st.builds(
            Case,
            st.none() | inner,
            _tuples(st.builds(Branch, inner, inner, st.just(NOWHERE)), least=1, most=2),
            st.none() | inner,
            st.just(NOWHERE),
        )
    )


expressions = st.recursive(values | property_accesses | alias_refs, _compound, max_leaves=8)

# --- queries ---------------------------------------------------------------------------------------------

clauses = st.recursive(_bindings(expressions) | traversals | _filters(expressions), _blocks, max_leaves=4)


def _order_key(expression: Expr, descending: bool | None) -> OrderKey:
    is_nearest = isinstance(expression, Call) and expression.function == "nearest"
    return OrderKey(expression, None if is_nearest else descending, NOWHERE)


def _read_bodies(least: int) -> st.SearchStrategy[ReadBody]:
    return st.builds(
        ReadBody,
        _tuples(clauses, least=least, most=5),
        _tuples(st.builds(Projection, expressions, st.none() | names, st.just(NOWHERE)), least=1),
        st.booleans(),
        _tuples(st.builds(_order_key, expressions, st.none() | st.booleans()), most=3),
        st.none() | integers | variables,
        st.none() | integers | variables,
        st.just(NOWHERE),
        st.none() | expressions,
    )


def _staged(first: ReadBody, later: tuple[ReadBody, ...]) -> ReadBody:
    for stage in later:
        first = replace(stage, former=first)
    return first


# Only a stage behind another one may do without a match.
read_bodies = st.builds(_staged, _read_bodies(1), st.just(()) | _tuples(_read_bodies(0), most=2))
_null = st.just(Literal(LiteralKind.NULL, None, NOWHERE))
assignments = st.builds(Assignment, names, expressions | values | _null, st.just(NOWHERE))
projections = st.builds(Projection, expressions, st.none() | names, st.just(NOWHERE))
_returning = st.just(()) | _tuples(projections, least=1, most=2)
statements = (
    st.builds(Insert, type_names, _tuples(assignments), st.just(NOWHERE), st.booleans(), _returning)
    | st.builds(Update, type_names, _tuples(assignments, least=1), expressions, st.just(NOWHERE), _returning)
    | st.builds(Delete, type_names, expressions, st.just(NOWHERE), _returning)
)
bound_statements = (
    statements
    | st.builds(Update, variables, _tuples(assignments, least=1), st.none() | expressions, st.just(NOWHERE), _returning)
    | st.builds(Delete, variables, st.none() | expressions, st.just(NOWHERE), _returning)
)
loops = st.builds(
    Matched, _tuples(clauses, least=1, most=3), _tuples(bound_statements, least=1, most=3), st.just(NOWHERE)
) | st.builds(ForEach, variables, variables, _tuples(statements, least=1, most=3), st.just(NOWHERE))


def _mutation_body(alone: tuple[Statement, ...], inner: tuple[Matched | ForEach, ...]) -> MutationBody:
    # Behind a match every statement belongs to it, so those on their own come first.
    return MutationBody((*alone, *inner), NOWHERE)


mutation_bodies = st.builds(_mutation_body, _tuples(statements, least=1), _tuples(loops, most=2))
_fields = _tuples(st.tuples(names, parameter_types), least=1, most=2)
parameters = st.builds(Parameter, variables, parameter_types, st.just(NOWHERE)) | st.builds(
    Parameter, variables, st.just(TypeRef("String", NOWHERE, True)), st.just(NOWHERE), _fields
)
queries = st.builds(
    Query,
    names,
    _tuples(parameters),
    st.none() | filled_texts,
    st.none() | filled_texts,
    read_bodies | mutation_bodies,
    st.just(NOWHERE),
)
query_files = st.builds(QueryFile, _tuples(queries, most=2))


def query_text(file: QueryFile) -> str:
    return format_queries(ParsedQueries(Source(""), file, (), ()))


# --- texts -----------------------------------------------------------------------------------------------

schema_texts = schema_files.map(schema_text)
query_texts = query_files.map(query_text)
_comments = st.sampled_from(["// a\n", "//\n", "/* b */", "/**/", "/* c\n d */", "// { \" '\n", "/* // e */"])
_gaps = st.sampled_from(["", " ", "\n", "\n\n", "\t", "\r\n"])


@st.composite
def with_comments(draw: st.DrawFn, source_texts: st.SearchStrategy[str]) -> str:
    """A text with comments and white space between its tokens; tokens never touch unless they did before."""
    text = draw(source_texts)
    tokens = lex(Source(text)).tokens
    places = draw(st.dictionaries(st.integers(0, len(tokens) - 1), st.tuples(_gaps, _comments, _gaps), max_size=6))
    pieces = []
    end = 0
    for index, token in enumerate(tokens):
        gap = text[end : token.span.start]
        # Within an enum value such as `a-1` white space is not free.
        if index in places and (gap or _may_part(tokens[index - 1], token)):
            gap += "".join(places[index]) + draw(_gaps)
        pieces.append(gap + text[token.span.start : token.span.end])
        end = token.span.end
    return "".join(pieces)


def _may_part(left: Token, right: Token) -> bool:
    # The bracket of an index follows its list without white space.
    return not (_joins(left) and _joins(right)) and right.text != "["


def _joins(token: Token) -> bool:
    return token.kind in (Kind.WORD, Kind.TYPE_NAME, Kind.INTEGER) or token.text == "-"


mutation_pieces = st.sampled_from(
    [
        "{",
        "}",
        "(",
        ")",
        "[",
        "]",
        "$",
        "$x",
        "@",
        ":",
        ",",
        '"',
        "/*",
        "//",
        "-",
        "..",
        "query q() {",
        "node N {",
        "\x00",
    ]
)


@st.composite
def mutated(draw: st.DrawFn, source_texts: st.SearchStrategy[str]) -> str:
    """A text with spans deleted, doubled, swapped or replaced."""
    text = draw(source_texts)
    for _ in range(draw(st.integers(1, 4))):
        cuts = sorted(draw(st.lists(st.integers(0, len(text)), min_size=3, max_size=3)))
        head, first, second, tail = text[: cuts[0]], text[cuts[0] : cuts[1]], text[cuts[1] : cuts[2]], text[cuts[2] :]
        match draw(st.sampled_from(["delete", "double", "swap", "replace"])):
            case "delete":
                text = head + second + tail
            case "double":
                text = head + first + first + second + tail
            case "swap":
                text = head + second + first + tail
            case _:
                text = head + draw(mutation_pieces) + second + tail
    return text


_soup = [
    *KEYWORDS,
    *"{}()[]:,.@=<>?+-*/%",
    "->",
    "..",
    ">=",
    "!=",
    "$x",
    "$_",
    "Person",
    "1",
    "2.5",
    '"s"',
    "\n",
    "query q() {",
]
token_soups = st.lists(st.sampled_from(_soup), max_size=60).map(" ".join)
any_texts = st.text(max_size=200) | token_soups | mutated(schema_texts) | mutated(query_texts)
