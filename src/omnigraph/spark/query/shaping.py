"""Operators from the projection upwards: grouping, distinct, order, limit, and the result columns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import reduce
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.core.operators import AggregateFunction
from omnigraph.core.scalars import Scalar
from omnigraph.core.temporal import DURATION_RANGE
from omnigraph.exec.decimals import decimal_sums
from omnigraph.exec.functions.lengths import TOO_LONG
from omnigraph.query import expressions as ir
from omnigraph.query.ir import Column as ResultColumn
from omnigraph.query.ir import Distinct, Filter, Group, Operator, Project, Slice, Sort, Stage, Union
from omnigraph.query.liveness import counts_matches, is_shaped, shaped_demand
from omnigraph.query.rewrite.tree import stages_of
from omnigraph.rows.arrow_types import column_type
from omnigraph.spark.cluster.spark_types import spark_type
from omnigraph.spark.query.bound_rows import BoundRows
from omnigraph.spark.query.expressions import OUTPUT, column, comparable
from omnigraph.spark.query.multiplicity import total
from omnigraph.spark.query.operators import RowOperators
from omnigraph.spark.query.ordering import sliced, sort_columns
from omnigraph.spark.query.tables import QueryTables

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


@dataclass
class ShapeOperators:
    """Compiles the operators of one bound query to a frame."""

    tables: QueryTables
    root: Operator
    _stages: dict[Operator, DataFrame] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.rows = RowOperators(self.tables, self._former)
        self._uses = Counter(stage.input for stage in stages_of(self.root))

    def _former(self, stage: Stage) -> DataFrame:
        """The rows of a former stage. Several patterns that start from it must see the same rows, also of a limit
        without an order, so these are kept on the executors."""
        frame = self._stages.get(stage.input)
        if frame is None:
            frame = self.result(stage.input, stage.columns)
            if self._uses[stage.input] > 1:
                frame = frame.localCheckpoint(eager=False)
            self._stages[stage.input] = frame
        return frame

    def result(self, root: Operator, columns: tuple[ResultColumn, ...]) -> DataFrame:
        """The result rows, in columns named by position: names of result columns may repeat."""
        from pyspark.sql import functions as f

        frame = self._shaped(root)
        chosen = [
            f.col(_name(place)).cast(spark_type(item.expression.type)).alias(_name(place))
            for place, item in enumerate(columns)
        ]
        return frame.select(*chosen)

    def _shaped(self, operator: Operator) -> DataFrame:
        from pyspark.sql import functions as f

        match operator:
            case Union():
                return self._united(operator)
            case Project() if is_shaped(operator.input):
                rows = _over(self._shaped(operator.input))
                return _selected(operator, rows)
            case Project():
                return self._projected(operator, under_distinct=False)
            case Group() if is_shaped(operator.input):
                return _grouped(operator, _over(self._shaped(operator.input)))
            case Group():
                return _grouped(operator, self.rows.rows(operator.input, shaped_demand(operator)))
            case Distinct(input=Project() as projection):
                return self._projected(projection, under_distinct=True).distinct()
            case Filter():
                rows = _over(self._shaped(operator.input))
                return rows.frame.where(column(operator.predicate, rows))
            case Distinct():
                return self._shaped(operator.input).distinct()
            case Sort():
                keys = []
                for key in operator.keys:
                    assert isinstance(key.expression, ir.Output)
                    keys.append((f.col(_name(key.expression.position)), key.descending))
                return self._shaped(operator.input).orderBy(*sort_columns(keys))
            case Slice():
                return sliced(operator, self._shaped(operator.input))
            case _:
                raise AssertionError(f"{type(operator).__name__} does not stand above a projection")

    def _projected(self, operator: Project, *, under_distinct: bool) -> DataFrame:
        rows = self.rows.rows(operator.input, shaped_demand(operator, under_distinct=under_distinct))
        return _selected(operator, rows)

    def _united(self, operator: Union) -> DataFrame:
        """The rows of all inputs, in the types of the union."""
        from pyspark.sql import functions as f

        types = [spark_type(item.expression.type) for item in operator.columns]
        columns = [f.col(_name(place)).cast(type_).alias(_name(place)) for place, type_ in enumerate(types)]
        first, *others = (self._shaped(below).select(*columns) for below in operator.inputs)
        return reduce(lambda left, right: left.unionAll(right), others, first)


def _over(frame: DataFrame) -> BoundRows:
    """Shaped rows, whose columns expressions read by ``Output``."""
    return BoundRows(frame, {(OUTPUT, str(place)): _name(place) for place in range(len(frame.columns))})


def _selected(operator: Project, rows: BoundRows) -> DataFrame:
    return rows.frame.select(
        *(column(item.expression, rows).alias(_name(place)) for place, item in enumerate(operator.columns))
    )


def _grouped(operator: Group, rows: BoundRows) -> DataFrame:
    """One row per group; exactly one row without grouping keys."""
    keys, totals = [], []
    for place, item in enumerate(operator.columns):
        expression = item.expression
        if isinstance(expression, ir.Aggregate):
            totals.append(aggregate(expression, rows).alias(_name(place)))
        else:
            keys.append(column(expression, rows).alias(_name(place)))
    return rows.frame.groupBy(*keys).agg(*totals)


def _name(place: int) -> str:
    return f"r{place}"


def aggregate(expression: ir.Aggregate, rows: BoundRows) -> Column:
    """The aggregate of a group. Nulls are ignored, and a row counts as often as its multiplicity says."""
    from pyspark.sql import functions as f

    if counts_matches(expression):
        return f.count(f.lit(1)) if rows.multiplicity is None else f.coalesce(total(rows.multiplicities), f.lit(0))
    value = column(expression.argument, rows)
    return AGGREGATES[expression.function](expression, rows, value)


def _smallest(_expression: ir.Aggregate, _rows: BoundRows, value: Column) -> Column:
    from pyspark.sql import functions as f

    return f.min(value)


def _largest(_expression: ir.Aggregate, _rows: BoundRows, value: Column) -> Column:
    from pyspark.sql import functions as f

    return f.max(value)


def _count(expression: ir.Aggregate, rows: BoundRows, value: Column) -> Column:
    from pyspark.sql import functions as f

    if expression.distinct:
        return f.count_distinct(comparable(expression.argument, rows))
    if rows.multiplicity is None:
        return f.count(value)
    return f.coalesce(total(f.when(value.isNotNull(), rows.multiplicities)), f.lit(0))


def _sum(expression: ir.Aggregate, rows: BoundRows, value: Column) -> Column:
    """Sum or mean as a float; null without values."""
    from pyspark.sql import functions as f

    if expression.type.scalar is Scalar.DECIMAL:
        return _decimal_sum(expression, rows, value)
    if expression.type.scalar is Scalar.DURATION:
        return _length_sum(expression, rows, value)
    if expression.distinct:
        # Sorted, because float addition is not associative: task order must not change the sum.
        different = f.sort_array(f.collect_set(comparable(expression.argument, rows)))
        added = f.aggregate(different, f.lit(0.0), lambda sum_, item: sum_ + item.cast("double"))
        added = added / f.size(different) if expression.function is AggregateFunction.AVG else added
        return f.when(f.size(different) > 0, added)
    added = f.sum(value.cast("double") if rows.multiplicity is None else value.cast("double") * rows.multiplicities)
    if expression.function is AggregateFunction.SUM:
        return added
    number = _count(expression, rows, value)
    return added / f.when(number > 0, number)


def _listed(expression: ir.Aggregate, rows: BoundRows, value: Column) -> Column:
    """The values of a group as a list, each as often as it counts."""
    from pyspark.sql import functions as f

    if expression.distinct:
        return f.collect_set(value)
    if rows.multiplicity is None:
        return f.collect_list(value)
    repeated = f.array_repeat(value, rows.multiplicities.cast("int"))
    return f.flatten(f.collect_list(f.when(value.isNotNull(), repeated)))


def _decimal_sum(expression: ir.Aggregate, rows: BoundRows, value: Column) -> Column:
    """A sum of decimals, by the kernel of the embedded executor: Spark's own rounds products of decimals."""
    from pyspark.sql.functions import arrow_udf  # type: ignore[attr-defined] # missing in the stubs

    wanted = column_type(expression.type)

    def run(lists: pa.Array) -> pa.Array:
        groups = pc.list_parent_indices(lists).to_numpy().astype("int64")
        return decimal_sums(pc.list_flatten(lists), groups, None, len(lists), wanted)

    found: Column = arrow_udf(run, spark_type(expression.type))(_listed(expression, rows, value))
    return found


def _length_sum(expression: ir.Aggregate, rows: BoundRows, value: Column) -> Column:
    """A sum or mean of durations, in milliseconds. Raises beyond the range of a Duration."""
    from pyspark.sql import functions as f

    low, high = DURATION_RANGE
    items = f.transform(_listed(expression, rows, value), milliseconds_of)
    total = f.aggregate(items, f.lit(0).cast("long"), lambda sum_, item: sum_ + item)
    size = f.size(items)
    checked = f.when(total.between(low, high), total).otherwise(f.raise_error(f.lit(TOO_LONG)).cast("long"))
    if expression.function is AggregateFunction.AVG:
        mean = f.floor((2 * f.abs(checked) + size) / (2 * size)).cast("long")
        checked = f.when(checked < 0, -mean).otherwise(mean)
    return f.when(size > 0, f.make_dt_interval(secs=(checked.cast("decimal(18,0)") / 1000).cast("decimal(18,6)")))


def milliseconds_of(interval: Column) -> Column:
    """The milliseconds of a duration."""
    from pyspark.sql import functions as f

    def part(unit: str) -> Column:
        return f.extract(f.lit(unit), interval)

    hours = part("DAY").cast("long") * 24 + part("HOUR")
    return ((hours * 60 + part("MINUTE")) * 60_000 + (part("SECOND") * 1000)).cast("long")


def _collected(expression: ir.Aggregate, rows: BoundRows, value: Column) -> Column:
    """A sorted list, so that the result does not depend on task order."""
    from pyspark.sql import functions as f

    if expression.distinct:
        items = f.collect_set(comparable(expression.argument, rows))
    elif rows.multiplicity is None:
        items = f.collect_list(value)
    else:
        repeated = f.array_repeat(value, rows.multiplicities.cast("int"))
        items = f.flatten(f.collect_list(f.when(value.isNotNull(), repeated)))
    return f.sort_array(items).cast(spark_type(expression.type))


def _deviation(expression: ir.Aggregate, rows: BoundRows, value: Column) -> Column:
    """The standard deviation of a sample; null for fewer than two values."""
    from pyspark.sql import functions as f

    if rows.multiplicity is None and not expression.distinct:
        return f.stddev_samp(value.cast("double"))
    items = _sorted_values(expression, rows, value)
    mean = f.aggregate(items, f.lit(0.0), lambda sum_, item: sum_ + item) / f.size(items)
    squares = f.aggregate(
        f.transform(items, lambda item: (item - mean) * (item - mean)), f.lit(0.0), lambda sum_, item: sum_ + item
    )
    return f.when(f.size(items) > 1, f.sqrt(squares / (f.size(items) - 1)))


def _percentile(expression: ir.Aggregate, rows: BoundRows, value: Column) -> Column:
    """The value at a fraction of the sorted values, interpolated between its two neighbours."""
    from pyspark.sql import functions as f

    assert expression.fraction is not None
    if not expression.distinct:
        return f.percentile(value.cast("double"), expression.fraction, rows.multiplicities)
    items = _sorted_values(expression, rows, value)
    position = f.lit(expression.fraction) * (f.size(items) - 1)
    low, high = f.floor(position), f.ceil(position)
    below, above = f.get(items, low.cast("int")), f.get(items, high.cast("int"))
    between = (high - position) * below + (position - low) * above
    return f.when((low == high) | (below == above), below).otherwise(between)


def _sorted_values(expression: ir.Aggregate, rows: BoundRows, value: Column) -> Column:
    """The values of a group as sorted doubles, each as often as it counts."""
    from pyspark.sql import functions as f

    if expression.distinct:
        return f.sort_array(f.collect_set(comparable(expression.argument, rows)).cast("array<double>"))
    repeated = f.array_repeat(value.cast("double"), rows.multiplicities.cast("int"))
    return f.sort_array(f.flatten(f.collect_list(f.when(value.isNotNull(), repeated))))


def _placed(expression: ir.Aggregate, rows: BoundRows, value: Column) -> Column:
    """The value of the first or last row. Equal rows are ordered by the value, so that tasks do not matter."""
    from pyspark.sql import functions as f

    keys = [column(key, rows).alias(f"k{place}") for place, key in enumerate(expression.by)]
    # A null order leaves a row out: nulls are not chosen.
    order = f.when(value.isNotNull(), f.struct(*keys, value.alias("value")))
    return (f.min_by if expression.function is AggregateFunction.FIRST else f.max_by)(value, order)


AGGREGATES: Mapping[AggregateFunction, Callable[[ir.Aggregate, BoundRows, Column], Column]] = {
    AggregateFunction.COUNT: _count,
    AggregateFunction.SUM: _sum,
    AggregateFunction.AVG: _sum,
    AggregateFunction.MIN: _smallest,
    AggregateFunction.MAX: _largest,
    AggregateFunction.COLLECT: _collected,
    AggregateFunction.STDDEV: _deviation,
    AggregateFunction.PERCENTILE: _percentile,
    AggregateFunction.FIRST: _placed,
    AggregateFunction.LAST: _placed,
}
"""One row per aggregate function; ``query/aggregates.py`` has the type rules."""
