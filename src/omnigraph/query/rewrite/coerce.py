"""Constants in a column's exact type, where nothing is lost; comparisons that no value can satisfy are decided here.

Storage uses an index only if the literal has the column's very type, and would refuse or truncate one that does not
fit. So ``age < 2.7`` on an integer becomes ``age <= 2``, and ``age = 2.7`` becomes false. This is done only in
predicates, where false and null are the same.
"""

from __future__ import annotations

import math
import struct
from dataclasses import replace

from omnigraph.core.scalars import INTEGER_RANGES, Scalar
from omnigraph.lang.gq_ast import BinaryOperator
from omnigraph.query import expressions as ir
from omnigraph.query.ir import Expand, Filter, Operator, Scan
from omnigraph.query.rewrite.tree import map_expressions, map_inputs
from omnigraph.schema.types import PropertyType

Op = BinaryOperator
_MIRRORED = {Op.LT: Op.GT, Op.LE: Op.GE, Op.GT: Op.LT, Op.GE: Op.LE, Op.EQ: Op.EQ, Op.NE: Op.NE}


def coerce_literals(root: Operator) -> Operator:
    """Coerce the constants of every predicate in the tree."""
    below = map_inputs(root, coerce_literals)
    if isinstance(below, Filter | Scan | Expand):
        return map_expressions(below, coerce_predicate)
    return below


def coerce_predicate(predicate: ir.Expr) -> ir.Expr:
    """The same predicate for every row, as far as true is concerned."""
    match predicate:
        case ir.Logic():
            operands = tuple(coerce_predicate(operand) for operand in predicate.operands)
            return _fold(predicate.operator, operands)
        case ir.Compare(operator, ir.Property() as left, ir.Constant() as right):
            return coerce_comparison(operator, left, right)
        case ir.Compare(operator, ir.Constant() as left, ir.Property() as right):
            return coerce_comparison(_MIRRORED[operator], right, left)
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
    """``property operator constant`` with the constant in the property's type, or the decided answer."""
    wanted = replace(left.type, nullable=False)
    value = right.value
    if value is None:
        return ir.FALSE
    if not isinstance(value, int | float) or isinstance(value, bool):
        return ir.Compare(operator, left, ir.Constant(value, wanted))
    if isinstance(value, float) and math.isnan(value):
        return ir.FALSE
    if wanted.scalar.is_integer:
        return _compare_integer(operator, left, value, wanted)
    if wanted.scalar.is_float:
        exact = _exact_float(value, wanted.scalar)
        return ir.Compare(operator, left, right if exact is None else ir.Constant(exact, wanted))
    return ir.Compare(operator, left, ir.Constant(value, wanted))


def _compare_integer(operator: BinaryOperator, left: ir.Property, value: float, wanted: PropertyType) -> ir.Expr:
    low, high = INTEGER_RANGES[wanted.scalar]
    not_null = ir.IsNull(left, negated=True) if left.type.nullable else ir.TRUE
    if value < low or value > high:
        below = value < low
        always = operator is Op.NE or operator in ((Op.GT, Op.GE) if below else (Op.LT, Op.LE))
        return not_null if always else ir.FALSE
    if value == math.floor(value):
        return ir.Compare(operator, left, ir.Constant(int(value), wanted))
    match operator:
        case Op.EQ:
            return ir.FALSE
        case Op.NE:
            return not_null
        case Op.LT | Op.LE:
            return ir.Compare(Op.LE, left, ir.Constant(math.floor(value), wanted))
        case _:
            return ir.Compare(Op.GE, left, ir.Constant(math.ceil(value), wanted))


def _exact_float(value: float, scalar: Scalar) -> float | None:
    """The value as a float of that width if it is the same number, else None."""
    try:
        number = float(value)
        narrowed = struct.unpack("<f", struct.pack("<f", number))[0] if scalar is Scalar.F32 else number
    except OverflowError:
        return None
    return number if number == value and narrowed == number else None


def _coerce_member(item: ir.Property, items: ir.Constant) -> ir.Expr:
    """``property in [constants]``: drop what the property cannot hold."""
    assert isinstance(items.value, tuple)
    kept: list[ir.ConstantValue] = []
    wanted = replace(item.type, nullable=False)
    for value in items.value:
        decided = coerce_comparison(Op.EQ, item, ir.Constant(value, items.type.item))
        if isinstance(decided, ir.Compare) and isinstance(decided.right, ir.Constant):
            if decided.right.type != wanted:
                return ir.Member(item, items)
            if decided.right.value not in kept:
                kept.append(decided.right.value)
    if not kept:
        return ir.FALSE
    return ir.Member(item, ir.Constant(tuple(kept), replace(wanted, is_list=True, enum_values=None)))


def _coerce_item(item: ir.Constant, items: ir.Property) -> ir.Expr:
    """``list property contains constant``."""
    probe = ir.Property(items.variable, items.name, items.type.item)
    decided = coerce_comparison(Op.EQ, probe, item)
    if isinstance(decided, ir.Compare) and isinstance(decided.right, ir.Constant):
        return ir.Member(decided.right, items)
    return ir.FALSE
