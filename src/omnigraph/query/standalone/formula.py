"""Standalone expressions over named values, used by merge policies to resolve two changes of a property."""

from __future__ import annotations

from collections.abc import Mapping

from omnigraph.errors import CompileError
from omnigraph.lang import gq_ast as ast
from omnigraph.lang.diagnostics import Diagnostics
from omnigraph.lang.gq_parser import parse_lone_expression
from omnigraph.lang.source import Source, Span
from omnigraph.query import expressions as ir
from omnigraph.query.scope import UNCODED, Context, Scope
from omnigraph.query.typecheck import Position, check_expression
from omnigraph.query.variables import transform, walk
from omnigraph.schema.catalog import Catalog
from omnigraph.schema.types import PropertyType

OWNER = "#"
"""The variable that owns the named values in the typed expression; it cannot be written in a query."""


def compile_formula(
    source: Source, catalog: Catalog, given: Mapping[str, PropertyType], wanted: PropertyType
) -> ir.Expr:
    """Check an expression over ``given`` with a result of type ``wanted``; raises CompileError with all diagnostics.

    The values are properties of ``OWNER``.
    """
    parsed = parse_lone_expression(source)
    if parsed.expression is None:
        raise CompileError(parsed.diagnostics)
    return compile_parsed(source, parsed.expression, catalog, given, wanted)


def compile_parsed(
    source: Source, expression: ast.Expr, catalog: Catalog, given: Mapping[str, PropertyType], wanted: PropertyType
) -> ir.Expr:
    """The same for an expression that is parsed already."""
    diagnostics = Diagnostics(source)
    context = Context(catalog, dict(given), diagnostics)
    checked = check_expression(context, Scope(), expression, Position.FILTER)
    if checked is not None:
        _check_parts(context, checked, expression.span)
        if not _makes(checked.type, wanted):
            message = f"the expression has type {checked.type}, expected {wanted}"
            hint = "`/` of two integers is a float" if checked.type.scalar.is_float else None
            context.error("T7", message, expression.span, hint)
    diagnostics.raise_errors()
    assert checked is not None, "without errors there is an expression"
    return transform(checked, _as_property)


def _check_parts(context: Context, expression: ir.Expr, span: Span) -> None:
    for part in walk(expression):
        if isinstance(part, ir.Now | ir.Search):
            context.error(UNCODED, "`now()` and searches are not allowed here", span)
            return


def _makes(made: PropertyType, wanted: PropertyType) -> bool:
    """True if values of one type can be stored as another; the range of each value is checked at run time."""
    return made.is_compatible_with(wanted) and not (wanted.scalar.is_integer and made.scalar.is_float)


def _as_property(part: ir.Expr) -> ir.Expr:
    return ir.Property(OWNER, part.name, part.type) if isinstance(part, ir.Parameter) else part
