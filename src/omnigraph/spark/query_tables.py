"""The tables of a snapshot as the operators on Spark ask for them: nodes and edges with the columns that are wanted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from omnigraph.exec.graph_view import GraphView
from omnigraph.exec.lookup import pushed
from omnigraph.exec.tables import TableView
from omnigraph.lang.gq_ast import BinaryOperator
from omnigraph.query import expressions as ir
from omnigraph.query.ir import Direction, Expand
from omnigraph.rows.arrow_types import DST, ID, SRC
from omnigraph.rows.validate import unique_columns
from omnigraph.spark import limits
from omnigraph.spark.bound_rows import Names, Part
from omnigraph.spark.reads import FAR, NEAR, ROW, Computed, Ends, Measured, TableRead, columns_of
from omnigraph.spark.spark_types import arrow_schema, spark_type
from omnigraph.storage.filters import Comparison
from omnigraph.storage.tables import fragment_groups

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import DataType


@dataclass(frozen=True)
class Nodes:
    """Nodes of a type: a frame, and the columns of what was asked for."""

    frame: DataFrame
    columns: Mapping[str, str]

    @property
    def id(self) -> str:
        return self.columns[ID]

    def parts(self, variable: str) -> dict[Part, str]:
        """The columns as parts of a variable."""
        return {(variable, name): column for name, column in self.columns.items()}


@dataclass(frozen=True)
class Edges:
    """Edges of a type as they are walked: the ids of both ends, and the parts of a bound edge."""

    frame: DataFrame
    near: str
    far: str
    parts: Mapping[Part, str] = field(default_factory=dict)


@dataclass
class QueryTables:
    """Reads tables of one snapshot for one query."""

    spark: SparkSession
    view: GraphView
    names: Names
    computed: Mapping[str, Computed]
    """Distances and answers of searches, by the names under which they are read like properties."""
    types: Mapping[str, str]
    """The types of the node variables that can be ranked."""

    def nodes(
        self, type_name: str, variable: str, columns: Sequence[str] = (), predicate: ir.Expr | None = None
    ) -> Nodes:
        """The nodes that satisfy a predicate, with their ids and the columns that are named."""
        table = self.view.node_table(type_name)
        wanted = tuple(dict.fromkeys([ID, *columns]))
        frame, names = self._read(table, variable, wanted, predicate)
        return Nodes(_spread(frame, table.rows), names)

    def edges(self, step: Expand, *, bind: bool, by: str = NEAR) -> Edges:
        """The edges of a step, seen from its bound end: one row per edge if edges are bound, else one per pair.

        ``bind`` says that somebody reads the edge. Pairs are put together by one of their ends.
        """
        table = self.view.edge_table(step.edge)
        ends = _ends(step)
        bound = step.edge_variable is not None
        extra = tuple(dict.fromkeys([ID, *step.edge_columns])) if bound and bind else ()
        groups = self._groups(table, step.edge_predicate)
        repeats = not bound and (ends is Ends.BOTH or not _is_unique(table))
        frame, names = self._read(
            table,
            step.edge_variable or "",
            (NEAR, FAR, *extra),
            step.edge_predicate,
            ends=ends,
            distinct=repeats and len(groups) < 2,
        )
        if repeats and len(groups) > 1:
            # Rows that are together by one end are together by both: what comes next need not move them again.
            frame = frame.repartition(names[by]).distinct()
        parts = {(step.edge_variable or "", name): names[name] for name in extra}
        return Edges(_spread(frame, table.rows), names[NEAR], names[FAR], parts)

    def rows(self, type_name: str) -> int:
        """How many nodes of a type there are."""
        return self.view.node_table(type_name).rows

    def _read(
        self,
        table: TableView,
        variable: str,
        columns: tuple[str, ...],
        predicate: ir.Expr | None,
        *,
        ends: Ends | None = None,
        distinct: bool = False,
    ) -> tuple[DataFrame, dict[str, str]]:
        from pyspark.sql.types import StructField, StructType

        names = {name: self.names.new() for name in columns}
        schema = StructType([StructField(names[name], self._type(table, name)) for name in columns])
        where, rest = _split(table, predicate)
        read = TableRead(
            table.store,
            table.pin,
            variable,
            columns,
            arrow_schema(schema),
            self._groups(table, predicate),
            rest,
            where,
            {name: value for name, value in self.computed.items() if name in (*columns, *columns_of(rest))},
            ends,
            distinct,
        )
        return read.frame(self.spark, schema), names

    def _groups(self, table: TableView, predicate: ir.Expr | None) -> tuple[tuple[int, ...], ...]:
        if predicate == ir.FALSE:
            return ()
        return tuple(fragment_groups(table.store, table.pin, limits.PARTITION_ROWS))

    def _type(self, table: TableView, name: str) -> DataType:
        from pyspark.sql.types import BooleanType, FloatType, LongType

        if name in self.computed:
            return FloatType() if isinstance(self.computed[name], Measured) else BooleanType()
        if name == ROW:
            return LongType()
        properties = table.entity.properties
        return spark_type(properties[name].type if name in properties else ir.TEXT)


def _ends(step: Expand) -> Ends:
    """Which end of its edges is the bound one of a step."""
    if step.direction is Direction.BOTH:
        return Ends.BOTH
    outwards = (step.direction is Direction.OUT) != (step.from_target and not step.closes)
    return Ends.OUT if outwards else Ends.INTO


def _is_unique(table: TableView) -> bool:
    """Whether the schema forbids two edges from one node to another."""
    return any(set(columns) <= {SRC, DST} for columns in unique_columns(table.entity))


def _spread(frame: DataFrame, rows: int) -> DataFrame:
    """A small table is sent to everybody who joins with it: Spark knows nothing of its size."""
    from pyspark.sql import functions as f

    return f.broadcast(frame) if rows <= limits.BROADCAST_ROWS else frame


def _split(table: TableView, predicate: ir.Expr | None) -> tuple[Comparison | None, ir.Expr | None]:
    """A part of a predicate that storage tests, and the rest of it."""
    if predicate is None:
        return None, None
    is_conjunction = isinstance(predicate, ir.Logic) and predicate.operator is BinaryOperator.AND
    parts = predicate.operands if is_conjunction and isinstance(predicate, ir.Logic) else (predicate,)
    for part in parts:
        if isinstance(part, ir.Compare) and isinstance(part.left, ir.Property) and part.left.name[0] != "#":
            comparison = pushed(table, part)
            if comparison is not None:
                return comparison, ir.conjunction(tuple(other for other in parts if other is not part))
    return None, predicate
