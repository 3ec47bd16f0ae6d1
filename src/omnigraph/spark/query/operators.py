"""Row operators of the IR as frames: each maps bound rows to bound rows, given the demand of the operators above."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from omnigraph.query import expressions as ir
from omnigraph.query.ir import (
    ONE_HOP,
    AntiJoin,
    CrossJoin,
    Expand,
    Filter,
    Mark,
    Operator,
    OptionalJoin,
    Outer,
    Scan,
    Score,
    ShortestPath,
    Slice,
    Sort,
    Stage,
    Union,
)
from omnigraph.query.liveness import (
    Demand,
    Multiplicity,
    forgotten_walk,
    inner_demand,
    input_demand,
    near_variable,
    outer_variables,
)
from omnigraph.rows.arrow_types import ID
from omnigraph.spark.query.bound_rows import BoundRows
from omnigraph.spark.query.expressions import column
from omnigraph.spark.query.multiplicity import product
from omnigraph.spark.query.ordering import sliced, sort_columns
from omnigraph.spark.query.rankings import scored
from omnigraph.spark.query.reach import shortest_rows
from omnigraph.spark.query.tables import QueryTables
from omnigraph.spark.query.traversal import Follower, is_whole

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


@dataclass
class RowOperators:
    """Compiles the operators below the projection of one bound query to frames."""

    tables: QueryTables
    former: Callable[[Stage], DataFrame]
    """The result rows of a former stage, in columns by position."""
    _outer: list[BoundRows] = field(default_factory=list)
    """Distinct rows of the enclosing blocks during compilation, innermost last."""

    def __post_init__(self) -> None:
        self._follower = Follower(self.tables)

    def rows(self, operator: Operator, demand: Demand) -> BoundRows:
        """The rows of an operator, with at least what the demand needs."""
        match operator:
            case Scan():
                nodes = self.tables.nodes(operator.type_name, operator.variable, operator.columns, operator.predicate)
                return BoundRows(nodes.frame, nodes.attributes(operator.variable))
            case Outer():
                return self._outer[-1]
            case Expand():
                return self._expand(operator, demand)
            case ShortestPath():
                return shortest_rows(self.tables, operator, self._input(operator, demand))
            case CrossJoin():
                return self._cross(operator, demand)
            case Filter():
                rows = self._input(operator, demand)
                return rows.over(rows.frame.where(column(operator.predicate, rows)))
            case AntiJoin():
                return self._without(operator, demand)
            case Mark():
                return self._marked(operator, demand)
            case OptionalJoin():
                return self._with_optional(operator, demand)
            case Score():
                return scored(self.tables, operator, self._input(operator, demand))
            case Sort():
                rows = self._input(operator, demand)
                keys = [(column(key.expression, rows), key.descending) for key in operator.keys]
                return rows.over(rows.frame.orderBy(*sort_columns(keys)))
            case Slice():
                rows = self._input(operator, demand)
                return rows.over(sliced(operator, rows.frame))
            case Stage():
                return self._stage(operator)
            case _:
                raise AssertionError(f"{type(operator).__name__} does not give rows")

    def _input(self, operator: Operator, demand: Demand) -> BoundRows:
        """The rows of the input operator."""
        assert not isinstance(operator, Scan | Outer | CrossJoin | Union | Stage)
        return self.rows(operator.input, input_demand(operator, demand))

    def _expand(self, operator: Expand, demand: Demand) -> BoundRows:
        steps = forgotten_walk(operator, demand) if demand.may_collapse else ()
        if steps:
            return self._walked(steps, demand)
        rows = self._start(operator, demand)
        is_single = operator.hops == ONE_HOP and not operator.closes
        if demand.may_collapse and is_single and self._is_forgotten(operator, rows, demand):
            return self._follower.arrive(operator, rows, demand)
        return self._follower.follow(operator, rows, demand)

    @staticmethod
    def _is_forgotten(step: Expand, rows: BoundRows | None, demand: Demand) -> bool:
        """True if nothing above needs the rows that a step starts from, nor its edge."""
        if rows is not None and rows.carried:
            return False
        bound = {near_variable(step)} if rows is None else {name for name, _ in rows.attributes}
        return demand.variables.isdisjoint(bound | {step.edge_variable})

    def _start(self, step: Expand, demand: Demand) -> BoundRows | None:
        """The rows that a step starts from; None for all nodes of its near type, which need not be read."""
        below = step.input
        if isinstance(below, Scan) and is_whole(below) and step.hops == ONE_HOP and not step.closes:
            return None
        return self.rows(below, input_demand(step, demand))

    def _walked(self, steps: tuple[Expand, ...], demand: Demand) -> BoundRows:
        """Rows with the number of walks from them, for a walk without demanded nodes."""
        demands = [demand]
        for step in reversed(steps):
            demands.insert(0, input_demand(step, demands[0]))
        rows = self._start(steps[0], demands[1])
        salt: str | None = None
        if demand.multiplicity is Multiplicity.COUNTED and self._is_forgotten(steps[0], rows, demand):
            # The start of the walk is not demanded either: aggregate per node after every hop.
            salt = self.tables.salt_of_walk(steps) if rows is None else None
            for step, above in zip(steps[:-1], demands[1:-1], strict=True):
                rows = self._follower.arrive(step, rows, above, salt)
            steps = steps[-1:]
        return self._follower.count_walks(steps, rows, demand, salt)

    def _cross(self, operator: CrossJoin, demand: Demand) -> BoundRows:
        left, right = self.rows(operator.left, demand), self.rows(operator.right, demand)
        frame, multiplicity = left.frame.crossJoin(right.frame), left.multiplicity or right.multiplicity
        if left.multiplicity is not None and right.multiplicity is not None:
            multiplicity = self.tables.names.new()
            frame = frame.withColumn(multiplicity, product(left.multiplicities, right.multiplicities))
        optional, carried = left.optional | right.optional, left.carried + right.carried
        return BoundRows(frame, {**left.attributes, **right.attributes}, multiplicity, optional, carried)

    def _stage(self, operator: Stage) -> BoundRows:
        """The rows of a former stage: entities are joined with their tables for what is read of them."""
        from pyspark.sql import functions as f

        source = self.former(operator)
        names = {place: self.tables.names.new() for place in range(len(source.columns))}
        frame = source.select(*(f.col(source.columns[place]).alias(name) for place, name in names.items()))
        attributes = {(item.variable, ir.ComputedPart.VALUE.value): names[item.position] for item in operator.values}
        optional: set[str] = set()
        for item in operator.entities:
            if item.type_position is not None:
                frame = frame.where(f.col(names[item.type_position]) == item.type_name)
            attributes[item.variable, ID] = names[item.position]
            may_be_null = operator.columns[item.position].expression.type.nullable
            if may_be_null:
                optional.add(item.variable)
            if item.columns:
                held = self.tables.entities(item)
                on = f.col(names[item.position]) == f.col(held.id)
                frame = frame.join(held.frame, on, "left" if may_be_null else "inner")
                attributes |= {(item.variable, name): held.columns[name] for name in item.columns}
        return BoundRows(frame, attributes, optional=frozenset(optional))

    def _without(self, operator: AntiJoin, demand: Demand) -> BoundRows:
        rows = self._input(operator, demand)
        found, on = self._matched(operator, rows, demand)
        return rows.over(rows.frame.join(found, on, "left_anti"))

    def _marked(self, operator: Mark, demand: Demand) -> BoundRows:
        """The rows with a column that is true where the block has a match, otherwise false."""
        from pyspark.sql import functions as f

        rows = self._input(operator, demand)
        found, on = self._matched(operator, rows, demand)
        present, name = self.tables.names.new(), self.tables.names.new()
        # The keys of the rows may be null, so a constant beside them tells a match.
        frame = rows.frame.join(found.withColumn(present, f.lit(True)), on, "left")
        frame = frame.withColumn(name, f.coalesce(f.col(present), f.lit(False))).drop(present, *found.columns)
        return rows.binding(frame, {(operator.variable, ir.ComputedPart.FOUND.value): name})

    def _matched(self, operator: AntiJoin | Mark, rows: BoundRows, demand: Demand) -> tuple[DataFrame, Column]:
        """The distinct combinations that a block has a match for, and the predicate that joins rows with them."""
        from pyspark.sql import functions as f

        wanted = inner_demand(operator, demand)
        steps = forgotten_walk(operator.inner, wanted) if isinstance(operator.inner, Expand) else ()
        if steps and isinstance(steps[0].input, Outer):
            # The block depends on the start node alone: a join with all start nodes, uncorrelated.
            ways, node, _ = self._follower.ways(steps, wanted)
            return ways, rows.column(near_variable(steps[0])) == f.col(node)
        inner, keys = self._block(operator.inner, rows, wanted)
        return inner.frame.select(*inner.carried).distinct(), _same(keys, inner.carried, rows)

    def _with_optional(self, operator: OptionalJoin, demand: Demand) -> BoundRows:
        from pyspark.sql import functions as f

        rows = self._input(operator, demand)
        inner, keys = self._block(operator.inner, rows, inner_demand(operator, demand))
        frame = rows.frame.join(inner.frame, _same(keys, inner.carried, rows), "left")
        attributes = {
            attribute: name for attribute, name in inner.attributes.items() if attribute[0] in operator.introduces
        }
        multiplicity = rows.multiplicity
        if inner.multiplicity is not None:
            multiplicity = self.tables.names.new()
            frame = frame.withColumn(
                multiplicity, product(rows.multiplicities, f.coalesce(inner.multiplicities, f.lit(1)))
            )
        found = rows.binding(frame, attributes, multiplicity=multiplicity)
        return replace(found, optional=rows.optional | set(operator.introduces))

    def _block(self, inner: Operator, rows: BoundRows, demand: Demand) -> tuple[BoundRows, list[str]]:
        """The rows of an inner block with its correlation columns, and the key columns of the outer rows they match."""
        from pyspark.sql import functions as f

        mentioned = outer_variables(inner)
        keys = [*rows.columns_of(mentioned)]
        seen = {attribute: name for attribute, name in rows.attributes.items() if attribute[0] in mentioned}
        renamed = {name: self.tables.names.new() for name in seen.values()}
        carried = tuple(renamed[name] for name in keys)
        # The copy has new column names, because the outer rows are joined with the result of the block.
        chosen = [f.col(name).alias(other) for name, other in renamed.items()]
        frame = rows.frame.select(*chosen).dropDuplicates([*carried])
        attributes = {attribute: renamed[name] for attribute, name in seen.items()}
        self._outer.append(BoundRows(frame, attributes, None, rows.optional & set(mentioned), carried))
        try:
            return self.rows(inner, demand), keys
        finally:
            self._outer.pop()


def _same(keys: Iterable[str], others: Iterable[str], rows: BoundRows) -> Column:
    """Join predicate of outer rows and block rows. Optional columns compare null-safe: null equals null."""
    from pyspark.sql import functions as f

    owner = {name: variable for (variable, _), name in rows.attributes.items()}
    on = f.lit(True)
    for key, other in zip(keys, others, strict=True):
        is_optional = owner[key] in rows.optional
        on = on & (f.col(key).eqNullSafe(f.col(other)) if is_optional else f.col(key) == f.col(other))
    return on
