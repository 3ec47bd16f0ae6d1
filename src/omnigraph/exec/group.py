"""Grouping: first by the rows that variables are bound to, then by what is read of them.

A group key is a property of a variable, so rows that bind the same entity have the same key. Grouping row numbers
first means that a property is read and compared once per entity and not once per row.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from omnigraph.core.scalars import Scalar
from omnigraph.exec import shape
from omnigraph.exec.budget import BYTES_PER_BINDING
from omnigraph.exec.evaluate import Evaluator
from omnigraph.exec.frame import Frame
from omnigraph.exec.row_groups import frame_groups, row_groups
from omnigraph.exec.tables import Rows
from omnigraph.exec.weights import sums, total
from omnigraph.lang.gq_ast import AggregateFunction
from omnigraph.query import expressions as ir
from omnigraph.query.ir import Column, Group
from omnigraph.query.liveness import counts_matches
from omnigraph.query.variables import variables_of, walk
from omnigraph.rows.arrow_types import column_type
from omnigraph.schema.catalog import NodeType


def group(operator: Group, frame: Frame, evaluator: Evaluator) -> list[pa.Array]:
    """One value per group and column; without a key there is exactly one group."""
    keys = [column for column in operator.columns if not isinstance(column.expression, ir.Aggregate)]
    groups, count = np.zeros(frame.length, np.int64), 1
    values: dict[int, pa.Array] = {}
    if keys:
        groups, values, count = _grouped(keys, frame, evaluator)
    return [
        values[id(column)] if id(column) in values else _aggregate(column, frame, groups, count, evaluator)
        for column in operator.columns
    ]


def _grouped(keys: list[Column], frame: Frame, evaluator: Evaluator) -> tuple[Rows, dict[int, pa.Array], int]:
    """The group of every row, the key columns with one value per group, and the number of groups."""
    by_entities: dict[tuple[str, ...], tuple[Rows, Rows]] = {}
    codes: list[Rows] = []
    values: list[tuple[pa.Array, Rows]] = []
    for column in keys:
        names = tuple(sorted(variables_of(column.expression)))
        if names not in by_entities:
            by_entities[names] = _entities(names, column.expression, frame)
        entity, first = by_entities[names]
        read = evaluator.column(column.expression, frame.take(first))
        # Different entities have different ids: there is nothing to compare.
        code = np.arange(len(first)) if _identifies(column.expression, frame) else shape.codes(read)
        codes.append(code[entity])
        values.append((read, entity))
    sizes = [int(code.max(initial=-1)) + 1 for code in codes]
    groups, first = row_groups(codes, sizes, frame.length)
    taken = {
        id(column): read.take(pa.array(entity[first])) for column, (read, entity) in zip(keys, values, strict=True)
    }
    return groups, taken, len(first)


def _entities(names: tuple[str, ...], expression: ir.Expr, frame: Frame) -> tuple[Rows, Rows]:
    """Rows that bind these variables alike: the group of every row, and the first row of every group."""
    if any(name not in frame.bindings for name in names) or _is_score(expression):
        # A path or a score is no entity: such rows are told apart one by one.
        return np.arange(frame.length), np.arange(frame.length)
    return frame_groups(frame, names)


def _is_score(expression: ir.Expr) -> bool:
    return any(isinstance(part, ir.ScoreColumn) for part in walk(expression))


def _identifies(expression: ir.Expr, frame: Frame) -> bool:
    """Whether a key is different for different entities: an id, or a text that is the key of its type."""
    match expression:
        case ir.EntityId():
            return True
        case ir.Property(variable=variable, name=name, type=type_) if variable in frame.tables:
            entity = frame.tables[variable].entity
            return isinstance(entity, NodeType) and entity.key == (name,) and type_.scalar is Scalar.STRING
        case _:
            return False


def _aggregate(column: Column, frame: Frame, groups: Rows, count: int, evaluator: Evaluator) -> pa.Array:
    expression = column.expression
    assert isinstance(expression, ir.Aggregate)
    argument = expression.argument
    if counts_matches(expression):
        return pa.array(sums(groups, frame.weight, count), column_type(expression.type))
    if isinstance(argument, ir.EntityId) and expression.function is AggregateFunction.COUNT:
        # Counting entities needs no ids: within one variable a row number is as good.
        binding = frame.bindings[argument.variable]
        values = pa.array(binding, mask=binding < 0)
    else:
        values = evaluator.column(argument, frame)
    if expression.function is AggregateFunction.COLLECT and not expression.distinct:
        rows = total(frame.weight, frame.length)
        evaluator.budget.hold(rows * (BYTES_PER_BINDING + values.nbytes // max(len(values), 1)), f"a list of {rows:,}")
    return shape.aggregate(expression, values, groups, count, frame.weight)
