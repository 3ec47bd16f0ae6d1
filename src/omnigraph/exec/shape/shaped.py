"""Shaped rows: positions after grouping or projecting, with a lazy reader per column.

Sorting, slicing and deduplication only move positions. Values are read late, for the rows that remain.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field, replace

import numpy as np
import pyarrow as pa

from omnigraph.core.classes.dataclass import dataclass
from omnigraph.exec.evaluate import Evaluator
from omnigraph.exec.frame import Frame
from omnigraph.exec.tables import Rows
from omnigraph.query import expressions as ir
from omnigraph.query.liveness import reads_of

Read = Callable[[Rows], pa.Array]


@dataclass(frozen=True)
class Shaped:
    """Positions of result rows and one reader per column."""

    reads: Sequence[Read]
    rows: Rows
    held: int = 0
    """Bytes held by the readers."""
    source: FrameReader | None = None
    """The reader that most columns share."""

    @property
    def length(self) -> int:
        return len(self.rows)

    def at(self, rows: Rows) -> Shaped:
        """The same with only these positions, in this order."""
        return replace(self, rows=rows)

    def columns(self, start: int, stop: int) -> list[pa.Array]:
        """The values of a half-open range of rows."""
        rows = self.rows[start:stop]
        if self.source is not None:
            self.source.prepare(rows)
        return [read(rows) for read in self.reads]


@dataclass
class FrameReader:
    """Evaluates expressions at rows of a frame. Columns of the same rows share one slice of the frame."""

    frame: Frame
    evaluator: Evaluator
    _expressions: list[ir.Expr] = field(default_factory=list)
    _latest: tuple[Rows, Frame] | None = None

    def read(self, expression: ir.Expr) -> Read:
        """A reader of an expression."""
        self._expressions.append(expression)
        return lambda rows: self.evaluator.column(expression, self._part(rows))

    def prepare(self, rows: Rows) -> None:
        """Prefetch the properties of all expressions for these rows, one read per variable."""
        names: dict[str, list[str]] = {}
        for variable, name in reads_of(self._expressions):
            names.setdefault(variable, []).append(name)
        part = self._part(rows)
        for variable in names.keys() & part.bindings.keys():
            part.fetch(variable, dict.fromkeys(names[variable]))
        self.evaluator.budget.hold(part.nbytes, f"reading {len(rows):,} rows")

    def _part(self, rows: Rows) -> Frame:
        # Compared by identity: callers pass the same array for all columns, and comparing values would cost a scan.
        if self._latest is None or self._latest[0] is not rows:
            self._latest = (rows, self._taken(rows))
        return self._latest[1]

    def _taken(self, rows: Rows) -> Frame:
        start, stop = (int(rows[0]), int(rows[-1]) + 1) if len(rows) else (0, 0)
        if stop - start != len(rows) or bool((np.diff(rows) != 1).any()):
            return self.frame.take(rows)
        return self.frame if len(rows) == self.frame.length else self.frame.rows(start, stop)


def taken(column: pa.Array) -> Read:
    """A reader of a computed column."""
    return lambda rows: column.take(pa.array(rows))
