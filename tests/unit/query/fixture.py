"""The schema that the query tests share, and the shortest ways from a text to what it means."""

from __future__ import annotations

from functools import cache

from omnigraph.lang.diagnostics import Diagnostic, Diagnostics
from omnigraph.lang.gq_ast import ReadBody
from omnigraph.lang.gq_parser import parse_queries
from omnigraph.lang.pg_parser import parse_schema
from omnigraph.lang.source import Source
from omnigraph.query.bind import check_exists
from omnigraph.query.compile import check_query, compile_text, plan_read
from omnigraph.query.explain import describe, explain
from omnigraph.query.ir import MutationIR, Operator, QueryIR
from omnigraph.query.rewrite.tree import inputs
from omnigraph.query.scope import Context
from omnigraph.schema.catalog import Catalog
from omnigraph.schema.compile import accept
from omnigraph.schema.types import type_from_syntax

SCHEMA = """
interface Named { name: String }

node Person implements Named {
    email: String @key
    age: I32?
    height: F32?
    score: F64?
    visits: U64?
    nick: String?
    active: Bool?
    born: Date?
    seen: DateTime?
    tags: [String]?
    lucky: [I32]?
    level: enum(low, mid, high)?
    photo: Blob?
}
node Company { name: String @key founded: I32? }
node Doc {
    title: String @index
    body: String?
    embedding: Vector(3) @embed(body)
    other: Vector(2)?
}
edge Knows: Person -> Person { since: Date? strength: F64? note: String? }
edge Follows: Person -> Person
edge WorksAt: Person -> Company { role: String scan: Blob? }
edge Wrote: Person -> Doc
edge Cites: Doc -> Doc
"""

SEVERAL_ENDS = """
interface Message { content: String }
node Person { name: String @key }
node Post implements Message { title: String? }
node Comment implements Message { depth: I32? }
node Tag { label: String @key }
edge Likes: Person -> Message { since: Date? }
edge ReplyOf: Comment -> Post | Comment
edge HasTag: Message | Person -> Tag
edge Knows: Person -> Person
edge Rel: Person -> Post, Tag -> Comment
"""
"""A schema of edges over several types."""


@cache
def catalog(text: str = SCHEMA) -> Catalog:
    return Catalog(accept(parse_schema(Source(text)), domain="D"))


def read(match: str, returns: str = "$p", *, rest: str = "", parameters: str = "", distinct: bool = False) -> str:
    """The text of a read."""
    word = "return distinct" if distinct else "return"
    return f"query q({parameters}) {{ match {{ {match} }} {word} {{ {returns} }} {rest} }}"


def write(statements: str, parameters: str = "") -> str:
    """The text of a mutation."""
    return f"query q({parameters}) {{ {statements} }}"


def diagnose(text: str, schema: str = SCHEMA) -> tuple[Diagnostic, ...]:
    """What checking the only query of a text reports; the text itself must parse."""
    parsed = parse_queries(Source(text))
    assert not parsed.diagnostics, parsed.diagnostics[0].render()
    diagnostics = Diagnostics(parsed.source)
    plan = check_query(parsed.file.queries[0], catalog(schema), diagnostics)
    assert (plan is None) == diagnostics.has_errors
    return diagnostics.report()


def codes(text: str) -> list[str]:
    return [diagnostic.code for diagnostic in diagnose(text)]


def plan_of(text: str) -> QueryIR:
    compiled = compile_text(text, catalog())
    assert isinstance(compiled, QueryIR)
    return compiled


def mutation_of(text: str) -> MutationIR:
    compiled = compile_text(text, catalog())
    assert isinstance(compiled, MutationIR)
    return compiled


def explained(text: str, schema: str = SCHEMA) -> str:
    """The plan without its header, dedented."""
    lines = explain(compile_text(text, catalog(schema))).splitlines()[1:]
    return "\n".join(line[2:] for line in lines)


def lowered(text: str) -> Operator:
    """The operators of a read before any rewrite."""
    parsed = parse_queries(Source(text))
    query = parsed.file.queries[0]
    assert isinstance(query.body, ReadBody)
    parameters = {parameter.variable.name: type_from_syntax(parameter.type) for parameter in query.parameters}
    context = Context(catalog(), parameters, Diagnostics(parsed.source), check_exists=check_exists)
    planned = plan_read(context, query.body)
    assert planned is not None
    return planned.root


def drawn(root: Operator, depth: int = 0) -> str:
    """A tree of operators as text."""
    below = [drawn(operator, depth + 1) for operator in inputs(root)]
    return "\n".join(["  " * depth + describe(root), *below])
