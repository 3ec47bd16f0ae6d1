"""Rows of one table, without a number for each of them where they are all rows."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from omnigraph.core.classes.dataclass import dataclass
from omnigraph.exec.adjacency import Integers, Rows
from omnigraph.exec.frame import Frame
from omnigraph.exec.tables import TableView


@dataclass(frozen=True, slots=True)
class Whole:
    """The rows of a variable: these, or all rows of its table if there are none."""

    variable: str
    table: TableView
    rows: Rows | None

    @property
    def length(self) -> int:
        return self.table.size if self.rows is None else len(self.rows)

    @property
    def are_many(self) -> bool:
        """True if whole columns are read for these rows."""
        return self.length * self.table.store.tuning.whole_column_share > self.table.rows

    def chosen(self, by_row: Integers) -> Integers:
        """The entries of an array over the table that belong to these rows."""
        return by_row if self.rows is None else by_row[self.rows]

    def columns(self, names: frozenset[str]) -> Frame:
        """The rows with these columns and without row numbers."""
        columns = {(self.variable, name): self.table.column(name) for name in sorted(names)}
        if self.rows is not None:
            places = pa.array(self.rows)
            columns = {key: column.take(places) for key, column in columns.items()}
        return Frame(self.length, {self.variable: self.table}, _values=columns)

    def frame(self) -> Frame:
        """The rows with their numbers."""
        rows = np.arange(self.length) if self.rows is None else self.rows
        return Frame(len(rows), {self.variable: self.table}, {self.variable: rows})
