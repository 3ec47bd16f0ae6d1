"""Rows in the forms that other libraries take: shared by results of queries and views of types."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, BinaryIO, SupportsIndex, TypeVar, overload

import pyarrow as pa

from omnigraph.core.calls.arguments import checked_methods
from omnigraph.core.display import Display, Displayed, counted
from omnigraph.core.suggestions import did_you_mean
from omnigraph.errors import NotFoundError, UsageError
from omnigraph.rows.write.results import python_rows, python_values, result_rows

if TYPE_CHECKING:
    import pandas  # type: ignore[import-untyped] # has no types of its own
    import polars

Self = TypeVar("Self", bound="Tabular")

BATCH_ROWS = 65_536
SHOWN_ROWS = 10

Row = dict[str, Any]
"""One row by column, with Python values."""


@checked_methods("rows")
class Tabular:
    """Rows with named columns. A subclass provides the columns, their types, and the rows in batches."""

    @property
    def schema(self) -> pa.Schema:
        """The columns and their Arrow types."""
        raise NotImplementedError

    def batches(self, rows_max: int = BATCH_ROWS) -> Iterator[pa.RecordBatch]:
        """The rows in Arrow batches, each read or computed on demand."""
        raise NotImplementedError

    def __len__(self) -> int:
        raise NotImplementedError

    def _sliced(self: Self, start: int, stop: int) -> Self:
        """A range of the rows, in the same form."""
        raise NotImplementedError

    def _selected(self: Self, names: Sequence[str]) -> Self:
        """Some of the columns, in the same form."""
        raise NotImplementedError

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        names: list[str] = self.schema.names
        return names

    def __iter__(self) -> Iterator[Row]:
        for batch in self.batches():
            yield from python_rows(batch)

    @overload
    def __getitem__(self, wanted: int) -> Row: ...
    @overload
    def __getitem__(self, wanted: str) -> list[Any]: ...
    @overload
    def __getitem__(self: Self, wanted: slice | list[str]) -> Self: ...

    def __getitem__(self, wanted: int | str | slice | list[str]) -> Any:
        """A row by its number, a column by its name as a list, some rows by a slice, or some columns by a list."""
        match wanted:
            case str():
                return self._column(wanted)
            case slice():
                return self._slice(wanted)
            case list() if all(isinstance(name, str) for name in wanted):
                return self._selected([self._known(name) for name in wanted])
            case SupportsIndex() if not isinstance(wanted, bool):
                return self._row(wanted.__index__())
            case _:
                raise UsageError(
                    f"{wanted!r} is neither a row nor a column",
                    hint='rows are rows[0] and rows[:10], columns are rows["name"] and rows[["name", "age"]]',
                )

    def _row(self, number: int) -> Row:
        length = len(self)
        at = number + length if number < 0 else number
        if not 0 <= at < length:
            # An IndexError ends loops over row numbers, as with a list.
            raise IndexError(
                f"there is no row {number}: the rows are 0 to {length - 1}" if length else "there is no row"
            )
        return next(iter(self._sliced(at, at + 1)))

    def _slice(self: Self, wanted: slice) -> Self:
        try:
            start, stop, step = wanted.indices(len(self))
        except TypeError:
            raise UsageError(
                f"rows[{wanted.start!r}:{wanted.stop!r}] is no range of rows", hint="rows are counted: rows[:10]"
            ) from None
        if step != 1:
            raise UsageError("rows are taken in their order", hint="leave out the step of the slice")
        return self._sliced(start, max(start, stop))

    def _column(self, name: str) -> list[Any]:
        chosen = self._selected([self._known(name)])
        return [value for batch in chosen.batches() for value in python_values(batch.column(0))]

    def _known(self, name: str) -> str:
        if name not in self.columns:
            hint = did_you_mean(name, self.columns) or f"the columns are {', '.join(self.columns) or 'none'}"
            raise NotFoundError(f"there is no column {name!r}", hint=hint, column=name)
        return name

    def head(self: Self, rows: int = 5) -> Self:
        """The first rows."""
        return self._sliced(0, max(0, rows))

    def first(self) -> Row | None:
        """The first row, None if there is none."""
        return next(iter(self.head(1)), None)

    def scalar(self) -> Any:
        """The only value: that of a result with one row and one column, such as a count."""
        if len(self.columns) != 1 or len(self) != 1:
            raise UsageError(
                f"a scalar is one row with one column, not {len(self):,} rows with {len(self.columns)} columns",
                hint="read rows[0] or a column by its name",
            )
        return self._row(0)[self.columns[0]]

    def arrow(self) -> pa.Table:
        """All rows as an Arrow table."""
        return pa.Table.from_batches(list(self.batches()), self.schema)

    def df(self) -> pandas.DataFrame:
        """All rows as a pandas frame."""
        _require("pandas")
        return self.arrow().to_pandas()

    def pl(self) -> polars.DataFrame:
        """All rows as a polars frame."""
        _require("polars")
        import polars

        return polars.DataFrame(self.arrow())

    def to_dicts(self) -> list[Row]:
        """All rows as dicts with Python values."""
        return list(self)

    def to_reader(self, rows_max: int = BATCH_ROWS) -> pa.RecordBatchReader:
        """The rows as an Arrow reader, for libraries that take one."""
        return pa.RecordBatchReader.from_batches(self.schema, self.batches(rows_max))

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.to_reader().__arrow_c_stream__(requested_schema)

    def to_csv(self, path: str | os.PathLike[str] | BinaryIO | None = None) -> str | None:
        """Write the rows as CSV with a header; without a path, return the text. Lists are JSON texts."""
        from omnigraph.engine.table_files import csv_text, write_csv

        if path is None:
            return csv_text(self.to_reader())
        write_csv(self.to_reader(), path)
        return None

    def to_parquet(self, path: str | os.PathLike[str] | BinaryIO) -> None:
        """Write the rows as a Parquet file, batch by batch."""
        from omnigraph.engine.table_files import write_parquet

        write_parquet(self.to_reader(), path)

    def write_arrow(self, file: BinaryIO) -> None:
        """Write the rows as an Arrow IPC stream."""
        with pa.ipc.new_stream(file, self.schema) as writer:
            for batch in self.batches():
                writer.write_batch(batch)


def _require(library: str) -> None:
    """Raise UsageError if a library that the caller asks for is not installed."""
    if importlib.util.find_spec(library) is None:
        raise UsageError(f"this needs {library}, which is not installed", hint=f"pip install {library}")


class ReturnedRows(Tabular, Displayed):
    """Rows that a mutation returns, in memory."""

    def __init__(self, query_name: str, table: pa.Table) -> None:
        self.query_name = query_name
        self.table = table

    def __len__(self) -> int:
        return int(self.table.num_rows)

    @property
    def schema(self) -> pa.Schema:
        """The columns and their Arrow types."""
        return self.table.schema

    @property
    def rows(self) -> list[dict[str, Any]]:
        """Rows of JSON values: dates and times as ISO texts. ``to_dicts`` has Python's values."""
        return result_rows(self.table)

    def batches(self, rows_max: int = BATCH_ROWS) -> Iterator[pa.RecordBatch]:
        """The rows in Arrow batches."""
        yield from self.table.to_batches(max_chunksize=rows_max)

    def arrow(self) -> pa.Table:
        """All rows as an Arrow table."""
        return self.table

    def to_arrow(self) -> pa.Table:
        """The same as ``arrow``."""
        return self.table

    def _sliced(self, start: int, stop: int) -> ReturnedRows:
        return ReturnedRows(self.query_name, self.table.slice(start, stop - start))

    def _selected(self, names: Sequence[str]) -> ReturnedRows:
        return ReturnedRows(self.query_name, self.table.select(list(names)))

    def _display(self) -> Display:
        shown = [list(row.values()) for row in python_rows(self.table.slice(0, SHOWN_ROWS))]
        title = f"{self.query_name}: {counted(len(self), 'row')} returned"
        return Display(title, self.columns, shown, len(self) - len(shown))
