"""Predicates of statements: a storage filter that keeps at least the matching rows, and the exact test of rows.

Storage evaluates what it can, by an index if there is one; the evaluator of queries decides every row, committed or
pending, so that a condition means the same in a statement and in a query.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa

from omnigraph.core.operators import BinaryOperator
from omnigraph.query import expressions as ir
from omnigraph.query.ir import TARGET
from omnigraph.query.variables import walk
from omnigraph.rows.arrow_types import ID, Entity, table_schema
from omnigraph.rows.ends.references import type_columns
from omnigraph.storage.tables.filters import AllOf, AnyOf, Comparison, Membership, Missing, Not, RowFilter, Substring

_AT_END = {BinaryOperator.CONTAINS: False, BinaryOperator.ENDS_WITH: True}


@dataclass(frozen=True, slots=True)
class Pushed:
    """The filter of a predicate. If it is not exact, more rows may pass it; without a filter all rows do."""

    filter: RowFilter | None
    is_exact: bool


def pushed(entity: Entity, predicate: ir.Expr) -> Pushed:
    """The part of a bound predicate that storage evaluates."""
    if predicate == ir.TRUE:
        return Pushed(None, is_exact=True)
    found = [_pushed(entity, conjunct) for conjunct in conjuncts(predicate)]
    filters = tuple(part.filter for part in found if part.filter is not None)
    whole = filters[0] if len(filters) == 1 else AllOf(filters) if filters else None
    return Pushed(whole, all(part.is_exact for part in found))


def own_columns(expression: ir.Expr) -> Iterator[str]:
    """The columns of the entity that an expression reads."""
    for part in walk(expression):
        if isinstance(part, ir.Property) and part.variable == TARGET:
            yield part.name
        elif isinstance(part, ir.EntityId) and part.variable == TARGET:
            yield ID


def columns_of(row_filter: RowFilter | None) -> Iterator[str]:
    """The columns that a filter compares."""
    match row_filter:
        case AllOf(parts) | AnyOf(parts):
            for part in parts:
                yield from columns_of(part)
        case Not(part):
            yield part.column
        case None:
            return
        case _:
            yield row_filter.column


def conjuncts(predicate: ir.Expr) -> tuple[ir.Expr, ...]:
    """The parts of a predicate that all have to hold."""
    is_joined = isinstance(predicate, ir.Logic) and predicate.operator is BinaryOperator.AND
    return predicate.operands if is_joined and isinstance(predicate, ir.Logic) else (predicate,)


def _pushed(entity: Entity, predicate: ir.Expr) -> Pushed:
    match predicate:
        case ir.Logic(BinaryOperator.AND):
            return pushed(entity, predicate)
        case ir.Logic(BinaryOperator.OR, operands):
            parts = [_pushed(entity, operand) for operand in operands]
            filters = tuple(part.filter for part in parts if part.filter is not None)
            # A part without a filter lets every row pass, and then so does the disjunction.
            whole = AnyOf(filters) if len(filters) == len(parts) else None
            return Pushed(whole, all(part.is_exact for part in parts))
        case _:
            filter_ = _compared(entity, predicate)
            return Pushed(filter_, is_exact=filter_ is not None)


def _compared(entity: Entity, predicate: ir.Expr) -> RowFilter | None:
    schema = table_schema(entity)
    if not set(type_columns(entity)).isdisjoint(own_columns(predicate)):
        # Tables have tags in place of the names of node types.
        return None
    match predicate:
        case ir.Compare(operator, left, ir.Constant(value=value)) if value is not None:
            column = _column(left)
            return None if column is None else Comparison(column, operator.value, _scalar(schema, column, value))
        case ir.Member(item, ir.Constant(value=tuple() as values)) if values and None not in values:
            column = _column(item)
            return None if column is None else Membership(column, pa.array(values, schema.field(column).type))
        case ir.IsNull(ir.Property(variable=variable, name=column), negated=negated) if variable == TARGET:
            return Not(Missing(column)) if negated else Missing(column)
        case ir.TextMatch(operator, left, ir.Constant(value=str() as text)) if operator in _AT_END:
            column = _column(left)
            return None if column is None else Substring(column, text, _AT_END[operator])
        case _:
            return None


def _column(expression: ir.Expr) -> str | None:
    match expression:
        case ir.Property(variable=variable, name=name, type=type_) if variable == TARGET and type_.is_plain_scalar:
            return name
        case ir.EntityId(variable=variable) if variable == TARGET:
            return ID
        case _:
            return None


def _scalar(schema: pa.Schema, column: str, value: ir.ConstantValue) -> pa.Scalar:
    return pa.scalar(value, schema.field(column).type)
