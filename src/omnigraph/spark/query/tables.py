"""Tables of a snapshot for the Spark operators: nodes and edges with the demanded columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import TYPE_CHECKING

from omnigraph.core.operators import BinaryOperator
from omnigraph.exec.graph_view import GraphView, stored_pair
from omnigraph.exec.lookup import pushed
from omnigraph.exec.tables import TableView
from omnigraph.query import expressions as ir
from omnigraph.query.ir import Direction, Expand, StageEntity, VisibleEdges
from omnigraph.query.standalone.formula import OWNER
from omnigraph.query.variables import may_fail
from omnigraph.query.visibility.restrict import owned
from omnigraph.rows.arrow_types import DST, ID, SRC
from omnigraph.rows.validate import unique_columns
from omnigraph.schema.catalog import EdgeType
from omnigraph.schema.ir import Pair
from omnigraph.spark.cluster.spark_types import arrow_schema, row_bytes, spark_type
from omnigraph.spark.query.bound_rows import Attribute, BoundRows, Names
from omnigraph.spark.query.expressions import column
from omnigraph.spark.query.hashed_ends import salt_of_walk
from omnigraph.spark.query.scans import FAR, MARK, NEAR, ROW, Computed, Ends, Measured, TableRead, columns_of
from omnigraph.storage.index.relevance import TextCounts
from omnigraph.storage.tables.filters import Comparison
from omnigraph.storage.tables.scan import fragment_groups

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession
    from pyspark.sql.types import DataType


@dataclass(frozen=True)
class Nodes:
    """Entities of a type, usually nodes: a frame, and its column for each requested attribute."""

    frame: DataFrame
    columns: Mapping[str, str]

    @property
    def id(self) -> str:
        return self.columns[ID]

    def attributes(self, variable: str) -> dict[Attribute, str]:
        """The columns as attributes of a variable."""
        return {(variable, name): held for name, held in self.columns.items()}


@dataclass(frozen=True)
class Edges:
    """Edges in the direction of traversal: the ids of both ends, and the attributes of a bound edge."""

    frame: DataFrame
    near: str
    far: str
    attributes: Mapping[Attribute, str] = field(default_factory=dict)


@dataclass
class QueryTables:
    """Reads tables of one snapshot for one query."""

    spark: SparkSession
    view: GraphView
    names: Names
    computed: Mapping[str, Computed]
    """Distances and search results, by the names under which they are read like properties."""
    types: Mapping[str, str]
    """Types of node variables, for rankings."""
    text_counts: dict[tuple[str, str, tuple[str, ...]], list[TextCounts]] = field(default_factory=dict)
    """Word counts per group of fragments, by table, column and words of a query."""

    def nodes(
        self, type_name: str, variable: str, columns: Sequence[str] = (), predicate: ir.Expr | None = None
    ) -> Nodes:
        """The nodes that satisfy a predicate, with their ids and the named columns."""
        table = self.view.node_table(type_name)
        frame, names = self._read(table, variable, (ID, *columns), predicate)
        return Nodes(frame, names)

    def entities(self, item: StageEntity) -> Nodes:
        """All entities of the type of a former stage's column, with their ids and the columns that are read."""
        table = self.view.edge_table(item.type_name) if item.is_edge else self.view.node_table(item.type_name)
        frame, names = self._read(table, item.variable, (ID, *item.columns), None)
        return Nodes(frame, names)

    def salt_of_walk(self, steps: Sequence[Expand]) -> str | None:
        """A salt of hashes that stand for the nodes of a walk; None if its edges are read with ids."""
        return salt_of_walk(self.spark, self.view, steps)

    def edges(self, step: Expand, *, bind: bool, by: str = NEAR, salt: str | None = None) -> Edges:
        """The edges of a step, seen from its bound end: one row per edge if edges are bound, otherwise one per pair.

        ``bind`` adds the attributes of the edge. Pairs are deduplicated in partitions by one of their ends (``by``).
        With a ``salt``, the ends are hashes.
        """
        if not self.view.is_mixed(step):
            return self._edges(step, bind=bind, by=by, is_mixed=False, salt=salt)
        # Edges of both directions, whose stored types differ: the ends have the types of the step.
        found = self._edges(step, bind=bind, by=by, is_mixed=True)
        assert step.pair is not None
        near, far = (step.pair[1], step.pair[0]) if step.from_target and not step.closes else step.pair
        names = {found.near: self.names.new(), found.far: self.names.new()}
        frame = unmarked(found.frame, {found.near: (near, names[found.near]), found.far: (far, names[found.far])})
        return replace(found, frame=frame, near=names[found.near], far=names[found.far])

    def mixed_edges(self, step: Expand) -> Edges:
        """The edges of all pairs of types, with types and ids as one text: a walk over them may change the type."""
        return self._edges(step, bind=False, by=NEAR, is_mixed=True)

    def _edges(self, step: Expand, *, bind: bool, by: str, is_mixed: bool, salt: str | None = None) -> Edges:
        table = self.view.edge_table(step.edge)
        ends, variable = _ends(step), step.edge_variable
        predicate = step.edge_predicate
        if step.visible is not None:
            own = owned(step.visible.edge, variable or "")
            predicate = ir.conjunction((own,) if predicate is None else (own, predicate))
        extra = (ID, *step.edge_columns) if variable is not None and bind else ()
        repeats = variable is None and (ends is Ends.BOTH or not _is_unique(table))
        frame, names = self._read(
            table,
            variable or "",
            (NEAR, FAR, *extra),
            predicate,
            ends=ends,
            distinct_by=by if repeats else None,
            pair=None if is_mixed else stored_pair(step),
            is_mixed=is_mixed,
            salt=salt,
        )
        if step.visible is not None and is_mixed:
            frame = self._among_visible(frame, (names[NEAR], names[FAR]), step.visible)
        elif step.visible is not None:
            frame = self._between_visible(frame, (names[NEAR], names[FAR]), step, step.visible, ends)
        attributes = {(variable or "", name): names[name] for name in extra}
        return Edges(frame, names[NEAR], names[FAR], attributes)

    def _between_visible(
        self, frame: DataFrame, ends: tuple[str, str], step: Expand, visible: VisibleEdges, direction: Ends
    ) -> DataFrame:
        """The edges whose ends are both visible, so that no hop leads to or from a hidden node."""
        from pyspark.sql import functions as f

        sides = list(stored_pair(step) or self.view.catalog.edges[step.edge].pairs[0])
        if direction is Ends.INTO:
            sides.reverse()
        for end, type_name in zip(ends, sides, strict=True):
            predicate = visible.node(type_name)
            if predicate != ir.TRUE:
                nodes = self.nodes(type_name, OWNER, (), predicate)
                frame = frame.join(nodes.frame, f.col(end) == f.col(nodes.id), "left_semi")
        return frame

    def _among_visible(self, frame: DataFrame, ends: tuple[str, str], visible: VisibleEdges) -> DataFrame:
        """The same for edges between several types."""
        from pyspark.sql import functions as f

        for end in ends:
            nodes = self.marked_nodes([name for name, _ in visible.nodes], visible)
            frame = frame.join(nodes.frame, f.col(end) == f.col(nodes.id), "left_semi")
        return frame

    def marked_nodes(self, types: Sequence[str], visible: VisibleEdges | None = None) -> Nodes:
        """The nodes of several types with types and ids as one text, and the numbers that break ties between paths."""
        from pyspark.sql import functions as f

        id_, number = self.names.new(), self.names.new()
        frames: list[DataFrame] = []
        start = 0
        for name in types:
            nodes = self.nodes(name, OWNER, (ROW,), None if visible is None else visible.node(name))
            numbered = (f.col(nodes.columns[ROW]) + f.lit(start)).alias(number)
            frames.append(nodes.frame.select(marked(f.col(nodes.id), name).alias(id_), numbered))
            start += self.view.node_table(name).size
        return Nodes(reduce(lambda left, right: left.unionByName(right), frames), {ID: id_, ROW: number})

    def _read(
        self,
        table: TableView,
        variable: str,
        columns: Sequence[str],
        predicate: ir.Expr | None,
        *,
        ends: Ends | None = None,
        distinct_by: str | None = None,
        pair: Pair | None = None,
        is_mixed: bool = False,
        salt: str | None = None,
    ) -> tuple[DataFrame, dict[str, str]]:
        """The rows that satisfy a predicate, distinct if requested, and the names of their columns."""
        from pyspark.sql import functions as f
        from pyspark.sql.types import LongType, StructField, StructType

        here, where, rest = _split(table, predicate)
        wanted = tuple(dict.fromkeys([*columns, *columns_of(here)]))
        names = {name: self.names.new() for name in wanted}
        hashed = () if salt is None else (NEAR, FAR)
        types = {name: LongType() if name in hashed else self._type(table, name) for name in wanted}
        schema = StructType([StructField(names[name], types[name]) for name in wanted])
        tuning = table.store.tuning
        groups = () if predicate == ir.FALSE else fragment_groups(table.store, table.pin, tuning.partition_rows)
        read = TableRead(
            table.store,
            table.pin,
            variable,
            wanted,
            arrow_schema(schema),
            tuple(groups),
            rest,
            where,
            {name: value for name, value in self.computed.items() if name in (*wanted, *columns_of(rest))},
            ends,
            distinct_by is not None,
            table.entity if isinstance(table.entity, EdgeType) and table.entity.has_types else None,
            pair,
            is_mixed,
            salt,
        )
        frame = read.frame(self.spark, schema)
        if here is not None:
            frame = frame.where(column(here, BoundRows(frame, {(variable, name): names[name] for name in wanted})))
        if distinct_by is not None and len(read.groups) > 1:
            # Equal pairs have equal ends: partitioning by one end suffices, and the next join by it needs no shuffle.
            frame = frame.repartition(names[distinct_by]).distinct()
        # Spark cannot estimate the size of a Python source, so a small table is marked for broadcast.
        is_small = table.rows * row_bytes(schema) <= tuning.broadcast_bytes
        return (f.broadcast(frame) if is_small else frame), names

    def _type(self, table: TableView, name: str) -> DataType:
        from pyspark.sql.types import BooleanType, FloatType, LongType

        if name in self.computed:
            return FloatType() if isinstance(self.computed[name], Measured) else BooleanType()
        if name == ROW:
            return LongType()
        properties = table.entity.properties
        return spark_type(properties[name].type if name in properties else ir.TEXT)


def marked(id_: Column, type_name: str) -> Column:
    """The type and the id of a node as one text."""
    from pyspark.sql import functions as f

    return f.concat(f.lit(f"{type_name}{MARK}"), id_)


def unmarked(frame: DataFrame, columns: Mapping[str, tuple[str, str]]) -> DataFrame:
    """The rows whose nodes are of some types, by column, with their ids in new columns."""
    from pyspark.sql import functions as f

    for held, (type_name, name) in columns.items():
        prefix = f"{type_name}{MARK}"
        frame = frame.where(f.startswith(f.col(held), f.lit(prefix)))
        frame = frame.withColumn(name, f.substring(f.col(held), len(prefix) + 1, 2**31 - 1)).drop(held)
    return frame


def _ends(step: Expand) -> Ends:
    """The end of the edges at which a step starts."""
    if step.direction is Direction.BOTH:
        return Ends.BOTH
    outwards = (step.direction is Direction.OUT) != (step.from_target and not step.closes)
    return Ends.OUT if outwards else Ends.INTO


def _is_unique(table: TableView) -> bool:
    """True if the schema forbids parallel edges between two nodes."""
    return any(set(columns) <= {SRC, DST} for columns in unique_columns(table.entity))


def _split(table: TableView, predicate: ir.Expr | None) -> tuple[ir.Expr | None, Comparison | None, ir.Expr | None]:
    """Divide a predicate by evaluator: conjuncts for Spark, one for storage, and the rest for the tasks.

    Arithmetic is left to Spark, because it may raise: the error of a Spark expression reaches the driver typed, while
    that of a Python task would be a traceback.
    """
    if predicate is None:
        return None, None, None
    is_conjunction = isinstance(predicate, ir.Logic) and predicate.operator is BinaryOperator.AND
    conjuncts = predicate.operands if is_conjunction and isinstance(predicate, ir.Logic) else (predicate,)
    here = ir.conjunction(tuple(conjunct for conjunct in conjuncts if may_fail(conjunct)))
    others = tuple(conjunct for conjunct in conjuncts if not may_fail(conjunct))
    for conjunct in others:
        if isinstance(conjunct, ir.Compare) and isinstance(conjunct.left, ir.Property) and conjunct.left.name[0] != "#":
            comparison = pushed(table, conjunct)
            if comparison is not None:
                return here, comparison, ir.conjunction(tuple(other for other in others if other is not conjunct))
    return here, None, ir.conjunction(others)
