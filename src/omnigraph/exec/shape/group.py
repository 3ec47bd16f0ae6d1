"""Grouping: by bound row numbers first, then by values.

A group key is a property of a variable, so rows that bind the same entity have the same key. Grouping row numbers
first means that a property is read and compared once per entity and not once per row.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pyarrow as pa

from omnigraph.core.operators import AggregateFunction
from omnigraph.core.scalars import Scalar
from omnigraph.core.tuning import Tuning
from omnigraph.exec.adjacency import Integers
from omnigraph.exec.budget import BYTES_PER_BINDING
from omnigraph.exec.evaluate import Evaluator
from omnigraph.exec.frame import Frame
from omnigraph.exec.multiplicity import sums, total
from omnigraph.exec.shape.aggregates import aggregate
from omnigraph.exec.shape.partitions import coded, rows_at_once
from omnigraph.exec.shape.row_groups import frame_groups, row_groups
from omnigraph.exec.shape.shaped import FrameReader, Shaped, taken
from omnigraph.exec.tables import Rows
from omnigraph.query import expressions as ir
from omnigraph.query.ir import Column, Group
from omnigraph.query.liveness import counts_matches
from omnigraph.query.variables import variables_of, walk
from omnigraph.rows.arrow_types import column_type
from omnigraph.schema.catalog import NodeType


def group(operator: Group, frame: Frame, evaluator: Evaluator, tuning: Tuning) -> Shaped:
    """One row per group; without a key there is exactly one group."""
    keys = [column for column in operator.columns if not isinstance(column.expression, ir.Aggregate)]
    groups, first, count = np.zeros(frame.length, np.int64), np.zeros(0, np.int64), 1
    if keys:
        groups, first = _grouped(keys, frame, evaluator, tuning)
        count = len(first)
    aggregates = [column for column in operator.columns if isinstance(column.expression, ir.Aggregate)]
    arrays = _aggregates(aggregates, frame, groups, count, evaluator, tuning)
    found = {id(column): taken(array) for column, array in zip(aggregates, arrays, strict=True)}
    # Keys are read from the first row of a group, and only for groups that reach the result.
    begins = frame.kept(frame.variables, ()).take(first)
    reader = FrameReader(begins, evaluator)
    found |= {id(column): reader.read(column.expression) for column in keys}
    held = begins.nbytes + sum(array.nbytes for array in arrays)
    return Shaped([found[id(column)] for column in operator.columns], np.arange(count), held, reader)


def _aggregates(
    columns: list[Column], frame: Frame, groups: Rows, count: int, evaluator: Evaluator, tuning: Tuning
) -> list[pa.Array]:
    """One value per group and aggregate, computed in ranges of groups if the arguments exceed memory."""
    parts = _parts(columns, frame, groups, count, evaluator, tuning)
    if len(parts) == 1:
        return [_aggregate(column, frame, groups, count, evaluator) for column in columns]
    found = []
    for start, stop in parts:
        rows = np.flatnonzero((groups >= start) & (groups < stop))
        part, numbered = frame.take(rows), groups[rows] - start
        found.append([_aggregate(column, part, numbered, stop - start, evaluator) for column in columns])
    return [pa.concat_arrays(arrays) for arrays in zip(*found, strict=True)]


def _parts(
    columns: list[Column], frame: Frame, groups: Rows, count: int, evaluator: Evaluator, tuning: Tuning
) -> list[tuple[int, int]]:
    """Ranges of groups, each with as many rows as fit into memory, but at least one group."""
    reader = FrameReader(frame, evaluator)
    arguments = [
        reader.read(part)
        for column in columns
        if isinstance(column.expression, ir.Aggregate) and not counts_matches(column.expression)
        for part in (column.expression.argument, *column.expression.by)
    ]
    size = rows_at_once(arguments, np.arange(frame.length), evaluator.budget, frame.nbytes, tuning)
    if frame.length <= size or count < 2:
        return [(0, count)]
    part = (np.cumsum(np.bincount(groups, minlength=count)) - 1) // size
    starts = [0, *(np.flatnonzero(np.diff(part)) + 1).tolist(), count]
    return list(pairwise(starts))


def _grouped(keys: list[Column], frame: Frame, evaluator: Evaluator, tuning: Tuning) -> tuple[Rows, Rows]:
    """The group of every row, and the first row of every group."""
    by_entities: dict[tuple[str, ...], tuple[Rows, Rows]] = {}
    codes: list[Integers] = []
    for column in keys:
        known = _known_codes(column.expression, frame, tuning)
        if known is not None:
            codes.append(known)
            continue
        names = tuple(sorted(variables_of(column.expression)))
        if names not in by_entities:
            by_entities[names] = _entities(names, column.expression, frame)
        entity, first = by_entities[names]
        codes.append(_codes(column.expression, frame, first, evaluator, tuning)[entity])
    sizes = [int(code.max()) + 1 if len(code) else 0 for code in codes]
    return row_groups(codes, sizes, frame.length)


def _known_codes(expression: ir.Expr, frame: Frame, tuning: Tuning) -> Integers | None:
    """The codes of a property that its table keeps; None if rows are few, or may be null."""
    match expression:
        case ir.Property(variable=variable, name=name) if variable in frame.tables:
            table, rows = frame.tables[variable], frame.bindings[variable]
            is_worthwhile = max(tuning.whole_rows_min, 1) <= table.rows < frame.length * tuning.whole_column_share
            coded = table.codes(name) if is_worthwhile and int(rows.min(initial=0)) >= 0 else None
            return None if coded is None else coded.codes[rows]
        case _:
            return None


def _codes(expression: ir.Expr, frame: Frame, rows: Rows, evaluator: Evaluator, tuning: Tuning) -> Rows:
    """Integer codes of a key at some rows, equal exactly for equal values."""
    if _identifies(expression, frame):
        # Distinct entities have distinct ids: no values need to be compared.
        return np.arange(len(rows))
    read = FrameReader(frame, evaluator).read(expression)
    is_ordered = expression.type.is_plain_scalar
    size = rows_at_once([read], rows, evaluator.budget, frame.nbytes, tuning) if is_ordered else len(rows)
    return coded(read, rows, size)


def _entities(names: tuple[str, ...], expression: ir.Expr, frame: Frame) -> tuple[Rows, Rows]:
    """Groups of rows with equal bindings: the group of every row, and the first row of every group."""
    if any(name not in frame.bindings for name in names) or _is_score(expression):
        # Paths and scores are not bound to rows, so every row is its own group.
        return np.arange(frame.length), np.arange(frame.length)
    return frame_groups(frame, names)


def _is_score(expression: ir.Expr) -> bool:
    return any(isinstance(part, ir.ScoreColumn | ir.Output) for part in walk(expression))


def _identifies(expression: ir.Expr, frame: Frame) -> bool:
    """True if a key is unique per entity: an id, or a text that is the key of its type."""
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
        return pa.array(sums(groups, frame.multiplicity, count), column_type(expression.type))
    if isinstance(argument, ir.EntityId) and expression.function is AggregateFunction.COUNT:
        # Counting entities needs no ids: row numbers identify the entities of one variable.
        binding = frame.bindings[argument.variable]
        values = pa.array(binding, mask=binding < 0)
    else:
        values = evaluator.column(argument, frame)
    if expression.function is AggregateFunction.COLLECT and not expression.distinct:
        rows = total(frame.multiplicity, frame.length)
        evaluator.budget.hold(
            rows * (BYTES_PER_BINDING + values.nbytes // max(len(values), 1)), f"a list of {rows:,} values"
        )
    by = [evaluator.column(key, frame) for key in expression.by]
    return aggregate(expression, values, groups, count, frame.multiplicity, by)
