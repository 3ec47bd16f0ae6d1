"""The answer of a query: rows with a name, and their conversions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, BinaryIO

import pyarrow as pa

from omnigraph.core.html import html_table
from omnigraph.core.profile import OperatorProfile
from omnigraph.engine.profile_text import Profiled
from omnigraph.exec.shape.result_rows import BATCH_ROWS, ResultRows

if TYPE_CHECKING:
    import pandas  # type: ignore[import-untyped] # has no types of its own
    import polars

SHOWN_ROWS = 10


@dataclass(frozen=True)
class QueryResult(Profiled):
    """Rows of a query, with the commit they were read at.

    The columns of a large result are computed when they are read: reading batches never holds more than one of them.
    """

    query_name: str
    rows: ResultRows = field(repr=False)
    branch: str | None
    commit_id: str
    operators: tuple[OperatorProfile, ...] = field(default=(), repr=False)

    def __len__(self) -> int:
        return self.rows.length

    def __iter__(self) -> Iterator[dict[str, Any]]:
        for batch in self.to_batches():
            yield from batch.to_pylist()

    def __repr__(self) -> str:
        shown = "\n".join(f"  {row}" for row in self.rows.head(SHOWN_ROWS).to_pylist())
        more = f"\n  ... {len(self) - SHOWN_ROWS} more" if len(self) > SHOWN_ROWS else ""
        return f"<{self.query_name}: {len(self)} rows at {self.commit_id}>\n{shown}{more}".rstrip()

    def _repr_html_(self) -> str:
        rows = [list(row.values()) for row in self.rows.head(SHOWN_ROWS).to_pylist()]
        caption = f"{self.query_name}: {len(self):,} rows at {self.commit_id}"
        return html_table(caption, self.columns, rows, len(self) - len(rows))

    @property
    def columns(self) -> list[str]:
        names: list[str] = self.rows.schema.names
        return names

    @property
    def table(self) -> pa.Table:
        """All rows in memory."""
        return self.rows.table()

    def to_arrow(self) -> pa.Table:
        return self.table

    def to_batches(self, rows_max: int = BATCH_ROWS) -> Iterator[pa.RecordBatch]:
        """The rows in batches, each computed on demand."""
        yield from self.rows.batches(rows_max)

    def to_reader(self, rows_max: int = BATCH_ROWS) -> pa.RecordBatchReader:
        """The same as an Arrow reader, for libraries that take one."""
        return pa.RecordBatchReader.from_batches(self.rows.schema, self.to_batches(rows_max))

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.to_reader().__arrow_c_stream__(requested_schema)

    def to_pylist(self) -> list[dict[str, Any]]:
        """Rows as Python dicts with Python dates and times."""
        rows: list[dict[str, Any]] = self.table.to_pylist()
        return rows

    def to_pandas(self) -> pandas.DataFrame:
        return self.table.to_pandas()

    def to_polars(self) -> polars.DataFrame:
        import polars

        return polars.DataFrame(self.table)

    def write_arrow(self, file: BinaryIO) -> None:
        """Write the rows as an Arrow IPC stream."""
        with pa.ipc.new_stream(file, self.rows.schema) as writer:
            for batch in self.to_batches():
                writer.write_batch(batch)
