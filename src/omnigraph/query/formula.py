"""A single expression over named values, outside of any query: how a merge may settle two changes of a property."""

from __future__ import annotations

from collections.abc import Mapping

from omnigraph.errors import CompileError
from omnigraph.lang.diagnostics import Diagnostics
from omnigraph.lang.gq_parser import parse_lone_expression
from omnigraph.lang.source import Source, Span
from omnigraph.query import expressions as ir
from omnigraph.query.scope import UNCODED, Context, Scope
from omnigraph.query.typecheck import Place, check_expression
from omnigraph.query.variables import transform, walk
from omnigraph.schema.catalog import Catalog
from omnigraph.schema.types import PropertyType

OWNER = "#"
"""The variable whose properties the named values are in the typed expression; no variable that can be written."""


def compile_formula(
    source: Source, catalog: Catalog, given: Mapping[str, PropertyType], wanted: PropertyType
) -> ir.Expr:
    """Check an expression that reads only ``given`` and makes a ``wanted``; raises CompileError with what is wrong.

    The values are properties of ``OWNER``.
    """
    parsed = parse_lone_expression(source)
    if parsed.expression is None:
        raise CompileError(parsed.diagnostics)
    diagnostics = Diagnostics(source)
    context = Context(catalog, dict(given), diagnostics)
    checked = check_expression(context, Scope(), parsed.expression, Place.FILTER)
    if checked is not None:
        _check_parts(context, checked, parsed.expression.span)
        if not _makes(checked.type, wanted):
            message = f"the expression makes {checked.type}, but {wanted} is wanted"
            hint = "`/` makes a float of two integers" if checked.type.scalar.is_float else None
            context.error("T7", message, parsed.expression.span, hint)
    diagnostics.raise_errors()
    assert checked is not None, "without errors there is an expression"
    return transform(checked, _as_property)


def _check_parts(context: Context, expression: ir.Expr, span: Span) -> None:
    for part in walk(expression):
        if isinstance(part, ir.Now | ir.Search):
            context.error(UNCODED, "only the values, literals and operators can stand here, no functions", span)
            return


def _makes(made: PropertyType, wanted: PropertyType) -> bool:
    """Whether values of a type can be stored as another one. Whether each fits is seen when it is made."""
    return made.is_compatible_with(wanted) and not (wanted.scalar.is_integer and made.scalar.is_float)


def _as_property(part: ir.Expr) -> ir.Expr:
    return ir.Property(OWNER, part.name, part.type) if isinstance(part, ir.Parameter) else part
