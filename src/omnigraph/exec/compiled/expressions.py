"""Expressions over one row, as closures over Python values with SQL's null semantics.

Python compares numbers by value whatever their types, and texts by code points, which is the order of UTF-8: both are
what the general operators define (``exec.numbers``).
"""

from __future__ import annotations

import operator as python
from collections.abc import Callable, Iterable, Mapping
from operator import itemgetter
from typing import Any, Final

from omnigraph.core.operators import BinaryOperator
from omnigraph.exec.cells.values import has_cells
from omnigraph.exec.compiled.recipe import Bound, Maker, NotCompiled, Row, Scope
from omnigraph.query import expressions as ir

Op = BinaryOperator
Read = Callable[[Row], Any]
"""The value of an expression for a row; None for null."""

_COMPARE: Final[Mapping[BinaryOperator, Callable[[Any, Any], bool]]] = {
    Op.EQ: python.eq,
    Op.NE: python.ne,
    Op.LT: python.lt,
    Op.LE: python.le,
    Op.GT: python.gt,
    Op.GE: python.ge,
}

_TEXT_TESTS: Final[Mapping[BinaryOperator, Callable[[Any, Any], bool]]] = {
    Op.STARTS_WITH: str.startswith,
    Op.ENDS_WITH: str.endswith,
    Op.CONTAINS: python.contains,
}

NOW: Final = "now()"
"""The name under which the time of a query is among its parameters; no declared one has parentheses."""


def compile_expression(expression: ir.Expr, scope: Scope) -> Maker[Read]:
    """A maker of the closure that computes an expression; NotCompiled if there is none."""
    match expression:
        case ir.Constant(value=value):
            return lambda _: lambda _: value
        case ir.Parameter(name=name):
            return _parameter(scope.parameters[name])
        case ir.Now():
            return _parameter(scope.parameters[NOW])
        case ir.Property(variable=variable, name=name) if has_cells(expression.type):
            return _cell(variable, name, scope)
        case ir.EntityId(variable=variable):
            return _cell(variable, "id", scope)
        case ir.Computed(variable=variable, part=part):
            slot = scope.variable(variable).slot
            if part is ir.ComputedPart.FOUND:
                return lambda _: lambda row: row[slot]
            return _path(slot, 0 if part is ir.ComputedPart.LENGTH else 1)
        case ir.Compare(operator=operator, left=left, right=right):
            return _binary(_comparison(operator), left, right, scope)
        case ir.TextMatch(operator=operator, text=text, part=part):
            return _binary(_null_if_either(_TEXT_TESTS[operator]), text, part, scope)
        case ir.Member(item=item, items=items):
            return _binary(_is_member, item, items, scope)
        case ir.IsNull(operand=operand, negated=negated):
            return _is_null(compile_expression(operand, scope), negated=negated)
        case ir.Not(operand=operand):
            return _negated(compile_expression(operand, scope))
        case ir.Logic(operator=operator, operands=operands):
            return _logic([compile_expression(part, scope) for part in operands], decisive=operator is Op.OR)
        case _:
            raise NotCompiled(type(expression).__name__)


ReadColumn = Callable[[list[Row]], Iterable[Any]]
"""The values of an expression for some rows."""


def compile_column(expression: ir.Expr, scope: Scope) -> Maker[ReadColumn]:
    """The same for a list of rows: values of a column are read without a closure per row."""
    match expression:
        case ir.Property(variable=variable, name=name) if has_cells(expression.type):
            found = _column(variable, name, scope)
        case ir.EntityId(variable=variable):
            found = _column(variable, "id", scope)
        case _:
            found = None
    return _row_by_row(compile_expression(expression, scope)) if found is None else found


def _column(variable: str, name: str, scope: Scope) -> Maker[ReadColumn] | None:
    found = scope.variable(variable)
    if found.is_optional:
        return None
    at_slot, place = itemgetter(found.slot), scope.needs.cell(found.table_key, name)

    def make(bound: Bound) -> ReadColumn:
        cell = bound.cells[place]
        return lambda rows: map(cell, map(at_slot, rows))

    return make


def _row_by_row(make_read: Maker[Read]) -> Maker[ReadColumn]:
    def make(bound: Bound) -> ReadColumn:
        read = make_read(bound)
        return lambda rows: map(read, rows)

    return make


def _parameter(place: int) -> Maker[Read]:
    def read(row: Row) -> Any:
        return row[0].values[place]

    return lambda _: read


def _cell(variable: str, name: str, scope: Scope) -> Maker[Read]:
    found = scope.variable(variable)
    slot, place = found.slot, scope.needs.cell(found.table_key, name)

    def make(bound: Bound) -> Read:
        cell = bound.cells[place]
        if found.is_optional:
            return lambda row: cell(row[slot]) if row[slot] >= 0 else None
        return lambda row: cell(row[slot])

    return make


def _path(slot: int, part: int) -> Maker[Read]:
    return lambda _: lambda row: None if row[slot] is None else row[slot][part]


def _binary(combine: Callable[[Any, Any], Any], left: ir.Expr, right: ir.Expr, scope: Scope) -> Maker[Read]:
    make_left, make_right = compile_expression(left, scope), compile_expression(right, scope)

    def make(bound: Bound) -> Read:
        first, second = make_left(bound), make_right(bound)
        return lambda row: combine(first(row), second(row))

    return make


def _comparison(operator: BinaryOperator) -> Callable[[Any, Any], Any]:
    return _null_if_either(_COMPARE[operator])


def _null_if_either(combine: Callable[[Any, Any], bool]) -> Callable[[Any, Any], Any]:
    return lambda left, right: None if left is None or right is None else combine(left, right)


def _is_member(item: Any, items: Any) -> Any:
    """Membership. With a null in the list absence is unknown."""
    if item is None or items is None:
        return None
    return item in items or (None if None in items else False)


def _is_null(make_operand: Maker[Read], *, negated: bool) -> Maker[Read]:
    def make(bound: Bound) -> Read:
        operand = make_operand(bound)
        return lambda row: (operand(row) is None) != negated

    return make


def _negated(make_operand: Maker[Read]) -> Maker[Read]:
    def make(bound: Bound) -> Read:
        operand = make_operand(bound)
        return lambda row: None if (value := operand(row)) is None else not value

    return make


def _logic(makers: list[Maker[Read]], *, decisive: bool) -> Maker[Read]:
    """``and`` and ``or`` of Kleene: the decisive value wins over null, null over the other."""

    def make(bound: Bound) -> Read:
        reads = [maker(bound) for maker in makers]

        def read(row: Row) -> Any:
            result: Any = not decisive
            for one in reads:
                value = one(row)
                if value is decisive:
                    return decisive
                if value is None:
                    result = None
            return result

        return read

    return make
