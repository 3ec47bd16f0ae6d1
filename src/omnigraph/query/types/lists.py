"""List literals: items of one type."""

from __future__ import annotations

from omnigraph.core.scalars import INTEGER_RANGES, Scalar
from omnigraph.lang import gq_ast as ast
from omnigraph.query import expressions as ir
from omnigraph.query.scope import UNCODED, Context
from omnigraph.query.types.calls import Check, described, is_node
from omnigraph.query.types.one_type import common_type, converted
from omnigraph.schema.types import PropertyType


def check_list(context: Context, node: ast.ListLiteral, check: Check) -> ir.Expr | None:
    """The typed form of a list: a Constant if all items are."""
    items: list[ir.Expr] = []
    for item in node.items:
        if isinstance(item, ast.ListLiteral):
            context.error(UNCODED, "lists cannot be nested", item.span)
            return None
        checked = check(item)
        if checked is None:
            return None
        if not checked.type.is_plain_scalar or is_node(checked):
            context.error(UNCODED, f"a list holds scalars, not {described(checked)}", item.span)
            return None
        if items and not checked.type.is_compatible_with(items[0].type):
            message = f"a list cannot mix {items[0].type} and {checked.type}"
            context.error(UNCODED, message, item.span)
            return None
        items.append(checked)
    if any(item.type.digits is not None for item in items):
        return _decimal_list(context, node, items)
    scalar = _list_scalar(items)
    if scalar is None:
        context.error(UNCODED, "no number type can hold every item of this list", node.span, "use one number type")
        return None
    type_ = PropertyType(scalar, is_list=True)
    if all(isinstance(item, ir.Constant) for item in items):
        values = (item.value for item in items if isinstance(item, ir.Constant))
        return ir.Constant(tuple(float(v) if scalar.is_float and isinstance(v, int) else v for v in values), type_)
    return ir.ListOf(tuple(items), type_)


def _decimal_list(context: Context, node: ast.ListLiteral, items: list[ir.Expr]) -> ir.Expr | None:
    """A list with decimals: every item is one of the same digits."""
    type_ = common_type(items)
    if type_ is None or type_.digits is None:
        context.error(UNCODED, "no Decimal can hold every item of this list", node.span, "use one number type")
        return None
    made = [converted(item, type_) for item in items]
    listed = PropertyType(Scalar.DECIMAL, is_list=True, digits=type_.digits)
    constants = [item.value for item in made if isinstance(item, ir.Constant)]
    return ir.Constant(tuple(constants), listed) if len(constants) == len(made) else ir.ListOf(tuple(made), listed)


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
