"""Table scans as frames: executors read fragments, evaluate predicates and send the demanded columns.

The embedded evaluator tests predicates over one entity before rows reach the JVM, so both executors have the same
semantics. Vectors and texts that are only compared never reach the JVM: tasks send distances and booleans.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.core.tables import TablePin
from omnigraph.exec.budget import Budget
from omnigraph.exec.evaluate import Evaluator
from omnigraph.exec.frame import Frame
from omnigraph.exec.search import Searcher, distances
from omnigraph.query import expressions as ir
from omnigraph.query.variables import walk
from omnigraph.rows.arrow_types import DST, ID, SRC
from omnigraph.rows.ends.references import is_of_type, shown_batch, type_columns
from omnigraph.schema.catalog import EdgeEnd, EdgeType
from omnigraph.schema.ir import Pair
from omnigraph.spark.analytics.node_tables import salted_hashes
from omnigraph.spark.cluster import limits
from omnigraph.spark.cluster.python_workers import mapped
from omnigraph.storage.index.text_index import TextIndex
from omnigraph.storage.tables.columns_by_fragment import layout_of
from omnigraph.storage.tables.filters import Comparison
from omnigraph.storage.tables.scan import scan
from omnigraph.storage.tables.store import Store

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

ROW = "#row"
"""Computed column: the row number, by which the embedded executor breaks ties between paths."""

NEAR = "#near"
FAR = "#far"
"""Computed columns: the ends of an edge in the direction of traversal."""

MARK = "\x1f"
"""Divides the type and the id of a node in a walk over several types."""


@dataclass(frozen=True, slots=True)
class Measured:
    """The distance of a vector property from a query vector."""

    column: str
    query: tuple[float, ...] | None


@dataclass(frozen=True, slots=True)
class Searched:
    """A text search: true if a property contains one of the words of a query."""

    column: str
    query: str
    edits: int


Computed = Measured | Searched


class Ends(Enum):
    """The near end of an edge: its source, its target, or both, one row each."""

    OUT = "out"
    INTO = "into"
    BOTH = "both"


@dataclass(frozen=True)
class TableRead:
    """The scan of one table: what tasks read and send. Pickled to the executors."""

    store: Store
    pin: TablePin
    variable: str
    """The variable of the rows in the predicate."""
    columns: tuple[str, ...]
    """Stored and computed columns to send, in this order."""
    schema: pa.Schema
    """The Arrow schema of the columns as Spark expects it."""
    groups: tuple[tuple[int, ...], ...]
    """The fragments of every task."""
    predicate: ir.Expr | None = None
    where: Comparison | None = None
    """A conjunct of the predicate that storage tests."""
    computed: Mapping[str, Computed] = field(default_factory=dict)
    """Computed columns that ``columns`` or the predicate use, by name."""
    ends: Ends | None = None
    distinct: bool = False
    """True to send equal rows once per task. Only a scan with one task is then free of duplicates."""
    edge: EdgeType | None = None
    """The edge type of a table with columns for types."""
    pair: Pair | None = None
    """Types of source and target: other edges are left out."""
    is_mixed: bool = False
    """True to send nodes of any type as their ends, each as one text with its type."""
    salt: str | None = None
    """The salt of the hashes to send in place of the ids of both ends."""

    def frame(self, spark: SparkSession, columns: StructType) -> DataFrame:
        """The rows as a lazy frame with these columns."""
        tasks = max(len(self.groups), 1)
        return mapped(spark.range(0, tasks, 1, tasks), self.read, columns)

    def read(self, numbers: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The rows of the tasks with these numbers. Runs on executors."""
        tasks = [number for batch in numbers for number in batch.column(0).to_pylist() if number < len(self.groups)]
        batches = (batch for number in tasks for batch in self._group(self.groups[number]))
        if not self.distinct:
            yield from batches
            return
        rows = pa.Table.from_batches(list(batches), self.schema)
        if rows.num_rows:
            yield from rows.group_by(rows.column_names).aggregate([]).cast(self.schema).to_batches()

    def _group(self, fragments: tuple[int, ...]) -> Iterator[pa.RecordBatch]:
        evaluator = Evaluator(Searcher(), Budget())
        for batch in scan(
            self.store,
            self.pin,
            self._stored(),
            self.where,
            with_address=ROW in self.columns,
            blobs_as_bytes=True,
            batch_rows=limits.QUERY_BATCH_ROWS,
            fragments=fragments,
        ):
            yield from self._sent(self._satisfying(batch, evaluator))

    def _stored(self) -> list[str]:
        """The stored columns that are needed."""
        names: dict[str, None] = {}
        if self.edge is not None:
            names = dict.fromkeys(type_columns(self.edge))
        for name in (*self.columns, *columns_of(self.predicate)):
            if name in (NEAR, FAR):
                names |= {SRC: None, DST: None}
            elif name in self.computed:
                names[self.computed[name].column] = None
            elif name != ROW:
                names[name] = None
        return list(names) or [ID]

    def _satisfying(self, batch: pa.RecordBatch, evaluator: Evaluator) -> dict[str, pa.Array]:
        """The columns of the rows that satisfy the predicate, computed ones included."""
        if self.edge is not None:
            batch = shown_batch(self.edge, self._of_pair(batch))
        values = {name: batch.column(name) for name in batch.schema.names}
        if self.edge is not None and self.is_mixed:
            values |= {end.column: _marked(end, values) for end in self.edge.ends}
        for name, computed in self.computed.items():
            values[name] = compute(computed, values[computed.column])
        if ROW in self.columns:
            values[ROW] = pa.array(layout_of(self.store, self.pin).numbers_at(values["_rowaddr"].to_numpy()))
        if self.predicate is None:
            return values
        frame = Frame(batch.num_rows, {})
        for name in columns_of(self.predicate):
            frame = frame.with_values(self.variable, name, values[name])
        mask = pa.array(evaluator.mask(self.predicate, frame))
        return {name: column.filter(mask) for name, column in values.items()}

    def _of_pair(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The edges between the types of the pair."""
        for end, name in zip(self.edge.ends, self.pair, strict=True) if self.edge and self.pair else ():
            batch = batch.filter(is_of_type(end, name, batch))
        return batch

    def _sent(self, values: dict[str, pa.Array]) -> Iterator[pa.RecordBatch]:
        if self.ends is None:
            yield self._batch(values)
            return
        if self.ends is not Ends.INTO:
            yield self._batch({**values, NEAR: values[SRC], FAR: values[DST]})
        if self.ends is Ends.BOTH:
            # A self-loop is one walk, not two: the second direction excludes it.
            other = pc.not_equal(values[SRC], values[DST])
            values = {name: column.filter(other) for name, column in values.items()}
        if self.ends is not Ends.OUT:
            yield self._batch({**values, NEAR: values[DST], FAR: values[SRC]})

    def _batch(self, values: dict[str, pa.Array]) -> pa.RecordBatch:
        if self.salt is not None:
            # Spark has no unsigned integers: the same bits with a sign.
            hashed = {name: pa.array(salted_hashes(values[name], self.salt).view(np.int64)) for name in (NEAR, FAR)}
            values = {**values, **hashed}
        arrays = [values[name].cast(field.type) for name, field in zip(self.columns, self.schema, strict=True)]
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)


def _marked(end: EdgeEnd, values: Mapping[str, pa.Array]) -> pa.Array:
    ids = values[end.column]
    names = values[end.type_column] if end.type_column is not None else end.types[0]
    return pc.binary_join_element_wise(names, ids, MARK)


def columns_of(predicate: ir.Expr | None) -> Sequence[str]:
    """The columns that a predicate uses."""
    if predicate is None:
        return ()
    read = (inner for inner in walk(predicate) if isinstance(inner, ir.Property | ir.EntityId))
    return tuple(dict.fromkeys(inner.name if isinstance(inner, ir.Property) else ID for inner in read))


def compute(computed: Computed, values: pa.Array) -> pa.Array:
    """A distance or a search result per value; null for a null value."""
    if isinstance(computed, Measured):
        return pa.nulls(len(values), pa.float32()) if computed.query is None else distances(values, computed.query)
    found = np.zeros(len(values), bool)
    found[TextIndex.build(values).search(computed.query, computed.edits).rows] = True
    return pa.array(found, mask=values.is_null().to_numpy(zero_copy_only=False))
