"""The operators: each takes frames and gives a frame, the last ones give the table of results."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TypeVar

import numpy as np
import pyarrow as pa

from omnigraph.exec import shape
from omnigraph.exec.blocks import InnerBlocks, with_matches, without_matches
from omnigraph.exec.budget import Budget
from omnigraph.exec.evaluate import Evaluator
from omnigraph.exec.frame import Frame
from omnigraph.exec.graph_view import GraphView
from omnigraph.exec.group import group
from omnigraph.exec.ranking import score
from omnigraph.exec.scan import scan_rows
from omnigraph.exec.tables import Rows
from omnigraph.exec.traverse import expand_rows, shortest_rows
from omnigraph.query import expressions as ir
from omnigraph.query.explain import describe
from omnigraph.query.ir import (
    AntiJoin,
    CrossJoin,
    Distinct,
    Expand,
    Filter,
    Group,
    Operator,
    OptionalJoin,
    Outer,
    Project,
    QueryIR,
    Scan,
    Score,
    ShortestPath,
    Slice,
    Sort,
)
from omnigraph.rows.arrow_types import column_type

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class OperatorProfile:
    """What one operator did; ``seconds`` include its inputs."""

    operator: str
    depth: int
    rows: int
    seconds: float


@dataclass
class Runner:
    """Runs one bound query over one snapshot."""

    graph: GraphView
    budget: Budget
    profile: list[OperatorProfile] | None = None
    _depth: int = 0
    _blocks: InnerBlocks = field(default_factory=InnerBlocks)

    def __post_init__(self) -> None:
        self._searcher = self.graph.derived.searcher
        self._evaluator = Evaluator(self._searcher)

    def run(self, query: QueryIR) -> pa.Table:
        """The result, one column per projection."""
        shaped = self._shaped(query.root)
        arrays = [
            column.cast(column_type(item.expression.type)) for column, item in zip(shaped, query.columns, strict=True)
        ]
        fields = [pa.field(item.name, array.type) for item, array in zip(query.columns, arrays, strict=True)]
        return pa.Table.from_arrays(arrays, schema=pa.schema(fields))

    # --- shaped results --------------------------------------------------------------------------------

    def _shaped(self, operator: Operator) -> list[pa.Array]:
        """Operators above the projection work on the columns of the result."""
        return self._timed(operator, self._shape, lambda columns: len(columns[0]) if columns else 0)

    def _shape(self, operator: Operator) -> list[pa.Array]:
        match operator:
            case Project():
                frame = self._frame(operator.input)
                return [self._evaluator.column(column.expression, frame) for column in operator.columns]
            case Group():
                return group(operator, self._frame(operator.input), self._evaluator)
            case Distinct():
                columns = self._shaped(operator.input)
                _, first = shape.group_codes(columns, len(columns[0]))
                return _take(columns, first)
            case Sort():
                columns = self._shaped(operator.input)
                keys = [(_output(columns, key.expression), key.descending) for key in operator.keys]
                return _take(columns, shape.sorted_rows(keys, len(columns[0])))
            case Slice():
                columns = self._shaped(operator.input)
                start, stop = _bounds(operator, len(columns[0]))
                return [column.slice(start, stop - start) for column in columns]
            case _:
                raise AssertionError(f"{type(operator).__name__} does not stand above a projection")

    # --- rows ------------------------------------------------------------------------------------------

    def _frame(self, operator: Operator) -> Frame:
        return self._timed(operator, self._rows, lambda frame: frame.length)

    def _rows(self, operator: Operator) -> Frame:
        match operator:
            case Scan():
                table = self.graph.node_table(operator.type_name)
                rows = scan_rows(table, operator.variable, operator.predicate, self._evaluator)
                return Frame(len(rows), {operator.variable: table}, {operator.variable: rows})
            case Outer():
                return self._blocks.outer(operator)
            case Expand():
                return expand_rows(operator, self._frame(operator.input), self.graph, self._evaluator, self.budget)
            case ShortestPath():
                return shortest_rows(operator, self._frame(operator.input), self.graph, self.budget)
            case CrossJoin():
                left, right = self._frame(operator.left), self._frame(operator.right)
                self.budget.check(left.length * right.length, len(left.bindings) + len(right.bindings))
                return left.cross(right)
            case Filter():
                frame = self._frame(operator.input)
                return frame.where(self._evaluator.mask(operator.predicate, frame))
            case AntiJoin():
                frame = self._frame(operator.input)
                return without_matches(frame, self._blocks.run(operator.inner, frame, self._frame))
            case OptionalJoin():
                frame = self._frame(operator.input)
                return with_matches(operator, frame, self._blocks.run(operator.inner, frame, self._frame), self.budget)
            case Score():
                return score(operator, self._frame(operator.input), self._searcher)
            case Sort():
                frame = self._frame(operator.input)
                keys = [(self._evaluator.column(key.expression, frame), key.descending) for key in operator.keys]
                return frame.take(shape.sorted_rows(keys, frame.length))
            case Slice():
                frame = self._frame(operator.input)
                return frame.take(np.arange(*_bounds(operator, frame.length)))
            case _:
                raise AssertionError(f"{type(operator).__name__} does not give rows")

    # --- profiling -------------------------------------------------------------------------------------

    def _timed(self, operator: Operator, run: Callable[[Operator], Result], rows: Callable[[Result], int]) -> Result:
        self.budget.check()
        if self.profile is None:
            return run(operator)
        place = len(self.profile)
        self.profile.append(OperatorProfile(describe(operator), self._depth, 0, 0.0))
        self._depth += 1
        started = time.perf_counter()
        result = run(operator)
        self._depth -= 1
        seconds = time.perf_counter() - started
        self.profile[place] = replace(self.profile[place], rows=rows(result), seconds=seconds)
        return result


def _bounds(operator: Slice, length: int) -> tuple[int, int]:
    """First row and the one after the last; limits may be larger than any machine number."""
    stop = length if operator.limit is None else min(operator.offset + operator.limit, length)
    return min(operator.offset, stop), stop


def _take(columns: list[pa.Array], rows: Rows) -> list[pa.Array]:
    indices = pa.array(rows)
    return [column.take(indices) for column in columns]


def _output(columns: list[pa.Array], expression: ir.Expr) -> pa.Array:
    assert isinstance(expression, ir.Output), "what is sorted after shaping is a column of the result"
    return columns[expression.position]
