"""Predicate pushdown: to the operator that introduces the variable, a scan or the far end of an expansion.

A predicate that reads several variables stops where the last of them is bound. Nothing moves into the inner block of a
``maybe``, because a row without a match must still be tested, nor into that of a ``not``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from omnigraph.query import expressions as ir
from omnigraph.query.expressions import conjunction
from omnigraph.query.ir import (
    AntiJoin,
    CrossJoin,
    Expand,
    Filter,
    Mark,
    Operator,
    OptionalJoin,
    Scan,
    ShortestPath,
)
from omnigraph.query.rewrite.tree import bound_variables, map_inputs
from omnigraph.query.variables import conjuncts, variables_of

Predicates = tuple[ir.Expr, ...]


def push_predicates(root: Operator) -> Operator:
    """Push every filter of the tree as far down as its variables allow."""
    gathered: list[ir.Expr] = []
    while isinstance(root, Filter):
        gathered[:0] = conjuncts(root.predicate)
        root = root.input
    below = map_inputs(root, push_predicates)
    return _push(below, tuple(gathered)) if gathered else below


def _push(operator: Operator, predicates: Predicates) -> Operator:
    """The operator with every predicate it can absorb, and a filter on top for the rest."""
    match operator:
        case Scan():
            taken, rest = _split(predicates, lambda needed: needed <= {operator.variable})
            changed: Operator = replace(operator, predicate=_and(operator.predicate, taken))
        case Filter():
            return _push(operator.input, (*conjuncts(operator.predicate), *predicates))
        case Expand():
            changed, rest = _push_into_expand(operator, predicates)
        case CrossJoin():
            left, rest = _split(predicates, _bound_by(operator.left))
            right, rest = _split(rest, _bound_by(operator.right))
            changed = CrossJoin(_push_some(operator.left, left), _push_some(operator.right, right))
        case AntiJoin() | Mark() | OptionalJoin() | ShortestPath():
            below, rest = _split(predicates, _bound_by(operator.input))
            changed = replace(operator, input=_push_some(operator.input, below))
        case _:
            changed, rest = operator, predicates
    left_over = conjunction(rest)
    return changed if left_over is None else Filter(changed, left_over)


def _push_some(operator: Operator, predicates: Predicates) -> Operator:
    return _push(operator, predicates) if predicates else operator


def _push_into_expand(operator: Expand, predicates: Predicates) -> tuple[Expand, Predicates]:
    below, rest = _split(predicates, _bound_by(operator.input))
    far: Predicates = ()
    edge: Predicates = ()
    if not operator.closes:
        far, rest = _split(rest, lambda needed: needed == {operator.new_variable})
    if operator.edge_variable is not None:
        edge, rest = _split(rest, lambda needed: needed == {operator.edge_variable})
    changed = replace(
        operator,
        input=_push_some(operator.input, below),
        predicate=_and(operator.predicate, far),
        edge_predicate=_and(operator.edge_predicate, edge),
    )
    return changed, rest


def _bound_by(operator: Operator) -> Callable[[set[str]], bool]:
    bound = bound_variables(operator)
    # A predicate without variables fits every input, and would be copied; it stays.
    return lambda needed: bool(needed) and needed <= bound


def _split(predicates: Predicates, fits: Callable[[set[str]], bool]) -> tuple[Predicates, Predicates]:
    """The predicates whose variables fit, and the others."""
    taken: list[ir.Expr] = []
    rest: list[ir.Expr] = []
    for predicate in predicates:
        (taken if fits(set(variables_of(predicate))) else rest).append(predicate)
    return tuple(taken), tuple(rest)


def _and(present: ir.Expr | None, added: Predicates) -> ir.Expr | None:
    return conjunction(added if present is None else (present, *added))
