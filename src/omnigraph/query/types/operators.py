"""Type rules of operators (T7): logic, comparison, membership, parts of texts, arithmetic."""

from __future__ import annotations

from typing import assert_never

from omnigraph.core.operators import BinaryOperator
from omnigraph.core.scalars import Scalar
from omnigraph.lang import gq_ast as ast
from omnigraph.query import expressions as ir
from omnigraph.query.scope import Context, Scope
from omnigraph.query.types.calls import Check, described, is_node, text_sum
from omnigraph.query.types.moments import check_difference, check_shift, is_duration
from omnigraph.schema.types import PropertyType

Operator = BinaryOperator
_ARITHMETIC = (Operator.ADD, Operator.SUBTRACT, Operator.MULTIPLY, Operator.DIVIDE, Operator.MODULO)
_LOGIC = (Operator.AND, Operator.OR)
_TEXT = (Operator.CONTAINS, Operator.STARTS_WITH, Operator.ENDS_WITH)


def check_operator(
    context: Context, scope: Scope, node: ast.Binary | ast.Negate | ast.IsNull | ast.Not, check: Check
) -> ir.Expr | None:
    """The typed form of an operator and its operands."""
    match node:
        case ast.Binary():
            return _check_binary(context, scope, node, check)
        case ast.Negate():
            zero = ir.Constant(0, ir.INTEGER)
            operand = _number(context, check(node.operand), node.operand, "-")
            if operand is None:
                return None
            return ir.Arithmetic(Operator.SUBTRACT, zero, operand, _arithmetic_type(zero, operand))
        case ast.IsNull():
            checked = check(node.operand)
            return None if checked is None else ir.IsNull(checked, node.negated)
        case ast.Not():
            operand = check(node.operand)
            if operand is not None and not is_truth(operand.type):
                message = f"`not` takes a Bool, but this is {described(operand)}"
                context.error("T7", message, node.operand.span, "`not { ... }` tests a pattern")
                return None
            return None if operand is None else ir.Not(operand)
        case _:
            assert_never(node)


def is_truth(type_: PropertyType) -> bool:
    """True for the type of a predicate."""
    return type_.scalar is Scalar.BOOL and not type_.is_list


def _check_binary(context: Context, scope: Scope, node: ast.Binary, check: Check) -> ir.Expr | None:
    if is_duration(node.left) or is_duration(node.right):
        return check_shift(context, node, check)
    left, right = check(node.left), check(node.right)
    if left is None or right is None:
        return None
    if node.operator in _ARITHMETIC:
        return _check_arithmetic(context, node, left, right)
    if node.operator in _LOGIC:
        return _check_logic(context, node, left, right)
    if node.operator is Operator.IN:
        return _check_member(context, node, item=left, items=right)
    if node.operator in _TEXT:
        return _check_text(context, node, left, right)
    return _check_comparison(context, scope, node, left, right)


def _check_text(context: Context, node: ast.Binary, left: ir.Expr, right: ir.Expr) -> ir.Expr | None:
    if node.operator is Operator.CONTAINS and left.type.is_list:
        return _check_member(context, node, item=right, items=left)
    if left.type.is_text and right.type.is_text and not is_node(left) and not is_node(right):
        return ir.TextMatch(node.operator, left, right)
    wanted = "a list and an item, or two texts" if node.operator is Operator.CONTAINS else "two texts"
    message = f"`{node.operator.value}` takes {wanted}, not {described(left)} and {described(right)}"
    context.error("T7", message, node.span)
    return None


def _check_logic(context: Context, node: ast.Binary, left: ir.Expr, right: ir.Expr) -> ir.Expr | None:
    for side, operand in ((node.left, left), (node.right, right)):
        if not is_truth(operand.type):
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
    fits = item.type.is_plain_scalar and not is_node(item)
    if not fits or (not is_empty and not item.type.is_compatible_with(items.type.item)):
        context.error("T7", f"`{operator}` cannot look for {described(item)} in {items.type}", node.span)
        return None
    return ir.Member(item, items)


def _check_comparison(
    context: Context, scope: Scope, node: ast.Binary, left: ir.Expr, right: ir.Expr
) -> ir.Expr | None:
    operator = node.operator.value
    if is_node(left) or is_node(right):
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
    if isinstance(left, ir.EntityId) and isinstance(right, ir.EntityId) and is_node(left) and is_node(right):
        types = [bound.type_name for name in (left, right) if (bound := scope.lookup(name.variable))]
        if node.operator in (Operator.EQ, Operator.NE) and types[0] == types[1]:
            return ir.Compare(node.operator, left, right)
    message = f"`{node.operator.value}` cannot compare a node; only `=` and `!=` of two nodes of one type are defined"
    context.error("T7", message, node.span, "compare a property of it, or its id: `id($x)`")
    return None


def _temporal_hint(left: ir.Expr, right: ir.Expr) -> str | None:
    scalars = {left.type.scalar, right.type.scalar}
    if Scalar.STRING in scalars and any(scalar.is_temporal for scalar in scalars):
        return 'write `date("...")` or `datetime("...")`'
    return None


def _check_arithmetic(context: Context, node: ast.Binary, left: ir.Expr, right: ir.Expr) -> ir.Expr | None:
    if node.operator is Operator.ADD and _is_plain_text(left) and _is_plain_text(right):
        return text_sum(left, right)
    if _is_moment(left) and _is_moment(right):
        return check_difference(context, node, (left, right))
    if node.operator is Operator.ADD and _is_plain_text(left) != _is_plain_text(right):
        message = f"`+` takes two numbers or two texts, not {described(left)} and {described(right)}"
        context.error("T7", message, node.span, "make a text of the other value: `cast(value as String)`")
        return None
    numbers = [_number(context, side, at, node.operator.value) for side, at in ((left, node.left), (right, node.right))]
    if None in numbers:
        return None
    if node.operator is Operator.DIVIDE:
        return ir.Arithmetic(node.operator, left, right, PropertyType(Scalar.F64, nullable=True))
    type_ = _arithmetic_type(left, right)
    if node.operator is Operator.MODULO:
        type_ = PropertyType(type_.scalar, nullable=True)
    return ir.Arithmetic(node.operator, left, right, type_)


def _is_plain_text(side: ir.Expr) -> bool:
    return side.type.is_text and not is_node(side)


def _is_moment(side: ir.Expr) -> bool:
    return side.type.scalar.is_temporal and not side.type.is_list


def _number(context: Context, checked: ir.Expr | None, node: ast.Expr, operator: str) -> ir.Expr | None:
    if checked is not None and not checked.type.is_number:
        hint = 'add a duration: `x + duration("P7D")`' if checked.type.scalar.is_temporal else None
        context.error("T7", f"`{operator}` takes numbers, not {described(checked)}", node.span, hint)
        return None
    return checked


def _arithmetic_type(left: ir.Expr, right: ir.Expr) -> PropertyType:
    nullable = left.type.nullable or right.type.nullable
    if left.type.scalar.is_float or right.type.scalar.is_float:
        return PropertyType(Scalar.F64, nullable=nullable)
    both_unsigned = left.type.scalar is Scalar.U64 and right.type.scalar is Scalar.U64
    return PropertyType(Scalar.U64 if both_unsigned else Scalar.I64, nullable=nullable)
