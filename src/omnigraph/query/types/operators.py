"""Type rules of operators (T7): logic, comparison, membership, parts of texts, arithmetic."""

from __future__ import annotations

from dataclasses import replace
from typing import assert_never

from omnigraph.core.decimals import DIGITS_MAX, product_digits, sum_digits
from omnigraph.core.functions import ScalarFunction
from omnigraph.core.operators import BinaryOperator, Quantifier
from omnigraph.core.scalars import Scalar
from omnigraph.lang import gq_ast as ast
from omnigraph.query import expressions as ir
from omnigraph.query.scope import Context, Scope
from omnigraph.query.types.calls import Check, call, described, is_node, text_sum
from omnigraph.query.types.durations import check_lengths, is_length, negated
from omnigraph.query.types.literals import as_json, beside, digits_of
from omnigraph.query.types.moments import check_difference, check_shift, is_duration
from omnigraph.query.types.one_type import converted
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
            checked = check(node.operand)
            if checked is not None and checked.type.scalar is Scalar.DURATION and not checked.type.is_list:
                return negated(context, checked, node.operand)
            operand = _number(context, checked, node.operand, "-")
            if operand is None:
                return None
            if operand.type.digits is not None:
                return ir.Arithmetic(Operator.SUBTRACT, zero, operand, operand.type)
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
    if is_duration(node.left) != is_duration(node.right) and node.operator in _ARITHMETIC:
        duration, other = (node.right, node.left) if is_duration(node.right) else (node.left, node.right)
        moment = check(other)
        if moment is None:
            return None
        if _is_moment(moment) and isinstance(duration, ast.Call):
            return check_shift(context, node, moment, duration, check)
    left, right = check(node.left), check(node.right)
    if left is None or right is None:
        return None
    if node.operator not in _ARITHMETIC and node.operator not in _LOGIC:
        left, right = beside(left, right), beside(right, left)
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
    if left.type.is_json and right.type.is_json:
        if node.operator is Operator.CONTAINS:
            return call(context, ScalarFunction.JSON_CONTAINS, (left, right), (node.left, node.right), node)
        left, right = (ir.Cast(side, ir.OPTIONAL_TEXT) for side in (left, right))
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
    if items.type.is_list and item.type.is_json:
        return _one_of(item, items)
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


def _one_of(item: ir.Expr, items: ir.Expr) -> ir.Expr:
    """Membership of a JSON value in a list of scalars: one of them is the same JSON value."""
    held = ir.Item(_HELD, replace(items.type.item, nullable=True))
    return ir.Quantified(Quantifier.ANY, _HELD, items, ir.Compare(Operator.EQ, item, as_json(held)))


_HELD = "#held"
"""The variable of the items that are compared; the grammar does not allow it in a query."""


def _check_comparison(
    context: Context, scope: Scope, node: ast.Binary, left: ir.Expr, right: ir.Expr
) -> ir.Expr | None:
    operator = node.operator.value
    if is_node(left) or is_node(right):
        return _check_same_entity(context, scope, node, left, right)
    if left.type.is_json or right.type.is_json:
        left, right = as_json(left), as_json(right)
        if node.operator in (Operator.EQ, Operator.NE):
            return ir.Compare(node.operator, left, right)
        order = call(context, ScalarFunction.JSON_ORDER, (left, right), (node.left, node.right), node)
        return None if order is None else ir.Compare(node.operator, order, ir.Constant(0, ir.INTEGER))
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
    if Scalar.STRING not in scalars:
        return None
    if any(scalar.is_temporal for scalar in scalars):
        return 'write `date("...")` or `datetime("...")`'
    written = {Scalar.TIME: "time", Scalar.DURATION: "duration", Scalar.UUID: "uuid"}
    word = next((written[scalar] for scalar in scalars if scalar in written), None)
    return None if word is None else f'write `{word}("...")`'


def _check_arithmetic(context: Context, node: ast.Binary, left: ir.Expr, right: ir.Expr) -> ir.Expr | None:
    if node.operator is Operator.ADD and _is_plain_text(left) and _is_plain_text(right):
        return text_sum(left, right)
    if _is_moment(left) and _is_moment(right):
        return check_difference(context, node, (left, right))
    if is_length(left) or is_length(right):
        return check_lengths(context, node, left, right)
    if node.operator is Operator.ADD and _is_plain_text(left) != _is_plain_text(right):
        message = f"`+` takes two numbers or two texts, not {described(left)} and {described(right)}"
        context.error("T7", message, node.span, "make a text of the other value: `cast(value as String)`")
        return None
    numbers = [_number(context, side, at, node.operator.value) for side, at in ((left, node.left), (right, node.right))]
    if None in numbers:
        return None
    if node.operator is Operator.DIVIDE:
        return ir.Arithmetic(node.operator, left, right, PropertyType(Scalar.F64, nullable=True))
    if _is_decimal(left, right):
        return _check_decimals(context, node, left, right)
    type_ = _arithmetic_type(left, right)
    if node.operator is Operator.MODULO:
        type_ = PropertyType(type_.scalar, nullable=True)
    return ir.Arithmetic(node.operator, left, right, type_)


def _is_decimal(left: ir.Expr, right: ir.Expr) -> bool:
    """True for numbers whose sum is a decimal: a literal with a fraction is one beside a decimal."""
    sides = (left, right)
    is_firm_float = any(side.type.scalar.is_float and not isinstance(side, ir.Constant) for side in sides)
    return any(side.type.digits is not None for side in sides) and not is_firm_float


def _check_decimals(context: Context, node: ast.Binary, left: ir.Expr, right: ir.Expr) -> ir.Expr | None:
    """``+ - * %`` of decimals, in the type that holds every result as far as there are digits for it."""
    first, second = digits_of(left), digits_of(right)
    is_product = node.operator is Operator.MULTIPLY
    digits = product_digits(first, second) if is_product else sum_digits(first, second)
    if digits is None:
        message = f"a product of {left.type} and {right.type} has more than {DIGITS_MAX} digits behind the point"
        context.error("T7", message, node.span, "cast one of them to a Decimal with fewer places")
        return None
    nullable = left.type.nullable or right.type.nullable or node.operator is Operator.MODULO
    type_ = PropertyType(Scalar.DECIMAL, nullable=nullable, digits=digits)
    left = converted(left, PropertyType(Scalar.DECIMAL, digits=first))
    right = converted(right, PropertyType(Scalar.DECIMAL, digits=second))
    return ir.Arithmetic(node.operator, left, right, type_)


def _is_plain_text(side: ir.Expr) -> bool:
    return side.type.is_text and not is_node(side)


def _is_moment(side: ir.Expr) -> bool:
    return side.type.scalar.is_temporal and not side.type.is_list


def _number(context: Context, checked: ir.Expr | None, node: ast.Expr, operator: str) -> ir.Expr | None:
    if checked is not None and not checked.type.is_number:
        hint = 'add a duration: `x + duration("P7D")`' if checked.type.scalar.is_temporal else None
        hint = "make a number of it: `cast(value as F64)`" if checked.type.is_json else hint
        context.error("T7", f"`{operator}` takes numbers, not {described(checked)}", node.span, hint)
        return None
    return checked


def _arithmetic_type(left: ir.Expr, right: ir.Expr) -> PropertyType:
    nullable = left.type.nullable or right.type.nullable
    if left.type.scalar.is_float or right.type.scalar.is_float:
        return PropertyType(Scalar.F64, nullable=nullable)
    both_unsigned = left.type.scalar is Scalar.U64 and right.type.scalar is Scalar.U64
    return PropertyType(Scalar.U64 if both_unsigned else Scalar.I64, nullable=nullable)
