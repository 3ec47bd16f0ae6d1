"""Type checker of query expressions: syntax to typed IR.

``check_expression`` returns None after reporting an error, so that each error is reported once and checking continues.
"""

from __future__ import annotations

from enum import Enum
from typing import assert_never

from omnigraph.core.operators import BinaryOperator
from omnigraph.core.scalars import INTEGER_RANGES, Scalar
from omnigraph.lang import gq_ast as ast
from omnigraph.query import expressions as ir
from omnigraph.query.scope import UNCODED, BoundVariable, Context, Scope, VariableKind, entity_type, suggest_variable
from omnigraph.query.search import check_call
from omnigraph.query.values import check_literal
from omnigraph.schema.types import PropertyType

Operator = BinaryOperator
_ARITHMETIC = (Operator.ADD, Operator.SUBTRACT, Operator.MULTIPLY, Operator.DIVIDE, Operator.MODULO)
_LOGIC = (Operator.AND, Operator.OR)
_TEXT = (Operator.CONTAINS, Operator.STARTS_WITH)


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
            return _check_list(context, scope, node, place)
        case ast.Variable():
            return _check_variable(context, scope, node, place)
        case ast.PropertyAccess():
            return check_property(context, scope, node, place)
        case ast.AliasRef():
            message = f"`{node.name.text}` is not a variable; a bare name refers to an alias and stands only in `order`"
            context.error(UNCODED, message, node.span, _variable_hint(scope, node.name.text))
            return None
        case ast.Call():
            return check_call(context, scope, node, place is not Position.FILTER, check_operand)
        case ast.Aggregate():
            message = f"`{node.function.value}` can only be a whole projection, not part of an expression"
            context.error("T7", message, node.span)
            return None
        case ast.Binary():
            return _check_binary(context, scope, node, place)
        case ast.Negate():
            zero = ir.Constant(0, ir.INTEGER)
            operand = _check_number(context, scope, node.operand, place, "-")
            if operand is None:
                return None
            return ir.Arithmetic(Operator.SUBTRACT, zero, operand, _arithmetic_type(zero, operand))
        case ast.IsNull():
            checked = check_expression(context, scope, node.operand, place)
            return None if checked is None else ir.IsNull(checked, node.negated)
        case _:
            assert_never(node)


def check_operand(context: Context, scope: Scope, node: ast.Expr) -> ir.Expr | None:
    """An argument of a search function."""
    return check_expression(context, scope, node, Position.FILTER)


def check_predicate(context: Context, scope: Scope, node: ast.Expr) -> ir.Expr | None:
    """The predicate of a filter: an expression of type Bool."""
    checked = check_expression(context, scope, node, Position.FILTER)
    if checked is not None and not _is_truth(checked.type):
        hint = "compare it with something" if not isinstance(node, ast.Binary) else None
        context.error("T7", f"a filter must be true or false, this is {described(checked)}", node.span, hint)
        return None
    return checked


def _is_truth(type_: PropertyType) -> bool:
    return type_.scalar is Scalar.BOOL and not type_.is_list


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
    if bound.kind is VariableKind.EDGE:
        hint = f"read one of its properties: `${node.name}.property`"
        context.error("T23", f"the edge `${node.name}` cannot be used as a value", node.span, hint)
        return None
    if bound.kind is VariableKind.PATH:
        hint = f"read `${node.name}.length` or `${node.name}.nodes`"
        context.error("T27", f"the path `${node.name}` cannot be used as a value", node.span, hint)
        return None
    return ir.EntityId(node.name, PropertyType(Scalar.STRING, nullable=bound.optional))


def check_property(
    context: Context, scope: Scope, node: ast.PropertyAccess, place: Position
) -> ir.Property | ir.PathValue | None:
    """``$v.p`` with its declared type, nullable if the variable itself may be null."""
    name = node.variable.name
    bound = scope.lookup(name)
    if bound is None and scope.is_broken(name):
        return None
    if bound is None:
        if name in context.parameters:
            context.error("T6", f"`${name}` is a parameter and has no properties", node.variable.span)
        else:
            hint = suggest_variable(context, scope, name)
            context.error("T6", f"`${name}` is not bound", node.variable.span, hint)
        return None
    if bound.kind is VariableKind.PATH:
        return _check_path_value(context, node, bound)
    declared = entity_type(context.catalog, bound).properties.get(node.property.text)
    if declared is None:
        kind = "edge" if bound.kind is VariableKind.EDGE else "node"
        hint = context.suggest(node.property.text, entity_type(context.catalog, bound).properties)
        if node.property.text == "id" and kind == "node":
            hint = f"`${name}` alone is the node's id"
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


def _check_path_value(context: Context, node: ast.PropertyAccess, bound: BoundVariable) -> ir.PathValue | None:
    if node.property.text == "length":
        return ir.PathValue(bound.name, ir.PathPart.LENGTH, PropertyType(Scalar.I64, nullable=bound.optional))
    if node.property.text == "nodes":
        type_ = PropertyType(Scalar.STRING, is_list=True, nullable=bound.optional)
        return ir.PathValue(bound.name, ir.PathPart.NODES, type_)
    context.error("T6", "a path has `length` and `nodes`", node.property.span)
    return None


def _nullable(type_: PropertyType) -> PropertyType:
    return PropertyType(type_.scalar, type_.is_list, True, type_.dimension, type_.enum_values)


def _check_list(context: Context, scope: Scope, node: ast.ListLiteral, place: Position) -> ir.Expr | None:
    items: list[ir.Expr] = []
    for item in node.items:
        if isinstance(item, ast.ListLiteral):
            context.error(UNCODED, "lists cannot be nested", item.span)
            return None
        checked = check_expression(context, scope, item, place)
        if checked is None:
            return None
        if not checked.type.is_plain_scalar or isinstance(checked, ir.EntityId):
            context.error(UNCODED, f"a list holds scalars, not {described(checked)}", item.span)
            return None
        if items and not checked.type.is_compatible_with(items[0].type):
            message = f"a list cannot mix {items[0].type} and {checked.type}"
            context.error(UNCODED, message, item.span)
            return None
        items.append(checked)
    scalar = _list_scalar(items)
    if scalar is None:
        context.error(UNCODED, "no number type can hold every item of this list", node.span, "use one number type")
        return None
    type_ = PropertyType(scalar, is_list=True)
    if all(isinstance(item, ir.Constant) for item in items):
        values = (item.value for item in items if isinstance(item, ir.Constant))
        return ir.Constant(tuple(float(v) if scalar.is_float and isinstance(v, int) else v for v in values), type_)
    return ir.ListOf(tuple(items), type_)


def _list_scalar(items: list[ir.Expr]) -> Scalar | None:
    """The type that represents every item exactly, None if there is none; an empty list has type String."""
    scalars = {item.type.scalar for item in items}
    if len(scalars) < 2:
        return scalars.pop() if scalars else Scalar.STRING
    constants = [item.value for item in items if isinstance(item, ir.Constant)]
    if any(scalar.is_float for scalar in scalars):
        exact = all(not isinstance(value, int) or float(value) == value for value in constants)
        return Scalar.F64 if exact else None
    if Scalar.U64 not in scalars:
        return Scalar.I64
    signed = [item for item in items if INTEGER_RANGES[item.type.scalar][0] < 0]
    fits = all(isinstance(item, ir.Constant) and isinstance(item.value, int) and item.value >= 0 for item in signed)
    return Scalar.U64 if fits else None


def _check_binary(context: Context, scope: Scope, node: ast.Binary, place: Position) -> ir.Expr | None:
    if node.operator in _ARITHMETIC:
        return _check_arithmetic(context, scope, node, place)
    left = check_expression(context, scope, node.left, place)
    right = check_expression(context, scope, node.right, place)
    if left is None or right is None:
        return None
    if node.operator in _LOGIC:
        return _check_logic(context, node, left, right)
    if node.operator is Operator.IN:
        return _check_member(context, node, item=left, items=right)
    if node.operator in _TEXT:
        if node.operator is Operator.CONTAINS and left.type.is_list:
            return _check_member(context, node, item=right, items=left)
        if left.type.is_text and right.type.is_text and not _is_entity(left) and not _is_entity(right):
            return ir.TextMatch(node.operator, left, right)
        wanted = "a list and an item, or two texts" if node.operator is Operator.CONTAINS else "two texts"
        message = f"`{node.operator.value}` takes {wanted}, not {described(left)} and {described(right)}"
        context.error("T7", message, node.span)
        return None
    return _check_comparison(context, scope, node, left, right)


def _check_logic(context: Context, node: ast.Binary, left: ir.Expr, right: ir.Expr) -> ir.Expr | None:
    for side, operand in ((node.left, left), (node.right, right)):
        if not _is_truth(operand.type):
            message = f"`{node.operator.value}` takes Bool operands, but this is {described(operand)}"
            context.error("T7", message, side.span)
            return None
    operands: list[ir.Expr] = []
    for operand in (left, right):
        same = isinstance(operand, ir.Logic) and operand.operator is node.operator
        operands.extend(operand.operands if same and isinstance(operand, ir.Logic) else (operand,))
    return ir.Logic(node.operator, tuple(operands))


def _check_member(context: Context, node: ast.Binary, item: ir.Expr, items: ir.Expr) -> ir.Expr | None:
    operator = node.operator.value
    if not items.type.is_list:
        hint = "for a part of a text write `text contains part`" if items.type.is_text else None
        context.error("T7", f"`{operator}` needs a list, not {described(items)}", node.right.span, hint)
        return None
    is_empty = isinstance(items, ir.Constant) and items.value == ()
    fits = item.type.is_plain_scalar and not _is_entity(item)
    if not fits or (not is_empty and not item.type.is_compatible_with(items.type.item)):
        context.error("T7", f"`{operator}` cannot look for {described(item)} in {items.type}", node.span)
        return None
    return ir.Member(item, items)


def _is_entity(expression: ir.Expr) -> bool:
    return isinstance(expression, ir.EntityId)


def described(expression: ir.Expr) -> str:
    """An operand as messages describe it."""
    return "a node" if _is_entity(expression) else str(expression.type)


def _check_comparison(
    context: Context, scope: Scope, node: ast.Binary, left: ir.Expr, right: ir.Expr
) -> ir.Expr | None:
    operator = node.operator.value
    if isinstance(left, ir.EntityId) or isinstance(right, ir.EntityId):
        return _check_same_entity(context, scope, node, left, right)
    for side, operand in ((node.left, left), (node.right, right)):
        if not operand.type.is_plain_scalar:
            hint = "test membership with `contains` or `in`" if operand.type.is_list else None
            context.error("T7", f"`{operator}` compares scalars, not {operand.type}", side.span, hint)
            return None
    if not left.type.is_compatible_with(right.type):
        message = f"`{operator}` cannot compare {left.type} with {right.type}"
        context.error("T7", message, node.span, _temporal_hint(left, right))
        return None
    return ir.Compare(node.operator, left, right)


def _check_same_entity(
    context: Context, scope: Scope, node: ast.Binary, left: ir.Expr, right: ir.Expr
) -> ir.Expr | None:
    """Identity of nodes: ``$a = $b`` and ``$a != $b``."""
    if isinstance(left, ir.EntityId) and isinstance(right, ir.EntityId):
        types = [bound.type_name for name in (left, right) if (bound := scope.lookup(name.variable))]
        if node.operator in (Operator.EQ, Operator.NE) and types[0] == types[1]:
            return ir.Compare(node.operator, left, right)
    message = f"`{node.operator.value}` cannot compare a node; only `=` and `!=` of two nodes of one type are defined"
    context.error("T7", message, node.span, "compare a property of it")
    return None


def _temporal_hint(left: ir.Expr, right: ir.Expr) -> str | None:
    scalars = {left.type.scalar, right.type.scalar}
    if Scalar.STRING in scalars and any(scalar.is_temporal for scalar in scalars):
        return 'write `date("...")` or `datetime("...")`'
    return None


def _check_arithmetic(context: Context, scope: Scope, node: ast.Binary, place: Position) -> ir.Expr | None:
    left = _check_number(context, scope, node.left, place, node.operator.value)
    right = _check_number(context, scope, node.right, place, node.operator.value)
    if left is None or right is None:
        return None
    if node.operator is Operator.DIVIDE:
        return ir.Arithmetic(node.operator, left, right, PropertyType(Scalar.F64, nullable=True))
    type_ = _arithmetic_type(left, right)
    if node.operator is Operator.MODULO:
        type_ = PropertyType(type_.scalar, nullable=True)
    return ir.Arithmetic(node.operator, left, right, type_)


def _check_number(context: Context, scope: Scope, node: ast.Expr, place: Position, operator: str) -> ir.Expr | None:
    checked = check_expression(context, scope, node, place)
    if checked is not None and not checked.type.is_number:
        context.error("T7", f"`{operator}` takes numbers, not {described(checked)}", node.span)
        return None
    return checked


def _arithmetic_type(left: ir.Expr, right: ir.Expr) -> PropertyType:
    nullable = left.type.nullable or right.type.nullable
    if left.type.scalar.is_float or right.type.scalar.is_float:
        return PropertyType(Scalar.F64, nullable=nullable)
    both_unsigned = left.type.scalar is Scalar.U64 and right.type.scalar is Scalar.U64
    return PropertyType(Scalar.U64 if both_unsigned else Scalar.I64, nullable=nullable)
