"""Edge traversal on Spark: joins with edge tables, and walks that are counted instead of enumerated.

Edges contain the ids of their nodes, so a node table is joined only for a predicate or a property. A scan of all nodes
below a traversal is not read at all.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from omnigraph.query.ir import ONE_HOP, Expand, Operator, Scan
from omnigraph.query.liveness import Demand, Multiplicity, near_variable
from omnigraph.rows.arrow_types import ID
from omnigraph.spark.query.bound_rows import BoundRows
from omnigraph.spark.query.multiplicity import product, total
from omnigraph.spark.query.reach import reached_pairs
from omnigraph.spark.query.scans import FAR, NEAR
from omnigraph.spark.query.tables import Edges, QueryTables

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


def is_whole(operator: Operator) -> bool:
    """True if an operator gives all nodes of a type with nothing but their ids."""
    return isinstance(operator, Scan) and operator.predicate is None and not operator.columns


@dataclass
class Follower:
    """Traverses edges from bound rows."""

    tables: QueryTables

    def follow(self, step: Expand, rows: BoundRows | None, demand: Demand) -> BoundRows:
        """Join the rows with the far ends of their edges. ``rows=None`` stands for all nodes of the near type."""
        if step.hops != ONE_HOP:
            assert rows is not None
            return self._far(step, self._reach(step, rows))
        edges = self.tables.edges(step, bind=step.edge_variable in demand.variables)
        if rows is None:
            attributes = {**edges.attributes, (near_variable(step), ID): edges.near, (step.new_variable, ID): edges.far}
            return self._far(step, BoundRows(edges.frame, attributes))
        from pyspark.sql import functions as f

        if step.closes:
            ends = (rows.column(step.source) == f.col(edges.near)) & (rows.column(step.target) == f.col(edges.far))
            return self._far(step, rows.binding(rows.frame.join(edges.frame, ends), edges.attributes))
        joined = rows.frame.join(edges.frame, rows.column(near_variable(step)) == f.col(edges.near))
        return self._far(step, rows.binding(joined, {**edges.attributes, (step.new_variable, ID): edges.far}))

    def _far(self, step: Expand, rows: BoundRows) -> BoundRows:
        """Filter the rows by the predicate on the far end, and add its properties."""
        if step.predicate is None and (step.closes or not step.columns):
            return rows
        from pyspark.sql import functions as f

        columns = () if step.closes else step.columns
        nodes = self.tables.nodes(step.new_type, step.new_variable, columns, step.predicate)
        attributes = {} if step.closes else nodes.attributes(step.new_variable)
        joined = rows.frame.join(nodes.frame, rows.column(step.new_variable) == f.col(nodes.id))
        return rows.binding(joined, attributes)

    def _reach(self, step: Expand, rows: BoundRows) -> BoundRows:
        """Join the rows with every node within the range of hops."""
        from pyspark.sql import functions as f

        start = step.source if step.closes else near_variable(step)
        starts = rows.frame.select(rows.column(start)).where(rows.column(start).isNotNull()).distinct()
        pairs = reached_pairs(self.tables, step, starts)
        on = rows.column(start) == f.col(pairs.near)
        if step.closes:
            on = on & (rows.column(step.target) == f.col(pairs.far))
            return rows.over(rows.frame.join(pairs.frame, on))
        return rows.binding(rows.frame.join(pairs.frame, on), {(step.new_variable, ID): pairs.far})

    def arrive(self, step: Expand, rows: BoundRows | None, demand: Demand, salt: str | None = None) -> BoundRows:
        """The distinct far ends of one hop, with the number of rows that lead to each as multiplicity.

        With a ``salt``, nodes are hashes, before and after the hop.
        """
        from pyspark.sql import functions as f

        edges = self.tables.edges(step, bind=False, by=FAR, salt=salt)
        frame, added = edges.frame, f.count(f.lit(1))
        if rows is not None:
            frame = rows.frame.join(edges.frame, rows.column(near_variable(step)) == f.col(edges.near))
            added = added if rows.multiplicity is None else total(rows.multiplicities)
        attributes = {(step.new_variable, ID): edges.far}
        if demand.multiplicity is Multiplicity.EXISTS:
            return self._far(step, BoundRows(frame.select(edges.far).distinct(), attributes))
        number = self.tables.names.new()
        return self._far(step, BoundRows(frame.groupBy(edges.far).agg(added.alias(number)), attributes, number))

    def ways(self, steps: tuple[Expand, ...], demand: Demand, salt: str | None = None) -> tuple[DataFrame, str, str]:
        """The nodes at which a walk can start, with the number of walks; returns the frame and its two columns."""
        from pyspark.sql import functions as f

        found: tuple[DataFrame, str, str] | None = None
        for step in reversed(steps):
            edges = self._tested(step, self.tables.edges(step, bind=False, by=NEAR, salt=salt))
            frame, added = edges.frame, f.count(f.lit(1))
            if found is not None:
                onwards, node, number = found
                frame = frame.join(onwards, f.col(edges.far) == f.col(node))
                added = total(f.col(number))
            if demand.multiplicity is Multiplicity.EXISTS:
                found = frame.select(edges.near).distinct(), edges.near, edges.near
            else:
                number = self.tables.names.new()
                found = frame.groupBy(edges.near).agg(added.alias(number)), edges.near, number
        assert found is not None, "a walk has steps"
        return found

    def _tested(self, step: Expand, edges: Edges) -> Edges:
        """The edges whose far end satisfies the predicate of the step."""
        if step.predicate is None:
            return edges
        from pyspark.sql import functions as f

        nodes = self.tables.nodes(step.new_type, step.new_variable, (), step.predicate)
        return replace(edges, frame=edges.frame.join(nodes.frame, f.col(edges.far) == f.col(nodes.id), "left_semi"))

    def count_walks(
        self, steps: tuple[Expand, ...], rows: BoundRows | None, demand: Demand, salt: str | None = None
    ) -> BoundRows:
        """The rows at which a walk can start, with their multiplicities times the number of walks."""
        from pyspark.sql import functions as f

        ways, node, number = self.ways(steps, demand, salt)
        start = near_variable(steps[0])
        exists = demand.multiplicity is Multiplicity.EXISTS
        if rows is None:
            return BoundRows(ways, {(start, ID): node}, None if exists else number)
        on: Column = rows.column(start) == f.col(node)
        if exists:
            return rows.over(rows.frame.join(ways, on, "left_semi"))
        multiplicity = self.tables.names.new()
        joined = rows.frame.join(ways, on).withColumn(multiplicity, product(rows.multiplicities, f.col(number)))
        return rows.binding(joined, {}, multiplicity=multiplicity)
