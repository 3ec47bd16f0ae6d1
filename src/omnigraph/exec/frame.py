"""Rows in flight: for every variable an array of row numbers, and the columns already computed for these rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.exec.tables import Rows, TableView


@dataclass
class Frame:
    """A bag of rows.

    ``bindings`` hold row numbers (-1: null); ``columns`` hold what is not a row, such as scores and paths.
    """

    length: int
    tables: Mapping[str, TableView]
    bindings: dict[str, Rows] = field(default_factory=dict)
    columns: dict[str, pa.Array] = field(default_factory=dict)
    _values: dict[tuple[str, str], pa.Array] = field(default_factory=dict, repr=False)

    def values(self, variable: str, name: str) -> pa.Array:
        """A property of a variable, one value a row."""
        key = (variable, name)
        if key not in self._values:
            self._values[key] = self.tables[variable].values(name, self.bindings[variable])
        return self._values[key]

    def fetch(self, variable: str, names: Iterable[str]) -> None:
        """Read several properties of a variable together, before they are asked for one by one."""
        missing = [name for name in names if (variable, name) not in self._values]
        if len(missing) > 1:
            values = self.tables[variable].many_values(missing, self.bindings[variable])
            self._values.update({(variable, name): column for name, column in values.items()})

    def take(self, rows: Rows) -> Frame:
        """The frame's rows at these positions, in this order, as often as given."""
        indices = pa.array(rows)
        return Frame(
            len(rows),
            self.tables,
            {name: binding[rows] for name, binding in self.bindings.items()},
            {name: pc.take(column, indices) for name, column in self.columns.items()},
            {key: pc.take(column, indices) for key, column in self._values.items()},
        )

    def where(self, mask: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> Frame:
        """The rows where the mask is true."""
        return self if mask.all() else self.take(np.flatnonzero(mask))

    def bind(self, variable: str, rows: Rows, table: TableView) -> Frame:
        """The frame with one more variable."""
        tables = {**self.tables, variable: table}
        return Frame(self.length, tables, {**self.bindings, variable: rows}, self.columns, self._values)

    def with_column(self, name: str, column: pa.Array) -> Frame:
        """The frame with one more computed column."""
        return Frame(self.length, self.tables, self.bindings, {**self.columns, name: column}, self._values)

    def cross(self, other: Frame) -> Frame:
        """Every row of this frame with every row of the other."""
        left = np.repeat(np.arange(self.length), other.length)
        right = np.tile(np.arange(other.length), self.length)
        return self.take(left).beside(other.take(right))

    def beside(self, other: Frame) -> Frame:
        """Two frames of one length, side by side."""
        return Frame(
            self.length,
            {**self.tables, **other.tables},
            {**self.bindings, **other.bindings},
            {**self.columns, **other.columns},
            {**self._values, **other._values},
        )

    def restricted(self, variables: tuple[str, ...]) -> Frame:
        """Only these variables (and the columns that belong to them)."""
        keep = set(variables)
        return Frame(
            self.length,
            {name: table for name, table in self.tables.items() if name in keep},
            {name: rows for name, rows in self.bindings.items() if name in keep},
            {name: column for name, column in self.columns.items() if name.split(".")[0] in keep},
            {key: column for key, column in self._values.items() if key[0] in keep},
        )
