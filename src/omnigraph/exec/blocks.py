"""``not``, ``exists`` and ``maybe``: correlated inner blocks, evaluated once for all outer rows.

A block sees only the variables it mentions. Outer rows that agree on these have the same matches, so the block runs
over the distinct combinations, and every match carries the number of its combination.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa

from omnigraph.core.classes.dataclass import dataclass
from omnigraph.exec.adjacency import Adjacency, is_ascending
from omnigraph.exec.budget import Budget
from omnigraph.exec.frame import Frame
from omnigraph.exec.multiplicity import product
from omnigraph.exec.shape.row_groups import frame_groups
from omnigraph.exec.tables import Rows
from omnigraph.query.ir import Operator, OptionalJoin
from omnigraph.query.liveness import outer_variables

_COMBINATION = "#combination"
"""The number of its combination, carried by every row of a block."""


@dataclass(frozen=True, slots=True)
class Matches:
    """The matches of an inner block, and the combination that links them to outer rows."""

    inner: Frame
    combination: Rows
    """The combination of every inner row."""
    of_outer: Rows
    """The combination of every outer row."""


class InnerBlocks:
    """Runs inner blocks; holds the outer rows of the running block. Blocks may be nested."""

    def __init__(self) -> None:
        self._outer: list[Frame] = []

    def outer(self) -> Frame:
        """The leaf of an inner block."""
        return self._outer[-1]

    def run(self, inner: Operator, frame: Frame, rows: Callable[[], Frame]) -> Matches:
        combinations, of_outer = _combinations(frame, outer_variables(inner))
        every = of_outer if combinations.length == frame.length else np.arange(combinations.length)
        self._outer.append(combinations.mark(_COMBINATION, every))
        try:
            found = rows()
        finally:
            self._outer.pop()
        return Matches(found, found.bindings[_COMBINATION], of_outer)


def _combinations(frame: Frame, mentioned: tuple[str, ...]) -> tuple[Frame, Rows]:
    """The distinct combinations of the mentioned variables, and the combination of every row."""
    seen = frame.only(mentioned)
    if frame.length < 2 or len(seen.bindings) < len(mentioned):
        # Paths cannot be compared by row number; they are few, so every row is its own combination.
        return seen, np.arange(frame.length)
    if len(mentioned) == 1 and is_ascending(seen.bindings[mentioned[0]]):
        # A scan gives every row once.
        return seen, np.arange(frame.length)
    groups, first = frame_groups(seen, mentioned)
    return (seen, np.arange(frame.length)) if len(first) == frame.length else (seen.take(first), groups)


def have_matches(matches: Matches) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """For every outer row whether it has a match."""
    present = np.zeros(int(matches.of_outer.max(initial=-1)) + 1, bool)
    present[matches.combination] = True
    found: np.ndarray[tuple[int], np.dtype[np.bool_]] = present[matches.of_outer]
    return found


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
    result.repeats |= inner.repeats
    if inner.multiplicity is not None:
        result = result.with_multiplicity(
            product(result.multiplicity, np.concatenate((inner.multiplicity, np.ones_like(missing))))
        )
    for name in operator.introduces:
        if name in inner.bindings:
            rows = np.concatenate((inner.bindings[name], np.full(len(missing), -1, np.int64)))
            result = result.bind(name, rows, inner.tables[name])
        for column, values in inner.columns.items():
            if column.startswith(f"{name}."):
                result = result.with_column(column, pa.concat_arrays([values, pa.nulls(len(missing), values.type)]))
    return result
