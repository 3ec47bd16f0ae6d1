"""Compiler of ``.gq``: text or parsed query to IR. Every function reports all errors of a query together."""

from __future__ import annotations

from dataclasses import replace

from omnigraph.core.suggestions import did_you_mean
from omnigraph.errors import CompileError, Hint, NotFoundError, UsageError
from omnigraph.lang import gq_ast as ast
from omnigraph.lang.diagnostics import Diagnostics
from omnigraph.lang.gq_parser import ParsedQueries, parse_queries
from omnigraph.lang.source import Source, is_file_name
from omnigraph.query.bind import check_exists
from omnigraph.query.blocks.mentions import shaping_expressions
from omnigraph.query.ir import MutationIR, Operator, ParameterIR, QueryIR
from omnigraph.query.lower import lower_read
from omnigraph.query.polymorphic.several import is_polymorphic
from omnigraph.query.reads import check_read
from omnigraph.query.rewrite import rewrite
from omnigraph.query.scope import UNCODED, Context
from omnigraph.query.shaping.returned import enter
from omnigraph.query.stages.former import Planned
from omnigraph.query.visibility.catalog import visible_catalog
from omnigraph.query.visibility.data_scope import DataScope
from omnigraph.schema.catalog import Catalog
from omnigraph.schema.types import PropertyType, type_from_syntax

RESERVED_PARAMETER = "__nanograph_now"


def compile_text(
    text: str,
    catalog: Catalog,
    *,
    name: str | None = None,
    source: str = "<query>",
    scope: DataScope | None = None,
) -> QueryIR | MutationIR:
    """Compile one query of a text: the named one, or the only one. With a ``scope`` nothing else exists for it."""
    if is_file_name(text):
        raise UsageError(
            f"{text!r} is the name of a file, but a query is a text",
            hint=Hint(f"read the file: pathlib.Path({text!r}).read_text()", f"name the file with --query {text}"),
        )
    parsed = parse_queries(Source(text, source))
    if parsed.diagnostics:
        raise CompileError(parsed.diagnostics)
    return compile_query(select_query(parsed, name), catalog, parsed.source, scope)


def select_query(parsed: ParsedQueries, name: str | None) -> ast.Query:
    """The first query of that name, or the only query if no name is given."""
    queries = parsed.file.queries
    known = [query.name.text for query in queries]
    shown = ", ".join(known) or "none"
    if name is None:
        if len(queries) == 1:
            return queries[0]
        first = known[0] if known else ""
        choice = Hint(f"name the one to use: name={first!r}", f"name the one to use, after the options: {first}")
        raise UsageError(
            f"the source has {len(queries)} queries ({shown}); one is needed",
            hint=choice if known else "write one: query q() { match { $p: Person } return { $p.name } }",
        )
    for query in queries:
        if query.name.text == name:
            return query
    hint = did_you_mean(name, known) or f"known queries: {shown}"
    raise NotFoundError(f"there is no query `{name}`", hint=hint, query=name)


def compile_query(
    query: ast.Query, catalog: Catalog, source: Source, scope: DataScope | None = None
) -> QueryIR | MutationIR:
    """Check, lower and rewrite one query; raises CompileError with all diagnostics."""
    diagnostics = Diagnostics(source)
    compiled = check_query(query, catalog, diagnostics, scope)
    diagnostics.raise_errors()
    assert compiled is not None, "without errors there is a plan"
    return compiled


def check_query(
    query: ast.Query, catalog: Catalog, diagnostics: Diagnostics, scope: DataScope | None = None
) -> QueryIR | MutationIR | None:
    """The IR of a query, or None if the diagnostics contain errors."""
    if scope is not None:
        catalog = visible_catalog(catalog, scope)

    def restricted(root: Operator) -> Operator:
        if scope is None:
            return root
        from omnigraph.query.visibility.restrict import restrict

        return restrict(root, scope, catalog)

    context = Context(catalog, {}, diagnostics, check_exists=check_exists)
    parameters = _declare_parameters(context, query)
    if isinstance(query.body, ast.MutationBody):
        from omnigraph.query.mutation.mutation import check_mutation

        statements = check_mutation(context, query.body, parameters, restricted)
        return None if diagnostics.has_errors else MutationIR(query.name.text, parameters, statements)
    plan = plan_read(context, query.body)
    if plan is None or diagnostics.has_errors:
        return None
    return QueryIR(query.name.text, parameters, plan.columns, rewrite(restricted(plan.root)))


def plan_read(context: Context, body: ast.ReadBody) -> Planned | None:
    """The operators of a read before any rewrite, and its columns; None if an error was reported."""
    if body.former is not None:
        earlier = plan_read(replace(context, is_former=True), body.former)
        former = None if earlier is None else enter(context, body.former, earlier)
        if former is None:
            return None
        return plan_read(replace(context, former=former), replace(body, former=None))
    if body.union:
        from omnigraph.query.polymorphic.added import plan_added

        return plan_added(context, body, plan_read)
    if is_polymorphic(context, body.clauses, shaping_expressions(body)):
        from omnigraph.query.polymorphic.plan import plan_union

        return plan_union(context, body)
    start = None if context.former is None else context.former.operator(context.former)
    read = check_read(context, body, start)
    if read is None or context.diagnostics.has_errors:
        return None
    return Planned(*lower_read(read), read.entities, read.names)


def _declare_parameters(context: Context, query: ast.Query) -> tuple[ParameterIR, ...]:
    """The parameters; those that expressions can read are entered into the context."""
    declared: dict[str, ParameterIR] = {}
    for parameter in query.parameters:
        name = parameter.variable.name
        type_: PropertyType = type_from_syntax(parameter.type)
        if name == RESERVED_PARAMETER:
            context.error(UNCODED, f"the parameter name `${name}` is reserved", parameter.span)
        elif name == "_":
            context.error(UNCODED, "`$_` is the anonymous variable and cannot be a parameter", parameter.span)
        elif name in declared:
            context.error(UNCODED, f"the parameter `${name}` is declared twice", parameter.span)
        elif type_.is_list and type_.is_blob:
            context.error(UNCODED, "a list of Blob is not supported", parameter.type.span)
        declared[name] = ParameterIR(name, type_, _fields(context, parameter))
        if not parameter.fields:
            context.parameters[name] = type_
    return tuple(declared.values())


def _fields(context: Context, parameter: ast.Parameter) -> tuple[ParameterIR, ...]:
    """The fields of a list of records; none for any other parameter."""
    fields: dict[str, ParameterIR] = {}
    for name, ref in parameter.fields:
        if name.text in fields:
            context.error(UNCODED, f"the field `{name.text}` is declared twice", name.span)
        fields[name.text] = ParameterIR(name.text, type_from_syntax(ref))
    return tuple(fields.values())
