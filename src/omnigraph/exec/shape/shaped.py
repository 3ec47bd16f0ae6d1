"""Rows after grouping or projecting: positions, and for every column how to read it at positions.

Ordering, cutting and comparing only move positions. What a column holds is read when it is needed, for the rows that
are left.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa

from omnigraph.exec.evaluate import Evaluator
from omnigraph.exec.frame import Frame
from omnigraph.exec.tables import Rows
from omnigraph.query import expressions as ir
from omnigraph.query.liveness import reads_of

Read = Callable[[Rows], pa.Array]


@dataclass(frozen=True)
class Shaped:
    """Rows of a result."""

    reads: Sequence[Read]
    rows: Rows
    held: int = 0
    """Bytes that are held for them."""
    source: FrameReader | None = None
    """What most columns are read from."""

    @property
    def length(self) -> int:
        return len(self.rows)

    def at(self, rows: Rows) -> Shaped:
        """Only these positions, in this order."""
        return replace(self, rows=rows)

    def columns(self, start: int, stop: int) -> list[pa.Array]:
        """The values of the rows from one to before another."""
        rows = self.rows[start:stop]
        if self.source is not None:
            self.source.prepare(rows)
        return [read(rows) for read in self.reads]


@dataclass
class FrameReader:
    """Expressions at rows of a frame. All columns of the same rows share one part of the frame."""

    frame: Frame
    evaluator: Evaluator
    _expressions: list[ir.Expr] = field(default_factory=list)
    _latest: tuple[Rows, Frame] | None = None

    def read(self, expression: ir.Expr) -> Read:
        """How to read an expression."""
        self._expressions.append(expression)
        return lambda rows: self.evaluator.column(expression, self._part(rows))

    def prepare(self, rows: Rows) -> None:
        """All expressions of these rows are about to be read: fetch the properties of a variable together."""
        names: dict[str, list[str]] = {}
        for variable, name in reads_of(self._expressions):
            names.setdefault(variable, []).append(name)
        part = self._part(rows)
        for variable in names.keys() & part.bindings.keys():
            part.fetch(variable, dict.fromkeys(names[variable]))
        self.evaluator.budget.hold(part.nbytes, f"what is read of {len(rows):,} rows")

    def _part(self, rows: Rows) -> Frame:
        # The same array, not an equal one: whoever reads several columns passes it on.
        if self._latest is None or self._latest[0] is not rows:
            self._latest = (rows, self._taken(rows))
        return self._latest[1]

    def _taken(self, rows: Rows) -> Frame:
        start, stop = (int(rows[0]), int(rows[-1]) + 1) if len(rows) else (0, 0)
        if stop - start != len(rows) or bool((np.diff(rows) != 1).any()):
            return self.frame.take(rows)
        return self.frame if len(rows) == self.frame.length else self.frame.rows(start, stop)


def taken(column: pa.Array) -> Read:
    """A column that was computed."""
    return lambda rows: column.take(pa.array(rows))
