"""Rows in flight: for every variable an array of row numbers, and the columns already computed for these rows."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import field, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.core.classes.dataclass import dataclass
from omnigraph.exec.multiplicity import product
from omnigraph.exec.tables import Rows, TableView

BLOCK_MARK = "#"
"""Prefix of bindings and columns that belong to the executor and to no variable; they are always kept."""


@dataclass
class Frame:
    """A bag of rows.

    ``bindings`` hold row numbers (-1: null); ``columns`` hold computed values such as scores and paths.
    """

    length: int
    tables: Mapping[str, TableView]
    bindings: dict[str, Rows] = field(default_factory=dict)
    columns: dict[str, pa.Array] = field(default_factory=dict)
    multiplicity: Rows | None = None
    """The number of equal rows each row stands for; None means one."""
    repeats: bool = False
    """Rows may be equal in every binding, because a variable that distinguished them was dropped."""
    _values: dict[tuple[str, str], pa.Array] = field(default_factory=dict, repr=False)

    @property
    def nbytes(self) -> int:
        """The memory the frame holds."""
        held: int = sum(rows.nbytes for rows in self.bindings.values())
        held += sum(column.nbytes for column in (*self.columns.values(), *self._values.values()))
        return held + (0 if self.multiplicity is None else self.multiplicity.nbytes)

    @property
    def variables(self) -> set[str]:
        """Every variable: those bound to rows, and those that have columns instead, such as paths."""
        return {*self.bindings, *map(_owner, self.columns)}

    def values(self, variable: str, name: str) -> pa.Array:
        """A property of a variable, one value per row."""
        key = (variable, name)
        if key not in self._values:
            self._values[key] = self.tables[variable].values(name, self.bindings[variable])
        return self._values[key]

    def fetch(self, variable: str, names: Iterable[str]) -> None:
        """Prefetch several properties of a variable with one read."""
        missing = [name for name in names if (variable, name) not in self._values]
        if len(missing) > 1:
            values = self.tables[variable].many_values(missing, self.bindings[variable])
            self._values.update({(variable, name): column for name, column in values.items()})

    def holds(self, variable: str, name: str) -> bool:
        """True if a property was already fetched."""
        return (variable, name) in self._values

    def take(self, rows: Rows) -> Frame:
        """The rows at these positions, in this order; positions may repeat."""
        indices = pa.array(rows)
        return Frame(
            len(rows),
            self.tables,
            {name: binding[rows] for name, binding in self.bindings.items()},
            {name: pc.take(column, indices) for name, column in self.columns.items()},
            None if self.multiplicity is None else self.multiplicity[rows],
            self.repeats,
            {key: pc.take(column, indices) for key, column in self._values.items()},
        )

    def rows(self, start: int, stop: int) -> Frame:
        """The rows of a half-open range of positions, without fetched values."""
        return Frame(
            stop - start,
            self.tables,
            {name: binding[start:stop] for name, binding in self.bindings.items()},
            {name: column.slice(start, stop - start) for name, column in self.columns.items()},
            None if self.multiplicity is None else self.multiplicity[start:stop],
            self.repeats,
        )

    def where(self, mask: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> Frame:
        """The rows where the mask is true."""
        return self if mask.all() else self.take(np.flatnonzero(mask))

    def bind(self, variable: str, rows: Rows, table: TableView) -> Frame:
        """The frame with one more variable."""
        tables = {**self.tables, variable: table}
        return replace(self, tables=tables, bindings={**self.bindings, variable: rows})

    def mark(self, name: str, rows: Rows) -> Frame:
        """The frame with an internal binding beside its variables."""
        return replace(self, bindings={**self.bindings, name: rows})

    def with_column(self, name: str, column: pa.Array) -> Frame:
        """The frame with one more computed column."""
        return replace(self, columns={**self.columns, name: column})

    def with_multiplicity(self, multiplicity: Rows | None) -> Frame:
        """The frame with another multiplicity per row."""
        return replace(self, multiplicity=multiplicity)

    def with_values(self, variable: str, name: str, values: pa.Array) -> Frame:
        """The frame with an already fetched property, one value per row."""
        return replace(self, _values={**self._values, (variable, name): values})

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
            product(self.multiplicity, other.multiplicity),
            self.repeats or other.repeats,
            {**self._values, **other._values},
        )

    def only(self, variables: Collection[str]) -> Frame:
        """Only these variables and their columns; every row counts once."""
        return Frame(
            self.length,
            {name: table for name, table in self.tables.items() if name in variables},
            {name: rows for name, rows in self.bindings.items() if name in variables},
            {name: column for name, column in self.columns.items() if _owner(name) in variables},
            _values={key: column for key, column in self._values.items() if key[0] in variables},
        )

    def kept(self, variables: Collection[str], reads: Collection[tuple[str, str]]) -> Frame:
        """Only these variables, and of the fetched values only those that are read later."""
        bindings = {name: rows for name, rows in self.bindings.items() if name in variables or name[0] == BLOCK_MARK}
        return Frame(
            self.length,
            {name: table for name, table in self.tables.items() if name in bindings},
            bindings,
            {name: column for name, column in self.columns.items() if _owner(name) in (*variables, BLOCK_MARK)},
            self.multiplicity,
            self.repeats or len(bindings) < len(self.bindings),
            {key: column for key, column in self._values.items() if key in reads},
        )


def stacked(frames: Sequence[Frame]) -> Frame:
    """The concatenated rows of frames with the same variables."""
    first = frames[0]
    if len(frames) == 1:
        return first
    return Frame(
        sum(frame.length for frame in frames),
        first.tables,
        {name: np.concatenate([frame.bindings[name] for frame in frames]) for name in first.bindings},
        {name: pa.concat_arrays([frame.columns[name] for frame in frames]) for name in first.columns},
    )


def _owner(column: str) -> str:
    """The variable of a column: ``path`` for ``path.length``."""
    return BLOCK_MARK if column[0] == BLOCK_MARK else column.partition(".")[0]
