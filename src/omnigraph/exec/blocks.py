"""``not`` and ``maybe``: an inner block is run once for all outer rows, and once for outer rows that look alike to it.

A block sees only the variables it mentions. Outer rows that agree on these have the same matches, so the block runs
over the different combinations, and every match knows the number of its combination.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from omnigraph.exec import shape
from omnigraph.exec.adjacency import Adjacency
from omnigraph.exec.budget import Budget
from omnigraph.exec.frame import Frame
from omnigraph.exec.tables import Rows
from omnigraph.query.ir import Operator, OptionalJoin, Outer
from omnigraph.query.rewrite.tree import inputs

_ROW = "#row"


@dataclass(frozen=True, slots=True)
class Matches:
    """What an inner block found: rows, and for each the outer rows it belongs to."""

    inner: Frame
    combination: Rows
    """Of every inner row."""
    of_outer: Rows
    """The combination of every outer row."""


class InnerBlocks:
    """Runs inner blocks; knows the outer rows of the block that is running."""

    def __init__(self) -> None:
        self._outer: list[Frame] = []

    def outer(self, operator: Outer) -> Frame:
        """The leaf of an inner block."""
        return self._outer[-1].restricted((*operator.variables, self._mark(len(self._outer))))

    @staticmethod
    def _mark(depth: int) -> str:
        # Blocks nest, and the rows of one are the outer rows of the next.
        return f"{_ROW}{depth}"

    def run(self, inner: Operator, frame: Frame, rows: Callable[[Operator], Frame]) -> Matches:
        mentioned = _leaf(inner).variables
        combinations, of_outer = _combinations(frame, mentioned)
        mark = self._mark(len(self._outer) + 1)
        self._outer.append(combinations.with_column(mark, pa.array(np.arange(combinations.length))))
        try:
            found = rows(inner)
        finally:
            self._outer.pop()
        combination: Rows = found.columns[mark].to_numpy(zero_copy_only=False)
        return Matches(found, combination, of_outer)


def _leaf(operator: Operator) -> Outer:
    """The first leaf of an inner block is always its outer rows."""
    while not isinstance(operator, Outer):
        operator = inputs(operator)[0]
    return operator


def _combinations(frame: Frame, mentioned: tuple[str, ...]) -> tuple[Frame, Rows]:
    """The different combinations of the mentioned variables, and the one of every row."""
    bindings = [frame.bindings[name] for name in mentioned if name in frame.bindings]
    if frame.length < 2 or len(bindings) < len(mentioned):
        # Paths are not compared; there are few of them.
        return frame, np.arange(frame.length)
    groups, first = shape.group_codes([pa.array(rows) for rows in bindings], frame.length)
    return (frame, np.arange(frame.length)) if len(first) == frame.length else (frame.take(first), groups)


def without_matches(frame: Frame, matches: Matches) -> Frame:
    """The outer rows for which the block found nothing."""
    absent = np.ones(int(matches.of_outer.max(initial=-1)) + 1, bool)
    absent[matches.combination] = False
    return frame.where(absent[matches.of_outer])


def with_matches(operator: OptionalJoin, frame: Frame, matches: Matches, budget: Budget) -> Frame:
    """Every outer row with every match, or once with the block's variables null."""
    order = np.argsort(matches.combination, kind="stable")
    counts = np.bincount(matches.combination, minlength=int(matches.of_outer.max(initial=-1)) + 1)
    offsets = np.concatenate(([0], np.cumsum(counts)))
    budget.check(int(counts[matches.of_outer].sum()), len(frame.bindings) + len(operator.introduces))
    position, slot = Adjacency(offsets, order, order).of(matches.of_outer)
    missing = np.flatnonzero(counts[matches.of_outer] == 0)
    inner = matches.inner.take(order[slot])
    result = frame.take(np.concatenate((position, missing)))
    for name in operator.introduces:
        if name in inner.bindings:
            rows = np.concatenate((inner.bindings[name], np.full(len(missing), -1, np.int64)))
            result = result.bind(name, rows, inner.tables[name])
        for column, values in inner.columns.items():
            if column.startswith(f"{name}."):
                result = result.with_column(column, pa.concat_arrays([values, pa.nulls(len(missing), values.type)]))
    return result
