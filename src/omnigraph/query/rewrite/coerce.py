"""Literal coercion: constants in the column's exact type where lossless; constant folding of decided comparisons.

Storage uses an index only if the literal has exactly the column's type, and would refuse or truncate one that does not
fit. So ``age < 2.7`` on an integer becomes ``age <= 2``, and ``age = 2.7`` becomes false. The pass covers only
predicates, where false and null are the same. Stored numbers are finite.
"""

from __future__ import annotations

import math
from dataclasses import replace
from decimal import Decimal

from omnigraph.core.decimals import around, exact
from omnigraph.core.numbers import neighbours, next_float
from omnigraph.core.operators import BinaryOperator
from omnigraph.core.scalars import INTEGER_RANGES
from omnigraph.query import expressions as ir
from omnigraph.query.ir import Expand, Filter, Operator, Scan
from omnigraph.query.rewrite.tree import map_expressions, map_inputs

Op = BinaryOperator
_MIRRORED = {Op.LT: Op.GT, Op.LE: Op.GE, Op.GT: Op.LT, Op.GE: Op.LE, Op.EQ: Op.EQ, Op.NE: Op.NE}
_OPPOSITE = {Op.LT: Op.GE, Op.LE: Op.GT, Op.GT: Op.LE, Op.GE: Op.LT, Op.EQ: Op.NE, Op.NE: Op.EQ}


def coerce_literals(root: Operator) -> Operator:
    """Coerce the constants of every predicate in the tree; predicates that are always true are removed."""
    below = map_inputs(root, coerce_literals)
    if not isinstance(below, Filter | Scan | Expand):
        return below
    changed = map_expressions(below, coerce_predicate)
    match changed:
        case Filter() if changed.predicate == ir.TRUE:
            return changed.input
        case Scan() if changed.predicate == ir.TRUE:
            return replace(changed, predicate=None)
        case Expand() if ir.TRUE in (changed.predicate, changed.edge_predicate):
            predicate = None if changed.predicate == ir.TRUE else changed.predicate
            edge_predicate = None if changed.edge_predicate == ir.TRUE else changed.edge_predicate
            return replace(changed, predicate=predicate, edge_predicate=edge_predicate)
        case _:
            return changed


def coerce_predicate(predicate: ir.Expr) -> ir.Expr:
    """A predicate that is true for the same rows; false and null may be exchanged."""
    match predicate:
        case ir.Logic():
            operands = tuple(coerce_predicate(operand) for operand in predicate.operands)
            return _fold(predicate.operator, operands)
        case ir.Compare(operator, ir.Property() as left, ir.Constant() as right):
            return coerce_comparison(operator, left, right)
        case ir.Compare(operator, ir.Constant() as left, ir.Property() as right):
            return coerce_comparison(_MIRRORED[operator], right, left)
        case ir.Compare(Op.EQ, left, ir.TRUE) | ir.Compare(Op.EQ, ir.TRUE, left):
            return coerce_predicate(left)
        case ir.Compare(Op.NE, left, ir.FALSE) | ir.Compare(Op.NE, ir.FALSE, left):
            return coerce_predicate(left)
        case ir.Not(ir.Compare(operator, ir.Property() as left, ir.Constant() as right)):
            # Stored numbers are never NaN, so the opposite comparison is true where the negation is.
            return coerce_comparison(_OPPOSITE[operator], left, right)
        case ir.Not(ir.Not(operand)):
            return coerce_predicate(operand)
        case ir.Member(ir.Property() as item, ir.Constant() as items):
            return _coerce_member(item, items)
        case ir.Member(ir.Constant() as item, ir.Property() as items):
            return _coerce_item(item, items)
        case _:
            return predicate


def _fold(operator: BinaryOperator, operands: tuple[ir.Expr, ...]) -> ir.Expr:
    absorbing, neutral = (ir.FALSE, ir.TRUE) if operator is Op.AND else (ir.TRUE, ir.FALSE)
    if absorbing in operands:
        return absorbing
    rest = tuple(operand for operand in operands if operand != neutral)
    if not rest:
        return neutral
    return rest[0] if len(rest) == 1 else ir.Logic(operator, rest)


def coerce_comparison(operator: BinaryOperator, left: ir.Property, right: ir.Constant) -> ir.Expr:
    """``property operator constant`` with the constant in the property's type, or a constant predicate."""
    value = right.value
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ir.FALSE
    if isinstance(value, int | float | Decimal) and left.type.scalar.is_numeric:
        return _compare_number(operator, left, value)
    return ir.Compare(operator, left, ir.Constant(value, replace(left.type, nullable=False)))


def _compare_number(operator: BinaryOperator, left: ir.Property, value: Number) -> ir.Expr:
    """Compare with the number itself if the column can hold it, else with its neighbours in the column's type."""
    below, above = _around(left, value)
    not_null = ir.IsNull(left, negated=True) if left.type.nullable else ir.TRUE
    is_exact = below is not None and below == above

    def compare(by: BinaryOperator, number: Number) -> ir.Expr:
        return ir.Compare(by, left, ir.Constant(number, replace(left.type, nullable=False)))

    match operator:
        case Op.EQ | Op.NE if not is_exact:
            return ir.FALSE if operator is Op.EQ else not_null
        case Op.LT | Op.LE if not is_exact:
            # No number of the type is above the value, so every number is below it.
            return not_null if above is None else ir.FALSE if below is None else compare(Op.LE, below)
        case Op.GT | Op.GE if not is_exact:
            return not_null if below is None else ir.FALSE if above is None else compare(Op.GE, above)
    assert below is not None
    return compare(operator, below)


Number = int | float | Decimal


def _around(left: ir.Property, value: Number) -> tuple[Number | None, Number | None]:
    """The largest number of the column's type that is not above the value, and the smallest that is not below it."""
    if left.type.digits is not None:
        return around(exact(value), left.type.digits)
    if left.type.scalar.is_integer:
        return _integers_around(left, value)
    if isinstance(value, Decimal):
        near = neighbours(float(value), left.type.scalar)
        # A decimal between two floats is rounded to one of them: the other neighbour is on the other side of it.
        return _floats_around(value, near, left)
    return neighbours(value, left.type.scalar)


def _floats_around(
    value: Decimal, near: tuple[float | None, float | None], left: ir.Property
) -> tuple[Number | None, Number | None]:
    below, above = near
    if below is not None and below == above and Decimal(below) != value:
        step = -math.inf if Decimal(below) > value else math.inf
        other = next_float(below, left.type.scalar, step)
        return (other, below) if step < 0 else (below, other)
    return near


def _integers_around(left: ir.Property, value: Number) -> tuple[int | None, int | None]:
    """The largest integer of the column's type that is not above the value, and the smallest that is not below it."""
    low, high = INTEGER_RANGES[left.type.scalar]
    if value < low:
        return None, low
    if value > high:
        return high, None
    return math.floor(value), math.ceil(value)


def _coerce_member(item: ir.Property, items: ir.Constant) -> ir.Expr:
    """``property in [constants]`` without the constants that the property cannot hold."""
    kept: dict[ir.ConstantValue, None] = {}
    for value in items.value if isinstance(items.value, tuple) else ():
        decided = coerce_comparison(Op.EQ, item, ir.Constant(value, items.type.item))
        if isinstance(decided, ir.Compare) and isinstance(decided.right, ir.Constant):
            kept[decided.right.value] = None
    if not kept:
        return ir.FALSE
    type_ = replace(item.type, nullable=False, is_list=True, enum_values=None)
    return ir.Member(item, ir.Constant(tuple(kept), type_))


def _coerce_item(item: ir.Constant, items: ir.Property) -> ir.Expr:
    """``list property contains constant``."""
    probe = ir.Property(items.variable, items.name, items.type.item)
    decided = coerce_comparison(Op.EQ, probe, item)
    if isinstance(decided, ir.Compare) and isinstance(decided.right, ir.Constant):
        return ir.Member(decided.right, items)
    return ir.FALSE
