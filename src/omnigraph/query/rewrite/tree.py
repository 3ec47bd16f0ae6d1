"""Generic traversal of operator trees; the only module that lists the inputs and expressions of each operator."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import assert_never

from omnigraph.query.expressions import Bm25, Expr, Nearest, Ranking, Rrf
from omnigraph.query.ir import (
    AntiJoin,
    CrossJoin,
    Distinct,
    Expand,
    Filter,
    Group,
    Mark,
    Operator,
    OptionalJoin,
    Outer,
    Project,
    Scan,
    Score,
    ShortestPath,
    Slice,
    Sort,
    SortKey,
    Stage,
    Union,
)
from omnigraph.query.variables import transform


def inputs(operator: Operator) -> tuple[Operator, ...]:
    """The operators directly below."""
    match operator:
        case Scan() | Outer():
            return ()
        case CrossJoin():
            return (operator.left, operator.right)
        case Union():
            return operator.inputs
        case AntiJoin() | Mark() | OptionalJoin():
            return (operator.input, operator.inner)
        case _:
            return (operator.input,)


def bound_inputs(operator: Operator) -> tuple[Operator, ...]:
    """The operators directly below whose variables the rows have: those of a block or a former stage stay there."""
    match operator:
        case AntiJoin() | Mark():
            return (operator.input,)
        case Stage():
            return ()
        case _:
            return inputs(operator)


def stages_of(operator: Operator) -> Iterator[Stage]:
    """The former stages of a tree, a shared one as often as it is used."""
    if isinstance(operator, Stage):
        yield operator
    for below in inputs(operator):
        yield from stages_of(below)


def map_inputs(operator: Operator, change: Callable[[Operator], Operator]) -> Operator:
    """The operator over changed inputs; the identical object if none changed."""
    match operator:
        case Scan() | Outer():
            return operator
        case CrossJoin():
            left, right = change(operator.left), change(operator.right)
            unchanged = left is operator.left and right is operator.right
            return operator if unchanged else CrossJoin(left, right)
        case Union():
            parts = tuple(map(change, operator.inputs))
            unchanged = all(new is old for new, old in zip(parts, operator.inputs, strict=True))
            return operator if unchanged else replace(operator, inputs=parts)
        case AntiJoin() | Mark() | OptionalJoin():
            below, inner = change(operator.input), change(operator.inner)
            unchanged = below is operator.input and inner is operator.inner
            return operator if unchanged else replace(operator, input=below, inner=inner)
        case _:
            below = change(operator.input)
            return operator if below is operator.input else replace(operator, input=below)


def bound_variables(operator: Operator) -> frozenset[str]:
    """The variables that rows of this operator bind."""
    match operator:
        case Scan():
            return frozenset((operator.variable,))
        case Outer():
            return frozenset(operator.variables)
        case Expand():
            own = (operator.source, operator.target, operator.edge_variable)
            return bound_variables(operator.input).union(name for name in own if name is not None)
        case ShortestPath():
            return bound_variables(operator.input) | {operator.path_variable}
        case AntiJoin():
            return bound_variables(operator.input)
        case Mark():
            return bound_variables(operator.input) | {operator.variable}
        case OptionalJoin():
            return bound_variables(operator.input).union(operator.introduces)
        case Stage():
            entities = frozenset(item.variable for item in operator.entities)
            return entities.union(item.variable for item in operator.values)
        case _:
            return frozenset[str]().union(*map(bound_variables, inputs(operator)))


def expressions_of(operator: Operator) -> tuple[Expr, ...]:
    """The expressions an operator itself evaluates."""
    match operator:
        case Scan():
            return _present(operator.predicate)
        case Expand():
            return _present(operator.predicate, operator.edge_predicate)
        case Filter():
            return (operator.predicate,)
        case Score():
            return operator.rankings
        case Group() | Project():
            return tuple(column.expression for column in operator.columns)
        case Sort():
            return tuple(key.expression for key in operator.keys)
        case Outer() | ShortestPath() | CrossJoin() | AntiJoin() | Mark() | OptionalJoin() | Distinct() | Slice():
            return ()
        case Union() | Stage():
            return ()
        case _:
            assert_never(operator)


def map_expressions(operator: Operator, change: Callable[[Expr], Expr]) -> Operator:
    """The operator with ``change`` applied to each whole expression it evaluates; the same object without any."""

    def optional(expression: Expr | None) -> Expr | None:
        return None if expression is None else change(expression)

    match operator:
        case Scan():
            return operator if operator.predicate is None else replace(operator, predicate=change(operator.predicate))
        case Expand():
            if operator.predicate is None and operator.edge_predicate is None:
                return operator
            return replace(
                operator, predicate=optional(operator.predicate), edge_predicate=optional(operator.edge_predicate)
            )
        case Filter():
            return replace(operator, predicate=change(operator.predicate))
        case Score():
            return replace(operator, rankings=tuple(_ranking(change(ranking)) for ranking in operator.rankings))
        case Group() | Project():
            columns = tuple(replace(column, expression=change(column.expression)) for column in operator.columns)
            return replace(operator, columns=columns)
        case Sort():
            return replace(
                operator, keys=tuple(SortKey(change(key.expression), key.descending) for key in operator.keys)
            )
        case _:
            return operator


def map_parts(root: Operator, change: Callable[[Expr], Expr]) -> Operator:
    """The whole tree with ``change`` applied to every subexpression."""
    below = map_inputs(root, lambda operator: map_parts(operator, change))
    return map_expressions(below, lambda expression: transform(expression, change))


def _ranking(expression: Expr) -> Ranking:
    assert isinstance(expression, Nearest | Bm25 | Rrf)
    return expression


def _present(*expressions: Expr | None) -> tuple[Expr, ...]:
    return tuple(expression for expression in expressions if expression is not None)
