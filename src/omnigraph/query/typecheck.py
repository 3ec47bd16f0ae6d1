"""Type checker of query expressions: syntax to typed IR.

``check_expression`` returns None after reporting an error, so that each error is reported once and checking continues.
"""

from __future__ import annotations

from dataclasses import replace
from enum import Enum
from typing import assert_never

from omnigraph.core.functions import ScalarFunction
from omnigraph.core.operators import BinaryOperator
from omnigraph.core.scalars import Scalar
from omnigraph.lang import gq_ast as ast
from omnigraph.query import expressions as ir
from omnigraph.query.scope import (
    UNCODED,
    BoundVariable,
    Context,
    Scope,
    VariableKind,
    entity_type,
    report_gone,
    suggest_variable,
)
from omnigraph.query.search import check_call
from omnigraph.query.stages.former import COLUMN_MARK
from omnigraph.query.types.calls import (
    CALLED,
    Check,
    call,
    check_function,
    check_values,
    described,
    item,
    member,
    part,
    step_into,
)
from omnigraph.query.types.forms import (
    check_case,
    check_conversion,
    check_decimal,
    check_entity_function,
    check_if,
    check_quantified,
    check_written_cast,
)
from omnigraph.query.types.lists import check_list
from omnigraph.query.types.literals import as_json
from omnigraph.query.types.moments import check_duration
from omnigraph.query.types.operators import check_operator, is_truth
from omnigraph.query.values import check_literal
from omnigraph.schema.types import PropertyType


class Position(Enum):
    """The position of an expression; it determines what the expression may contain."""

    FILTER = "a filter"
    RETURN = "`return`"
    ORDER = "`order`"


def check_expression(context: Context, scope: Scope, node: ast.Expr, place: Position) -> ir.Expr | None:
    """The typed form of an expression, or None if an error was reported."""
    match node:
        case ast.Literal():
            return check_literal(context, node)
        case ast.ListLiteral():
            return check_list(context, node, _checker(context, scope, place))
        case ast.Variable():
            return _check_variable(context, scope, node, place)
        case ast.PropertyAccess():
            return check_property(context, scope, node, place)
        case ast.AliasRef():
            message = f"`{node.name.text}` is not a variable; a bare name refers to an alias and stands only in `order`"
            context.error(UNCODED, message, node.span, _variable_hint(scope, node.name.text))
            return None
        case ast.Call():
            return _check_call(context, scope, node, place)
        case ast.Star():
            context.error("T7", "`*` stands for rows in `count(*)` only", node.span)
            return None
        case ast.Aggregate():
            message = f"`{node.function.value}` can only be a whole projection, not part of an expression"
            context.error("T7", message, node.span)
            return None
        case ast.Binary() | ast.Negate() | ast.IsNull() | ast.Not():
            return check_operator(context, scope, node, _checker(context, scope, place))
        case ast.Case():
            return check_case(context, node, _checker(context, scope, place))
        case ast.Cast():
            return check_written_cast(context, node, _checker(context, scope, place))
        case ast.Member():
            return member(context, node, _checker(context, scope, place))
        case ast.Index():
            return item(context, node, _checker(context, scope, place))
        case ast.Slice():
            return part(context, node, _checker(context, scope, place))
        case ast.Exists():
            return context.check_exists(context, scope, node)
        case ast.Quantified():
            inner = lambda within, operand: check_expression(context, within, operand, place)  # noqa: E731
            return check_quantified(context, scope, node, inner)
        case _:
            assert_never(node)


def _checker(context: Context, scope: Scope, place: Position) -> Check:
    """The check of operands at the same place."""
    return lambda operand: check_expression(context, scope, operand, place)


def _check_call(context: Context, scope: Scope, node: ast.Call, place: Position) -> ir.Expr | None:
    check = _checker(context, scope, place)
    match node.function:
        case "if":
            return check_if(context, node, check)
        case "type" | "id":
            return check_entity_function(context, scope, node)
        case "date" | "datetime" | "time" | "uuid":
            return check_conversion(context, node, check)
        case "decimal":
            return check_decimal(context, node)
        case "duration":
            return check_duration(context, node, check)
        case "size" | "json_set":
            return _check_of_json(context, node, check)
        case "mod" | "contains" | "starts_with" | "ends_with":
            operator = BinaryOperator.MODULO if node.function == "mod" else BinaryOperator(node.function)
            left, right = node.arguments
            return check_operator(context, scope, ast.Binary(operator, left, right, node.span), check)
        case name if name in CALLED:
            return check_function(context, node, check)
        case _:
            return check_call(context, scope, node, place is not Position.FILTER, check_operand)


def _check_of_json(context: Context, node: ast.Call, check: Check) -> ir.Expr | None:
    """``size`` of a list or a JSON value, and ``json_set``, which takes any value."""
    arguments = check_values(node.arguments, check)
    if arguments is None:
        return None
    function = CALLED[node.function]
    if node.function == "json_set":
        arguments[2] = as_json(arguments[2])
    elif arguments[0].type.is_json:
        function = ScalarFunction.JSON_SIZE
    return call(context, function, arguments, node.arguments, node)


def check_operand(context: Context, scope: Scope, node: ast.Expr) -> ir.Expr | None:
    """An argument of a search function."""
    return check_expression(context, scope, node, Position.FILTER)


def check_predicate(context: Context, scope: Scope, node: ast.Expr) -> ir.Expr | None:
    """The predicate of a filter: an expression of type Bool."""
    checked = check_expression(context, scope, node, Position.FILTER)
    if checked is not None and not is_truth(checked.type):
        hint = "compare it with something" if not isinstance(node, ast.Binary) else None
        if isinstance(node, ast.Variable) and isinstance(checked, ir.EntityId):
            hint = "an edge stands between two variables: `$a knows $b`, of any type `$a <$e> $b`"
        context.error("T7", f"a filter must be true or false, this is {described(checked)}", node.span, hint)
        return None
    return checked


def _variable_hint(scope: Scope, name: str) -> str | None:
    return f"write `${name}`" if scope.lookup(name) else None


def _check_variable(context: Context, scope: Scope, node: ast.Variable, place: Position) -> ir.Expr | None:
    bound = scope.lookup(node.name)
    if bound is None:
        if scope.is_broken(node.name):
            return None
        given = context.parameters.get(node.name)
        if given is None:
            hint = suggest_variable(context, scope, node.name)
            context.error(UNCODED, f"`${node.name}` is not bound", node.span, hint)
            return None
        if given.is_blob:
            code = "T24" if place is not Position.FILTER else "T7"
            context.error(code, f"`${node.name}` is a Blob and cannot be read as a value", node.span)
            return None
        return ir.Parameter(node.name, given)
    if report_gone(context, bound, node.span):
        return None
    if bound.kind is VariableKind.COLUMN:
        return _column(bound)
    if bound.kind is VariableKind.EDGE:
        hint = (
            f"read one of its properties, `${node.name}.property`, its id, `id(${node.name})`, or all: `${node.name}.*`"
        )
        context.error("T23", f"the edge `${node.name}` cannot be used as a value", node.span, hint)
        return None
    if bound.kind is VariableKind.VALUE:
        assert bound.type is not None, "a value has a type"
        return ir.Item(node.name, bound.type)
    if bound.kind is VariableKind.PATH:
        hint = f"read `${node.name}.length` or `${node.name}.nodes`"
        context.error("T27", f"the path `${node.name}` cannot be used as a value", node.span, hint)
        return None
    return ir.EntityId(node.name, PropertyType(Scalar.STRING, nullable=bound.optional))


def _column(bound: BoundVariable) -> ir.Computed:
    assert bound.type is not None, "a column has a type"
    return ir.Computed(bound.name, ir.ComputedPart.VALUE, bound.type)


def check_property(context: Context, scope: Scope, node: ast.PropertyAccess, place: Position) -> ir.Expr | None:
    """``$v.p`` with its declared type, nullable if the variable itself may be null."""
    name = node.variable.name
    bound = scope.lookup(name)
    if bound is not None and bound.kind is VariableKind.GONE:
        column = scope.lookup(f"{name}{COLUMN_MARK}{node.property.text}")
        if column is not None and column.kind is VariableKind.COLUMN:
            return _column(column)
        report_gone(context, bound, node.variable.span)
        return None
    if bound is None and scope.is_broken(name):
        return None
    if bound is None:
        given = context.parameters.get(name)
        if given is not None and given.is_json:
            step = ir.Constant(node.property.text, ir.TEXT)
            return step_into(context, ir.Parameter(name, given), step, (node.variable, node.variable), node)
        if given is not None:
            context.error("T6", f"`${name}` is a parameter and has no properties", node.variable.span)
        else:
            hint = suggest_variable(context, scope, name)
            context.error("T6", f"`${name}` is not bound", node.variable.span, hint)
        return None
    if bound.kind in (VariableKind.VALUE, VariableKind.COLUMN):
        value = _check_variable(context, scope, node.variable, place)
        if value is not None and value.type.is_json:
            step = ir.Constant(node.property.text, ir.TEXT)
            return step_into(context, value, step, (node.variable, node.variable), node)
        context.error("T6", f"`${name}` is a value and has no properties", node.variable.span)
        return None
    if bound.kind is VariableKind.PATH:
        return _check_path_value(context, node, bound)
    declared = entity_type(context.catalog, bound).properties.get(node.property.text)
    if declared is None:
        kind = "edge" if bound.kind is VariableKind.EDGE else "node"
        hint = context.suggest_or_list(node.property.text, entity_type(context.catalog, bound).properties)
        if ast.is_entity(node):
            hint = f"`${name}.*` is a whole projection of `return`"
        elif node.property.text == "id" and kind == "node":
            hint = f"its id is `id(${name})`"
        elif node.property.text in ("src", "dst", "from", "to") and kind == "edge":
            hint = "its endpoints are the variables on both sides of it"
        message = f"{kind} type `{bound.type_name}` has no property `{node.property.text}`"
        context.error("T6", message, node.property.span, hint)
        return None
    if declared.type.is_blob:
        code = "T24" if place is not Position.FILTER else "T7"
        context.error(code, f"`{node.property.text}` is a Blob and cannot be used in {place.value}", node.span)
        return None
    return ir.Property(name, declared.name, _nullable(declared.type) if bound.optional else declared.type)


def _check_path_value(context: Context, node: ast.PropertyAccess, bound: BoundVariable) -> ir.Computed | None:
    if node.property.text == "length":
        return ir.Computed(bound.name, ir.ComputedPart.LENGTH, PropertyType(Scalar.I64, nullable=bound.optional))
    if node.property.text == "nodes":
        type_ = PropertyType(Scalar.STRING, is_list=True, nullable=bound.optional)
        return ir.Computed(bound.name, ir.ComputedPart.NODES, type_)
    context.error("T6", "a path has `length` and `nodes`", node.property.span)
    return None


def _nullable(type_: PropertyType) -> PropertyType:
    return replace(type_, nullable=True)
