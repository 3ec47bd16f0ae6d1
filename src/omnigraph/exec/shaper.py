"""Operators from the projection upwards, and the result of a query."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING
from weakref import WeakMethod

import numpy as np
import pyarrow as pa

from omnigraph.core.classes.dataclass import dataclass
from omnigraph.core.profile import Profiler
from omnigraph.exec.budget import Budget
from omnigraph.exec.evaluate import OUTPUT
from omnigraph.exec.frame import Frame
from omnigraph.exec.graph_view import GraphView
from omnigraph.exec.run import Runner
from omnigraph.exec.shape.nested import nested, result_schema
from omnigraph.exec.shape.order import Key, bounds
from omnigraph.exec.shape.partitions import different, ordered, rows_at_once
from omnigraph.exec.shape.result_rows import ResultRows
from omnigraph.exec.shape.row_groups import collapse
from omnigraph.exec.shape.shaped import FrameReader, Shaped, taken
from omnigraph.exec.stages import FormerStages
from omnigraph.query import expressions as ir
from omnigraph.query.explain import describe
from omnigraph.query.ir import Column, Distinct, Filter, Group, Operator, Project, QueryIR, Slice, Sort, SortKey, Union
from omnigraph.query.liveness import is_shaped, shaped_demand
from omnigraph.query.variables import walk
from omnigraph.rows.arrow_types import column_type

if TYPE_CHECKING:
    from omnigraph.exec.whole.groups import WholeGroup
    from omnigraph.exec.whole.rows import Whole

RESULT = "Result"
"""The profile step that reads the result columns."""


@dataclass
class Shaper:
    """Runs one bound query over one snapshot."""

    graph: GraphView
    budget: Budget
    profiler: Profiler = field(default_factory=Profiler)

    def __post_init__(self) -> None:
        self._tuning = self.graph.store.tuning
        shape = WeakMethod(self._shaped)

        def shaped(operator: Operator, columns: tuple[Column, ...]) -> Shaped:
            # Weak: a cycle would keep the rows of a query in memory until the garbage collector runs.
            alive = shape()
            assert alive is not None, "rows are made while the query runs"
            return alive(operator, columns)

        former = FormerStages(self.graph, shaped)
        self._runner = Runner(self.graph, self.budget, self.profiler, former)

    def run(self, query: QueryIR) -> ResultRows:
        """The result, one column per projection. Columns of a large result are read lazily."""
        with self.profiler.step(RESULT) as step:
            made = self._run(query)
            step.rows = made.length
            return made

    def _run(self, query: QueryIR) -> ResultRows:
        shaped = self._shaped(query.root, query.columns)
        fitting = rows_at_once(shaped.reads, shaped.rows, self.budget, shaped.held, self._tuning)

        def read(start: int, stop: int) -> list[pa.Array]:
            return nested(query.columns, shaped.columns(start, stop))

        result = ResultRows(result_schema(query.columns), shaped.length, read, fitting, self.budget)
        if result.length <= min(self._tuning.result_rows_max, fitting):
            # Small results are read eagerly, so that errors such as an overflow are raised here.
            result.table()
        return result

    def _shaped(self, operator: Operator, columns: tuple[Column, ...], stop: int | None = None) -> Shaped:
        """The rows of an operator; a sort may return only the first ``stop``."""
        self.budget.check()
        with self.profiler.step(operator, describe) as step:
            made = self._shape(operator, columns, stop)
            step.rows = made.length
            return made

    def _shape(self, operator: Operator, columns: tuple[Column, ...], stop: int | None) -> Shaped:
        match operator:
            case Union():
                return self._united(operator)
            case Project() if is_shaped(operator.input):
                reader = self._over(self._shaped(operator.input, columns))
                reads = [reader.read(column.expression) for column in operator.columns]
                return Shaped(reads, np.arange(reader.frame.length), reader.frame.nbytes, reader)
            case Project():
                return self._projected(operator, self._runner.frame(operator.input, shaped_demand(operator)))
            case Group() if is_shaped(operator.input):
                reader = self._over(self._shaped(operator.input, columns))
                return self._groups(operator, reader.frame)
            case Group():
                return self._grouped(operator)
            case Distinct(input=Project() as projection):
                self.budget.check()
                with self.profiler.step(projection, describe) as step:
                    below, is_distinct = self._under_distinct(projection)
                    step.rows = below.length
                return below if is_distinct else self._different(below, columns)
            case Filter():
                return self._filtered(self._shaped(operator.input, columns), operator.predicate)
            case Distinct():
                return self._different(self._shaped(operator.input, columns), columns)
            case Sort():
                return self._sorted(self._shaped(operator.input, columns), operator.keys, stop)
            case Slice():
                end = None if operator.limit is None else operator.offset + operator.limit
                below = self._shaped(operator.input, columns, end)
                return below.at(below.rows[slice(*bounds(operator, below.length))])
            case _:
                raise AssertionError(f"{type(operator).__name__} does not stand above a projection")

    def _grouped(self, operator: Group) -> Shaped:
        demand = shaped_demand(operator)
        whole = self._runner.whole(operator.input, demand)
        plan = None if whole is None else self._whole_group(operator, whole)
        if plan is not None:
            return plan.shaped(self._runner.evaluator)
        frame = self._runner.frame(operator.input, demand) if whole is None else whole.frame()
        return self._groups(operator, frame)

    def _groups(self, operator: Group, frame: Frame) -> Shaped:
        from omnigraph.exec.shape.group import group

        return group(operator, frame, self._runner.evaluator, self._tuning)

    def _whole_group(self, operator: Group | Project, whole: Whole) -> WholeGroup | None:
        from omnigraph.exec.whole.groups import WholeGroup

        return WholeGroup.of(operator.columns, whole, self.budget)

    def _under_distinct(self, operator: Project) -> tuple[Shaped, bool]:
        """The rows of a projection, and whether they are already distinct: groups without aggregates are."""
        demand = shaped_demand(operator, under_distinct=True)
        whole = self._runner.whole(operator.input, demand)
        plan = None if whole is None else self._whole_group(operator, whole)
        if plan is not None:
            return plan.shaped(self._runner.evaluator), True
        frame = self._runner.frame(operator.input, demand) if whole is None else whole.frame()
        frame = collapse(frame, self._tuning.collapsed_rows_min, counted=False)
        return self._projected(operator, frame), False

    def _projected(self, operator: Project, frame: Frame) -> Shaped:
        reader = FrameReader(frame, self._runner.evaluator)
        reads = [reader.read(column.expression) for column in operator.columns]
        return Shaped(reads, np.arange(frame.length), frame.nbytes, reader)

    def _united(self, operator: Union) -> Shaped:
        """The rows of all inputs, computed and in the types of the union."""
        parts: list[list[pa.Array]] = []
        for below in operator.inputs:
            shaped = self._shaped(below, operator.columns)
            parts.append(shaped.columns(0, shaped.length))
            held = sum(array.nbytes for arrays in parts for array in arrays)
            self.budget.hold(held, "the rows of several patterns")
        types = [column_type(column.expression.type) for column in operator.columns]
        columns = [
            pa.concat_arrays([arrays[place].cast(type_) for arrays in parts]) for place, type_ in enumerate(types)
        ]
        length = len(columns[0])
        return Shaped([taken(array) for array in columns], np.arange(length), sum(array.nbytes for array in columns))

    def _over(self, shaped: Shaped) -> FrameReader:
        """A reader of expressions over shaped rows, which reads their columns by ``Output``."""
        values = {f"{OUTPUT}{place}": array for place, array in enumerate(shaped.columns(0, shaped.length))}
        return FrameReader(Frame(shaped.length, {}, {}, values), self._runner.evaluator)

    def _filtered(self, shaped: Shaped, predicate: ir.Expr) -> Shaped:
        """The rows whose columns satisfy a predicate; only the columns that it reads are read."""
        read = {part.position for part in walk(predicate) if isinstance(part, ir.Output)}
        values = {f"{OUTPUT}{place}": shaped.reads[place](shaped.rows) for place in sorted(read)}
        frame = Frame(shaped.length, {}, {}, values)
        self.budget.hold(shaped.held + frame.nbytes, f"{shaped.length:,} groups")
        return shaped.at(shaped.rows[self._runner.evaluator.mask(predicate, frame)])

    def _different(self, shaped: Shaped, columns: tuple[Column, ...]) -> Shaped:
        size = rows_at_once(shaped.reads, shaped.rows, self.budget, shaped.held, self._tuning)
        self._say_parts("compared", size, shaped)
        scalars = [read for read, column in zip(shaped.reads, columns, strict=True) if _is_ordered(column)]
        return shaped.at(different(shaped.reads, scalars[0] if scalars else None, shaped.rows, size))

    def _sorted(self, shaped: Shaped, order: tuple[SortKey, ...], stop: int | None) -> Shaped:
        keys = [_key(shaped, key) for key in order]
        size = rows_at_once([read for read, _ in keys], shaped.rows, self.budget, shaped.held, self._tuning)
        self._say_parts("sorted", size, shaped)
        wanted = shaped.length if stop is None else min(stop, shaped.length)
        return shaped.at(ordered(keys, shaped.rows, wanted, size, self._tuning))

    def _say_parts(self, what: str, size: int, shaped: Shaped) -> None:
        if size < shaped.length:
            self.graph.remarks.append(f"{what} in parts of about {size:,} rows")


def _key(shaped: Shaped, key: SortKey) -> Key:
    assert isinstance(key.expression, ir.Output), "what is sorted after shaping is a column of the result"
    return shaped.reads[key.expression.position], key.descending


def _is_ordered(column: Column) -> bool:
    """True if the values of a column can be sorted."""
    return column.expression.type.is_plain_scalar
