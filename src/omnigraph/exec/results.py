"""The operators that give the columns of a result, and the result of a whole query."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from omnigraph.exec import shape
from omnigraph.exec.budget import Budget
from omnigraph.exec.graph_view import GraphView
from omnigraph.exec.group import group
from omnigraph.exec.order import bounds, column_keys, first_rows
from omnigraph.exec.profile import Profiler
from omnigraph.exec.row_groups import collapse
from omnigraph.exec.run import Runner
from omnigraph.exec.tables import Rows
from omnigraph.query.ir import Distinct, Group, Operator, Project, QueryIR, Slice, Sort
from omnigraph.query.liveness import shaped_demand
from omnigraph.rows.arrow_types import column_type


@dataclass
class Shaper:
    """Runs one bound query over one snapshot."""

    graph: GraphView
    budget: Budget
    profiler: Profiler = field(default_factory=Profiler)

    def __post_init__(self) -> None:
        self._runner = Runner(self.graph, self.budget, self.profiler)

    def run(self, query: QueryIR) -> pa.Table:
        """The result, one column per projection."""
        shaped = self._shaped(query.root)
        arrays = [
            column.cast(column_type(item.expression.type)) for column, item in zip(shaped, query.columns, strict=True)
        ]
        fields = [pa.field(item.name, array.type) for item, array in zip(query.columns, arrays, strict=True)]
        return pa.Table.from_arrays(arrays, schema=pa.schema(fields))

    def _shaped(self, operator: Operator, stop: int | None = None) -> list[pa.Array]:
        """Operators above the projection work on the columns of the result."""
        self.budget.check()
        return self.profiler.timed(operator, lambda: self._shape(operator, stop), _rows)

    def _different(self, projection: Project) -> list[pa.Array]:
        """The columns of a projection of which equal rows are kept once."""
        frame = self._runner.frame(projection.input, shaped_demand(projection, under_distinct=True))
        frame = collapse(frame, counted=False)
        return [self._runner.evaluator.column(column.expression, frame) for column in projection.columns]

    def _shape(self, operator: Operator, stop: int | None) -> list[pa.Array]:
        evaluator = self._runner.evaluator
        match operator:
            case Project():
                frame = self._runner.frame(operator.input, shaped_demand(operator))
                return [evaluator.column(column.expression, frame) for column in operator.columns]
            case Group():
                return group(operator, self._runner.frame(operator.input, shaped_demand(operator)), evaluator)
            case Distinct(input=Project() as projection):
                self.budget.check()
                return _distinct(self.profiler.timed(projection, lambda: self._different(projection), _rows))
            case Distinct():
                return _distinct(self._shaped(operator.input))
            case Sort():
                columns = self._shaped(operator.input)
                rows, keys = len(columns[0]), column_keys(operator.keys, columns)
                return _take(columns, first_rows(keys, np.arange(rows), rows if stop is None else min(stop, rows)))
            case Slice():
                end = None if operator.limit is None else operator.offset + operator.limit
                columns = self._shaped(operator.input, end)
                start, end = bounds(operator, len(columns[0]))
                return [column.slice(start, end - start) for column in columns]
            case _:
                raise AssertionError(f"{type(operator).__name__} does not stand above a projection")


def _rows(columns: list[pa.Array]) -> int:
    return len(columns[0])


def _distinct(columns: list[pa.Array]) -> list[pa.Array]:
    _, first = shape.group_codes(columns, len(columns[0]))
    return _take(columns, first)


def _take(columns: list[pa.Array], rows: Rows) -> list[pa.Array]:
    indices = pa.array(rows)
    return [column.take(indices) for column in columns]
