"""Tables of a snapshot as frames: executors read fragments, test conditions and send on what is wanted.

Conditions about one entity are tested by the embedded evaluator before rows reach the JVM, so they mean the same on
both executors. Vectors and texts that are only compared never reach it: tasks send distances and answers.
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
"""A column that no table has: the number of a row, by which the embedded executor breaks ties between paths."""

NEAR = "#near"
FAR = "#far"
"""The ends of an edge as it is walked."""


@dataclass(frozen=True, slots=True)
class Measured:
    """The distance of a vector property to a query."""

    column: str
    query: tuple[float, ...] | None


@dataclass(frozen=True, slots=True)
class Searched:
    """Whether a text property holds one of the words of a query."""

    column: str
    query: str
    edits: int


Computed = Measured | Searched


class Ends(Enum):
    """Which end of an edge is near: that of the source, of the target, or each of them in turn."""

    OUT = "out"
    INTO = "into"
    BOTH = "both"


@dataclass(frozen=True)
class TableRead:
    """What the tasks read of one table, and what they send."""

    store: Store
    pin: TablePin
    variable: str
    """The name that the predicate knows the rows by."""
    columns: tuple[str, ...]
    """Stored and computed columns to send, in this order."""
    schema: pa.Schema
    """What the columns are in Spark."""
    groups: tuple[tuple[int, ...], ...]
    """The fragments of every task."""
    predicate: ir.Expr | None = None
    where: Comparison | None = None
    """A part of the predicate that storage tests."""
    computed: Mapping[str, Computed] = field(default_factory=dict)
    """What is computed of the columns that are named here or in the predicate."""
    ends: Ends | None = None
    distinct: bool = False
    """Whether to send equal rows once. Only one task can keep that promise."""

    def frame(self, spark: SparkSession, columns: StructType) -> DataFrame:
        """The rows as a frame with these columns; nothing is read yet."""
        tasks = max(len(self.groups), 1)
        return mapped(spark.range(0, tasks, 1, tasks), self.read, columns)

    # --- executors -------------------------------------------------------------------------------------

    def read(self, numbers: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The rows of the tasks with these numbers."""
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
        values = {name: batch.column(name) for name in batch.schema.names}
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

    def _sent(self, values: dict[str, pa.Array]) -> Iterator[pa.RecordBatch]:
        if self.ends is None:
            yield self._batch(values)
            return
        if self.ends is not Ends.INTO:
            yield self._batch({**values, NEAR: values[SRC], FAR: values[DST]})
        if self.ends is Ends.BOTH:
            # A loop is the same walk from both of its ends.
            other = pc.not_equal(values[SRC], values[DST])
            values = {name: column.filter(other) for name, column in values.items()}
        if self.ends is not Ends.OUT:
            yield self._batch({**values, NEAR: values[DST], FAR: values[SRC]})

    def _batch(self, values: Mapping[str, pa.Array]) -> pa.RecordBatch:
        arrays = [values[name].cast(field.type) for name, field in zip(self.columns, self.schema, strict=True)]
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)


def columns_of(predicate: ir.Expr | None) -> Sequence[str]:
    """The columns that a predicate reads."""
    if predicate is None:
        return ()
    read = (inner for inner in walk(predicate) if isinstance(inner, ir.Property | ir.EntityId))
    return tuple(dict.fromkeys(inner.name if isinstance(inner, ir.Property) else ID for inner in read))


def compute(computed: Computed, values: pa.Array) -> pa.Array:
    """A distance or an answer for every value; null where there is none."""
    if isinstance(computed, Measured):
        return pa.nulls(len(values), pa.float32()) if computed.query is None else distances(values, computed.query)
    found = np.zeros(len(values), bool)
    found[TextIndex.build(values).search(computed.query, computed.edits).rows] = True
    return pa.array(found, mask=values.is_null().to_numpy(zero_copy_only=False))
