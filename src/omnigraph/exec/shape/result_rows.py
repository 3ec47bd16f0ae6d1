"""The rows of a result: known by their number, computed when they are read, in batches or all at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from omnigraph.exec.budget import Budget

BATCH_ROWS = 65_536
"""Rows of one batch. A result that is no larger is computed at once."""


@dataclass
class ResultRows:
    """A result whose columns may not have been computed yet."""

    schema: pa.Schema
    length: int
    _read: Callable[[int, int], Sequence[pa.Array]] = field(repr=False)
    """The columns of the rows from one position to before another."""
    _fitting: int = BATCH_ROWS
    """How many rows fit into the memory that the query may use."""
    _budget: Budget = field(default_factory=Budget, repr=False)
    _table: pa.Table | None = field(default=None, repr=False)

    def batches(self, rows_max: int = BATCH_ROWS) -> Iterator[pa.RecordBatch]:
        """The rows in order. Only the batch that is being read is in memory, unless the whole table was asked for."""
        if self._table is not None:
            yield from self._table.to_batches(max_chunksize=rows_max)
            return
        size = min(rows_max, self._fitting)
        for start in range(0, self.length, size):
            self._budget.check_wanted()
            yield self._batch(start, min(start + size, self.length))

    def head(self, rows: int) -> pa.Table:
        """The first rows."""
        if self._table is not None:
            return self._table.slice(0, rows)
        return pa.Table.from_batches([self._batch(0, min(rows, self.length))], self.schema)

    def table(self) -> pa.Table:
        """All rows at once."""
        if self._table is None:
            held, batches = 0, []
            for batch in self.batches():
                held += batch.nbytes
                self._budget.hold(held, "the result as one table (batches would be read one by one)")
                batches.append(batch)
            self._table = pa.Table.from_batches(batches, self.schema)
        return self._table

    def _batch(self, start: int, stop: int) -> pa.RecordBatch:
        columns = self._read(start, stop)
        arrays = [column.cast(field.type) for column, field in zip(columns, self.schema, strict=True)]
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)


def table_rows(table: pa.Table) -> ResultRows:
    """Rows that are in memory already."""

    def read(start: int, stop: int) -> Sequence[pa.Array]:
        return [column.combine_chunks() for column in table.slice(start, stop - start).columns]

    return ResultRows(table.schema, table.num_rows, read, _table=table)
