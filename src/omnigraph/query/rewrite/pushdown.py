"""Predicates move down to the operator that introduces their variable: the scan, or the far end of an expansion.

A predicate that reads several variables stops where the last of them is bound. Nothing moves through ``maybe`` into its
inner block, because a row without a match must still be tested, nor below a slice.
"""

from __future__ import annotations

from dataclasses import replace

from omnigraph.lang.gq_ast import BinaryOperator
from omnigraph.query import expressions as ir
from omnigraph.query.expressions import conjunction
from omnigraph.query.ir import (
    AntiJoin,
    CrossJoin,
    Expand,
    Filter,
    Operator,
    OptionalJoin,
    Outer,
    Scan,
    ShortestPath,
)
from omnigraph.query.rewrite.tree import inputs, map_inputs
from omnigraph.query.variables import variables_of


def push_predicates(root: Operator) -> Operator:
    """Push every filter of the tree as far down as its variables allow."""
    root = map_inputs(root, push_predicates)
    if not isinstance(root, Filter):
        return root
    below = root.input
    for part in _parts(root.predicate):
        below = _push(below, part)
    return below


def _parts(predicate: ir.Expr) -> tuple[ir.Expr, ...]:
    if isinstance(predicate, ir.Logic) and predicate.operator is BinaryOperator.AND:
        return predicate.operands
    return (predicate,)


def bound_variables(operator: Operator) -> frozenset[str]:
    """The variables that rows of this operator bind."""
    below = frozenset[str]().union(*(bound_variables(part) for part in _row_inputs(operator)))
    match operator:
        case Scan():
            return frozenset((operator.variable,))
        case Outer():
            return frozenset(operator.variables)
        case Expand():
            own = (operator.source, operator.target, operator.edge_variable)
            return below.union(name for name in own if name is not None)
        case ShortestPath():
            return below | {operator.path_variable}
        case OptionalJoin():
            return below.union(operator.introduces)
        case _:
            return below


def _row_inputs(operator: Operator) -> tuple[Operator, ...]:
    return (operator.input,) if isinstance(operator, AntiJoin | OptionalJoin) else inputs(operator)


def _push(operator: Operator, predicate: ir.Expr) -> Operator:
    needed = set(variables_of(predicate))
    match operator:
        case Scan() if needed <= {operator.variable}:
            return replace(operator, predicate=_and(operator.predicate, predicate))
        case Expand():
            if _fits(operator.input, needed):
                return replace(operator, input=_push(operator.input, predicate))
            if not operator.closes and needed == {operator.new_variable}:
                return replace(operator, predicate=_and(operator.predicate, predicate))
            if operator.edge_variable is not None and needed == {operator.edge_variable}:
                return replace(operator, edge_predicate=_and(operator.edge_predicate, predicate))
        case CrossJoin():
            if _fits(operator.left, needed):
                return replace(operator, left=_push(operator.left, predicate))
            if _fits(operator.right, needed):
                return replace(operator, right=_push(operator.right, predicate))
        case Filter():
            return replace(operator, input=_push(operator.input, predicate))
        case AntiJoin() | OptionalJoin() | ShortestPath() if _fits(operator.input, needed):
            return replace(operator, input=_push(operator.input, predicate))
    return Filter(operator, predicate)


def _fits(operator: Operator, needed: set[str]) -> bool:
    return bool(needed) and needed <= bound_variables(operator)


def _and(present: ir.Expr | None, added: ir.Expr) -> ir.Expr | None:
    return conjunction((added,) if present is None else (present, added))
