"""Lazy result rows: the count is known, columns are computed when read, in batches or as one table."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import field
from functools import partial
from typing import Any, Final

import pyarrow as pa

from omnigraph.core.classes.dataclass import dataclass
from omnigraph.exec.budget import Budget
from omnigraph.rows.write.results import StoredForm

UNLIMITED: Final = Budget()
"""The budget of rows that exist already."""

BATCH_ROWS = 65_536
"""Rows of one batch. A result that is no larger is computed eagerly."""


@dataclass
class ResultRows:
    """A result whose columns may not have been computed yet."""

    schema: pa.Schema
    length: int
    _read: Callable[[int, int], Sequence[pa.Array]] = field(repr=False)
    """Reads the columns of a half-open range of rows."""
    _fitting: int = BATCH_ROWS
    """The number of rows that fit into the memory limit of the query."""
    _budget: Budget = field(default_factory=Budget, repr=False)
    _table: pa.Table | None = field(default=None, repr=False)
    values: Sequence[tuple[Any, ...]] | None = field(default=None, repr=False)
    """The rows in their stored forms, if they exist as Python values and columns are made of them on demand."""

    def batches(self, rows_max: int = BATCH_ROWS) -> Iterator[pa.RecordBatch]:
        """The rows in order. Only the current batch is in memory, unless ``table`` was called before."""
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
        """All rows as one table, cached."""
        if self._table is None:
            held, batches = 0, []
            for batch in self.batches():
                held += batch.nbytes
                self._budget.hold(held, "the result as one table (read it in batches to use less memory)")
                batches.append(batch)
            self._table = pa.Table.from_batches(batches, self.schema)
        return self._table

    def slice(self, start: int, stop: int) -> ResultRows:
        """A half-open range of the rows."""
        stop = min(stop, self.length)
        start = min(start, stop)
        table = None if self._table is None else self._table.slice(start, stop - start)

        def read(first: int, last: int) -> Sequence[pa.Array]:
            return self._read(start + first, start + last)

        return ResultRows(self.schema, stop - start, read, self._fitting, self._budget, table)

    def select(self, names: Sequence[str]) -> ResultRows:
        """Some of the columns."""
        indices = [self.schema.get_field_index(name) for name in names]
        table = None if self._table is None else self._table.select(indices)

        def read(first: int, last: int) -> Sequence[pa.Array]:
            columns = self._read(first, last)
            return [columns[index] for index in indices]

        schema = pa.schema([self.schema.field(index) for index in indices])
        return ResultRows(schema, self.length, read, self._fitting, self._budget, table)

    def _batch(self, start: int, stop: int) -> pa.RecordBatch:
        columns = self._read(start, stop)
        types = self.schema.types
        # A cast costs a microsecond even if there is nothing to do.
        arrays = [
            column if column.type == type_ else column.cast(type_) for column, type_ in zip(columns, types, strict=True)
        ]
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)


class ValueRows(ResultRows):
    """A few rows of Python values in their stored forms. Columns of Arrow are made when they are wanted."""

    def __init__(self, form: StoredForm, values: Sequence[tuple[Any, ...]]) -> None:
        self.form, self.values = form, values
        self.schema, self.length = form.schema, len(values)
        self._read, self._budget = partial(_columns, form.schema, values), UNLIMITED

    def dicts(self) -> list[dict[str, Any]]:
        """One dict per row with Python values."""
        return self.form.python_rows(self.values or ())


def _columns(schema: pa.Schema, values: Sequence[tuple[Any, ...]], start: int, stop: int) -> Sequence[pa.Array]:
    part = values[start:stop]
    return [pa.array([row[place] for row in part], type_) for place, type_ in enumerate(schema.types)]


def table_rows(table: pa.Table) -> ResultRows:
    """Result rows over a table in memory."""

    def read(start: int, stop: int) -> Sequence[pa.Array]:
        return [column.combine_chunks() for column in table.slice(start, stop - start).columns]

    return ResultRows(table.schema, table.num_rows, read, _table=table)
