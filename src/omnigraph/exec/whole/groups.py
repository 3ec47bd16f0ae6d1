"""Groups of all rows of a table, found by the codes of their keys.

Example: rows grouped by two columns with 2 and 3 values::

    first    0 1 0 1
    second   2 0 2 1
    group    2 3 2 4      first * 3 + second: mixed radix
    count    2 1 1        groups 2, 3 and 4; the others are empty
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from omnigraph.core.classes.dataclass import dataclass
from omnigraph.core.operators import AggregateFunction
from omnigraph.exec.adjacency import Integers
from omnigraph.exec.budget import BYTES_PER_BINDING, Budget
from omnigraph.exec.coded.codes import Coded, narrowest
from omnigraph.exec.evaluate import Evaluator
from omnigraph.exec.frame import Frame
from omnigraph.exec.multiplicity import tally
from omnigraph.exec.shape.aggregates import aggregate
from omnigraph.exec.shape.row_groups import DENSE_MIN, DENSE_SHARE
from omnigraph.exec.shape.shaped import Shaped, taken
from omnigraph.exec.tables import TableView
from omnigraph.exec.whole.masks import columns_of
from omnigraph.exec.whole.rows import Whole
from omnigraph.query import expressions as ir
from omnigraph.query.ir import Column
from omnigraph.query.liveness import counts_matches
from omnigraph.query.variables import variables_of
from omnigraph.rows.arrow_types import column_type


@dataclass(frozen=True, slots=True)
class WholeGroup:
    """Result columns that can be computed from the columns of one table alone: keys by codes, and aggregates."""

    columns: Sequence[Column]
    rows: Whole
    keys: tuple[Coded, ...]
    arguments: frozenset[str]
    """The columns that aggregates read."""

    @classmethod
    def of(cls, columns: Sequence[Column], whole: Whole, budget: Budget) -> WholeGroup | None:
        """The plan for some rows; None if a column needs the general operators."""
        table = whole.table
        arguments = _arguments(columns, whole.variable, table) if whole.are_many else None
        if arguments is None:
            return None
        needed = whole.length * (BYTES_PER_BINDING + sum(table.width(name) for name in arguments))
        if budget.bytes_max is not None and needed > budget.bytes_max:
            # The general operators group in parts.
            return None
        keys = _codes([column.expression for column in columns if not _is_aggregate(column)], table)
        return None if keys is None else cls(columns, whole, keys, arguments)

    def shaped(self, evaluator: Evaluator) -> Shaped:
        """One row per group."""
        groups, frame = _Groups(self.keys, self.rows), self.rows.columns(self.arguments)
        keys = iter(groups.keys())
        found = [
            groups.aggregate(column.expression, frame, evaluator) if _is_aggregate(column) else next(keys)
            for column in self.columns
        ]
        return Shaped([taken(array) for array in found], np.arange(groups.count), sum(one.nbytes for one in found))


def _is_aggregate(column: Column) -> bool:
    return isinstance(column.expression, ir.Aggregate)


def _arguments(columns: Sequence[Column], variable: str, table: TableView) -> frozenset[str] | None:
    """The columns that aggregates read; None if they read more than columns that fit into memory."""
    names = set[str]()
    for column in columns:
        match column.expression:
            case ir.Aggregate() as expression if counts_matches(expression):
                continue
            case ir.Aggregate(function=AggregateFunction.COLLECT):
                return None
            case ir.Aggregate(argument=argument, by=()) if set(variables_of(argument)) <= {variable}:
                read = columns_of(argument)
                if read is None or not all(table.is_held(name) for name in read):
                    return None
                names |= read
            case ir.Property(variable=owner) if owner == variable:
                continue
            case _:
                return None
    return frozenset(names)


def _codes(keys: Sequence[ir.Expr], table: TableView) -> tuple[Coded, ...] | None:
    """The codes of all keys; None if there are too many combinations for an array over them."""
    found: list[Coded] = []
    span = 1
    for key in keys:
        coded = table.codes(key.name) if isinstance(key, ir.Property) else None
        if coded is None:
            return None
        span *= max(len(coded.values), 1)
        found.append(coded)
    return tuple(found) if span <= max(table.rows * DENSE_SHARE, DENSE_MIN) else None


class _Groups:
    """The groups of some rows, numbered by the codes of their keys; not all of them need occur."""

    def __init__(self, keys: Sequence[Coded], whole: Whole) -> None:
        self._keys = keys
        self._span = int(np.prod([len(one.values) for one in keys], dtype=np.int64))
        self._of_row = self._numbered(whole)
        self._sizes = tally(self._of_row, self._span) if keys else np.array([whole.length])
        # Without a key there is one group, also of no rows.
        self._present = np.flatnonzero(self._sizes) if keys else np.zeros(1, np.int64)

    @property
    def count(self) -> int:
        return len(self._present)

    def _numbered(self, whole: Whole) -> Integers:
        """The group of every row."""
        type_ = narrowest(self._span)
        if not self._keys:
            return np.zeros(whole.length, type_)
        combined = whole.chosen(self._keys[0].codes)
        for one in self._keys[1:]:
            combined = combined.astype(type_) * np.asarray(len(one.values), type_) + whole.chosen(one.codes)
        return combined

    def keys(self) -> list[pa.Array]:
        """The values of every key, one per group."""
        left, found = self._present, list[pa.Array]()
        for one in reversed(self._keys):
            found.append(one.values.take(pa.array(left % len(one.values))))
            left = left // len(one.values)
        return found[::-1]

    def aggregate(self, expression: ir.Expr, frame: Frame, evaluator: Evaluator) -> pa.Array:
        """One value per group."""
        assert isinstance(expression, ir.Aggregate)
        if counts_matches(expression):
            return pa.array(self._sizes[self._present], column_type(expression.type))
        values = evaluator.column(expression.argument, frame)
        found = aggregate(expression, values, self._of_row, self._span)
        return found if self.count == self._span else found.take(pa.array(self._present))
