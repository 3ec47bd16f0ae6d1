"""Operators from the projection upwards, over rows of values: groups, distinct rows, order, limit."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from operator import add, itemgetter
from typing import Any, Final

from omnigraph.core.operators import AggregateFunction
from omnigraph.core.scalars import Scalar
from omnigraph.exec.compiled.expressions import Read, compile_column, compile_expression
from omnigraph.exec.compiled.recipe import Bound, Call, Maker, NotCompiled, Row, Scope
from omnigraph.exec.compiled.steps import RowCompiler, in_order, in_sort_order, sliced
from omnigraph.exec.compiled.walking import count_reached
from omnigraph.query import expressions as ir
from omnigraph.query.aggregates import AGGREGATES
from omnigraph.query.ir import ONE_HOP, Column, Distinct, Expand, Group, Operator, Project, Slice, Sort
from omnigraph.query.liveness import counts_matches, near_variable

Values = tuple[Any, ...]
"""One row of the result."""

Program = Callable[[Call], list[Values]]
"""A query bound to the tables of one version."""


def compile_shape(operator: Operator, compiler: RowCompiler, scope: Scope) -> Maker[Program]:
    """A maker of the program of an operator; NotCompiled if there is none."""
    match operator:
        case Project():
            return _projected(operator, compiler, scope)
        case Group() if all(counts_matches(column.expression) for column in operator.columns):
            return _counted(operator, compiler, scope)
        case Group():
            return _grouped(operator, compiler, scope)
        case Distinct():
            return _then(compile_shape(operator.input, compiler, scope), _distinct)
        case Sort():
            keys = [(_output(key.expression), key.descending) for key in operator.keys]
            return _then(compile_shape(operator.input, compiler, scope), lambda rows: in_sort_order(rows, keys))
        case Slice():
            return _then(compile_shape(operator.input, compiler, scope), sliced(operator))
        case _:
            raise NotCompiled(type(operator).__name__)


def _then(make_below: Maker[Program], change: Callable[[list[Values]], list[Values]]) -> Maker[Program]:
    def make(bound: Bound) -> Program:
        below = make_below(bound)
        return lambda call: change(below(call))

    return make


def _output(expression: ir.Expr) -> Callable[[Values], Any]:
    assert isinstance(expression, ir.Output), "what is sorted after shaping is a column of the result"
    return itemgetter(expression.position)


def _projected(operator: Project, compiler: RowCompiler, scope: Scope) -> Maker[Program]:
    makers, scope = compiler.compile(operator.input, scope)
    columns = [compile_column(column.expression, scope) for column in operator.columns]

    def make(bound: Bound) -> Program:
        run, reads = in_order(makers, bound), [column(bound) for column in columns]

        def program(call: Call) -> list[Values]:
            rows = run([(call,)])
            return list(zip(*[read(rows) for read in reads], strict=True))

        return program

    return make


def _counted(operator: Group, compiler: RowCompiler, scope: Scope) -> Maker[Program]:
    """One row with the number of matches, once per column."""
    width, below = len(operator.columns), operator.input
    make_count: Maker[Callable[[list[Row]], int]]
    if isinstance(below, Expand) and below.hops != ONE_HOP and not below.closes and below.predicate is None:
        makers, scope = compiler.compile(below.input, scope)
        make_count = count_reached(
            below, scope.needs.walk(compiler.way(below)), scope.variable(near_variable(below)).slot
        )
    else:
        makers, scope = compiler.compile(below, scope)
        make_count = lambda _: len  # noqa: E731 # the counterpart of the other branch

    def make(bound: Bound) -> Program:
        run, count = in_order(makers, bound), make_count(bound)
        return lambda call: [(count(run([(call,)])),) * width]

    return make


def _grouped(operator: Group, compiler: RowCompiler, scope: Scope) -> Maker[Program]:
    makers, scope = compiler.compile(operator.input, scope)
    keys = [column for column in operator.columns if not isinstance(column.expression, ir.Aggregate)]
    make_keys = [compile_expression(column.expression, scope) for column in keys]
    columns = [_column(column, keys, scope) for column in operator.columns]

    def make(bound: Bound) -> Program:
        run, reads, shapes = in_order(makers, bound), [key(bound) for key in make_keys], [one(bound) for one in columns]

        def program(call: Call) -> list[Values]:
            groups: dict[Any, list[Row]] = {} if reads else {(): []}
            for row in run([(call,)]):
                groups.setdefault(tuple([_hashable(read(row)) for read in reads]), []).append(row)
            return [tuple([shape(rows) for shape in shapes]) for rows in groups.values()]

        return program

    return make


Shape = Callable[[list[Row]], Any]
"""The value of a column for the rows of a group."""


def _column(column: Column, keys: Sequence[Column], scope: Scope) -> Maker[Shape]:
    if any(column is key for key in keys):
        make_key = compile_expression(column.expression, scope)
        return lambda bound: _of_first(make_key(bound))
    return _aggregate(column.expression, scope)


def _of_first(read: Read) -> Shape:
    return lambda rows: read(rows[0])


def _aggregate(expression: ir.Expr, scope: Scope) -> Maker[Shape]:
    assert isinstance(expression, ir.Aggregate)
    if counts_matches(expression):
        return lambda _: len
    if expression.function not in _REDUCERS:
        raise NotCompiled(expression.function.value)
    if expression.type.scalar is Scalar.DURATION and expression.function in _EXACT:
        raise NotCompiled("a sum or mean of durations, which is exact and bounded")
    reduced = _REDUCERS[expression.function]
    is_distinct = expression.distinct and not AGGREGATES[expression.function].ignores_duplicates
    make_read = compile_expression(expression.argument, scope)

    def make(bound: Bound) -> Shape:
        read = make_read(bound)

        def shape(rows: list[Row]) -> Any:
            values = [value for row in rows if (value := read(row)) is not None]
            if is_distinct:
                values = list(dict.fromkeys(map(_hashable, values)))
            return reduced(values)

        return shape

    return make


def _added(values: list[Any]) -> float | None:
    """A sum of doubles in the order of the rows: ``sum`` of later Pythons rounds differently."""
    return reduce(add, map(float, values)) if values else None


def _mean(values: list[Any]) -> float | None:
    total = _added(values)
    return None if total is None else total / len(values)


_REDUCERS: Final[Mapping[AggregateFunction, Callable[[list[Any]], Any]]] = {
    AggregateFunction.COUNT: len,
    AggregateFunction.SUM: _added,
    AggregateFunction.AVG: _mean,
    AggregateFunction.MIN: lambda values: min(values, default=None),
    AggregateFunction.MAX: lambda values: max(values, default=None),
    AggregateFunction.COLLECT: list,
}
"""Over values that are not null."""


_EXACT: Final = (AggregateFunction.SUM, AggregateFunction.AVG)


def _distinct(rows: list[Values]) -> list[Values]:
    found: dict[Any, Values] = {}
    for row in rows:
        found.setdefault(_hashable(row), row)
    return list(found.values())


def _hashable(value: Any) -> Any:
    return tuple(map(_hashable, value)) if isinstance(value, list | tuple) else value
