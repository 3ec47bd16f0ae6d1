"""Inline matches: ``{ property: value }`` of a binding becomes a predicate on its variable."""

from __future__ import annotations

from omnigraph.core.operators import BinaryOperator
from omnigraph.lang import gq_ast as ast
from omnigraph.query import expressions as ir
from omnigraph.query.scope import UNCODED, Context, Scope
from omnigraph.query.typecheck import Position, check_expression
from omnigraph.query.types.calls import is_node
from omnigraph.query.types.literals import beside
from omnigraph.query.values import check_literal
from omnigraph.schema.catalog import NodeType
from omnigraph.schema.ir import PropertyIR


def is_fixed(value: ast.Expr, context: Context) -> bool:
    """True for a value that no variable of the pattern decides: a literal, a parameter or ``now()``."""
    match value:
        case ast.Variable(name):
            return name in context.parameters
        case ast.Literal() | ast.ListLiteral() | ast.Call(function="now"):
            return True
        case _:
            return False


def check_match(
    context: Context, scope: Scope, node_type: NodeType, variable: str, match: ast.PropertyMatch
) -> ir.Expr | None:
    """The predicate of one match: equality, or membership if the property is a list."""
    declared = node_type.properties.get(match.property.text)
    if declared is None:
        message = f"node type `{node_type.name}` has no property `{match.property.text}`"
        hint = context.suggest_or_list(match.property.text, node_type.properties)
        if match.property.text == "id":
            hint = "an id cannot be matched; match the key"
        context.error("T2", message, match.property.span, hint)
        return None
    value = _check_value(context, scope, match, declared)
    if value is None:
        return None
    target = ir.Property(variable, declared.name, declared.type)
    if declared.type.is_list:
        return ir.Member(value, target)
    return ir.Compare(BinaryOperator.EQ, target, value)


def _check_value(context: Context, scope: Scope, match: ast.PropertyMatch, declared: PropertyIR) -> ir.Expr | None:
    wanted = declared.type.item if declared.type.is_list else declared.type
    label = f"`{declared.name}` is {declared.type}"
    if declared.type.is_blob or declared.type.is_vector:
        context.error("T3", f"{label} and cannot be matched", match.property.span)
        return None
    given, code = _given(context, scope, match, declared)
    if given is None:
        return None
    given = beside(given, ir.Property("", declared.name, wanted))
    if not given.type.is_compatible_with(wanted):
        hint = _list_hint(declared) if given.type.is_list else None
        context.error(code, f"{label}; it cannot be matched with {given.type}", match.value.span, hint)
        return None
    if isinstance(given, ir.Constant) and wanted.enum_values and given.value not in wanted.enum_values:
        hint = context.suggest(str(given.value), wanted.enum_values)
        expected = ", ".join(wanted.enum_values)
        message = f"`{given.value}` is not a value of `{declared.name}`; expected one of {expected}"
        context.error("T3", message, match.value.span, hint)
        return None
    return given


def _given(
    context: Context, scope: Scope, match: ast.PropertyMatch, declared: PropertyIR
) -> tuple[ir.Expr | None, str]:
    """The value with its own type, and the error code if that type does not fit."""
    match match.value:
        case ast.Literal():
            return check_literal(context, match.value), "T3"
        case ast.ListLiteral():
            message = f"`{declared.name}` is {declared.type}; a list cannot be matched"
            context.error("T3", message, match.value.span, _list_hint(declared))
            return None, "T3"
        case ast.Variable(name=name) if name not in context.parameters and scope.lookup(name) is None:
            if not scope.is_broken(name):
                hint = context.suggest_parameter(name)
                context.error(UNCODED, f"`${name}` is not a declared parameter", match.value.span, hint)
            return None, UNCODED
        case _:
            value = check_expression(context, scope, match.value, Position.FILTER)
            if value is not None and is_node(value):
                context.error("T7", f"`{declared.name}` cannot be matched with a node", match.value.span)
                return None, "T7"
            return value, "T7"


def _list_hint(declared: PropertyIR) -> str:
    if declared.type.is_list:
        return f"match one item: `{{ {declared.name}: item }}` tests whether the list contains it"
    return f"write a filter: `$x.{declared.name} in [...]`"
