"""Grouping: first by the rows that variables are bound to, then by what is read of them.

A group key is a property of a variable, so rows that bind the same entities have the same key. Grouping row numbers
first means that a property is read once per group and not once per row.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from omnigraph.exec import shape
from omnigraph.exec.evaluate import Evaluator
from omnigraph.exec.frame import Frame
from omnigraph.exec.tables import Rows
from omnigraph.lang.gq_ast import AggregateFunction
from omnigraph.query import expressions as ir
from omnigraph.query.ir import Column, Group
from omnigraph.query.variables import variables_of


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
    names = {name for column in keys for name in variables_of(column.expression)}
    bindings = [pa.array(frame.bindings[name]) for name in sorted(names) if name in frame.bindings]
    by_entity, representatives = shape.group_codes(bindings, frame.length)
    if len(bindings) < len(names):
        # A path or a score is no entity: such rows are told apart one by one.
        by_entity, representatives = np.arange(frame.length), np.arange(frame.length)
    entities = frame.take(representatives)
    columns = {id(column): evaluator.column(column.expression, entities) for column in keys}
    merged, first = shape.group_codes(list(columns.values()), entities.length)
    indices = pa.array(first)
    return merged[by_entity], {key: column.take(indices) for key, column in columns.items()}, len(first)


def _aggregate(column: Column, frame: Frame, groups: Rows, count: int, evaluator: Evaluator) -> pa.Array:
    expression = column.expression
    assert isinstance(expression, ir.Aggregate)
    argument = expression.argument
    if isinstance(argument, ir.EntityId) and expression.function is AggregateFunction.COUNT:
        # Counting entities needs no ids: within one variable a row number is as good.
        binding = frame.bindings[argument.variable]
        return shape.aggregate(expression, pa.array(binding, mask=binding < 0), groups, count)
    return shape.aggregate(expression, evaluator.column(argument, frame), groups, count)
